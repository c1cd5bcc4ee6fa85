"""The sessions of a directory: ``<id>.jsonl`` each, with its evidence in ``<id>.evidence/`` beside it.

``<id>.json`` is a session of the reference harness: it can be listed, loaded and deleted, and not be gone on with.
"""

import errno
import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from clawperator._files import why
from clawperator.agent.sessions.files import (
    DEFAULT_DIRECTORY,
    LEGACY_SUFFIX,
    SUFFIX,
    busy,
    check_id,
    command,
    is_absent,
    is_at,
    is_session_id,
    make_folder,
    make_id,
    not_found,
    open_file,
    read_file,
    take_lock,
    unreadable,
    unwritable,
)
from clawperator.agent.sessions.reading import LoadedSession, SessionSummary, load_file, summarise_file
from clawperator.agent.sessions.records import read_turns
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.sessions.evidence import EvidenceFolder
    from clawperator.agent.sessions.writer import OpenSession

__all__ = ["DEFAULT_DIRECTORY", "Listing", "LoadedSession", "SessionStore", "SessionSummary"]

# So often a session may be removed by others just when we have come to hold it.
_MOST_TRIES = 100
# What cannot be opened for one of these reasons, a link for one, is nothing that a process of ours writes to.
_NOT_OURS = (errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO)


class Listing(Struct, frozen=True):
    """The sessions of a directory, by id."""

    directory: str
    sessions: list[SessionSummary]


class SessionStore:
    """The sessions in one directory. Nothing is kept in mind: the files are all there is."""

    def __init__(self, directory: str = DEFAULT_DIRECTORY) -> None:
        self.directory = directory

    def list(self) -> Listing:
        """All sessions, whatever state they are in. A directory that is not there, or is a file, has none."""
        names: dict[str, str] = {}
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    stem, dot, extension = entry.name.rpartition(".")
                    if dot + extension not in (SUFFIX, LEGACY_SUFFIX) or not is_session_id(stem):
                        continue
                    if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                        names[stem] = max(names.get(stem, ""), entry.name)  # .jsonl before .json
        except (OSError, ValueError) as e:
            if is_absent(e):
                return Listing(self.directory, [])
            raise ClawError(
                "FILESYSTEM_FAILED",
                f"cannot list {self.directory}: {why(e)}",
                hint="Pass --directory with a folder that can be read.",
                operation="open",
                target=self.directory,
            ) from e
        found = (summarise_file(name, os.path.join(self.directory, names[name])) for name in sorted(names))
        return Listing(self.directory, [summary for summary in found if summary is not None])

    def load(self, session_id: str) -> LoadedSession:
        """The whole session. It may be open elsewhere: what is being written at this moment does not count yet."""
        check_id(session_id)
        for suffix in (SUFFIX, LEGACY_SUFFIX):
            path = self._path(session_id, suffix)
            try:
                return load_file(session_id, path)
            except (OSError, ValueError) as e:
                if not is_absent(e):
                    raise unreadable(path, e) from e
        raise not_found(self.directory, session_id)

    def open(
        self,
        session_id: str | None = None,
        *,
        resume: bool = False,
        create: bool = True,
        wait_seconds: float = 5.0,
    ) -> "OpenSession":
        """Hold a session to write turns to it: a new one, or with ``resume`` one that is there.

        Without an id one is made. Without ``create`` the session must be there, too. ``SESSION_EXISTS`` for one
        that has turns already, unless it is resumed; ``SESSION_BUSY`` when another process does not let go of it
        within ``wait_seconds``.
        """
        from clawperator.agent.sessions.writer import OpenSession

        may_create = create and not resume
        session_id = check_id(session_id if session_id is not None else make_id() if may_create else "")
        path = self._path(session_id)
        descriptor = self._hold(session_id, path, time.monotonic() + wait_seconds, may_create=may_create)
        try:
            records = read_turns(read_file(descriptor, path), session_id, path)
            if records.turns and not resume:
                raise self._exists(session_id)  # noqa: TRY301 - the descriptor is closed in one place
        except OSError as e:
            os.close(descriptor)
            raise unreadable(path, e) from e
        except BaseException:
            os.close(descriptor)
            raise
        session = OpenSession(self.directory, session_id, descriptor, records, resumed=resume)
        try:
            session.begin()
        except BaseException:
            session.close()
            raise
        return session

    def delete(self, session_id: str) -> bool:
        """Remove a session and its evidence; False when there is none. ``SESSION_BUSY`` while it is written to."""
        check_id(session_id)
        removed = self._delete(session_id)
        legacy = self._path(session_id, LEGACY_SUFFIX)
        return _unlink(legacy) or removed

    def _path(self, session_id: str, suffix: str = SUFFIX) -> str:
        return os.path.join(self.directory, session_id + suffix)

    def _hold(self, session_id: str, path: str, deadline: float, *, may_create: bool) -> int:
        """A descriptor of the session's file, locked."""
        for _ in range(_MOST_TRIES):
            descriptor = self._open_to_write(session_id, path, may_create=may_create)
            held = False
            try:
                if not take_lock(descriptor, deadline):
                    break
                held = is_at(descriptor, path)  # whoever had the lock before may have removed the file
            except OSError as e:
                raise unwritable(path, e, "lock") from e
            finally:
                if not held:
                    os.close(descriptor)
            if held:
                return descriptor
        raise busy(self.directory, session_id)

    def _open_to_write(self, session_id: str, path: str, *, may_create: bool) -> int:
        legacy = self._path(session_id, LEGACY_SUFFIX)
        if os.path.lexists(legacy) and not os.path.lexists(path):
            raise self._of_the_reference(session_id, legacy)
        flags = os.O_RDWR | os.O_APPEND
        try:
            if not may_create:
                return open_file(path, flags)
            self._make_directory()
            return open_file(path, flags | os.O_CREAT)
        except (OSError, ValueError) as e:
            if is_absent(e) and not may_create:
                raise not_found(self.directory, session_id) from None
            if isinstance(e, OSError) and e.errno in {errno.ELOOP, errno.EISDIR}:
                raise unreadable(path, e) from e
            raise unwritable(path, e, "open") from e

    def _make_directory(self) -> None:
        try:
            make_folder(self.directory)
        except (OSError, ValueError) as e:
            raise unwritable(self.directory, e, "mkdir") from e

    def _delete(self, session_id: str) -> bool:
        from clawperator.agent.sessions.evidence import EvidenceFolder

        path = self._path(session_id)
        evidence = EvidenceFolder(self.directory, session_id)
        for _ in range(_MOST_TRIES):
            descriptor = None
            try:
                descriptor = open_file(path)
                if not take_lock(descriptor, time.monotonic()):
                    break
                if is_at(descriptor, path):
                    return _remove(path, evidence)
            except (OSError, ValueError) as e:
                if is_absent(e):
                    return _remove_aside(evidence)
                if isinstance(e, OSError) and e.errno in _NOT_OURS:
                    return _remove(path, evidence)
                raise _not_deleted(path, e) from e
            finally:
                if descriptor is not None:
                    os.close(descriptor)
        raise busy(self.directory, session_id)

    def _exists(self, session_id: str) -> ClawError:
        delete = command(self.directory, "delete-session", session_id)
        return ClawError(
            "SESSION_EXISTS",
            f"there is a session {session_id!r} in {self.directory} already",
            hint=f"Pass --resume {session_id} to go on with it, or run '{delete}' first.",
            operation="resolve_session",
            target=session_id,
        )

    def _of_the_reference(self, session_id: str, path: str) -> ClawError:
        load = command(self.directory, "load-session", session_id)
        return ClawError(
            "SESSION_READ_ONLY",
            f"{path} is a session of an older format, which can be read and not be gone on with",
            hint=f"Pass another --session-id; '{load}' shows the old one.",
            operation="resolve_session",
            target=session_id,
        )


