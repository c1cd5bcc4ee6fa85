"""Installing APKs: sessions that take files in, a block at a time, and put a package on the phone at the end."""

import threading
from contextlib import suppress
from weakref import WeakKeyDictionary, ref

from clawperator.phone.core.apk import ApkError, read_apk
from clawperator.phone.core.packages import ApkFacts
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.base import denied
from clawperator.phone.shell.android.permissions import RUNTIME_PERMISSIONS
from clawperator.phone.shell.pipes import InputStream

MAX_APK = 512 * 1024 * 1024
_BLOCK = 256 * 1024
_FOLDER = "/data/app/vmdl.tmp"
_FIRST_ID = 1_001
_MOST_SESSIONS = 16
_MOST_FILES = 64


class InstallError(Exception):
    """Why an installation failed, in Android's words: ``NAME`` or ``NAME: message``."""


class Sessions:
    """The unfinished installations of one phone. Many threads may use it."""

    def __init__(self, phone: Phone) -> None:
        self._whose = ref(phone)  # a phone that is gone takes its sessions with it
        self._lock = threading.Lock()
        self._files: dict[int, list[str]] = {}
        self._next = _FIRST_ID
        # What each session was created with, for those who write and commit it later.
        self.options: dict[int, dict[str, str]] = {}

    @property
    def _phone(self) -> Phone:
        phone = self._whose()
        assert phone is not None  # whoever calls this holds it
        return phone

    def create(self, size: int | None = None) -> int:
        """A new session. One that announces more than there is room for is refused at once."""
        files = self._phone.storage.system
        if size is not None:
            self._check_room(size)
        with self._lock:
            if not self._files and files.exists(_FOLDER):
                files.remove_tree(_FOLDER)  # left by a phone that was switched off in between
            if len(self._files) >= _MOST_SESSIONS:
                raise InstallError("INSTALL_FAILED_SESSION_INVALID: too many unfinished sessions")
            number, self._next = self._next, self._next + 1
            self._files[number] = []
        try:
            files.mkdir(f"{_FOLDER}/{number}", parents=True)
        except OSError as e:
            self.abandon(number)
            raise _no_room() from e
        return number

    def write(self, number: int, name: str, source: InputStream, size: int | None) -> int:
        """Take in one file: ``size`` bytes and not one more, or all there is. How many there were."""
        if size is not None:
            self._check_room(size)
        with self._lock:
            names = self._find(number)
            if len(names) >= _MOST_FILES:
                raise InstallError("INSTALL_FAILED_SESSION_INVALID: too many files")
            if name not in names:
                names.append(name)
            place = self._place(number, names.index(name))
        limit = MAX_APK if size is None else size
        done = 0
        try:
            with self._phone.storage.system.open(place, "wb") as file:
                while done < limit and (block := source.read(min(_BLOCK, limit - done))):
                    file.write(block)
                    done += len(block)
        except OSError as e:
            if isinstance(e, BrokenPipeError):
                raise
            raise _no_room() from e
        if size is not None and done < size:
            raise InstallError(f"INSTALL_FAILED_INVALID_APK: expected {size} bytes, got {done}")
        if size is None and done == limit and source.read(1):
            raise _no_room()
        return done

    def commit(
        self, number: int, *, replace: bool = True, downgrade: bool = False, grant: bool = False
    ) -> ApkFacts:
        """Put the package on the phone. The session is over, however this ends."""
        try:
            with self._lock:
                places = [self._place(number, i) for i in range(len(self._find(number)))]
            facts, place = self._read_base(places)
            with self._phone.lock:
                self._check_known(facts, replace=replace, downgrade=downgrade)
                try:
                    self._phone.packages.install(facts, place)
                except OSError as e:
                    raise _no_room() from e
                if grant:
                    for permission in RUNTIME_PERMISSIONS:
                        self._phone.packages.grant(facts.package, permission)
            return facts
        finally:
            self.abandon(number)

    def abandon(self, number: int) -> None:
        """Forget a session and its files."""
        files = self._phone.storage.system
        with self._lock:
            self._files.pop(number, None)
            self.options.pop(number, None)
        with suppress(OSError):  # one that has written nothing has no files
            files.remove_tree(f"{_FOLDER}/{number}")

    def _find(self, number: int) -> list[str]:
        if number not in self._files:
            raise denied(f"Caller has no access to session {number}")
        return self._files[number]

    @staticmethod
    def _place(number: int, index: int) -> str:
        return f"{_FOLDER}/{number}/{index}.apk"

    def _check_room(self, size: int) -> None:
        if size > MAX_APK or size > self._phone.storage.space().free:
            raise _no_room()

    def _read_base(self, places: list[str]) -> tuple[ApkFacts, str]:
        """The one file that is not a split of another."""
        problem: ApkError | None = None
        base: tuple[ApkFacts, str] | None = None
        for place in places:
            try:
                with self._phone.storage.system.open(place) as file:
                    facts = read_apk(file)
                base = base or (facts, place)
            except ApkError as e:
                if e.reason != "INSTALL_FAILED_MISSING_SPLIT":
                    raise InstallError(f"{e.reason}: Failed to parse {place}: {e}") from e
                problem = e
        if base is not None:
            return base
        reason = f"{problem.reason}: {problem}" if problem else "INSTALL_FAILED_INVALID_APK: No packages staged"
        raise InstallError(reason)

    def _check_known(self, facts: ApkFacts, *, replace: bool, downgrade: bool) -> None:
        name = facts.package
        if name not in self._phone.packages:
            return
        known = self._phone.packages[name]
        if not replace:
            raise InstallError(
                f"INSTALL_FAILED_ALREADY_EXISTS: Attempt to re-install {name} without first uninstalling."
            )
        if not known.third_party:
            # Nobody but its maker can sign a part of the system.
            raise InstallError(
                f"INSTALL_FAILED_UPDATE_INCOMPATIBLE: Existing package {name} signatures do not match newer"
                " version; ignoring!"
            )
        if facts.version_code < known.version_code and not downgrade:
            raise InstallError(
                f"INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected: Update version code {facts.version_code}"
                f" is older than current {known.version_code}"
            )


_all: WeakKeyDictionary[Phone, Sessions] = WeakKeyDictionary()
_all_lock = threading.Lock()


def sessions(phone: Phone) -> Sessions:
    """The sessions of a phone."""
    with _all_lock:
        return _all.setdefault(phone, Sessions(phone))


def _no_room() -> InstallError:
    return InstallError("INSTALL_FAILED_INSUFFICIENT_STORAGE")
