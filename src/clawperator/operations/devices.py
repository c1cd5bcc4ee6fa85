"""Operations on connected devices: list them and their packages."""

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.text import count
from clawperator.contract.action_params import User
from clawperator.operations.call import Caller
from clawperator.operations.model import FAMILIES, Family, Params, about, operation

FAMILIES["packages"] = Family("Inspect the packages on a device.")
_HERE = "clawperator.operations.devices:"
_TEXT = "clawperator.cli.text.listings:"
_PACKAGES_SECONDS = 15.0


class ListDevicesParams(Params, frozen=True, kw_only=True):
    """List the connected devices."""


class DeviceWithModel(Struct, frozen=True):
    """A device. ``model`` is missing when it is not known."""

    serial: str
    state: str
    model: str | UnsetType = UNSET


class DeviceList(Struct, frozen=True):
    devices: list[DeviceWithModel]


def _listed(result: DeviceList, _: Caller) -> str:
    listed = ", ".join(f"{device.serial} ({device.state})" for device in result.devices)
    return f"{count(len(result.devices), 'phone')}: {listed}" if listed else "no phone is connected"


@operation(
    "devices",
    _HERE + "DeviceList",
    level="read-only",
    message=_listed,
    text=_TEXT + "device_blocks",
    route="GET /devices",
    errors=("ADB_NOT_FOUND",),
    tool="devices",
    tool_alias="list_devices",
    examples=("clawperator devices",),
)
def list_connected(_: ListDevicesParams, caller: Caller) -> DeviceList:
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
    _HERE + "PackageList",
    level="read-only",
    message=lambda result, caller: f"{count(len(result.packages), 'package')} on {caller.device}",
    text=_TEXT + "package_blocks",
    on_device=True,
    tool="app",
    tool_alias="list_packages",
    examples=("clawperator packages list --third-party", "clawperator packages list --user 0"),
)
def list_installed(params: ListPackagesParams, caller: Caller) -> PackageList:
    from clawperator.device.packages import list_packages
    from clawperator.device.users import require_user

    user = None if params.user is UNSET else params.user
    device = caller.connected_device()
    require_user(device, user, seconds=caller.seconds(_PACKAGES_SECONDS))
    seconds = caller.seconds(_PACKAGES_SECONDS)
    return PackageList(list_packages(device, third_party=params.third_party, user=user, seconds=seconds))
