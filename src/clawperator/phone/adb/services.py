"""The services of the phone by name: what an OPEN request asks for, and what answers it."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from clawperator.phone.adb.device import AdbDevice, Channel
from clawperator.phone.adb.shell_service import run_abb, run_exec, run_shell
from clawperator.phone.adb.streams import GRACE_SECONDS, ServiceStream
from clawperator.phone.adb.sync import run_sync

# Only what is implemented: clients rely on every feature listed.
FEATURES = (
    "shell_v2",
    "cmd",
    "stat_v2",
    "ls_v2",
    "fixed_push_mkdir",
    "abb_exec",
    "sendrecv_v2",
)

Service = Callable[[bytes, ServiceStream, AdbDevice], None]

_PIECE = 64 * 1024
_log = logging.getLogger(__name__)


def banner(device: AdbDevice) -> str:
    """The device's identity and features, sent when a peer connects."""
    text = device.banner()
    return f"{text}{'' if text.endswith((':', ';')) else ';'}features={','.join(FEATURES)}"


def serve(name: bytes, stream: ServiceStream, device: AdbDevice) -> None:
    """Open the service called ``name``, or refuse it, and run it to its end. Raises nothing."""
    try:
        device.delay()
        kind, rest = _split(name)
        if kind in _SOCKETS:
            _serve_socket(name, stream, device)
        elif kind in _SERVICES:
            stream.accept()
            _SERVICES[kind](rest, stream, device)
        else:
            stream.refuse("unknown or unsupported service")
    except (BrokenPipeError, EOFError):
        pass  # the peer closed the stream
    except Exception:  # noqa: BLE001 - a bug in one service must not end the phone
        _log.exception("A service failed: %s", name[:80].decode("utf-8", "replace"))
    finally:
        stream.finish()


def _split(name: bytes) -> tuple[bytes, bytes]:
    """The kind of service and its rest: options after a comma, arguments after a colon."""
    kind, colon, rest = name.partition(b":")
    if b"," in kind:
        kind, _, options = kind.partition(b",")
        return kind + b",", options + colon + rest
    return kind + colon, rest


# Sockets on the phone


def _serve_socket(name: bytes, stream: ServiceStream, device: AdbDevice) -> None:
    text = name.decode("utf-8", "surrogateescape")
    kind, _, address = text.partition(":")
    is_port = address.isascii() and address.isdigit() and 0 < int(address[:6]) < 65536
    if not address or (kind == "tcp" and not is_port):
        stream.refuse(f"cannot open {kind}")
        return
    try:
        channel = device.open_socket(text)
    except OSError:
        channel = None
    if channel is None:
        stream.refuse("Connection refused")
        return
    try:
        stream.accept()
        _copy_both_ways(stream, channel)
    finally:
        channel.close()


def _copy_both_ways(stream: ServiceStream, channel: Channel) -> None:
    """Copy bytes until one side ends; then end the other."""
    inbound = threading.Thread(target=_copy_to_phone, args=(stream, channel), name="adb-relay", daemon=True)
    inbound.start()
    try:
        while data := channel.read(_PIECE):
            stream.write(data)
    except OSError:
        pass  # one side closed its connection
    finally:
        channel.close()
        stream.end_input()
        inbound.join(GRACE_SECONDS)


def _copy_to_phone(stream: ServiceStream, channel: Channel) -> None:
    with suppress(OSError):
        while data := stream.read(_PIECE):
            channel.write(data)
    channel.close()


# Others


def _print(text: str) -> Service:
    def service(_: bytes, stream: ServiceStream, __: AdbDevice) -> None:
        stream.write(text.encode())

    return service


def _run_reverse(request: bytes, stream: ServiceStream, _: AdbDevice) -> None:
    """``adb reverse``: connections from the phone to the host. There are none, and none can be made."""
    if request == b"list-forward":
        stream.write(b"0000")  # unlike an adb server, adbd sends no OKAY before a list
    elif request == b"killforward-all":
        stream.write(b"OKAY")
    else:
        reason = b"this phone makes no reverse connections"
        stream.write(b"FAIL%04x%s" % (len(reason), reason))


_SERVICES: Mapping[bytes, Service] = {
    b"shell:": lambda script, stream, device: run_shell(b":" + script, stream, device),
    b"shell,": run_shell,
    b"exec:": run_exec,
    b"abb_exec:": run_abb,
    b"sync:": run_sync,
    b"reverse:": _run_reverse,
    b"root:": _print("adbd cannot run as root in production builds\n"),
    b"unroot:": _print("adbd not running as root\n"),
    b"remount:": _print('Not running as root. Try "adb root" first.\n'),
}
_SOCKETS = frozenset({b"tcp:", b"localabstract:", b"localreserved:", b"localfilesystem:", b"local:"})
