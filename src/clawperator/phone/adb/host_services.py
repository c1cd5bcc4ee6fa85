"""Host services: the requests that the adb server answers itself, and the ports that ``adb forward`` opens."""

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from clawperator.phone.adb.device import AdbDevice, Channel
from clawperator.phone.adb.listener import STOP_SECONDS, Listener
from clawperator.phone.adb.services import FEATURES
from clawperator.phone.adb.smart_socket import (
    AdbFailure,
    DeviceList,
    DeviceNotFound,
    DeviceSelector,
    okay,
    text,
)
from clawperator.phone.adb.wire import STALL_SECONDS, send_all

SERVER_VERSION = 41  # adb replaces a server of another version by its own

MAX_FORWARDS = 64
MAX_FORWARD_CONNECTIONS = 64  # through one port

_PIECE = 64 * 1024
_LOCAL = re.compile(r"tcp:(\d{1,5})")
_REMOTE = re.compile(r"(?:tcp:\d{1,5}|(?:localabstract|localreserved|localfilesystem|local):[^;]{1,1024})")


class _Forward(msgspec.Struct, frozen=True, eq=False):
    local: str
    remote: str
    device: AdbDevice
    listener: Listener


class Forwards:
    """The forwarded ports of a server, for all its devices."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forwards: dict[str, _Forward] = {}

    def add(self, device: AdbDevice, local: str, remote: str, *, rebind: bool) -> str | None:
        """Listen on a port. Returns its number as text when the client asked for any free port."""
        match = _LOCAL.fullmatch(local)
        if match is None or int(match[1]) > 0xFFFF:
            raise AdbFailure(f"cannot bind listener: unsupported local socket '{local}'")
        if not _REMOTE.fullmatch(remote):
            raise AdbFailure(f"unsupported remote socket '{remote}'")
        with self._lock:
            old = self._forwards.pop(local, None) if rebind else None
            if local in self._forwards:
                raise AdbFailure("cannot rebind existing socket")
            if len(self._forwards) >= MAX_FORWARDS:
                raise AdbFailure("too many forwarded ports")
            if old is not None:
                old.listener.stop(STOP_SECONDS)
            listener = Listener(lambda sock: _serve(sock, device, remote), MAX_FORWARD_CONNECTIONS, "adb-forward")
            wanted = int(match[1])
            try:
                port = listener.start("127.0.0.1", wanted)
            except OSError as e:
                raise AdbFailure(f"cannot bind listener: {os.strerror(e.errno or 0)}") from None
            local = f"tcp:{port}"
            self._forwards[local] = _Forward(local, remote, device, listener)
        return None if wanted else str(port)

    def remove(self, local: str) -> None:
        with self._lock:
            forward = self._forwards.pop(local, None)
        if forward is None:
            raise AdbFailure(f"listener '{local}' not found")
        forward.listener.stop(STOP_SECONDS)

    def remove_all(self, seconds: float = STOP_SECONDS) -> bool:
        """Close all ports. False when a connection through one did not end in time."""
        deadline = time.monotonic() + seconds
        with self._lock:
            forwards = list(self._forwards.values())
            self._forwards.clear()
        ended = True
        for forward in forwards:
            ended &= forward.listener.stop(max(deadline - time.monotonic(), 0.0))
        return ended

    def listing(self) -> str:
        with self._lock:
            return "".join(f"{f.device.serial} {f.local} {f.remote}\n" for f in self._forwards.values())


def _serve(sock: socket.socket, device: AdbDevice, remote: str) -> None:
    """Copy bytes both ways until both sides have finished, or one is gone."""
    device.delay()
    channel = device.open_socket(remote) if device.state() == "device" else None
    if channel is None:
        return
    sock.settimeout(STALL_SECONDS)
    outbound = threading.Thread(target=_copy_to_client, args=(channel, sock), name="adb-forward", daemon=True)
    outbound.start()
    try:
        while True:
            try:
                data = sock.recv(_PIECE)
            except TimeoutError:
                continue  # idle clients stay connected
            if not data:
                break
            channel.write(data)
    finally:
        channel.close()
        outbound.join(STALL_SECONDS)


def _copy_to_client(channel: Channel, sock: socket.socket) -> None:
    with suppress(OSError):
        while data := channel.read(_PIECE):
            send_all(sock, data)
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


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
        return okay(f"{SERVER_VERSION:04x}")

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
