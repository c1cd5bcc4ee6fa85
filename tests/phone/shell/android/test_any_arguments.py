"""Any arguments of the Android commands end in an exit code, and the phone continues."""

import shlex
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.core.phone import Phone
from tests.phone.shell.scripts import output, run_bytes

COMMANDS = (
    *("am", "pm", "cmd", "dumpsys", "input", "wm", "settings", "getprop", "setprop", "ime", "svc", "service"),
    *(
        "uiautomator",
        "screencap",
        "monkey",
        "ps",
        "pidof",
        "pgrep",
        "top",
        "uptime",
        "free",
        "ifconfig",
        "ip",
        "content",
    ),
)
WORDS = (
    *("start", "broadcast", "force-stop", "kill", "stack", "list", "instrument", "packages", "path", "install"),
    *("install-create", "install-write", "install-commit", "uninstall", "clear", "grant", "resolve-activity"),
    *("package", "activity", "window", "power", "display", "battery", "meminfo", "SurfaceFlinger", "input_method"),
    *("tap", "swipe", "text", "keyevent", "motionevent", "DOWN", "UP", "draganddrop", "roll", "press", "size"),
    *("density", "user-rotation", "lock", "get", "put", "delete", "system", "secure", "global", "user_rotation"),
    *("dump", "set", "enable", "disable", "wifi", "check", "addr", "show", "level", "top", "policy", "--user"),
    *("-a", "-d", "-n", "-c", "-p", "-f", "-S", "-W", "-o", "-l", "--es", "--ei", "--brief", "--", "-", ""),
    *(
        "com.android.settings",
        "com.android.settings/.Settings",
        "android.intent.action.VIEW",
        "https://example.com/",
    ),
    *(
        "/dev/tty",
        "/sdcard/x",
        "/nowhere/x",
        "0",
        "1",
        "5",
        "-1",
        "3.5",
        "99999999999",
        "1x1",
        "720x1280",
        "reset",
        "ü",
    ),
)


@pytest.fixture(scope="module")
def phone() -> Iterator[Phone]:
    phone = Phone()
    yield phone
    phone.close()


@pytest.mark.random
@given(
    st.sampled_from(COMMANDS),
    st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=7),
    st.binary(max_size=50),
)
def test_any_arguments_end_in_an_exit_code(phone: Phone, command: str, words: list[str], stdin: bytes) -> None:
    sayable = [word.encode("utf-8", "replace").decode().replace("\0", "") for word in words]
    code, _, _ = run_bytes(phone, shlex.join([command, *sayable]), stdin)
    assert 0 <= code <= 255
    assert output(phone, "getprop sys.boot_completed") == "1\n"
