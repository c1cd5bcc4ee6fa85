"""Operations on simulated phones: start, stop, list, reset, delete, faults, pictures."""

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from clawperator.contract.fields import about
from clawperator.errors import ClawError
from clawperator.operations.model import (
    FAMILIES,
    Family,
    FilePath,
    NoParams,
    Params,
    Rule,
    find_operation,
    operation,
)

if TYPE_CHECKING:
    from clawperator.operations.call import Caller

FAMILIES["phone"] = Family("Start and control simulated phones.")
_HERE = "clawperator.operations.phones:"
_TEXT = "clawperator.cli.text.listings:"
_WHICH = "Without --device or CLAWPERATOR_DEVICE_ID the only running phone is used."
_PHONE = ("PHONE_NOT_FOUND", "PHONE_NOT_RUNNING")

PhoneName = Annotated[str, Meta(min_length=1, max_length=64)]
# The name of a phone that exists, as a word of the command, or only as a flag.
_ONLY = "name of the phone (default: the only one)"
OnlyPhone = Annotated[PhoneName | UnsetType, about(_ONLY, word=1, names_device=True)]
OnlyPhoneFlag = Annotated[PhoneName | UnsetType, about(_ONLY, names_device=True)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
FaultName = Annotated[str, Meta(min_length=1, max_length=64)]
FaultSettings = Annotated[dict[str, str], Meta(max_length=64)]
AppFiles = Annotated[list[FilePath], Meta(max_length=64)]


def _existing(params: Any, _: "Caller") -> Any:
    return replace(params, serial=_chosen(params.serial, running=False))


def _running(params: Any, _: "Caller") -> Any:
    return replace(params, serial=_chosen(params.serial, running=True))


class StartPhoneParams(Params, frozen=True, kw_only=True):
    """Start a simulated phone and print its address."""

    serial: Annotated[PhoneName, about("name of the phone", word=1, names_device=True)] = "claw-1"
    seed: Annotated[Seed, about("random seed; the same seed reproduces the same faults", metavar="<number>")] = 0
    apps: Annotated[
        AppFiles, about("app to install: a .py or .toml file", flag="--app", path="in", raises="full", rare=True)
    ] = []
    faults: Annotated[
        FaultSettings,
        about(
            "fault to start with, such as latency=200",
            flag="--fault",
            metavar="<name=setting>",
            performs=("phone fault",),
            rare=True,
        ),
    ] = {}
    cassette: Annotated[
        FilePath | UnsetType,
        about("recording, or export with snapshots, whose screens the phone shows", path="in", rare=True),
    ] = UNSET
    adbd_port: Annotated[Port, about("port for 'adb connect'; 0 is any free port", rare=True)] = 0
    server_port: Annotated[Port, about("port of the adb server protocol; 0 is any free port", rare=True)] = 0


class StartedPhone(Struct, frozen=True):
    """The address and properties of a running phone; more fields may follow."""

    serial: str
    state: str


@operation(
    "phone start",
    _HERE + "StartedPhone",
    level="act",
    subject="serial",
    message=lambda result, _: f"phone {result['serial']} is running",
    text=_TEXT + "phone_blocks",
    route="POST /phones/{serial}/start",
    errors=("PHONE_ALREADY_RUNNING", "PHONE_START_FAILED", "PHONE_FAULT_INVALID"),
    tool="phone",
    tool_alias="start_phone",
    examples=("clawperator phone start", "clawperator phone start shop --seed 7 --fault latency=50"),
    notes="The phone keeps running after the shell exits. After a crash it restarts with its files. "
    "The next start uses the same apps and Operator package, unless others are given.",
)
def start(params: StartPhoneParams, caller: "Caller") -> dict[str, Any]:
    from clawperator.device.simulated_phones import start_simulated

    options = {**asdict(params), "cassette": params.cassette or None}
    if caller.operator_package:
        options["operator_package"] = caller.operator_package
    started = start_simulated(**options)
    if caller.is_terminal:
        caller.lines(["use it in a browser: clawperator serve --open"])
    return started


class StopPhoneParams(Params, frozen=True, kw_only=True):
    """Stop a simulated phone and keep its files."""

    serial: OnlyPhone = UNSET
    all: Annotated[bool, about("stop every running phone", rare=True)] = False


def _stoppable(params: StopPhoneParams, caller: "Caller") -> Any:
    return params if params.all else _existing(params, caller)


class StoppedSimulatedPhone(Struct, frozen=True):
    serial: str
    state: Literal["stopped"]
    wasRunning: bool
    crashed: bool


def _stopped(result: dict[str, Any], _: "Caller") -> str:
    if "stopped" in result:
        return f"stopped {', '.join(result['stopped'])}" if result["stopped"] else "no simulated phone was running"
    return f"phone {result['serial']} {'stopped' if result['wasRunning'] else 'was not running'}"


@operation(
    "phone stop",
    _HERE + "StoppedSimulatedPhone",
    level="act",
    subject="serial",
    rules=(Rule("serial", "all", (False,)),),
    resolve=_stoppable,
    message=_stopped,
    text=_TEXT + "stopped_blocks",
    route="POST /phones/{serial}/stop",
    errors=("PHONE_NOT_FOUND",),
    tool="phone",
    tool_alias="stop_phone",
    examples=("clawperator phone stop", "clawperator phone stop --all"),
)
def stop(params: StopPhoneParams, caller: "Caller") -> dict[str, Any]:
    from clawperator._base.home import phone_folders
    from clawperator.device.simulated_phones import stop_simulated

    if params.all:
        from clawperator.operations.call import approve

        running = [folder.serial for folder in phone_folders() if folder.state() == "running"]
        row = find_operation("phone stop")
        calls = [approve(row, StopPhoneParams(serial=serial), caller) for serial in running]
        return {"stopped": [approved.run(caller)["serial"] for approved in calls]}
    assert params.serial is not UNSET
    return stop_simulated(params.serial)


class PhoneList(Struct, frozen=True):
    phones: list[dict[str, Any]]


@operation(
    "phone list",
    purpose="List the simulated phones.",
    level="read-only",
    message=lambda result, _: (
        ", ".join(f"{phone['serial']} ({phone['state']})" for phone in result.phones) or "no simulated phones"
    ),
    text=_TEXT + "phones_blocks",
    route="GET /phones",
    tool="phone",
)
def list_all(_: NoParams, __: "Caller") -> PhoneList:
    from clawperator.phone.process.launch import list_phones

    return PhoneList(list_phones())


class ResetPhoneParams(Params, frozen=True, kw_only=True):
    """Restore a simulated phone to its initial state: files, apps, settings and faults."""

    serial: OnlyPhone = UNSET


class ResetPhone(Struct, frozen=True):
    serial: str
    state: Literal["running", "stopped"]
    reset: bool


@operation(
    "phone reset",
    _HERE + "ResetPhone",
    level="full",
    subject="serial",
    resolve=_existing,
    message=lambda result, _: f"phone {result['serial']} was reset",
    text=_TEXT + "reset_blocks",
    route="POST /phones/{serial}/reset",
    errors=("PHONE_NOT_FOUND",),
)
def reset(params: ResetPhoneParams, _: "Caller") -> dict[str, Any]:
    from clawperator.device.simulated_phones import reset_simulated

    assert params.serial is not UNSET
    return reset_simulated(params.serial)


class DeletePhoneParams(Params, frozen=True, kw_only=True):
    """Delete a simulated phone with all its files."""

    serial: Annotated[PhoneName, about("name of the phone", word=1, names_device=True)]
    force: Annotated[bool, about("stop the phone first if it is running", performs=("phone stop",))] = False


class DeletedPhone(Struct, frozen=True):
    serial: str
    deleted: bool
    wasRunning: bool


@operation(
    "phone delete",
    level="full",
    subject="serial",
    message=lambda result, _: f"phone {result.serial} was deleted",
    text=_TEXT + "deleted_blocks",
    route="DELETE /phones/{serial}",
    errors=("PHONE_NOT_FOUND", "PHONE_ALREADY_RUNNING"),
    examples=("clawperator phone delete shop", "clawperator phone delete shop --force"),
)
def delete(params: DeletePhoneParams, _: "Caller") -> DeletedPhone:
    from clawperator.device.run.host_log import log_event
    from clawperator.phone.process.launch import delete_phone

    was_running = delete_phone(params.serial, force=params.force)
    log_event("phone.deleted", deviceId=params.serial)
    return DeletedPhone(params.serial, True, was_running)


class FaultParams(Params, frozen=True, kw_only=True):
    """Inject a fault, remove it, or list all faults."""

    serial: OnlyPhoneFlag = UNSET
    name: Annotated[FaultName | UnsetType, about("name of the fault", word=1)] = UNSET
    setting: Annotated[FaultName | UnsetType, about("on, off or a number", word=2)] = UNSET


def _fault(params: FaultParams, caller: "Caller") -> Any:
    """The fault of a running phone. Its name and setting are checked first."""
    from clawperator.phone.core.faults import read_setting

    if params.name is UNSET:
        return _running(params, caller)
    read_setting(params.name, "on" if params.setting is UNSET else params.setting)
    if params.setting is UNSET:
        message = f"phone fault {params.name} needs a setting"
        from clawperator.device.adb.client import device_flag

        device = "" if params.serial is UNSET else f" {device_flag(params.serial)}"
        hint = f"Run 'clawperator phone fault {params.name} on{device}'."
        raise ClawError(caller.entry.invalid, message, hint=hint)
    return _running(params, caller)


class FaultSet(Struct, frozen=True):
    serial: str
    fault: str
    value: int | float


@operation(
    "phone fault",
    _HERE + "FaultSet",
    level="act",
    subject="name",
    performs=("phone faults",),
    resolve=_fault,
    message=lambda result, _: f"{result['fault']} is {result['value']}" if "fault" in result else "all faults",
    text=_TEXT + "fault_blocks",
    route="POST /phones/{serial}/faults",
    errors=("PHONE_FAULT_INVALID", *_PHONE),
    examples=(
        "clawperator phone fault",
        "clawperator phone fault latency 200",
        "clawperator phone fault offline on",
        "clawperator phone fault offline off",
    ),
    notes=f"A setting is on, off or a number. {_WHICH}",
)
def fault(params: FaultParams, _: "Caller") -> dict[str, Any]:
    from clawperator.device.simulated_phones import list_faults, set_fault

    assert params.serial is not UNSET
    if params.name is UNSET or params.setting is UNSET:
        return list_faults(params.serial)
    return set_fault(params.serial, params.name, params.setting)


class ListFaultsParams(Params, frozen=True, kw_only=True):
    """List the faults of a running simulated phone."""

    serial: OnlyPhoneFlag = UNSET


class FaultRow(Struct, frozen=True):
    value: int | float
    kind: str
    on: int | float
    description: str


class FaultList(Struct, frozen=True):
    serial: str
    faults: dict[str, FaultRow]


@operation(
    "phone faults",
    _HERE + "FaultList",
    level="read-only",
    resolve=_running,
    message=lambda result, _: f"{len(result['faults'])} faults",
    text=_TEXT + "fault_blocks",
    route="GET /phones/{serial}/faults",
    errors=_PHONE,
    notes=_WHICH,
)
def faults(params: ListFaultsParams, _: "Caller") -> dict[str, Any]:
    from clawperator.device.simulated_phones import list_faults

    assert params.serial is not UNSET
    return list_faults(params.serial)


class PhoneScreenshotParams(Params, frozen=True, kw_only=True):
    """Save the screen of a simulated phone as a PNG file."""

    serial: OnlyPhone = UNSET
    path: Annotated[
        FilePath | UnsetType, about("output file (default: <serial>.png)", aliases=("--file",), path="out")
    ] = UNSET


def _pictured(params: PhoneScreenshotParams, caller: "Caller") -> Any:
    found = _running(params, caller)
    return found if found.path else replace(found, path=f"{found.serial}.png")


class SavedScreenshot(Struct, frozen=True):
    serial: str
    path: str
    bytes: int


@operation(
    "phone screenshot",
    level="act",
    subject="path",
    performs=("take_screenshot",),
    resolve=_pictured,
    message=lambda result, caller: f"saved the screen to {caller.shown(result.path)}",
    text=_TEXT + "screenshot_blocks",
    route="POST /phones/{serial}/screenshot",
    errors=("SCREENSHOT_NOT_SAVED", *_PHONE),
    examples=("clawperator phone screenshot --path screen.png", "clawperator phone screenshot claw-1"),
    notes=_WHICH,
)
def screenshot(params: PhoneScreenshotParams, _: "Caller") -> SavedScreenshot:
    import base64

    from clawperator._base.files import AtomicFile, file_error
    from clawperator.phone.process.launch import control_phone

    serial, path = params.serial, params.path
    assert serial is not UNSET
    assert path is not UNSET
    png = base64.b64decode(control_phone(serial, "screenshot")["png"])
    try:
        with AtomicFile(path, private=True, follow_links=False) as out:
            out.file.write(png)
    except (OSError, ValueError) as e:
        raise file_error("SCREENSHOT_NOT_SAVED", "write", path, e, hint="Choose another file.") from e
    return SavedScreenshot(serial, os.path.abspath(path), len(png))


def _chosen(serial: str | UnsetType, *, running: bool) -> str:
    """The phone to use: the named one, that of CLAWPERATOR_DEVICE_ID, or the only one."""
    from clawperator._base.home import phone_folders
    from clawperator.phone.process.launch import existing_folder

    named = serial or os.environ.get("CLAWPERATOR_DEVICE_ID")
    if named:
        return existing_folder(named).serial
    every = phone_folders()
    found = [folder for folder in every if folder.state() == "running"] or ([] if running else every)
    if len(found) == 1:
        return found[0].serial
    if not found:
        code, message = "PHONE_NOT_FOUND", "there is no simulated phone"
        if running:
            code, message = "PHONE_NOT_RUNNING", "no simulated phone is running"
        raise ClawError(code, message, hint="Run 'clawperator phone start' to start one.")
    names = [folder.serial for folder in found]
    message = f"there are several simulated phones: {', '.join(names)}"
    hint = f"Name one of them, for example {names[0]}."
    raise ClawError("MULTIPLE_DEVICES_DEVICE_ID_REQUIRED", message, hint=hint, details={"devices": names})
