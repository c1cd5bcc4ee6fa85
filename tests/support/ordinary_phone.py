"""Doubles of an ordinary phone: Android 14, one display, one user, Settings in front, no Operator."""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from tests.support.command_doubles import CommandDoubles, Reply

SETTINGS = "com.android.settings"
LAUNCHER = "com.google.android.apps.nexuslauncher"


def node(text: str = "", *, bounds: str, more: str = "", name: str = "android.widget.TextView") -> str:
    return f'<node text="{text}" class="{name}" package="{SETTINGS}" bounds="{bounds}" {more}/>'


def screen(*nodes: str, rotation: int = 0) -> str:
    """A hierarchy of a full window with these nodes, as uiautomator writes it."""
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    window = f'<node class="android.widget.FrameLayout" package="{SETTINGS}" bounds="[0,0][1080,2400]">'
    return f'{head}<hierarchy rotation="{rotation}">{window}{"".join(nodes)}</node></hierarchy>'


def dumped(hierarchy: str, *, seconds: float = 0.0) -> Reply:
    """The reply of a dump that wrote this hierarchy."""
    return Reply("UI hierchary dumped to: /data/local/tmp/x.xml\n", written=hierarchy, seconds=seconds)


def focus_line(component: str) -> str:
    return f"  mCurrentFocus=Window{{5c1d5f4 u0 {component}}}\n"


def display_state(focus: str, size: str = "1080x2400", number: int = 0) -> str:
    """The state of one display, with the line of its focus."""
    return (
        f"  Display: mDisplayId={number} (organized)\n    init={size} 420dpi cur={size} app={size}\n"
        f"    mRotation=ROTATION_0\n{focus}"
    )


HOME_SCREEN = screen(
    node("Network &amp; internet", bounds="[0,300][1080,500]", more='clickable="true" enabled="true"'),
    node("Display", bounds="[0,500][1080,700]", more='clickable="true" enabled="true"'),
    node(
        "",
        bounds="[40,100][1040,220]",
        more='resource-id="com.android.settings:id/search" clickable="true" focusable="true" enabled="true"',
        name="android.widget.EditText",
    ),
)


PROPERTIES = {
    "ro.build.version.sdk": "34",
    "ro.build.version.release": "14",
    "ro.product.model": "Pixel 8",
    "ro.product.manufacturer": "Google",
}


def answer_properties(doubles: CommandDoubles, properties: Mapping[str, str]) -> None:
    """Let ``getprop`` answer with these properties, one by one and as a list."""
    for name, value in properties.items():
        doubles.answer("getprop", f"{value}\n", when=name)
    doubles.answer("getprop", "".join(f"[{name}]: [{value}]\n" for name, value in properties.items()), when="")


def png(width: int = 2, height: int = 2) -> bytes:
    """A small valid PNG."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"".join(b"\0" + b"\x20\x40\x60" * width for _ in range(height)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def ordinary_phone(folder: Path, hierarchy: str = HOME_SCREEN) -> CommandDoubles:
    """The doubles; a test replaces answers with ``doubles.answer``."""
    doubles = CommandDoubles(folder)
    focus = focus_line(f"{SETTINGS}/{SETTINGS}.Settings")
    doubles.answer("wm", "Physical size: 1080x2400\n", when="size")
    doubles.answer("wm", "Physical density: 420\n", when="density")
    doubles.answer("uiautomator", dumped(hierarchy), when="dump *")
    doubles.answer("input", "")
    doubles.answer("screencap", Reply(png()))
    doubles.answer("dumpsys", "")
    doubles.answer("dumpsys", display_state(focus), when="window*")
    doubles.answer("dumpsys", "  mWakefulness=Awake\n", when="power")
    doubles.answer("am", Reply(stderr="Error: unknown command\n", code=255))
    doubles.answer("am", f"Starting: Intent {{ cmp={SETTINGS}/.Settings }}\n", when="start *")
    doubles.answer("am", "", when="force-stop *")
    doubles.answer("am", "0\n", when="get-current-user")
    doubles.answer("cmd", Reply(stderr="cmd: Can't find service\n", code=20))
    doubles.answer("cmd", "No activity found\n", when="package resolve-activity *")
    doubles.answer(
        "cmd",
        f"priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true\n{SETTINGS}/.Settings\n",
        when=f"package resolve-activity *{SETTINGS}",
    )
    doubles.answer("monkey", "** No activities found to run, monkey aborted.\n")
    doubles.answer("pm", Reply(stderr="Error: unknown command\n", code=255))
    doubles.answer("pm", f"package:{SETTINGS}\npackage:{LAUNCHER}\n", when="list packages*")
    doubles.answer("pm", Reply(code=1), when="path *")
    doubles.answer("pm", f"package:/system/{SETTINGS}.apk\n", when=f"path {SETTINGS}")
    doubles.answer("getprop", "\n")
    answer_properties(doubles, PROPERTIES)
    doubles.answer("settings", "null\n", when="get *")
    doubles.answer("settings", "1\n", when="get global adb_enabled")
    doubles.answer("settings", "1\n", when="get global development_settings_enabled")
    doubles.answer("settings", "", when="put *")
    doubles.answer("date", "1700000000.123456789\n", when="+%s.%N")
    doubles.answer("date", "1700000000\n", when="+%s")
    doubles.answer("pidof", Reply(code=1))
    doubles.answer("ps", f"NAME\nsystem_server\n{SETTINGS}\n")
    doubles.answer("logcat", "")
    line = "11-14 22:13:20.123  1234  1234 I ActivityManager: Start proc\n"
    doubles.answer("logcat", f"--------- beginning of main\n{line}", when="-d -t 1")
    return doubles
