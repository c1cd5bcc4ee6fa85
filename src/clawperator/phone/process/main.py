"""The process of a simulated phone: ``python -m clawperator.phone.process.main SERIAL``, config on stdin.

It prints one line, ``{"ready": true}`` or ``{"error": {...}}``, then closes stdout. It ends on a control
request or a signal.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from clawperator._base.files import why
from clawperator._base.home import PhoneFolder, PhoneRecord
from clawperator.errors import ClawError
from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig

_MAX_TRACEBACKS = 100


def main(serial: str) -> int:
    threading.excepthook = _traceback_logger(_MAX_TRACEBACKS)
    folder = PhoneFolder(serial)
    try:
        config = msgspec.json.decode(sys.stdin.buffer.read(), type=PhoneServerConfig)
        with folder.lock() as ours:
            if ours:
                return _serve(folder, _started(folder, config))
        error = ClawError("PHONE_ALREADY_RUNNING", f"simulated phone {serial} is already running")
    except ClawError as e:
        error = e
    except OSError as e:
        hint = "Free disk space, or leave out the ports to use free ones."
        error = _start_error(folder, why(e), hint)
    except Exception as e:  # noqa: BLE001 - the parent process reports every failure as a document
        error = _start_error(folder, f"{type(e).__name__}: {e}")
    _print_line({"error": error.document()})
    return 1


def _start_error(folder: PhoneFolder, reason: str, hint: str | None = None) -> ClawError:
    return ClawError("PHONE_START_FAILED", f"simulated phone {folder.serial} did not start: {reason}", hint=hint)


def _traceback_logger(most: int) -> Callable[[threading.ExceptHookArgs], None]:
    """Writes the tracebacks of failed threads to the log, up to a number: peers must not fill the disk."""
    left = iter(range(most))
    write = threading.excepthook

    def log(failed: threading.ExceptHookArgs) -> None:
        if next(left, None) is not None:
            write(failed)

    return log


def _started(folder: PhoneFolder, config: PhoneServerConfig) -> PhoneServer:
    server = PhoneServer(config, folder.wipe)
    server.open()
    folder.write(
        PhoneRecord(
            serial=folder.serial,
            pid=os.getpid(),
            seed=config.seed,
            host=HOST,
            adbd_port=server.adbd_port,
            server_port=server.server_port,
            control_port=server.control_port,
            token=server.token,
            started_at=int(time.time() * 1000),
            operator_package=server.setup.operator_package,
            apps=server.setup.sources,
        )
    )
    return server


def _serve(folder: PhoneFolder, server: PhoneServer) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: server.stopped.set())
    _print_line({"ready": True})
    server.stopped.wait()
    server.close()
    folder.forget()
    return 0


def _print_line(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()
    # The parent reads one line only.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
