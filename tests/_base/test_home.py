"""The folder of a phone, and the lock that shows whether it runs."""

import os
import stat
import threading
from pathlib import Path

import pytest

from clawperator._base.home import PhoneFolder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PhoneFolder:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    made = PhoneFolder("t")
    made.make()
    return made


def test_the_folder_of_a_phone_is_private_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    before = os.umask(0)
    try:
        (tmp_path / "home" / "phones" / "old").mkdir(parents=True, mode=0o777)
        for serial in ("new", "old"):
            PhoneFolder(serial).make()
    finally:
        os.umask(before)
    for folder in ("phones/new", "phones/new/files", "phones/old", "phones/old/files"):
        assert stat.S_IMODE((tmp_path / "home" / folder).stat().st_mode) == 0o700


def test_many_may_look_at_once_and_none_takes_another_for_the_phone(folder: PhoneFolder) -> None:
    seen: list[str] = []

    def look() -> None:
        seen.extend(folder.state() for _ in range(300))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {"stopped"}


def test_a_phone_can_start_while_others_look(folder: PhoneFolder) -> None:
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            folder.state()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for _ in range(20):
            with folder.lock() as ours:
                assert ours
    finally:
        done.set()
        thread.join()


def test_the_lock_names_its_holder(folder: PhoneFolder) -> None:
    assert folder.holder() is None
    with folder.lock() as ours:
        assert ours
        assert folder.state() == "running"
        assert folder.holder() == os.getpid()
        with folder.lock() as second:
            assert not second
    assert folder.state() == "stopped"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"serial":"t"}', "\0\0"])
def test_an_unreadable_record_is_none(folder: PhoneFolder, text: str) -> None:
    Path(folder.path, "phone.json").write_text(text)
    assert folder.read() is None
    assert folder.state() == "stopped"
