"""The supported Android versions: their API levels and names."""

from clawperator.errors import ClawError

OLDEST_API, NEWEST_API = 24, 36
SUPPORTED = "Android 7.0 to 16"
_FIRST_NAMED = 14
_NAMES = (
    *("4.0", "4.0.3", "4.1", "4.2", "4.3", "4.4", "4.4W", "5.0", "5.1", "6.0"),  # API levels 14 to 23
    *("7.0", "7.1", "8.0", "8.1", "9", "10", "11", "12", "12L", "13", "14", "15", "16"),
)


def android_name(api: int) -> str:
    """The name of an API level: "Android 7.0" for 24, and "Android with API level 99" for one without a name."""
    if _FIRST_NAMED <= api < _FIRST_NAMED + len(_NAMES):
        return f"Android {_NAMES[api - _FIRST_NAMED]}"
    return f"Android with API level {api}"


def read_api(text: str) -> int | None:
    """The API level in the output of ``getprop ro.build.version.sdk``; None for anything else."""
    first = text.strip().partition("\n")[0].strip()
    return int(first) if first.isascii() and first.isdecimal() and len(first) < 6 else None


def require_supported(api: int, serial: str) -> None:
    """``ANDROID_VERSION_UNSUPPORTED`` for a version before the oldest supported one. A newer one is accepted."""
    if api < OLDEST_API:
        raise unsupported_version(api, serial)


def unsupported_version(api: int | None, serial: str) -> ClawError:
    """The error of a device whose Android is too old; without an API level, of one that does not report it."""
    found = f"Android before {android_name(OLDEST_API).split()[1]}" if api is None else android_name(api)
    return ClawError(
        "ANDROID_VERSION_UNSUPPORTED",
        f"device {serial} runs {found}; {SUPPORTED} are supported",
        details={"serial": serial, "api": api, "android": found, "oldestApi": OLDEST_API, "newestApi": NEWEST_API},
        operation="connect",
        target=serial,
    )
