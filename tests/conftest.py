"""Fixtures and settings for all tests: isolation from the machine, Hypothesis profiles, a shared simulated phone."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from tests.support.unused_port import UNUSED_PORT

if TYPE_CHECKING:
    from clawperator.contract.action_params import Retry
    from tests.support.routes import Route

# A background job of a shell ignores SIGINT, and so would every process that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests start many processes. Without stored bytecode each of them compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A file in memory is made in a fiftieth of the time, and the tests make tens of thousands. The folder must have room
# and allow programs, which tests write and run.
_MEMORY = "/dev/shm"
_ROOM = 2 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK | os.X_OK):
    _status = os.statvfs(_MEMORY)
    if _status.f_bavail * _status.f_frsize >= _ROOM and not _status.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = _MEMORY
        tempfile.tempdir = None  # it is read again

# The suite draws the same examples each time, so failures are reproducible; the soak profile draws new ones.
settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("default"), max_examples=2_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-processes", action="store_true", help="skip tests that start a process")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not item.config.getoption("--no-processes"):
        return (yield)

    def refuse(*_: object, **__: object) -> None:
        pytest.skip("starts a process")

    with patch.object(subprocess.Popen, "__init__", refuse):
        return (yield)


def pytest_collection_finish() -> None:
    """Keep the collected tests and imported modules, which stay to the end, out of every garbage collection."""
    gc.freeze()


_numbers = count()


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all home folders. pytest lists the folder above for each temporary folder that it numbers."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def _isolated_environment(_homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the user's home folder, phones and adb server.

    Nothing listens on the adb port, and there is no adb to start a server with. Tests that need adb start their own.
    """
    # What the phone of an earlier test may still run is of no interest: that phone is gone.
    if (lease := sys.modules.get("clawperator.device.run.lease")) is not None:
        lease.SENT.clear()
    home = _homes / str(next(_numbers))
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", UNUSED_PORT)
    monkeypatch.setenv("ADB_PATH", str(home / "no-adb"))
    ours = (
        *("HOME", "OPERATOR_PACKAGE", "LOG_DIR", "LOG_LEVEL", "BIN", "DEVICE_ID", "POLICY"),
        *("SKILLS_REGISTRY", "SKILLS_REPO", "SKILL_AGENT_CLI", "SKILL_INPUTS", "ALLOW_SCHEMES", "PARENT"),
        *("BACKEND", "TIMEOUT_MS", "OUTPUT"),
    )
    for name in (
        "ADB_SERVER_SOCKET",
        "ANDROID_ADB_SERVER_ADDRESS",
        "ANDROID_SERIAL",
        "CLAW_CONFIG_HOME",
        *(f"CLAWPERATOR_{word}" for word in ours),
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Route"]:
    """A simulated phone that the tests of a module share, reached without adb."""
    from tests.support.routes import open_route

    with open_route("no adb", tmp_path_factory.mktemp("phone")) as route:
        yield route


@pytest.fixture
def route(shared: "Route", monkeypatch: pytest.MonkeyPatch) -> "Route":
    """The shared phone, reset: no faults, the Operator granted everything it needs."""
    from clawperator.phone.core.faults import FAULTS

    shared.take(monkeypatch)
    phone = shared.phone_server.phone
    for name in FAULTS:
        phone.set_fault(name, "off")
    phone.operator.grant()
    for name in ("development_settings_enabled", "adb_enabled"):
        phone.settings.put("global", name, "1")
    return shared


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every retry policy allows as many attempts as usual, with a fiftieth of the delays.

    For tests in which something is missing for good. It applies to this process, with its simulated phones.
    """
    from clawperator.engine import retry, waits

    delays = retry.retry_delays

    def quick(policy: "Retry", random: Random) -> Iterator[float]:
        return (delay / 50 for delay in delays(policy, random))

    monkeypatch.setattr(retry, "retry_delays", quick)
    monkeypatch.setattr(waits, "retry_delays", quick)
