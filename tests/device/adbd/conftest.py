"""A device made of a real adbd, a real adb server and doubles of Android's commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.phone.adb.real_adb import PROGRAMS
from tests.support.real_adbd import AdbdPhone, adbd_phone


@pytest.fixture(scope="module")
def shared_adbd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdbdPhone]:
    """One adbd for the tests of a module."""
    with adbd_phone("system", tmp_path_factory.mktemp("adbd")) as phone:
        yield phone


@pytest.fixture
def phone(shared_adbd: AdbdPhone, monkeypatch: pytest.MonkeyPatch) -> Iterator[AdbdPhone]:
    """The shared adbd with new doubles. They have an answer for every command that is sent."""
    shared_adbd.take(monkeypatch)
    fresh = replace(shared_adbd, doubles=shared_adbd.adbd.become_ordinary_phone())
    yield fresh
    assert fresh.doubles.unexpected() == []


@pytest.fixture(params=PROGRAMS)
def own(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AdbdPhone]:
    """An adbd of the test's own, behind each adb server."""
    with adbd_phone(request.param, tmp_path) as phone:
        phone.take(monkeypatch)
        yield phone
