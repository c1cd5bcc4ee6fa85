"""Debian's adbd for tests, with doubles of Android's commands as its programs."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from clawperator.device.adb.client import Device, Endpoint
from tests.phone.adb.real_adb import LOCALHOST, Adb, adb_server, connected, free_port
from tests.support import adbd_namespace
from tests.support.adbd_namespace import READY
from tests.support.adbd_packages import ADBD_ROOT
from tests.support.command_doubles import CommandDoubles
from tests.support.hanging import HANG_SECONDS
from tests.support.ordinary_phone import ordinary_phone
from tests.support.running import Ran, clawperator

# Own users, network, mounts and processes: no more rights than the user has, and nothing is left behind.
_UNSHARE = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child")


class AdbdUnavailableError(Exception):
    """adbd cannot run on this machine."""


class RealAdbd:
    """An adbd on a loopback port, with a folder that it shares with the tests."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._phones = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def serial(self) -> str:
        return f"{LOCALHOST}:{self.port}"

    def become_ordinary_phone(self) -> CommandDoubles:
        """From now on the device's programs and files are those of new doubles."""
        self._phones += 1
        doubles = ordinary_phone(self._folder / str(self._phones))
        (doubles.programs / "printf").symlink_to("/usr/bin/printf")  # not built into the device's shell
        (doubles.root / "sdcard").mkdir()
        new = self._folder / "new"
        new.symlink_to(doubles.folder)
        new.rename(self._folder / "current")
        return doubles

    def start(self) -> None:
        """Returns when adbd accepts connections. ``AdbdUnavailableError`` when it does not."""
        if not ADBD_ROOT.is_dir():
            raise AdbdUnavailableError("not prepared: run 'make adbd'")
        log = self._folder / "adbd.log"
        with socket.create_server((LOCALHOST, self.port)) as listener, log.open("wb") as errors:
            program = (sys.executable, "-I", "-S", adbd_namespace.__file__)
            words = (str(ADBD_ROOT), str(self._folder), str(self.port), str(listener.fileno()))
            try:
                self._process = subprocess.Popen(
                    [*_UNSHARE, *program, *words],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    pass_fds=[listener.fileno()],
                )
            except FileNotFoundError as e:
                raise AdbdUnavailableError(f"no {e.filename} on this machine") from e
        assert self._process.stdout is not None
        if self._process.stdout.readline() != READY:
            self.stop()
            raise AdbdUnavailableError(log.read_text("utf-8", "replace").strip().rpartition("\n")[2])

    def stop(self) -> None:
        """End adbd and everything below it, as a device that loses its power."""
        if self._process is None:
            return
        process, self._process = self._process, None
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()
        try:
            process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


@contextmanager
def real_adbd(folder: Path) -> Iterator[RealAdbd]:
    """A running adbd. Where there is none, the test is skipped with the reason."""
    adbd = RealAdbd(Path(os.path.realpath(folder)))
    try:
        adbd.start()
    except AdbdUnavailableError as e:
        pytest.skip(f"no adbd: {e}")
    try:
        yield adbd
    finally:
        adbd.stop()


class AdbdPhone(Struct, frozen=True):
    """A device as a user has it, behind an adb server: a real adbd, with doubles of Android's commands."""

    adbd: RealAdbd
    adb: Adb
    doubles: CommandDoubles

    @property
    def device(self) -> Device:
        return Device(self.adbd.serial, Endpoint(LOCALHOST, self.adb.port))

    def take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the command find this adb server."""
        monkeypatch.setenv("ADB_PATH", self.adb.program)
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(self.adb.port))

    def run(self, *argv: str) -> Ran:
        return clawperator(*argv, "--device", self.adbd.serial)

    def calls(self, command: str) -> list[list[str]]:
        """The argument lists of a command, without the user or profile that it was for."""
        return [_without_user(call[1:]) for call in self.doubles.calls(command)]


def _without_user(words: list[str]) -> list[str]:
    if "--user" not in words:
        return words
    at = words.index("--user")
    return words[:at] + words[at + 2 :]


@contextmanager
def adbd_phone(program: str, folder: Path) -> Iterator[AdbdPhone]:
    """A device whose adb server is the program of this name in ``real_adb.PROGRAMS``."""
    with (
        real_adbd(folder) as adbd,
        adb_server(program, folder) as adb,
        connected(adb, adbd.port),
    ):
        yield AdbdPhone(adbd, adb, adbd.become_ordinary_phone())
