"""The product home, and the folder of each simulated phone in it.

~/.clawperator/phones/<serial>/
    lock         held while the phone runs; a crash releases it
    phone.json   its address; removed by a clean stop
    files/       the phone's own file system
    phone.log    the output of its process
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

import msgspec
from msgspec import Struct

from clawperator._base.files import AtomicFile, closing, locked, make_private_folder, try_lock
from clawperator._base.text import Grammar
from clawperator._base.typed import decode
from clawperator.errors import ClawError

SERIAL = Grammar(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PhoneState = Literal["running", "crashed", "stopped"]

# Readers of the state hold the lock briefly; a starting phone waits for them.
_LOCK_SECONDS = 0.5


class PhoneRecord(Struct, frozen=True):
    """``phone.json``: the address of a running phone, and the token of its control channel."""

    serial: str
    pid: int
    seed: int
    host: str
    adbd_port: int
    server_port: int
    control_port: int
    token: str
    started_at: int
    operator_package: str
    apps: list[str]


def product_home() -> str:
    """The folder of all product files: ``CLAWPERATOR_HOME``, or ``~/.clawperator``."""
    return os.environ.get("CLAWPERATOR_HOME") or os.path.join(os.path.expanduser("~"), ".clawperator")


def config_file() -> str:
    """The path of the user's configuration."""
    return os.path.join(product_home(), "clawperator.toml")


def has_config() -> bool:
    """Whether the user has a configuration. Cheaper than to read it."""
    return os.path.lexists(config_file())


def check_serial(serial: str) -> str:
    if not SERIAL.fullmatch(serial):
        raise ClawError(
            "USAGE",
            f"invalid phone name {serial!r}",
            hint="Use up to 64 letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
    return serial


class PhoneFolder:
    """The folder of one simulated phone."""

    def __init__(self, serial: str) -> None:
        self.serial = check_serial(serial)
        self.path = os.path.join(product_home(), "phones", serial)
        self.files = os.path.join(self.path, "files")
        self.setup = os.path.join(self.path, "setup")  # what the phone was set up with
        self.log = os.path.join(self.path, "phone.log")
        self._lock = os.path.join(self.path, "lock")
        self._record = os.path.join(self.path, "phone.json")

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def make(self) -> None:
        """Create the folder, accessible by the owner only."""
        make_private_folder(self.files)
        os.chmod(self.path, 0o700)

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Hold the lock while the ``with`` block runs. False when a phone holds it."""
        with locked(self._lock, _LOCK_SECONDS) as descriptor:
            if descriptor is not None:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            yield descriptor is not None

    def holder(self) -> int | None:
        """The process that holds the lock, or held it last."""
        try:
            with open(self._lock, "rb") as file:
                return int(file.read(20))
        except (OSError, ValueError):
            return None

    def _open_lock(self) -> int:
        return os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> PhoneRecord | None:
        try:
            with open(self._record, "rb") as file:
                return decode(file.read(), PhoneRecord)
        except (OSError, ValueError):
            return None

    def write(self, record: PhoneRecord) -> None:
        """Write the record, readable by its owner only: it has the control token."""
        with AtomicFile(self._record, private=True) as out:
            out.file.write(msgspec.json.encode(record))

    def forget(self) -> None:
        """Remove the record after a clean stop."""
        with suppress(FileNotFoundError):
            os.remove(self._record)

    def discard(self) -> None:
        """Remove the folder of a phone that has never started. Nothing happens while a phone runs in it."""
        import shutil

        with ExitStack() as stack:
            if os.path.exists(self._lock) and not try_lock(stack.enter_context(closing(self._open_lock()))):
                return
            if self.read() is None:
                shutil.rmtree(self.path, ignore_errors=True)

    def delete(self) -> bool:
        """Remove the folder with everything in it. False when a phone runs in it. Links are not followed."""
        import shutil

        if os.path.islink(self.path):
            os.unlink(self.path)
            return True
        with self.lock() as held:
            if held:
                shutil.rmtree(self.path)
            return held

    def wipe(self) -> None:
        """Remove the phone's files."""
        import shutil

        shutil.rmtree(self.files, ignore_errors=True)
        make_private_folder(self.files)

    def state(self) -> PhoneState:
        """Whether the phone runs, has crashed, or was stopped."""
        if not self.exists():
            return "stopped"
        with closing(self._open_lock()) as descriptor:
            # A shared lock, so that readers do not block each other.
            if not try_lock(descriptor, shared=True):
                return "running"
        return "crashed" if self.read() is not None else "stopped"


def phone_folders() -> list[PhoneFolder]:
    """The folders of all simulated phones, by name."""
    try:
        names = sorted(os.listdir(os.path.join(product_home(), "phones")))
    except OSError:
        return []
    return [PhoneFolder(name) for name in names if SERIAL.fullmatch(name)]
