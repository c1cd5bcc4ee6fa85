"""``adb forward``: ports of this machine that lead to sockets on the phone."""

import os
import re
import socket
import threading
import time
from contextlib import suppress

import msgspec

from clawperator.phone.adb.device import AdbDevice, Channel
from clawperator.phone.adb.listener import STOP_SECONDS, Listener
from clawperator.phone.adb.smart_socket import AdbFailure
from clawperator.phone.adb.wire import STALL_SECONDS, send_all

MAX_FORWARDS = 64
MAX_CONNECTIONS = 64  # through one port

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
            listener = Listener(lambda sock: _serve(sock, device, remote), MAX_CONNECTIONS, "adb-forward")
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
