"""Programs that tests need: absent ones are skipped, except where all tests must run."""

import os
import shutil
from typing import NoReturn

import pytest


def skip_without(what: str) -> NoReturn:
    """Skip the test because something is missing. With ``CI=true`` it fails: there everything is installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def require_program(name: str) -> str:
    """The path of a program."""
    return shutil.which(name) or skip_without(f"no {name} on this machine")
