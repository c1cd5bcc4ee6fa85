"""Android emulators: virtual devices (AVDs) as their files describe them; create, start, stop and delete them.

The tools of the SDK do the work.
"""

import os
import re
import shutil
import time
from contextlib import suppress
from typing import Literal, NoReturn

from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.files import make_private_folder, open_regular
from clawperator._base.home import product_home
from clawperator._base.notes import show_status
from clawperator.device.adb.binary import find_adb, is_program, run_tool, sdk_folders, start_server
from clawperator.device.adb.client import run_shell
from clawperator.device.discovery import list_devices, resolve_device
from clawperator.device.setup.install import write_setting
from clawperator.errors import ClawError

DEFAULT_NAME = "clawperator-pixel"
API_LEVEL = 35
PROFILE = "pixel_7"
_PLAY_STORE = "google_apis_playstore"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LEVEL = re.compile(r"android-(\d{1,4})")
_MAX_BYTES = 256 * 1024
_PLACES = {
    "emulator": ("emulator",),
    **dict.fromkeys(("sdkmanager", "avdmanager"), ("cmdline-tools", "latest", "bin")),
}
TOOLS = ("adb", *_PLACES)
_QUERY_SECONDS = 10.0
_LICENCE_SECONDS = 120.0
_IMAGE_SECONDS = 1_800.0
_AVD_SECONDS = 120.0
_STOP_SECONDS = 30.0
_LOG_TAIL = 500
_LOG_BYTES = 65_536
_YES = "y\n" * 100


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
        hint = "Use up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit."
        raise ClawError("USAGE", f"invalid emulator name {name!r}", hint=hint)
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
        _fail("EMULATOR_NOT_FOUND", name, f"no emulator is named {name!r}", known=avd_names())


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


def find_tool(name: str) -> str | None:
    """A tool: from its variable (``EMULATOR_PATH`` and so on), the SDK, or the path."""
    if name == "adb":
        return find_adb()
    given = os.environ.get(f"{name.upper()}_PATH")
    if given:
        return given if is_program(given) else None
    for sdk in sdk_folders():
        place = os.path.join(sdk, *_PLACES[name], name)
        if is_program(place):
            return place
    return shutil.which(name)


