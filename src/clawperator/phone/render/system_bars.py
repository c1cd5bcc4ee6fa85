"""The parts of the screen that belong to the system: status bar, navigation keys, keyboard, toast."""

from clawperator.phone.apps.system import DELETE_KEY, ENTER_KEY, KEYBOARD, SHIFT_KEY
from clawperator.phone.render.fonts import capital_height, font_size, text_width
from clawperator.phone.render.pen import Lettering, Pen
from clawperator.phone.render.scene import Scene
from clawperator.phone.toolkit.layout import PlacedView
from clawperator.ui.node import Bounds, Node

_KEY_ICONS = {DELETE_KEY: "backspace", ENTER_KEY: "enter", SHIFT_KEY: "shift"}
_NAVIGATION_ICONS = {"back": "nav_back", "home": "nav_home", "recent_apps": "nav_recents"}
_KEY_TEXT = 20
_BATTERY_LEVEL = 100


def draw_status_bar(pen: Pen, scene: Scene, ink: int) -> None:
    """The time at the left; connections and battery at the right."""
    bar = scene.display.status_bar
    side = min(pen.dp(16), bar.height * 2 // 3)
    size = font_size(min(14 * pen.scale, bar.height * 0.6))
    y = bar.centre[1] + bar.height // 10
    baseline = y + capital_height(size) // 2
    pen.drawing.text(bar.left + pen.dp(24), baseline, scene.time, size, ink)
    x = bar.right - pen.dp(24)
    if scene.shows_percent:
        percent = f"{_BATTERY_LEVEL}%"
        x -= text_width(percent, size)
        pen.drawing.text(x, baseline, percent, size, ink)
        x -= pen.dp(4)
    x = _draw_battery(pen, x, y, side, ink)
    names = ["airplane"] if scene.airplane else ["signal"]
    names += ["wifi"] if scene.wifi else []
    for name in names:
        x -= side
        pen.drawing.icon(name, x + side // 2, y, side, ink)
        x -= pen.dp(5)


def _draw_battery(pen: Pen, right: int, y: int, side: int, ink: int) -> int:
    """Draw the battery to the left of a point. Returns the place left of it."""
    width = side * 5 // 8
    body = Bounds(right - width, y - side // 2 + side // 8, right, y + side // 2)
    cap = Bounds(body.left + width // 4, y - side // 2, body.right - width // 4, body.top + 1)
    pen.drawing.rounded(body, max(1, side // 8), ink)
    pen.drawing.fill(cap, ink)
    return body.left - pen.dp(5)


def draw_navigation(pen: Pen, nodes: list[Node], ink: int) -> None:
    """Back, Home and Overview as a triangle, a circle and a square."""
    for node in nodes:
        if isinstance(node.source, PlacedView) and node.source.view.id in _NAVIGATION_ICONS:
            side = min(pen.dp(18), node.bounds.height * 2 // 3, node.bounds.width)
            pen.drawing.icon(_NAVIGATION_ICONS[node.source.view.id], *node.bounds.centre, side, ink)


def draw_keyboard(pen: Pen, area: Bounds, nodes: list[Node]) -> None:
    """Keys with their characters, or with icons where they are not characters."""
    pen.drawing.fill(area, pen.theme.board)
    for node in nodes:
        if not isinstance(node.source, PlacedView) or node.source.view.layout != "leaf":
            continue
        key = pen.inset(node.bounds, 2.5, 4)
        if key.is_empty:
            continue
        label = node.text
        is_special = len(label) > 1
        pen.drawing.rounded(key, pen.dp(7), pen.theme.special_key if is_special else pen.theme.key)
        if label in _KEY_ICONS:
            side = min(pen.dp(20), key.width, key.height)
            pen.drawing.icon(_KEY_ICONS[label], *key.centre, side, pen.theme.ink)
        elif label.strip():
            size = 15 if is_special else _KEY_TEXT
            pen.write(label, key, Lettering(size, pen.theme.ink, centred=True))


def draw_toast(pen: Pen, scene: Scene) -> None:
    """A message near the bottom, in at most two lines."""
    content = scene.display.content
    room = content.width - pen.dp(96)
    size, lines = pen.fitted(scene.toast, room, 2, 14)
    pitch = round(size * 1.4)
    half = min(content.width, max(text_width(line, size) for line in lines) + pen.dp(48)) // 2
    height = len(lines) * pitch + pen.dp(24)
    bottom = content.bottom - pen.dp(56)
    x = content.centre[0]
    area = Bounds(x - half, bottom - height, x + half, bottom)
    pen.drawing.rounded(area, pen.dp(22), pen.theme.toast)
    for number, line in enumerate(lines):
        baseline = area.top + pen.dp(12) + number * pitch + (pitch + capital_height(size)) // 2
        pen.drawing.text(x - text_width(line, size) // 2, baseline, line, size, pen.theme.on_toast)


def is_keyboard(package: str) -> bool:
    return package == KEYBOARD
