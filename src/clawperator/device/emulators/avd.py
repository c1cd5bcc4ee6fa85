"""Virtual devices (AVDs) as their files describe them, and whether they are supported."""

import os
import re

from msgspec import Struct

from clawperator._base.files import open_regular
from clawperator.errors import ClawError

DEFAULT_NAME = "clawperator-pixel"
API_LEVEL = 35
PROFILE = "pixel_7"
_PLAY_STORE = "google_apis_playstore"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LEVEL = re.compile(r"android-(\d{1,4})")
_MAX_BYTES = 256 * 1024


class Avd(Struct, frozen=True):
    """A virtual device on this computer."""

    name: str
    exists: bool
    running: bool
    apiLevel: int | None
    abi: str | None
    playStore: bool
    deviceProfile: str | None
    systemImage: str | None
    supported: bool
    unsupportedReasons: list[str]


def host_abi() -> str:
    """The native ABI of this computer."""
    return "x86_64" if os.uname().machine.lower() in ("x86_64", "amd64") else "arm64-v8a"


def system_image() -> str:
    """The system image of the virtual devices that we create."""
    return f"system-images;android-{API_LEVEL};{_PLAY_STORE};{host_abi()}"


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ClawError(
            "USAGE",
            f"invalid emulator name {name!r}",
            hint="Use up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
    return name


def avd_folder() -> str:
    """The folder of the virtual devices, from the variables that Android's tools read."""
    given = os.environ.get("ANDROID_AVD_HOME")
    if given:
        return given
    user = os.environ.get("ANDROID_USER_HOME")
    return os.path.join(user or os.path.join(os.path.expanduser("~"), ".android"), "avd")


def avd_names() -> list[str]:
    """The names of the virtual devices, sorted."""
    try:
        files = os.listdir(avd_folder())
    except OSError:
        return []
    names = (name.removesuffix(".ini") for name in files if name.endswith(".ini"))
    return sorted(name for name in names if _NAME.fullmatch(name))


def require_avd(name: str) -> None:
    """``EMULATOR_NOT_FOUND`` when no virtual device has this name."""
    if name not in avd_names():
        raise ClawError(
            "EMULATOR_NOT_FOUND",
            f"no emulator is named {name!r}",
            hint="Run 'clawperator emulator list' to list emulators, or create it with "
            f"'clawperator emulator create --name {name}'.",
            details={"avdName": name, "known": avd_names()},
            operation="emulator",
            target=name,
        )


def read_avd(name: str, *, running: bool) -> Avd:
    """The record of a virtual device from its files. Without files, ``exists`` is False."""
    exists = name in avd_names()
    config: dict[str, str] = {}
    pointer: dict[str, str] = {}
    if exists:
        pointer = _read_ini(os.path.join(avd_folder(), f"{name}.ini"))
        folder = pointer.get("path") or os.path.join(avd_folder(), f"{name}.avd")
        config = _read_ini(os.path.join(folder, "config.ini"))
    image = config.get("image.sysdir.1", "").replace("\\", "/").strip("/")
    level = _LEVEL.search(pointer.get("target", "")) or _LEVEL.search(image)
    api_level = int(level[1]) if level else None
    abi = config.get("abi.type") or None
    play_store = (
        config.get("PlayStore.enabled", "").lower() in ("true", "yes")
        or config.get("tag.id") == _PLAY_STORE
        or f"/{_PLAY_STORE}/" in f"/{image}/"
    )
    profile = config.get("hw.device.name") or None
    requirements = {
        "missing_play_store": play_store,
        "unsupported_api_level": api_level == API_LEVEL,
        "unsupported_abi": abi == host_abi(),
        "unsupported_device_profile": profile == PROFILE,
    }
    reasons = [reason for reason, is_met in requirements.items() if not is_met]
    return Avd(
        name=name,
        exists=exists,
        running=running,
        apiLevel=api_level,
        abi=abi,
        playStore=play_store,
        deviceProfile=profile,
        systemImage=image.replace("/", ";") or None,
        supported=not reasons,
        unsupportedReasons=reasons,
    )


def _read_ini(path: str) -> dict[str, str]:
    """The ``name=value`` lines of a file; none when it cannot be read."""
    try:
        with open_regular(path) as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}
