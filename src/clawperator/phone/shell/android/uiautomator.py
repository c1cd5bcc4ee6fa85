"""``uiautomator dump`` and ``screencap``: the screen as XML and as an image."""

from collections.abc import Callable
from xml.sax.saxutils import quoteattr

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.base import print_error
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, command, encode
from clawperator.phone.shell.toybox.options import CommandOptions
from clawperator.phone.storage.filesystem import resolve
from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.write import write_hierarchy

DISPLAY_ID = "4619827259835644672"
_DUMP_FILE = "/sdcard/window_dump.xml"
_ACTIONS = ("clickable", "long-clickable", "scrollable", "checkable", "focusable")
_STREAMS = ("/dev/tty", "/dev/stdout", "/proc/self/fd/1")
_DUMP_USAGE = f"""\
Usage: uiautomator <subcommand> [options]

Available subcommands:

dump [--compressed][--windows][file]: writes the current UI hierarchy as XML, by default to {_DUMP_FILE}
"""


# Hierarchy


@command("uiautomator")
def uiautomator(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words[:1] == ["dump"]:
        return _dump(process, words[1:])
    if words[:1] in (["runtest"], ["events"]):
        return print_error(process, f"Error: '{words[0]}' is not available on this device", 1)
    process.write(_DUMP_USAGE)
    return 0 if words[:1] == ["help"] else 1


def _dump(process: ShellProcess, words: list[str]) -> int:
    phone = process.phone
    named = [word for word in words if not word.startswith("-")]
    path = named[-1] if named else _DUMP_FILE
    with phone.accessibility_suspended():
        if process.wait(phone.faults.value("slow_dump") / 1000):
            return INTERRUPTED
        with phone.lock:
            if "--windows" in words:
                xml = _every_window(phone)
            else:
                # uiautomator omits what is scrolled away. Accessibility still reports it.
                tree = _without(phone.windows.capture(), lambda node: "invisible" in node.extras)
                if "--compressed" in words:
                    tree = _without(tree, _is_plain_container)
                xml = one_line(write_hierarchy(tree))
    if path in _STREAMS:
        process.write(xml)
    else:
        try:
            process.phone.storage.write(process.path(path), encode(xml))
        except OSError as e:
            # uiautomator logs the failure and exits as if it had succeeded.
            phone.log.write("E", "AccessibilityNodeInfoDumper", f"failed to dump window to file: {e.strerror}", 0)
    shown = path if path in _STREAMS or path.startswith("/") else resolve(path, process.cwd)
    return process.write(f"UI hierchary dumped to: {shown}\n")


def one_line(xml: str) -> str:
    """The document without line breaks, as uiautomator writes it. Breaks in texts are escaped."""
    return "".join(line.lstrip(" ") for line in xml.split("\n"))


def _is_plain_container(node: Node) -> bool:
    return not node.label and not any(map(node.flag, _ACTIONS))


def _without(tree: Hierarchy, unwanted: Callable[[Node], bool]) -> Hierarchy:
    """The tree without some nodes, except roots. Their children move up."""
    kept: dict[int, Node] = {}
    nodes: list[Node] = []
    roots: list[Node] = []
    for node in tree.nodes:
        parent = next((kept[id(a)] for a in node.ancestors() if id(a) in kept), None)
        if parent is not None and unwanted(node):
            continue
        siblings = parent.children if parent is not None else roots
        copy = Node({**node.attributes, "index": str(len(siblings))}, parent, node.extras, node.source)
        siblings.append(copy)
        nodes.append(copy)
        kept[id(node)] = copy
    return Hierarchy(tree.attributes, roots, nodes)


def _every_window(phone: Phone) -> str:
    """All windows of the display, from the top."""
    manager = phone.windows
    keyboard = manager.keyboard()
    windows = [(manager.navigation(), 3), *([(keyboard, 2)] if keyboard is not None else [])]
    windows += [(window, 1) for window in reversed(manager.app_windows())]
    active = manager.active()
    parts = []
    for number, (window, kind) in enumerate(windows):
        whole = one_line(write_hierarchy(window.tree))
        flag = str(window is active).lower()
        parts.append(
            f'<window index="{number}" id="{len(windows) - number}" '
            f"title={quoteattr(window.entry.screen.title or '')} "
            f'bounds="{window.bounds}" active="{flag}" type="{kind}" layer="{len(windows) - number - 1}" '
            f'token="0" focused="{flag}" accessibility-focused="false">'
            f"{whole[whole.index('<hierarchy') :]}</window>"
        )
    declaration = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{declaration}<displays><display id="0">{"".join(parts)}</display></displays>'


# Screenshots


@command("screencap")
def screencap(process: ShellProcess) -> int:
    options = CommandOptions(process, "p", "d")
    display = options.value("d")
    if display not in {None, DISPLAY_ID, "0"}:
        return print_error(process, f"Display Id '{display}' is not valid.", 1)
    path = options.operands[-1] if options.operands else None
    as_png = "p" in options or (path is not None and path.endswith(".png"))
    image = process.phone.screenshot() if as_png else process.phone.raw_screenshot()
    if path is None:
        process.stdout.write(image)
        return 0
    try:
        with process.open(path, "wb") as file:
            file.write(image)
    except OSError as e:
        return print_error(process, f"Error opening file: {path} ({e.strerror})", 1)
    return 0
