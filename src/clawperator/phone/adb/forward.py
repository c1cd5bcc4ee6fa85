"""Ports of this machine that lead to sockets on the phone: ``adb forward``."""

import os
import re
import socket
import threading
import time
from contextlib import suppress

import msgspec

from clawperator.phone.adb.device import Channel, Device
from clawperator.phone.adb.listener import STOP_SECONDS, Listener
from clawperator.phone.adb.smart_socket import Failure
from clawperator.phone.adb.wire import STALL_SECONDS, send_all

MAX_FORWARDS = 64
MAX_CONNECTIONS = 64  # through one port

_PIECE = 64 * 1024
_LOCAL = re.compile(r"tcp:(\d{1,5})")
_REMOTE = re.compile(r"(?:tcp:\d{1,5}|(?:localabstract|localreserved|localfilesystem|local):[^;]{1,1024})")


class _Forward(msgspec.Struct, frozen=True, eq=False):
    local: str
    remote: str
    device: Device
    listener: Listener


class Forwards:
    """The forwarded ports of a server, whichever phone they lead to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: dict[str, _Forward] = {}

    def add(self, device: Device, local: str, remote: str, *, rebind: bool) -> str | None:
        """Begin to listen. Gives the port as text where the client left the choice to us."""
        match = _LOCAL.fullmatch(local)
        if match is None or int(match[1]) > 0xFFFF:
            raise Failure(f"cannot bind listener: unsupported local socket '{local}'")
        if not _REMOTE.fullmatch(remote):
            raise Failure(f"unsupported remote socket '{remote}'")
        with self._lock:
            old = self._rules.pop(local, None) if rebind else None
            if local in self._rules:
                raise Failure("cannot rebind existing socket")
            if len(self._rules) >= MAX_FORWARDS:
                raise Failure("too many forwarded ports")
            if old is not None:
                old.listener.stop(STOP_SECONDS)
            listener = Listener(lambda sock: _serve(sock, device, remote), MAX_CONNECTIONS, "adb-forward")
            wanted = int(match[1])
            try:
                port = listener.start("127.0.0.1", wanted)
            except OSError as e:
                raise Failure(f"cannot bind listener: {os.strerror(e.errno or 0)}") from None
            local = f"tcp:{port}"
            self._rules[local] = _Forward(local, remote, device, listener)
        return None if wanted else str(port)

    def remove(self, local: str) -> None:
        with self._lock:
            rule = self._rules.pop(local, None)
        if rule is None:
            raise Failure(f"listener '{local}' not found")
        rule.listener.stop(STOP_SECONDS)

    def remove_all(self, seconds: float = STOP_SECONDS) -> bool:
        """False when some connection through them did not end in time."""
        deadline = time.monotonic() + seconds
        with self._lock:
            rules = list(self._rules.values())
            self._rules.clear()
        ended = True
        for rule in rules:
            ended &= rule.listener.stop(max(deadline - time.monotonic(), 0.0))
        return ended

    def listing(self) -> str:
        with self._lock:
            return "".join(f"{rule.device.serial} {rule.local} {rule.remote}\n" for rule in self._rules.values())


def _serve(sock: socket.socket, device: Device, remote: str) -> None:
    """Carry bytes both ways until both ends are done, or one is gone."""
    device.delay()
    channel = device.open_socket(remote) if device.state() == "device" else None
    if channel is None:
        return
    sock.settimeout(STALL_SECONDS)
    outbound = threading.Thread(target=_carry_out, args=(channel, sock), name="adb-forward", daemon=True)
    outbound.start()
    try:
        while True:
            try:
                data = sock.recv(_PIECE)
            except TimeoutError:
                continue  # an idle peer is welcome
            if not data:
                break
            channel.write(data)
    finally:
        channel.close()
        outbound.join(STALL_SECONDS)


def _carry_out(channel: Channel, sock: socket.socket) -> None:
    with suppress(OSError):
        while data := channel.read(_PIECE):
            send_all(sock, data)
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
