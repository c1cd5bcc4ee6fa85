"""Operations on devices: list them and their packages, watch a screen, pair, follow the host log."""

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.text import count
from clawperator.contract.action_params import User
from clawperator.contract.fields import about
from clawperator.operations.model import FAMILIES, Family, NoParams, Params, cli_operation, operation

if TYPE_CHECKING:
    from clawperator.operations.call import Caller

FAMILIES["packages"] = Family("Inspect the packages on a device.")
_TEXT = "clawperator.cli.text.listings:"
_HANDLERS = "clawperator.cli.handlers."
_PACKAGES_SECONDS = 15.0

Milliseconds = Annotated[int, Meta(ge=1, le=24 * 3_600_000)]


class DeviceWithModel(Struct, frozen=True):
    """A device. ``model`` is missing when it is not known."""

    serial: str
    state: str
    model: str | UnsetType = UNSET


class DeviceList(Struct, frozen=True):
    devices: list[DeviceWithModel]


def _listed(result: DeviceList, _: "Caller") -> str:
    listed = ", ".join(f"{device.serial} ({device.state})" for device in result.devices)
    return f"{count(len(result.devices), 'phone')}: {listed}" if listed else "no phone is connected"


@operation(
    "devices",
    purpose="List the connected devices.",
    level="read-only",
    message=_listed,
    text=_TEXT + "device_blocks",
    route="GET /devices",
    errors=("ADB_NOT_FOUND",),
    tool="devices",
    tool_alias="list_devices",
)
def list_connected(_: NoParams, caller: "Caller") -> DeviceList:
    """The devices; for clients of the HTTP server with their models, which need another question to adb."""
    from clawperator.device.discovery import device_models, list_devices

    found = list_devices()
    models = device_models() if caller.entry.name == "http" else {}
    return DeviceList([DeviceWithModel(one.serial, one.state, models.get(one.serial, UNSET)) for one in found])


class ListPackagesParams(Params, frozen=True, kw_only=True):
    """List installed packages."""

    third_party: Annotated[bool, about("only packages that the user installed", rare=True)] = False
    user: Annotated[User, about("Android user or profile: a number, or current (the default)", rare=True)] = UNSET


class PackageList(Struct, frozen=True):
    packages: list[str]


@operation(
    "packages list",
    level="read-only",
    message=lambda result, caller: f"{count(len(result.packages), 'package')} on {caller.device}",
    text=_TEXT + "package_blocks",
    on_device=True,
    route="GET /packages",
    tool="app",
    tool_alias="list_packages",
    examples=("clawperator packages list --third-party", "clawperator packages list --user 0"),
)
def list_installed(params: ListPackagesParams, caller: "Caller") -> PackageList:
    from clawperator.device.packages import list_packages
    from clawperator.device.users import require_user

    user = None if params.user is UNSET else params.user
    device = caller.connected_device()
    require_user(device, user, seconds=caller.seconds(_PACKAGES_SECONDS))
    seconds = caller.seconds(_PACKAGES_SECONDS)
    return PackageList(list_packages(device, third_party=params.third_party, user=user, seconds=seconds))


class WatchParams(Params, frozen=True, kw_only=True):
    """Print the screen as an outline, and then its changes."""

    for_ms: Annotated[
        Milliseconds | UnsetType,
        about("how long to watch, in ms (default: until Ctrl-C)", flag="--for", metavar="<ms>"),
    ] = UNSET
    count: Annotated[Milliseconds | UnsetType, about("end after this many documents", metavar="<n>")] = UNSET
    interval: Annotated[Milliseconds, about("pause between two looks, in ms", metavar="<ms>")] = 500


cli_operation(
    "watch",
    WatchParams,
    _HANDLERS + "streams:watch_screen",
    level="read-only",
    performs=("snapshot_ui",),
    runs_plans=True,
    examples=("clawperator watch --count 1", "clawperator watch --for 1000 --output text"),
    notes="Prints one JSON document per line: the screen first, then a document for each change. With\n"
    "--output text it prints the outline and the changed lines. --timeout limits it like --for.\n"
    "Between two looks other commands can use the device.",
)


class PairParams(Params, frozen=True, kw_only=True):
    """Pair with a device by wireless debugging."""

    address: Annotated[str, about("address that the device shows with the code", word=1, metavar="<host:port>")]
    connect: Annotated[
        str | UnsetType, about("also connect, at the address that Wireless debugging shows", metavar="<host:port>")
    ] = UNSET


cli_operation(
    "pair",
    PairParams,
    _HANDLERS + "pairing:pair",
    level="full",
    subject="address",
    text=_TEXT + "paired_blocks",
    examples=(
        "clawperator pair phone.local:37123",
        "clawperator pair phone.local:37123 --connect phone.local:41235 < code.txt",
    ),
    notes="Asks for the pairing code on the terminal; without a terminal it reads the code from stdin.\n"
    "On the device: Settings, Developer options, Wireless debugging, 'Pair device with pairing code'\n"
    "shows the code and the address. Needs Android 11 and adb 30, or newer ones.",
)


class LogsParams(Params, frozen=True, kw_only=True):
    """Follow today's host log."""

    no_follow: Annotated[bool, about("print the log and exit")] = False


cli_operation(
    "logs",
    LogsParams,
    _HANDLERS + "streams:print_log",
    level="read-only",
    examples=("clawperator logs --no-follow",),
    notes="One JSON event per line. The log is in CLAWPERATOR_LOG_DIR, or in logs in the product home; "
    "CLAWPERATOR_LOG_LEVEL is its minimum level.",
)
