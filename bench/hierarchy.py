"""Screens as UI Automator dumps them: XML with one node per line, indented by two spaces."""

from random import Random

PACKAGES = ("com.android.settings", "com.google.android.youtube", "com.solaxcloud.starter")
LABELS = (
    "Connected devices",
    "Wi-Fi &amp; network",
    "Battery",
    "Discharge to",
    "Save",
    "Apps",
    "Display",
    "Search",
    "Storage: 54 % used, 58 GB free",
    "Do Not Disturb is off for 3 schedules",
)
FOREIGN_LABELS = (
    "Geräte & Töne".replace("&", "&amp;"),
    "Réseau et Internet",
    "電池残量",
    "Настройки экрана",
    "🔋 80 %",
)

_HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<hierarchy rotation=\"0\">\n"
_SWITCHES = (
    'checkable="false" checked="false" clickable="{click}" enabled="true" focusable="{click}" focused="false" '
    'scrollable="{scroll}" long-clickable="false" password="false" selected="false"'
)
_PLAIN = _SWITCHES.format(click="false", scroll="false")
_CLICKABLE = _SWITCHES.format(click="true", scroll="false")
_SCROLLABLE = _SWITCHES.format(click="false", scroll="true")
_FRAMES = (
    ("android.widget.FrameLayout", "", _PLAIN),
    ("android.widget.LinearLayout", "decor_content_parent", _PLAIN),
    ("android.widget.FrameLayout", "content_frame", _PLAIN),
    ("androidx.recyclerview.widget.RecyclerView", "recycler_view", _SCROLLABLE),
)


def hierarchy(rng: Random, package: str, size: int, labels: tuple[str, ...]) -> str:
    """A list of rows in the frames of an app, of at least ``size`` characters and not much more."""
    parts = [_HEAD]
    for depth, (kind, name, switches) in enumerate(_FRAMES, 1):
        parts.append(_opening(depth, f'index="0" text="" {_names(package, kind, name)} content-desc=""', switches))
    length = sum(map(len, parts))
    row = 0
    while length < size:
        text = _row(rng, package, row, labels)
        parts.append(text)
        length += len(text)
        row += 1
    parts.extend("  " * depth + "</node>\n" for depth in range(len(_FRAMES), 0, -1))
    parts.append("</hierarchy>\n")
    return "".join(parts)


def _row(rng: Random, package: str, index: int, labels: tuple[str, ...]) -> str:
    """A row of a settings list: clickable, with an icon, a title and a summary."""
    depth = len(_FRAMES) + 1
    top = 200 + 156 * (index % 14)
    leaves = (
        ("android.widget.ImageView", "icon", "", rng.choice(labels), f"[48,{top + 42}][120,{top + 114}]"),
        ("android.widget.TextView", "title", rng.choice(labels), "", f"[216,{top + 18}][661,{top + 88}]"),
        ("android.widget.TextView", "summary", rng.choice(labels), "", f"[216,{top + 88}][904,{top + 138}]"),
    )
    row = f'index="{index}" text="" {_names(package, "android.widget.LinearLayout", "")} content-desc=""'
    lines = [_opening(depth, row, _CLICKABLE, f"[0,{top}][1080,{top + 156}]")]
    for i, (kind, name, text, description, bounds) in enumerate(leaves):
        attributes = f'index="{i}" text="{text}" {_names(package, kind, name)} content-desc="{description}"'
        lines.append(f'{"  " * (depth + 1)}<node {attributes} {_PLAIN} bounds="{bounds}" />\n')
    lines.append("  " * depth + "</node>\n")
    return "".join(lines)


def _names(package: str, kind: str, name: str) -> str:
    full = f"{package}:id/{name}" if name else ""
    return f'resource-id="{full}" class="{kind}" package="{package}"'


def _opening(depth: int, attributes: str, switches: str, bounds: str = "[0,0][1080,2400]") -> str:
    return f'{"  " * depth}<node {attributes} {switches} bounds="{bounds}">\n'
