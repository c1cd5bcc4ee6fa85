"""The pytest plugin: the fixtures ``phone`` and ``connected_phone``, and what is kept when a test fails.

It imports nothing of the package until a test uses a phone.
"""

import os
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from clawperator.api.phone import AndroidPhone, ConnectedPhone
    from clawperator.report.failed_test import CallRecorder

_MARKER = "clawperator"
_SETTINGS = ("allow_schemes", "apps", "cassette", "faults", "seed")
# What no real device can do. Apps are expected to be installed there.
_SIMULATED_ONLY = ("cassette", "faults")
# Phones in the fixtures and variables of one failed test; more would only repeat themselves.
_MAX_PHONES = 4
_MAX_NAME = 100
_RECORDER: "pytest.StashKey[CallRecorder]" = pytest.StashKey()
# The device that a test holds.
_HELD: "pytest.StashKey[str]" = pytest.StashKey()
# How long a test waits for a device that another test or program uses.
_HOLD_SECONDS = 600.0


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("clawperator", "Clawperator")
    group.addoption(
        "--clawperator-device",
        metavar="SERIAL",
        help="run tests on this device: the fixtures phone and connected_phone are connections to it",
    )
    group.addoption(
        "--clawperator-artifacts",
        metavar="DIR",
        help="folder for the picture, tree and log of phones of failed tests (default: below pytest's basetemp)",
    )
    group.addoption(
        "--clawperator-report",
        metavar="DIR",
        help="folder for an HTML report of each failed test that used a phone: its calls and the last screens",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARKER}({', '.join(f'{name}=' for name in _SETTINGS)}): settings of the simulated phone of a test, as "
        "in clawperator.testing.simulated_phone(); a test with faults or a cassette is skipped on a device",
    )


@pytest.fixture
def phone(request: pytest.FixtureRequest) -> "Iterator[AndroidPhone]":
    """A new simulated phone in this process, with a virtual clock; with --clawperator-device, that device."""
    settings = _settings(request)
    if _device(request, settings):
        yield request.getfixturevalue("_held_phone")
        return
    from clawperator.testing import simulated_phone

    with simulated_phone(**settings) as started:
        yield started


@pytest.fixture
def connected_phone(request: pytest.FixtureRequest) -> "Iterator[ConnectedPhone]":
    """The device of --clawperator-device; without it a simulated phone, over adb and on the machine's clock."""
    settings = _settings(request)
    if _device(request, settings):
        yield request.getfixturevalue("_held_phone")
        return
    from clawperator.engine.clock import SystemClock
    from clawperator.testing import simulated_phone

    # A device has one lease on a machine, and tests may run in parallel.
    name = f"pytest-{os.getpid()}"
    with (
        simulated_phone(serial=name, clock=SystemClock(), **settings) as started,
        started.connected() as connection,
    ):
        yield connection


@pytest.fixture
def _held_phone(request: pytest.FixtureRequest) -> "Iterator[ConnectedPhone]":
    """The device, for this test alone: other workers and programs wait until the test has ended."""
    from clawperator.device.run.lease import hold_device
    from clawperator.errors import ClawError

    serial: str = request.config.getoption("--clawperator-device")
    _skip_if_lost(request.config, serial)
    with hold_device(serial, f"the test {request.node.nodeid}", _HOLD_SECONDS):
        _skip_if_lost(request.config, serial)  # while this test waited
        try:
            held = _connect(serial, _settings(request))
        except ClawError as e:
            _mark_lost(request.config, serial, f"before {request.node.nodeid}: {e}")
            raise
        request.node.stash[_HELD] = serial
        yield held


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker nearest to the test. Paths are relative to the folder of the test."""
    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        return {}
    settings = dict(marker.kwargs)
    if marker.args or not settings.keys() <= set(_SETTINGS):
        wrong = [*map(repr, marker.args), *(name for name in settings if name not in _SETTINGS)]
        raise pytest.UsageError(f"@pytest.mark.{_MARKER} takes {', '.join(_SETTINGS)}, not {', '.join(wrong)}")
    folder = os.path.dirname(request.path)
    if "apps" in settings:
        settings["apps"] = [_path_in(folder, app) for app in settings["apps"]]
    if "cassette" in settings:
        settings["cassette"] = _path_in(folder, settings["cassette"])
    return settings


def _path_in(folder: str, value: object) -> object:
    return os.path.join(folder, value) if isinstance(value, str | os.PathLike) else value


def _device(request: pytest.FixtureRequest, settings: dict[str, Any]) -> str | None:
    """The serial of the device to test on, if any. A test that needs a simulated phone is skipped there."""
    serial: str | None = request.config.getoption("--clawperator-device")
    if serial and (missing := [name for name in _SIMULATED_ONLY if name in settings]):
        pytest.skip(f"{', '.join(missing)}: only a simulated phone has this; run without --clawperator-device")
    return serial


def _connect(serial: str, settings: dict[str, Any]) -> "ConnectedPhone":
    """The device, with its launcher in front, as on a new simulated phone."""
    from clawperator.api.phone import connect

    connected = connect(serial, allow_schemes=settings.get("allow_schemes", ()))
    connected.home()
    return connected


# A device that is lost is reported once


def _skip_if_lost(config: pytest.Config, serial: str) -> None:
    try:
        with open(_lost_path(config, serial), encoding="utf-8") as file:
            reason = file.read()
    except OSError:
        return
    pytest.skip(f"device {serial} was lost {reason}")


def _mark_lost(config: pytest.Config, serial: str, reason: str) -> None:
    """Skip the other tests on this device, also those of other workers."""
    with suppress(OSError), open(_lost_path(config, serial), "x", encoding="utf-8") as file:
        file.write(reason)


def _lost_path(config: pytest.Config, serial: str) -> str:
    """A file of this run, which all workers share. Without pytest's temporary folder there is none."""
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None:
        return ""
    base = os.fspath(factory.getbasetemp())
    folder = os.path.dirname(base) if hasattr(config, "workerinput") else base
    return os.path.join(folder, f"clawperator-lost-{_folder_name(serial)}")