def _remove(path: str, evidence: "EvidenceFolder") -> bool:
    """Remove a session that is held, its evidence first set aside: whoever makes it anew must not lose theirs."""
    try:
        aside = evidence.set_aside()
    except (OSError, ValueError) as e:
        raise _not_deleted(path, e) from e
    try:
        removed = _unlink(path)
    except ClawError:
        if aside is not None:
            evidence.put_back(aside)
        raise
    _remove_aside(evidence)
    return removed


def _remove_aside(evidence: "EvidenceFolder") -> bool:
    """False, always: it is no session that is removed here."""
    try:
        evidence.remove_aside()
    except (OSError, ValueError) as e:
        if not is_absent(e):
            raise _not_deleted(evidence.path, e) from e
    return False


def _unlink(path: str) -> bool:
    """Whether it was there."""
    try:
        os.unlink(path)
    except (OSError, ValueError) as e:
        if is_absent(e):
            return False
        raise _not_deleted(path, e) from e
    return True


def _not_deleted(path: str, error: OSError | ValueError) -> ClawError:
    from shlex import quote

    folder = os.path.dirname(path) or "."
    is_folder = os.path.isdir(path)
    hint = f"Run 'rm -r {quote(path)}'." if is_folder else f"Run 'chmod u+rwx {quote(folder)}', then run it again."
    return ClawError(
        "SESSION_DELETE_FAILED",
        f"cannot remove {path}: {why(error)}",
        hint=hint,
        operation="unlink",
        target=path,
    )
