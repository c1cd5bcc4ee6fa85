"""Operations on Android emulators of the SDK: list, inspect, create, start, stop, delete, provision."""

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.contract.fields import about
from clawperator.device import emulators
from clawperator.device.emulators import API_LEVEL, DEFAULT_NAME, PROFILE, Avd, host_abi
from clawperator.errors import ClawError
from clawperator.operations.model import FAMILIES, HOUR_SECONDS, LONG_SECONDS, Family, NoParams, Params, operation

if TYPE_CHECKING:
    from clawperator.operations.call import Caller

FAMILIES["emulator"] = Family("Create and run Android emulators with the Android SDK.")
FAMILIES["provision"] = Family("Provide a booted emulator.")
_HERE = "clawperator.operations.emulators:"
_TEXT = "clawperator.cli.text.listings:"
_ERRORS = ("EMULATOR_NOT_FOUND", "ANDROID_SDK_TOOL_MISSING")

AvdName = Annotated[str, Meta(min_length=1, max_length=64)]


class AvdParams(Params, frozen=True, kw_only=True):
    """The name of a virtual device."""

    name: Annotated[AvdName, about("name of a virtual device", word=1, flag="--name")] = DEFAULT_NAME


class AvdList(Struct, frozen=True):
    avds: list[Avd]


@operation(
    "emulator list",
    purpose="List the virtual devices on this computer.",
    level="read-only",
    message=lambda result, _: ", ".join(avd.name for avd in result.avds) or "no virtual devices",
    text=_TEXT + "avds_blocks",
    route="GET /android/emulators",
)
def list_all(_: NoParams, __: "Caller") -> AvdList:
    return AvdList(emulators.list_avds())


@operation(
    "emulator inspect",
    purpose="Print the configuration of a virtual device.",
    level="read-only",
    subject="name",
    message=lambda result, _: f"{result.name} {'exists' if result.exists else 'does not exist'}",
    text=_TEXT + "avd_blocks",
    route="GET /android/emulators/{name}",
    notes="For one that does not exist, 'exists' is false.",
)
def inspect(params: AvdParams, _: "Caller") -> Avd:
    return emulators.inspect_avd(params.name)


class CreateAvdParams(AvdParams, frozen=True, kw_only=True):
    """Create a virtual device with its system image."""

    api_level: Annotated[int | UnsetType, about(f"API level, only {API_LEVEL}", rare=True)] = UNSET
    abi: Annotated[str | UnsetType, about("ABI, only that of this computer", rare=True)] = UNSET
    device_profile: Annotated[str | UnsetType, about(f"device profile, only {PROFILE}", rare=True)] = UNSET
    play_store: Annotated[bool | UnsetType, about("include the Play Store (always on)", rare=True)] = UNSET


@operation(
    "emulator create",
    level="full",
    subject="name",
    message=lambda result, _: f"created {result.name}",
    text=_TEXT + "created_avd_blocks",
    route="POST /android/emulators/create",
    errors=("EMULATOR_UNSUPPORTED", *_ERRORS),
    seconds=HOUR_SECONDS,
    examples=("clawperator emulator create", "clawperator emulator create --name test"),
    notes="An existing one is not overwritten. The SDK's licences are accepted.",
)
def create(params: CreateAvdParams, _: "Caller") -> Avd:
    supported = {"apiLevel": API_LEVEL, "abi": host_abi(), "deviceProfile": PROFILE, "playStore": True}
    wanted = (params.api_level, params.abi, params.device_profile, params.play_store)
    name, details = params.name, {"avdName": params.name, "supported": supported}
    for (field, value), given in zip(supported.items(), wanted, strict=True):
        if given not in (UNSET, value):
            message, hint = f"{field} {given!r} is not supported", f"Leave it out, or give {value!r}."
            raise ClawError(
                "EMULATOR_UNSUPPORTED", message, hint=hint, details=details, operation="emulator", target=name
            )
    return emulators.create_avd(params.name)


@operation(
    "emulator start",
    purpose="Start a virtual device and wait until it has booted.",
    level="act",
    subject="name",
    message=lambda result, _: f"started {result.avdName} as {result.serial}",
    text=_TEXT + "emulator_blocks",
    route="POST /android/emulators/{name}/start",
    errors=("EMULATOR_ALREADY_RUNNING", *_ERRORS),
    seconds=LONG_SECONDS,
)
def start(params: AvdParams, caller: "Caller") -> emulators.StartedEmulator:
    return emulators.start_emulator(params.name, _timeouts(caller))


class StoppedEmulator(Struct, frozen=True):
    avdName: str
    stopped: bool


@operation(
    "emulator stop",
    _HERE + "StoppedEmulator",
    purpose="Stop a running emulator.",
    level="act",
    subject="name",
    message=lambda result, _: f"stopped {result['avdName']}",
    text=_TEXT + "emulator_blocks",
    route="POST /android/emulators/{name}/stop",
    errors=("EMULATOR_NOT_RUNNING", *_ERRORS),
    seconds=LONG_SECONDS,
)
def stop(params: AvdParams, _: "Caller") -> dict[str, object]:
    return emulators.stop_emulator(params.name)


class DeletedEmulator(Struct, frozen=True):
    avdName: str
    deleted: bool


@operation(
    "emulator delete",
    _HERE + "DeletedEmulator",
    purpose="Delete a virtual device that is not running.",
    level="full",
    subject="name",
    message=lambda result, _: f"deleted {result['avdName']}",
    text=_TEXT + "emulator_blocks",
    route="DELETE /android/emulators/{name}",
    errors=("EMULATOR_ALREADY_RUNNING", *_ERRORS),
    seconds=LONG_SECONDS,
)
def delete(params: AvdParams, _: "Caller") -> dict[str, object]:
    return emulators.delete_avd(params.name)


class EmulatorList(Struct, frozen=True):
    devices: list[emulators.RunningEmulator]


@operation(
    "emulator status",
    purpose="List the running emulators.",
    level="read-only",
    message=lambda result, _: ", ".join(found.serial for found in result.devices) or "no emulator is running",
    text=_TEXT + "emulators_blocks",
    route="GET /android/emulators/running",
    errors=("ANDROID_SDK_TOOL_MISSING",),
)
def status(_: NoParams, __: "Caller") -> EmulatorList:
    return EmulatorList(emulators.running_emulators())


@operation(
    "emulator provision",
    purpose="Provide a booted emulator: a running one, an existing one, or a new one.",
    aliases=("provision emulator",),
    level="full",
    subject="name",
    performs=("emulator create", "emulator start"),
    message=lambda result, _: f"{result.avdName} runs as {result.serial}",
    text=_TEXT + "emulator_blocks",
    route="POST /android/provision/emulator",
    errors=("EMULATOR_UNSUPPORTED", "ANDROID_SDK_TOOL_MISSING"),
    seconds=HOUR_SECONDS,
)
def provision(params: AvdParams, caller: "Caller") -> emulators.Provisioned:
    return emulators.provision(params.name, _timeouts(caller))


def _timeouts(caller: "Caller") -> emulators.EmulatorTimeouts:
    """The time of a command line limits how long the emulator may take to boot."""
    remaining = caller.deadline.remaining if caller.timeout is None else caller.timeout
    return emulators.EmulatorTimeouts() if remaining is None else emulators.EmulatorTimeouts(boot=remaining)
