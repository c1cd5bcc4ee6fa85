"""Run scripts in the shell of a simulated phone."""

import io
import threading
from typing import NamedTuple

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.process import decode


class Ran(NamedTuple):
    status: int
    out: str
    err: str


def run(phone: Phone, script: str | bytes, stdin: bytes = b"") -> Ran:
    out, err = io.BytesIO(), io.BytesIO()
    status = run_script(
        script,
        phone=phone,
        stdin=io.BytesIO(stdin),
        stdout=out,
        stderr=err,
        cancelled=threading.Event(),
    )
    return Ran(status, decode(out.getvalue()), decode(err.getvalue()))
