"""Host services: the requests that the adb server answers itself, at once."""

from collections.abc import Callable, Mapping

from clawperator.phone.adb.forward import Forwards
from clawperator.phone.adb.services import FEATURES
from clawperator.phone.adb.smart_socket import (
    AdbFailure,
    DeviceList,
    DeviceNotFound,
    DeviceSelector,
    okay,
    text,
)

VERSION = 41  # adb replaces a server of another version by its own


class HostServices:
    """The host services of a server. Each takes the selected device and an argument."""

    def __init__(self, devices: DeviceList, forwards: Forwards) -> None:
        self._devices = devices
        self._forwards = forwards

    def reply(self, selector: DeviceSelector, request: str) -> bytes:
        """The whole answer to ``VERB[:ARGUMENT]``. ``AdbFailure`` for an error."""
        verb, _, argument = request.partition(":")
        service = _SERVICES.get(verb)
        if service is None:
            raise AdbFailure("unknown host service")
        return service(self, selector, argument)

    def version(self, _: DeviceSelector, __: str) -> bytes:
        return okay(f"{VERSION:04x}")

    def devices(self, _: DeviceSelector, __: str) -> bytes:
        return okay(self._devices.listing(long=False))

    def devices_long(self, _: DeviceSelector, __: str) -> bytes:
        return okay(self._devices.listing(long=True))

    def features(self, selector: DeviceSelector, _: str) -> bytes:
        self._devices.find(selector)
        return okay(",".join(FEATURES))

    def host_features(self, _: DeviceSelector, __: str) -> bytes:
        return okay(",".join(FEATURES))

    def state(self, selector: DeviceSelector, _: str) -> bytes:
        return okay(self._devices.find(selector).state())

    def serial(self, selector: DeviceSelector, _: str) -> bytes:
        return okay(self._devices.find(selector).serial)

    def device_path(self, selector: DeviceSelector, _: str) -> bytes:
        self._devices.find(selector)
        return okay("unknown")

    def forward(self, selector: DeviceSelector, argument: str) -> bytes:
        rebind = not argument.startswith("norebind:")
        local, semicolon, remote = argument.removeprefix("norebind:").partition(";")
        if not semicolon:
            raise AdbFailure("bad forward: LOCAL;REMOTE is expected")
        port = self._forwards.add(self._devices.find_ready(selector), local, remote, rebind=rebind)
        # The first OKAY is for the request, the second for its success.
        return b"OKAYOKAY" + (text(port) if port else b"")

    def kill_forward(self, _: DeviceSelector, local: str) -> bytes:
        self._forwards.remove(local)
        return b"OKAYOKAY"

    def kill_forwards(self, _: DeviceSelector, __: str) -> bytes:
        self._forwards.remove_all()
        return b"OKAYOKAY"

    def list_forwards(self, _: DeviceSelector, __: str) -> bytes:
        return okay(self._forwards.listing())

    def connect(self, _: DeviceSelector, address: str) -> bytes:
        try:
            return okay(f"already connected to {self._devices.find(DeviceSelector('serial', address)).serial}")
        except DeviceNotFound:
            return okay(f"failed to connect to {address}: this server serves only its own phones")

    def disconnect(self, _: DeviceSelector, address: str) -> bytes:
        if address:
            self._devices.find(DeviceSelector("serial", address))
            raise AdbFailure(f"'{address}' belongs to this server and cannot be disconnected")
        return okay("disconnected everything")  # this server has no connections made with `adb connect`

    def kill(self, _: DeviceSelector, __: str) -> bytes:
        raise AdbFailure("this server belongs to a simulated phone and stops with it")


_SERVICES: Mapping[str, Callable[[HostServices, DeviceSelector, str], bytes]] = {
    "version": HostServices.version,
    "devices": HostServices.devices,
    "devices-l": HostServices.devices_long,
    "features": HostServices.features,
    "host-features": HostServices.host_features,
    "get-state": HostServices.state,
    "get-serialno": HostServices.serial,
    "get-devpath": HostServices.device_path,
    "forward": HostServices.forward,
    "killforward": HostServices.kill_forward,
    "killforward-all": HostServices.kill_forwards,
    "list-forward": HostServices.list_forwards,
    "connect": HostServices.connect,
    "disconnect": HostServices.disconnect,
    "kill": HostServices.kill,
}
