"""Running the command in this process, as the shell would."""

import io
import json
import sys
from contextlib import redirect_stderr
from typing import Any, NamedTuple

from clawperator.cli.door import run


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
