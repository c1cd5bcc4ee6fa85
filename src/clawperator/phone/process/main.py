"""The process of one phone: ``python -m clawperator.phone.process.main SERIAL``, with its plan as JSON on stdin.

It says one line on stdout, ``{"ready": true}`` or ``{"error": {...}}``, and then nothing more there. It ends
when the control door or a signal tells it to.
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
from clawperator.phone.process.server import HOST, Box, BoxPlan


def main(serial: str) -> int:
    folder = PhoneFolder(serial)
    plan = msgspec.json.decode(sys.stdin.buffer.read(), type=BoxPlan)
    with folder.lock() as ours:
        if not ours:
            error = ClawError("PHONE_ALREADY_RUNNING", f"the phone {serial} runs already")
            _say({"error": error.document()})
            return 1
        return _live(folder, plan)


def _live(folder: PhoneFolder, plan: BoxPlan) -> int:
    try:
        box = Box(plan, folder.wipe)
        box.open()
        folder.write(_record(folder, box))
    except ClawError as e:
        _say({"error": e.document()})
        return 1
    except OSError as e:
        error = ClawError(
            "PHONE_START_FAILED",
            f"the phone did not start: {why(e)}",
            hint="See that the disk has room, and leave --adbd-port and --server-port out to get free ports.",
        )
        _say({"error": error.document()})
        return 1
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: box.stopped.set())
    _say({"ready": True})
    box.stopped.wait()
    box.close()
    folder.forget()
    return 0


def _record(folder: PhoneFolder, box: Box) -> PhoneRecord:
    return PhoneRecord(
        serial=folder.serial,
        pid=os.getpid(),
        seed=box.plan.seed,
        host=HOST,
        adbd_port=box.adbd_port,
        server_port=box.server_port,
        control_port=box.control_port,
        token=box.token,
        started_at=int(time.time() * 1000),
        operator_package=box.plan.operator_package,
        apps=list(box.plan.apps),
    )


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()
    # From now on nobody listens there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
