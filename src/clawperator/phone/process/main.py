"""The process of a simulated phone: ``python -m clawperator.phone.process.main SERIAL``, config on stdin.

It prints one line, ``{"ready": true}`` or ``{"error": {...}}``, then closes stdout. It ends on a control
request or a signal.
"""

import os
import signal
import sys
import time
from typing import Any

import msgspec

from clawperator._files import why
from clawperator._home import PhoneFolder, PhoneRecord
from clawperator.errors import ClawError
from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig


def main(serial: str) -> int:
    folder = PhoneFolder(serial)
    config = msgspec.json.decode(sys.stdin.buffer.read(), type=PhoneServerConfig)
    with folder.lock() as ours:
        if not ours:
            error = ClawError("PHONE_ALREADY_RUNNING", f"simulated phone {serial} is already running")
            _print_line({"error": error.document()})
            return 1
        return _serve(folder, config)


def _serve(folder: PhoneFolder, config: PhoneServerConfig) -> int:
    try:
        server = PhoneServer(config, folder.wipe)
        server.open()
        folder.write(_record(folder, server))
    except ClawError as e:
        _print_line({"error": e.document()})
        return 1
    except OSError as e:
        error = ClawError(
            "PHONE_START_FAILED",
            f"simulated phone {folder.serial} did not start: {why(e)}",
            hint="Free disk space, or omit --adbd-port and --server-port to use free ports.",
        )
        _print_line({"error": error.document()})
        return 1
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: server.stopped.set())
    _print_line({"ready": True})
    server.stopped.wait()
    server.close()
    folder.forget()
    return 0


def _record(folder: PhoneFolder, server: PhoneServer) -> PhoneRecord:
    return PhoneRecord(
        serial=folder.serial,
        pid=os.getpid(),
        seed=server.config.seed,
        host=HOST,
        adbd_port=server.adbd_port,
        server_port=server.server_port,
        control_port=server.control_port,
        token=server.token,
        started_at=int(time.time() * 1000),
        operator_package=server.config.operator_package,
        apps=list(server.config.apps),
    )


def _print_line(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()
    # The parent reads one line only.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
