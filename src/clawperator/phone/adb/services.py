"""The services of the phone by name: what an OPEN asks for, and what answers it."""

import logging
from collections.abc import Callable, Mapping

from clawperator.phone.adb.device import Device
from clawperator.phone.adb.relay import relay
from clawperator.phone.adb.shell_service import run_abb, run_exec, run_shell
from clawperator.phone.adb.streams import Stream
from clawperator.phone.adb.sync import run_sync

# Only what is served: a client believes every word of it.
FEATURES = (
    "shell_v2",
    "cmd",
    "stat_v2",
    "ls_v2",
    "fixed_push_mkdir",
    "abb_exec",
    "sendrecv_v2",
)

Service = Callable[[bytes, Stream, Device], None]

_log = logging.getLogger(__name__)


def banner(device: Device) -> str:
    """What the phone says it is when a peer connects."""
    text = device.banner()
    return f"{text}{'' if text.endswith((':', ';')) else ';'}features={','.join(FEATURES)}"


def serve(name: bytes, stream: Stream, device: Device) -> None:
    """Open the service called ``name``, or refuse it, and stay until it ends. Raises nothing."""
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
        pass  # the peer hung up
    except Exception:  # noqa: BLE001 - a fault in one command must not take the phone from everybody else
        _log.exception("A service failed: %s", name[:80].decode("utf-8", "replace"))
    finally:
        stream.finish()


def _split(name: bytes) -> tuple[bytes, bytes]:
    """The kind of service, and what belongs to it: options after a comma, arguments after a colon."""
    kind, colon, rest = name.partition(b":")
    if b"," in kind:
        kind, _, options = kind.partition(b",")
        return kind + b",", options + colon + rest
    return kind + colon, rest


def _serve_socket(name: bytes, stream: Stream, device: Device) -> None:
    text = name.decode("utf-8", "surrogateescape")
    kind, _, place = text.partition(":")
    port = kind == "tcp"
    if not place or (port and not (place.isascii() and place.isdigit() and 0 < int(place[:6]) < 65536)):
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
        relay(stream, channel)
    finally:
        channel.close()


def _say(text: str) -> Service:
    def service(_: bytes, stream: Stream, __: Device) -> None:
        stream.write(text.encode())

    return service


def _run_reverse(request: bytes, stream: Stream, _: Device) -> None:
    """Connections from the phone to the host: there are none, and none can be made."""
    if request == b"list-forward":
        stream.write(b"0000")  # unlike an adb server, a phone does not say OKAY before a list
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
    b"root:": _say("adbd cannot run as root in production builds\n"),
    b"unroot:": _say("adbd not running as root\n"),
    b"remount:": _say('Not running as root. Try "adb root" first.\n'),
}
_SOCKETS = frozenset({b"tcp:", b"localabstract:", b"localreserved:", b"localfilesystem:", b"local:"})
