"""A small phone for tests of the shell: files, a clock that jumps, and nothing else."""

import io
import threading
from typing import NamedTuple

from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.process import decode
from clawperator.phone.storage.filesystem import Storage


class JumpingClock:
    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def now_ms(self) -> int:
        return round(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class SmallPhone:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.clock = JumpingClock()
        self.stopping = threading.Event()


class Ran(NamedTuple):
    status: int
    out: str
    err: str


def run(phone: SmallPhone, script: str | bytes, stdin: bytes = b"") -> Ran:
    out, err = io.BytesIO(), io.BytesIO()
    status = run_script(
        script,
        world=phone,
        stdin=io.BytesIO(stdin),
        stdout=out,
        stderr=err,
        cancelled=threading.Event(),
    )
    return Ran(status, decode(out.getvalue()), decode(err.getvalue()))