def require_tools(*names: str) -> dict[str, str]:
    """The paths of these tools; ``ANDROID_SDK_TOOL_MISSING`` lists missing ones."""
    found = {name: find_tool(name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        code, message = "ANDROID_SDK_TOOL_MISSING", f"missing Android SDK tools: {', '.join(missing)}"
        hint = "Run 'clawperator phone start' for a simulated phone, which needs no SDK. For an emulator "
        hint += "install Android's command-line tools and set ANDROID_HOME."
        raise ClawError(code, message, hint=hint, details={"missingTools": missing}, operation="emulator")
    return {name: path for name, path in found.items() if path is not None}


class EmulatorTimeouts(Struct, frozen=True):
    """Time limits and poll interval, in seconds."""

    registration: float = 60.0
    boot: float = 180.0
    poll: float = 2.0


class StartedEmulator(Struct, frozen=True, kw_only=True):
    type: Literal["emulator"] = "emulator"
    avdName: str
    serial: str
    booted: bool


class RunningEmulator(StartedEmulator, frozen=True, kw_only=True):
    supported: bool
    unsupportedReasons: list[str]


class Provisioned(StartedEmulator, frozen=True, kw_only=True):
    """A ready emulator, and whether it was created, started or reused."""

    created: bool
    started: bool
    reused: bool


def list_avds() -> list[Avd]:
    """The virtual devices of this computer."""
    names = avd_names()
    running = _running_names() if names else {}
    return [read_avd(name, running=name in running) for name in names]


def inspect_avd(name: str) -> Avd:
    """The record of a virtual device. One that does not exist has a record too, with ``exists`` false."""
    return read_avd(check_name(name), running=name in _running_names())


def running_emulators() -> list[RunningEmulator]:
    """Running emulators, whether they have booted, and whether they are supported."""
    _require_server()
    return [_describe(name, serial) for name, serial in sorted(_running_names().items())]


def create_avd(name: str = DEFAULT_NAME) -> Avd:
    """Create a virtual device and install its system image. An existing one is not overwritten."""
    check_name(name)
    tools = require_tools("sdkmanager", "avdmanager")
    if name in avd_names():
        _fail("EMULATOR_CREATE_FAILED", name, f"emulator {name} already exists")
    image = system_image()
    if image not in run_tool(tools["sdkmanager"], "--list_installed", seconds=_LICENCE_SECONDS).output:
        run_tool(tools["sdkmanager"], "--licenses", seconds=_LICENCE_SECONDS, answer=_YES)
        done = run_tool(tools["sdkmanager"], image, seconds=_IMAGE_SECONDS, answer=_YES)
        if done.code != 0:
            _fail("ANDROID_SYSTEM_IMAGE_INSTALL_FAILED", name, f"{image} was not installed: {done.complaint}")
    arguments = ("create", "avd", "--force", "--name", name, "--package", image, "--device", PROFILE)
    done = run_tool(tools["avdmanager"], *arguments, seconds=_AVD_SECONDS, answer="no\n")
    if done.code != 0 or name not in avd_names():
        _fail("ANDROID_AVD_CREATE_FAILED", name, f"emulator {name} was not created: {done.complaint}")
    return read_avd(name, running=False)


def start_emulator(name: str, timeouts: EmulatorTimeouts | None = None) -> StartedEmulator:
    """Start a virtual device and wait until it has booted."""
    limits = timeouts or EmulatorTimeouts()
    check_name(name)
    serial = _running_names().get(name)
    if serial is not None:
        message, hint = f"emulator {name} is already running as {serial}", f"Use it as the device {serial}."
        _fail("EMULATOR_ALREADY_RUNNING", name, message, hint, serial=serial)
    require_avd(name)
    tools = require_tools("adb", "emulator")
    _require_server()
    serial = _launch(tools["emulator"], name, limits)
    _wait_for_boot(name, serial, limits)
    _allow_development(serial)
    return StartedEmulator(avdName=name, serial=serial, booted=True)


def stop_emulator(name: str) -> dict[str, object]:
    """Stop a running virtual device and wait until it is gone."""
    running = _running_names()
    if check_name(name) not in running:
        require_avd(name)
        _fail("EMULATOR_NOT_RUNNING", name, f"emulator {name} is not running")
    done = run_tool(require_tools("adb")["adb"], "-s", running[name], "emu", "kill", seconds=_QUERY_SECONDS)
    deadline = Deadline(_STOP_SECONDS)
    while done.code == 0 and name in _running_names():
        if deadline.is_over:
            _fail("EMULATOR_STOP_FAILED", name, f"emulator {name} is still running")
        time.sleep(0.2)
    if done.code != 0:
        _fail("EMULATOR_STOP_FAILED", name, f"emulator {name} did not stop: {done.complaint}")
    return {"ok": True, "avdName": name, "stopped": True}


def delete_avd(name: str) -> dict[str, object]:
    """Delete a stopped virtual device."""
    require_avd(check_name(name))
    if name in _running_names():
        hint = f"Run 'clawperator emulator stop {name}' first."
        _fail("EMULATOR_ALREADY_RUNNING", name, f"emulator {name} is running and cannot be deleted", hint)
    tool = require_tools("avdmanager")["avdmanager"]
    done = run_tool(tool, "delete", "avd", "--name", name, seconds=_AVD_SECONDS)
    if done.code != 0 or name in avd_names():
        _fail("EMULATOR_DELETE_FAILED", name, f"emulator {name} was not deleted: {done.complaint}")
    return {"ok": True, "avdName": name, "deleted": True}


def provision(name: str = DEFAULT_NAME, timeouts: EmulatorTimeouts | None = None) -> Provisioned:
    """A booted, supported emulator: a running one, a stopped one that is started, or a new one."""
    require_tools(*TOOLS)
    check_name(name)
    running = sorted(running_emulators(), key=lambda found: (not found.booted, found.avdName != name))
    chosen = next((found for found in running if found.supported), None)
    if chosen is not None:
        _wait_for_boot(chosen.avdName, chosen.serial, timeouts or EmulatorTimeouts())
        return _provisioned(chosen.avdName, chosen.serial, reused=True)
    supported = [avd.name for avd in list_avds() if avd.supported and not avd.running]
    if supported:
        started = start_emulator(name if name in supported else supported[0], timeouts)
        return _provisioned(started.avdName, started.serial, started=True)
    if name in avd_names():
        reasons = inspect_avd(name).unsupportedReasons
        message = f"emulator {name} is not supported: {', '.join(reasons)}"
        _fail("EMULATOR_UNSUPPORTED", name, message, unsupportedReasons=reasons)
    create_avd(name)
    started = start_emulator(name, timeouts)
    return _provisioned(name, started.serial, created=True, started=True)


def _provisioned(
    name: str, serial: str, *, created: bool = False, started: bool = False, reused: bool = False
) -> Provisioned:
    return Provisioned(avdName=name, serial=serial, booted=True, created=created, started=started, reused=reused)


# Running emulators


def _require_server() -> None:
    """Start the adb server, which an emulator needs."""
    require_tools("adb")
    start_server()


def _running_names() -> dict[str, str]:
    """The serials of running emulators, by the name of their virtual device; none without adb."""
    try:
        listed = list_devices()
    except ClawError as e:
        if e.code == "ADB_NOT_FOUND":
            return {}
        raise
    ready = [one.serial for one in listed if one.serial.startswith("emulator-") and one.state == "device"]
    return {name: serial for serial in ready if (name := _name_of(serial))}


def _name_of(serial: str) -> str | None:
    adb = find_tool("adb")
    answer = run_tool(adb, "-s", serial, "emu", "avd", "name", seconds=_QUERY_SECONDS) if adb else None
    if answer is not None and answer.code == 0 and answer.output.strip():
        return answer.output.splitlines()[0].strip()
    with suppress(ClawError):  # the console may refuse us; the device knows its name too
        return _properties(serial, "ro.boot.qemu.avd_name")[0] or None
    return None


def _describe(name: str, serial: str) -> RunningEmulator:
    avd = read_avd(name, running=True)
    return RunningEmulator(
        avdName=name,
        serial=serial,
        booted=_has_booted(serial),
        supported=avd.supported,
        unsupportedReasons=avd.unsupportedReasons if avd.exists else [],  # of one started elsewhere none is known
    )


def _has_booted(serial: str) -> bool:
    try:
        return _properties(serial, "sys.boot_completed", "dev.bootcomplete") == ["1", "1"]
    except ClawError:
        return False


def _properties(serial: str, *names: str) -> list[str]:
    script = "; ".join(f"getprop {name}" for name in names)
    lines = run_shell(resolve_device(serial), script, seconds=_QUERY_SECONDS).text.splitlines()
    return [line.strip() for line in (*lines, *[""] * len(names))][: len(names)]


# Starting


def _launch(program: str, name: str, limits: EmulatorTimeouts) -> str:
    """Start the emulator in its own session and wait until adb lists it. Returns its serial."""
    log = _log_of(name)
    pid = os.posix_spawn(
        program,
        [program, f"@{name}", "-no-snapshot-load", "-no-boot-anim"],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    began, deadline = time.monotonic(), Deadline(limits.registration)
    ended = False
    while True:
        show_status(f"starting emulator {name}", began)
        serial = _running_names().get(name)
        if serial is not None:
            return serial
        # The program may start another and exit with 0; any other exit code is a failure. While it runs it is 0.
        if not ended:
            done, status = os.waitpid(pid, os.WNOHANG)
            ended = done == pid
            if os.waitstatus_to_exitcode(status) != 0:
                _fail("EMULATOR_START_FAILED", name, f"emulator {name} exited: {_tail(log)}")
        if deadline.is_over:
            _fail("EMULATOR_START_FAILED", name, f"adb did not list emulator {name} in time: {_tail(log)}")
        time.sleep(limits.poll)


def _wait_for_boot(name: str, serial: str, limits: EmulatorTimeouts) -> None:
    began, deadline = time.monotonic(), Deadline(limits.boot)
    while not _has_booted(serial):
        show_status(f"waiting for emulator {name} to boot", began)
        if deadline.is_over:
            _fail("EMULATOR_BOOT_TIMEOUT", name, f"emulator {name} did not boot within {limits.boot:g} seconds")
        time.sleep(limits.poll)


def _allow_development(serial: str) -> None:
    device = resolve_device(serial)
    for setting in ("development_settings_enabled", "adb_enabled"):
        with suppress(ClawError):  # doctor reports it when it fails
            write_setting(device, "global", setting, "1")


def _log_of(name: str) -> str:
    folder = os.path.join(product_home(), "emulators")
    make_private_folder(folder)
    return os.path.join(folder, f"{name}.log")


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        text = ""
    return " ".join(text.split())[-_LOG_TAIL:] or "no output"


def _fail(code: str, name: str, message: str, hint: str = "", **details: object) -> NoReturn:
    hints = {
        "EMULATOR_NOT_FOUND": "Run 'clawperator emulator list' to list emulators, or run "
        f"'clawperator emulator create --name {name}' to create it.",
        "EMULATOR_CREATE_FAILED": f"Use it, or run 'clawperator emulator delete {name}' first.",
        "EMULATOR_UNSUPPORTED": f"Run 'clawperator emulator delete {name}', or choose another name.",
        "EMULATOR_NOT_RUNNING": f"Run 'clawperator emulator start {name}' to start it.",
        "EMULATOR_BOOT_TIMEOUT": "Run 'clawperator emulator status' to see whether it has booted meanwhile.",
    }
    other = "Check the tool's output, or use a simulated phone, which needs no SDK: run 'clawperator phone start'."
    hint, details = hint or hints.get(code, other), {"avdName": name, **details}
    raise ClawError(code, message, hint=hint, details=details, operation="emulator", target=name)
