"""Session store: one ``<id>.jsonl`` per session in a directory, with its evidence in ``<id>.evidence/``.

``<id>.json`` is a session of the reference harness: it can be listed, loaded and deleted, but not resumed.
"""

import errno
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.files import closing, make_private_folder, why
from clawperator.agent.sessions.records import (
    DEFAULT_DIRECTORY,
    LEGACY_SUFFIX,
    META_BEGIN,
    SUFFIX,
    TurnRecord,
    Usage,
    busy,
    check_id,
    claw_command,
    count_messages,
    damaged,
    is_absent,
    is_at,
    is_held,
    is_own_file,
    is_session_id,
    legacy_turns,
    make_id,
    not_found,
    open_file,
    read_file,
    read_legacy,
    read_turns,
    sum_usage,
    take_lock,
    unreadable,
    unresolved,
    unwritable,
)
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.sessions.writer import EvidenceFolder, OpenSession


# How often another process may remove a session while we open it.
_MOST_TRIES = 100
# Files that cannot be opened for these reasons, such as links, have no writer of ours.
_NOT_OURS = (errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO)


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list. An unreadable one is not ``valid``, and ``problem`` is the reason.

    ``stopped`` means that no process holds it for writing.
    """

    session_id: str
    created_at: str
    last_modified: str
    prompt_count: int = 0
    stopped: bool = True
    path: str
    messages_count: int = 0
    valid: bool = True
    size_bytes: int = 0
    problem: str | None = None
    message_count: int = 0  # the same, by its other name
    updated_at_ms: int


class LoadedSession(Struct, frozen=True, kw_only=True):
    """The contents of a session at the time of reading."""

    session_id: str
    path: str
    messages_count: int
    prompt_count: int
    input_tokens: int
    output_tokens: int
    created_at: str
    last_modified: str
    legacy: bool = False
    turns: tuple[TurnRecord, ...]
    warnings: tuple[str, ...] = ()


def load_file(session_id: str, path: str) -> LoadedSession:
    """Load a session file. ``OSError`` when it cannot be read, ``SESSION_LOAD_FAILED`` when it is damaged."""
    with closing(open_file(path)) as descriptor:
        return _read(session_id, path, descriptor)


def _read(session_id: str, path: str, descriptor: int) -> LoadedSession:
    """The contents of an open file."""
    modified, is_legacy = os.fstat(descriptor).st_mtime, path.endswith(LEGACY_SUFFIX)
    data, created = read_file(descriptor, path), modified
    warnings: tuple[str, ...] = ()
    if is_legacy:
        legacy = read_legacy(data, path)
        turns = tuple(legacy_turns(legacy, max(int(modified * 1000), 0)))
        usage = Usage(legacy.input_tokens, legacy.output_tokens)
    else:
        records = read_turns(data, session_id, path)
        turns, warnings = records.turns, records.warnings
        usage = sum_usage(turn.usage for turn in turns)
        created = records.meta.created_at_ms / 1000 if records.meta else modified
    return LoadedSession(
        session_id=session_id,
        path=path,
        turns=turns,
        prompt_count=len(turns),
        messages_count=count_messages(turns),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        created_at=_timestamp(created),
        last_modified=_timestamp(modified),
        warnings=warnings,
        legacy=is_legacy,
    )


def summarise_file(session_id: str, path: str) -> SessionSummary | None:
    """Summarise a session file in any state; None when it was removed meanwhile."""
    try:
        about = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    summary = SessionSummary(
        session_id=session_id,
        path=path,
        created_at=_timestamp(about.st_mtime),
        last_modified=_timestamp(about.st_mtime),
        updated_at_ms=max(int(about.st_mtime * 1000), 0),
        size_bytes=about.st_size,
    )
    try:
        descriptor = open_file(path)
    except OSError as e:
        return None if is_absent(e) else replace(summary, valid=False, problem=unreadable(path, e).message)
    try:
        with closing(descriptor):
            with suppress(OSError):  # without lock support there are no writers
                summary = replace(summary, stopped=not is_held(descriptor))
            loaded = _read(session_id, path, descriptor)
    except (OSError, ClawError) as e:
        error = unreadable(path, e) if isinstance(e, OSError) else e
        return replace(summary, valid=False, problem=error.message)
    counts = dict.fromkeys(("messages_count", "message_count"), loaded.messages_count)
    return replace(summary, created_at=loaded.created_at, prompt_count=loaded.prompt_count, **counts)


def _timestamp(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):  # an invalid time of the file system
        return "1970-01-01T00:00:00Z"


class SessionList(Struct, frozen=True):
    """The sessions of a directory, sorted by id. ``problem`` is why the directory itself cannot have any."""

    directory: str
    sessions: list[SessionSummary]
    problem: str | None = None


class SessionStore:
    """The sessions of one directory. It has no state of its own: the files are the only truth."""

    def __init__(self, directory: str = DEFAULT_DIRECTORY) -> None:
        self.directory = directory

    def list(self) -> SessionList:
        """All sessions, also damaged ones. A missing directory, or a file in its place, has none."""
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
                is_file = isinstance(e, NotADirectoryError)
                return SessionList(self.directory, [], f"{self.directory} is not a folder" if is_file else None)
            message, hint = f"cannot list {self.directory}: {why(e)}", "Pass --directory with a readable folder."
            raise ClawError(
                "FILESYSTEM_FAILED", message, hint=hint, operation="open", target=self.directory
            ) from e
        found = (summarise_file(name, os.path.join(self.directory, names[name])) for name in sorted(names))
        return SessionList(self.directory, [summary for summary in found if summary is not None])

    def load(self, session_id: str) -> LoadedSession:
        """Load a session. If it is open elsewhere, a turn that is being written is not included."""
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
        """Lock a session for writing: a new one, or with ``resume`` an existing one.

        Without an id one is generated. Without ``create`` the session must exist, too. ``SESSION_EXISTS`` for one
        that has turns and is not resumed; ``SESSION_BUSY`` when another process holds it longer than
        ``wait_seconds``.
        """
        from clawperator.agent.sessions.writer import OpenSession

        may_create = create and not resume
        wanted = session_id if session_id is not None else make_id() if may_create else ""
        session_id = check_id(wanted, is_new=may_create)
        path = self._path(session_id)
        descriptor = self._lock(session_id, path, Deadline(wait_seconds), may_create=may_create)
        try:
            records = read_turns(read_file(descriptor, path), session_id, path)
            if records.turns and not resume:
                delete = claw_command(self.directory, "delete-session", session_id)
                message = f"session {session_id!r} already exists in {self.directory}"
                hint = f"Pass '--resume {session_id}' to continue it, or run '{delete}' first."
                raise unresolved("SESSION_EXISTS", session_id, message, hint)  # noqa: TRY301 - the descriptor is closed in one place
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
        """Delete a session and its evidence; False when it does not exist. ``SESSION_BUSY`` while it is open.

        A damaged one is deleted as well. ``SESSION_LOAD_FAILED`` for another file that has the name of a session.
        """
        check_id(session_id)
        removed = self._delete(session_id)
        legacy = self._path(session_id, LEGACY_SUFFIX)
        if not is_own_file(session_id, self.directory):
            try:
                self.load(session_id)  # what is left: the other file of this name
            except ClawError as e:
                if removed or e.code == "SESSION_NOT_FOUND":
                    return removed
                raise
        return _deleted(legacy, os.unlink) or removed

    def _path(self, session_id: str, suffix: str = SUFFIX) -> str:
        return os.path.join(self.directory, session_id + suffix)

    def _lock(self, session_id: str, path: str, deadline: Deadline, *, may_create: bool) -> int:
        """Open and lock the file of a session."""
        for _ in range(_MOST_TRIES):
            descriptor = self._open_to_write(session_id, path, may_create=may_create)
            held = False
            try:
                if not take_lock(descriptor, deadline):
                    break
                held = is_at(descriptor, path)  # the previous holder may have removed the file
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
            load = claw_command(self.directory, "load-session", session_id)
            message = f"{legacy} has a legacy format, which cannot be resumed"
            hint = f"Pass another --session-id; run '{load}' to read the old one."
            raise unresolved("SESSION_READ_ONLY", session_id, message, hint)
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
            make_private_folder(self.directory)
        except (OSError, ValueError) as e:
            raise unwritable(self.directory, e, "mkdir") from e

    def _delete(self, session_id: str) -> bool:
        from clawperator.agent.sessions.writer import EvidenceFolder

        path = self._path(session_id)
        evidence = EvidenceFolder(self.directory, session_id)
        is_own = is_own_file(session_id, self.directory)
        for _ in range(_MOST_TRIES):
            descriptor = None
            try:
                descriptor = open_file(path)
                if not take_lock(descriptor, Deadline(0)):
                    break
                if is_at(descriptor, path):
                    if not is_own and not META_BEGIN.startswith(os.pread(descriptor, len(META_BEGIN), 0)):
                        raise damaged(path, "no session_meta line at the start")
                    return _remove(path, evidence)
            except (OSError, ValueError) as e:
                if is_absent(e):
                    _deleted(evidence.path, lambda _: evidence.remove_aside())
                    return False
                if isinstance(e, OSError) and e.errno in _NOT_OURS:
                    if is_own:
                        return _remove(path, evidence)
                    raise unreadable(path, e) from e
                raise _delete_error(path, e) from e
            finally:
                if descriptor is not None:
                    os.close(descriptor)
        raise busy(self.directory, session_id)


def _remove(path: str, evidence: "EvidenceFolder") -> bool:
    """Delete a locked session. Its evidence is set aside first, so that a new session of this id keeps its own."""
    try:
        aside = evidence.set_aside()
    except (OSError, ValueError) as e:
        raise _delete_error(path, e) from e
    try:
        removed = _deleted(path, os.unlink)
    except ClawError:
        if aside is not None:
            evidence.restore(aside)
        raise
    _deleted(evidence.path, lambda _: evidence.remove_aside())
    return removed


def _deleted(path: str, delete: Callable[[str], None]) -> bool:
    """Delete something; False when it does not exist."""
    try:
        delete(path)
    except (OSError, ValueError) as e:
        if is_absent(e):
            return False
        raise _delete_error(path, e) from e
    return True


def _delete_error(path: str, error: OSError | ValueError) -> ClawError:
    from shlex import quote

    hint = f"Run 'chmod u+rwx {quote(os.path.dirname(path) or '.')}', then repeat the command."
    if os.path.isdir(path):
        hint = f"Run 'rm -r {quote(path)}'."
    message = f"cannot delete {path}: {why(error)}"
    return ClawError("SESSION_DELETE_FAILED", message, hint=hint, operation="unlink", target=path)
