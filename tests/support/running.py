"""Run the commands in this process, as the shell would."""

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any, NamedTuple, TypeVar

from clawperator.cli import dispatch
from clawperator.cli.claw import dispatch as claw_dispatch

T = TypeVar("T")


class Ran(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout. Fails when there is more or less than one line."""
        assert self.out.endswith(b"\n")
        assert self.out.count(b"\n") == 1
        return json.loads(self.out)


def clawperator(*argv: str, stdin: bytes = b"") -> Ran:
    """Run ``clawperator`` with these arguments."""
    return _run(dispatch.run, argv, stdin)


def claw(*argv: str, stdin: bytes = b"") -> Ran:
    """Run ``claw`` with these arguments."""
    return _run(claw_dispatch.run, argv, stdin)


def claw_json(*argv: str, stdin: bytes = b"") -> Ran:
    """Run ``claw`` in JSON mode. Checks that stderr is empty and that the document has the exit code."""
    ran = claw(*argv, "--output-format", "json", stdin=stdin)
    assert ran.err == "", ran.err
    assert ran.json["exit_code"] == ran.code
    return ran


def cut_off(run: Callable[[str], T], has_begun: Callable[[T], bool]) -> T:
    """The result of a run that a time limit ended after its work had begun, on a machine of any speed.

    ``run`` gets the limit in seconds: a longer one each time, until the work has begun.
    """
    for seconds in (1.2, 2.5, 5, 10, 20):
        ran = run(str(seconds))
        if has_begun(ran):
            return ran
    ran = run("40")
    assert has_begun(ran), f"the work did not begin: {ran}"
    return ran


def _run(run: Callable[[list[str]], int], argv: tuple[str, ...], stdin: bytes) -> Ran:
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    was_out, was_in = sys.stdout, sys.stdin
    sys.stdout, sys.stdin = out, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with redirect_stderr(err):
            code = run(list(argv))
    finally:
        sys.stdout, sys.stdin = was_out, was_in
    out.flush()
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    return Ran(code, buffer.getvalue(), err.getvalue())


def without_bytecode() -> dict[str, str]:
    """The environment for a process with a limit on the size of files, which would truncate the .pyc files it writes."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