def _check_lost(item: pytest.Item) -> list[tuple[str, str]]:
    """After a failed test: a section for the device of the test if it is gone."""
    serial = item.stash.get(_HELD, None)
    if serial is None:
        return []
    from clawperator.device.discovery import resolve_device
    from clawperator.errors import ClawError

    try:
        resolve_device(serial)
    except ClawError as e:
        _mark_lost(item.config, serial, f"in {item.nodeid}: {e}")
        return [(f"device {serial}", f"{e}\nThe other tests on {serial} are skipped.")]
    return []


# What is kept when a test fails


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> "Generator[None, object, object]":
    """Record the calls of phones while a test runs, if reports are wanted."""
    if not item.config.getoption("--clawperator-report"):
        return (yield)
    from clawperator.testing import recorded_calls

    with recorded_calls() as recorder:
        item.stash[_RECORDER] = recorder
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> "Generator[None, pytest.TestReport, pytest.TestReport]":
    report = yield
    if report.failed and report.when != "teardown" and "clawperator.api" in sys.modules:
        if (recorder := item.stash.get(_RECORDER, None)) is not None:
            recorder.stop()
        report.sections += [*_check_lost(item), *_keep(item, call), *_reported(item, call)]
    return report


def _keep(item: pytest.Item, call: pytest.CallInfo[None]) -> list[tuple[str, str]]:
    """A section of the report for each phone of a failed test. It never fails."""
    from clawperator.testing import keep_failure

    sections = []
    try:
        folder = os.path.join(_artifacts(item.config), _folder_name(item.nodeid))
        phones = _phones(item, call)
        for number, used in enumerate(phones, 1):
            below = folder if len(phones) == 1 else os.path.join(folder, f"{number}-{_folder_name(used.serial)}")
            sections.append((f"phone {used.serial}", keep_failure(used, below)))
    except Exception as e:  # noqa: BLE001 - the failure of the test must be reported in any case
        sections.append(("phone", f"cannot keep what the phone shows: {type(e).__name__}: {e}"))
    return sections


def _reported(item: pytest.Item, call: pytest.CallInfo[None]) -> list[tuple[str, str]]:
    """A section with the path of the HTML report, if one is wanted and the test used a phone. It never fails."""
    folder: str | None = item.config.getoption("--clawperator-report")
    recorder = item.stash.get(_RECORDER, None)
    if not folder or recorder is None:
        return []
    from clawperator.testing import report_failure

    phones = _phones(item, call)
    if not phones and not recorder.count:
        return []
    path = os.path.join(os.path.abspath(folder), f"{_folder_name(item.nodeid)}.html")
    error = call.excinfo.exconly() if call.excinfo else ""
    return [("phone report", report_failure(path, item.nodeid, error, recorder, phones))]


def _artifacts(config: pytest.Config) -> str:
    """The folder for files of failed tests."""
    given: str | None = config.getoption("--clawperator-artifacts")
    if given:
        return os.path.abspath(given)
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is not None:
        return os.path.join(factory.getbasetemp(), "clawperator-artifacts")
    import tempfile

    return tempfile.mkdtemp(prefix="clawperator-artifacts-")


def _phones(item: pytest.Item, call: pytest.CallInfo[None]) -> "list[AndroidPhone]":
    """The phones in the fixtures of a test, and in the variables of the functions that failed."""
    values = list(getattr(item, "funcargs", {}).values())
    trace = call.excinfo.tb if call.excinfo else None
    while trace is not None:
        values += trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    phones: dict[str, AndroidPhone] = {}
    for value in values:
        if (found := _phone_of(value)) is not None:
            phones.setdefault(found.serial, found)
    return list(phones.values())[:_MAX_PHONES]


def _phone_of(value: object) -> "AndroidPhone | None":
    """The phone that a fixture or a variable is, if it is one."""
    from clawperator.api.async_phone import AsyncConnectedPhone
    from clawperator.api.phone import AndroidPhone, ConnectedPhone
    from clawperator.device.adb.client import Device, Endpoint
    from clawperator.phone.process.launch import PhoneProcess

    if isinstance(value, AndroidPhone):
        return value
    if isinstance(value, AsyncConnectedPhone):
        return value.phone
    if isinstance(value, PhoneProcess):
        return ConnectedPhone(Device(value.serial, Endpoint("127.0.0.1", value.server_port, simulated=True)))
    return None


def _folder_name(test: str) -> str:
    """The name of a test as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", test).strip("._")[-_MAX_NAME:] or "test"
