"""Session files: names, opening without following links, locks, and the errors of all of these.

A writer holds an exclusive lock on the file of its session; the lock ends with its process. Readers hold a shared
lock briefly, and writers wait for them.
"""

import errno
import os
import stat
import time

from clawperator._base.deadline import Deadline
from clawperator._base.files import file_error, try_lock, unlock, why
from clawperator.errors import ClawError

DEFAULT_DIRECTORY = os.path.join(".claw", "sessions")
SUFFIX, LEGACY_SUFFIX, EVIDENCE_SUFFIX = ".jsonl", ".json", ".evidence"

MOST_BYTES = 256 * 1024 * 1024
LATEST_MS = 253_402_300_799_999  # the end of the year 9999

_ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_ID = 128
_POLL_SECONDS = 0.004
_READER_SECONDS = 0.5
_BLOCK = 16 * 1024 * 1024


def is_session_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text[0] not in ".-" and _ID_CHARACTERS.issuperset(text)


def check_id(session_id: str, *, is_new: bool = False) -> str:
    """The id itself; ``SESSION_ID_INVALID`` when it is malformed. For a new session the hint is a valid id."""
    if not is_session_id(session_id):
        near = "".join(c for c in session_id if c in _ID_CHARACTERS).lstrip(".-")[:_LONGEST_ID] or "demo"
        raise ClawError(
            "SESSION_ID_INVALID",
            f"invalid session id {session_id!r}: use at most {_LONGEST_ID} letters, digits, '.', '_' and '-', "
            "starting with a letter, digit or '_'",
            hint=f"Pass '--session-id {near}', or leave it out to generate one." if is_new else None,
            operation="resolve_session",
            target=session_id,
        )
    return session_id


def is_session_path(path: str, directory: str) -> bool:
    """Whether the path is a session file of the directory, or evidence there. Links are followed."""
    first, *rest = os.path.relpath(os.path.realpath(path), os.path.realpath(directory)).split(os.sep)
    return first.endswith(EVIDENCE_SUFFIX) or (not rest and first.endswith((SUFFIX, LEGACY_SUFFIX)))


def now_ms() -> int:
    """The current time, clamped to what a session file can hold."""
    return min(max(int(time.time() * 1000), 0), LATEST_MS)


def make_id() -> str:
    """A unique id that sorts after earlier ones."""
    number, digits = now_ms(), ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return f"sess_{digits}_{os.urandom(4).hex()}"


def claw_command(directory: str, *words: str) -> str:
    """A ``claw`` command line for the sessions of this directory."""
    import shlex

    option = () if os.path.normpath(directory) == DEFAULT_DIRECTORY else ("--directory", directory)
    return shlex.join(["claw", *words, *option])


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open the file itself, never the target of a link, and never blocking on a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def read_file(descriptor: int, path: str) -> bytes:
    """Read a session file; ``SESSION_LOAD_FAILED`` for other kinds of files and for oversized ones."""
    about = os.fstat(descriptor)
    if stat.S_ISDIR(about.st_mode):
        from shlex import quote

        raise damaged(path, "is a folder", hint=f"Run 'rm -r {quote(path)}' to remove it.")
    if not stat.S_ISREG(about.st_mode):
        raise damaged(path, "not a regular file")
    blocks: list[bytes] = []
    size = 0
    while size <= MOST_BYTES and about.st_size <= MOST_BYTES:
        block = os.pread(descriptor, min(max(about.st_size - size, 0) + 1, _BLOCK), size)
        if not block:
            return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        blocks.append(block)
        size += len(block)
    raise damaged(path, f"larger than {MOST_BYTES // 1024 // 1024} MiB")


def is_absent(error: OSError | ValueError) -> bool:
    """Whether the file or its folder does not exist, or a parent is not a folder."""
    return isinstance(error, OSError) and error.errno in {errno.ENOENT, errno.ENOTDIR}


def damaged(path: str, reason: str, *, hint: str | None = None) -> ClawError:
    """The error of a file that exists and is not a readable session."""
    if hint is None:
        directory, name = os.path.split(path)
        hint = f"Run '{claw_command(directory, 'delete-session', name.rpartition('.')[0])}' to remove it."
    return ClawError(
        "SESSION_LOAD_FAILED", f"cannot read {path}: {reason}", hint=hint, operation="read", target=path
    )


def unreadable(path: str, error: OSError | ValueError) -> ClawError:
    """The error of a file that exists and cannot be opened or read."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return damaged(path, "is a link, and links are not followed", hint=f"Replace the link {path} by the file.")
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM}:
        from shlex import quote

        return damaged(path, why(error), hint=f"Run 'chmod u+r {quote(path)}'.")
    return damaged(path, why(error))


def unwritable(path: str, error: OSError | ValueError, operation: str = "write") -> ClawError:
    """The error of a failed write, with a hint by its cause."""
    from shlex import quote

    number, at = (error.errno, error.filename) if isinstance(error, OSError) else (None, None)
    other = f"pass another folder, for example '--directory {DEFAULT_DIRECTORY}'"
    match number:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            hint = "Free disk space, or pass --directory with a folder on another disk."
        case errno.EACCES | errno.EPERM:
            blocking = _nearest(at if isinstance(at, str) else path)
            mode = "u+rwx" if os.path.isdir(blocking) else "u+rw"
            hint = f"Run 'chmod {mode} {quote(blocking)}', or {other}."
        case errno.ENOENT if operation != "mkdir":  # a folder that cannot be made here cannot be made by hand
            hint = f"Run 'mkdir -p {quote(os.path.dirname(path) or '.')}', or {other}."
        case errno.ENOTDIR | errno.EEXIST:
            hint = f"A parent of {path} is a file; {other}."
        case _:
            hint = f"{other[0].upper()}{other[1:]}."
    return file_error("SESSION_WRITE_FAILED", operation, path, error, hint=hint)


def _nearest(path: str) -> str:
    """The path, or its nearest parent that exists."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path or "."


def is_held(descriptor: int) -> bool:
    """Whether a writer holds the session. Readers do not block each other."""
    if not try_lock(descriptor, shared=True):
        return True
    unlock(descriptor)
    return False


def take_lock(descriptor: int, deadline: Deadline) -> bool:
    """Lock the session until the descriptor is closed. False when a writer holds it past the deadline."""
    readers = Deadline(_READER_SECONDS)
    while not try_lock(descriptor):
        # Readers hold the lock briefly; do not report busy for them.
        if deadline.is_over and (readers.is_over or is_held(descriptor)):
            return False
        # Random pauses, so that no waiting process is starved.
        time.sleep(_POLL_SECONDS * (0.5 + os.urandom(1)[0] / 256))
    return True


def is_at(descriptor: int, path: str) -> bool:
    """Whether the open file is still the one at the path: it may have been removed and recreated."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def busy(directory: str, session_id: str) -> ClawError:
    check = claw_command(directory, "list-sessions", "--output-format", "json")
    return ClawError(
        "SESSION_BUSY",
        f"session {session_id!r} is in use by another process",
        hint=f"Wait until '{check}' reports it as stopped.",
        operation="lock",
        target=session_id,
    )


def not_found(directory: str, session_id: str) -> ClawError:
    return ClawError(
        "SESSION_NOT_FOUND",
        f"session {session_id!r} not found in {directory}",
        hint=f"Run '{claw_command(directory, 'list-sessions')}' to list the sessions.",
        operation="resolve_session",
        target=session_id,
    )
