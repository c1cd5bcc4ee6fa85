"""Run scripts in the shell of a simulated phone."""

import io
import threading
from typing import NamedTuple

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.process import decode


class ScriptResult(NamedTuple):
    code: int
    out: str
    err: str


def run(phone: Phone, script: str | bytes, stdin: bytes = b"") -> ScriptResult:
    """Run a script to its end."""
    code, out, err = run_bytes(phone, script, stdin)
    return ScriptResult(code, decode(out), err)


def run_bytes(phone: Phone, script: str | bytes, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """The same for output that is not text."""
    out, err = io.BytesIO(), io.BytesIO()
    code = run_script(
        script, phone=phone, stdin=io.BytesIO(stdin), stdout=out, stderr=err, cancelled=threading.Event()
    )
    return code, out.getvalue(), decode(err.getvalue())


def output(phone: Phone, script: str) -> str:
    """The output of a script that must succeed without an error message."""
    result = run(phone, script)
    assert result.code == 0, result
    assert not result.err, result
    return result.out
