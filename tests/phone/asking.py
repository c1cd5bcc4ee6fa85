"""A shell on a whole phone, for tests: run a script there and see what it said."""

import io
import threading
from typing import NamedTuple

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.process import decode


class Said(NamedTuple):
    code: int
    out: str
    err: str


def ask(phone: Phone, script: str, stdin: bytes = b"") -> Said:
    """Run a script to its end."""
    code, out, err = ask_bytes(phone, script, stdin)
    return Said(code, decode(out), err)


def ask_bytes(phone: Phone, script: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
    """The same for output that is not text."""
    out, err = io.BytesIO(), io.BytesIO()
    code = run_script(
        script, phone=phone, stdin=io.BytesIO(stdin), stdout=out, stderr=err, cancelled=threading.Event()
    )
    return code, out.getvalue(), decode(err.getvalue())


def out(phone: Phone, script: str) -> str:
    """What a script that must succeed prints."""
    said = ask(phone, script)
    assert said.code == 0, said
    assert not said.err, said
    return said.out
