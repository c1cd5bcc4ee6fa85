"""The files of sessions: their names, opening them without being led elsewhere, and their locks.

Whoever writes to a session or removes it holds an exclusive lock on its file, and so does nobody else. The lock
dies with its holder. Those who only look take a shared lock for a moment; writers wait for that.
"""

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress

from clawperator._files import why
from clawperator.errors import ClawError

DEFAULT_DIRECTORY = os.path.join(".claw", "sessions")
SUFFIX, LEGACY_SUFFIX, EVIDENCE_SUFFIX = ".jsonl", ".json", ".evidence"

MOST_BYTES = 256 * 1024 * 1024
LATEST_MS = 253_402_300_799_999  # the end of the year 9999

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LONGEST_ID = 128
_POLL_SECONDS = 0.004
_LOOKED_AT_SECONDS = 0.5
_BLOCK = 16 * 1024 * 1024


def is_session_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text[0] not in ".-" and _LETTERS.issuperset(text)


def check_id(session_id: str) -> str:
    if not is_session_id(session_id):
        raise ClawError(
            "SESSION_ID_INVALID",
            f"{session_id!r} is no id of a session: letters, digits, '.', '_' and '-', at most {_LONGEST_ID}, "
            "beginning with neither dot nor dash",
            operation="resolve_session",
            target=session_id,
        )
    return session_id


def is_of_sessions(path: str, directory: str) -> bool:
    """Whether it is the name of a session's file in the directory, or of evidence there. Links are followed."""
    first, *rest = os.path.relpath(os.path.realpath(path), os.path.realpath(directory)).split(os.sep)
    return first.endswith(EVIDENCE_SUFFIX) or (not rest and first.endswith((SUFFIX, LEGACY_SUFFIX)))


def now_ms() -> int:
    """The time as it is kept. Whatever a clock says, it is a time that can be read again."""
    return min(max(int(time.time() * 1000), 0), LATEST_MS)


def make_id() -> str:
    """An id that nobody has, and that sorts behind those made before."""
    number, digits = now_ms(), ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return f"sess_{digits}_{os.urandom(4).hex()}"


def command(directory: str, *words: str) -> str:
    """A command line of ``claw`` that means the sessions of this directory."""
    import shlex

    where = () if os.path.normpath(directory) == DEFAULT_DIRECTORY else ("--directory", directory)
    return shlex.join(["claw", *words, *where])


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the file itself, never of what a link leads to; a pipe is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def read_file(descriptor: int, path: str) -> bytes:
    """All of a session's file, if it is a file and not too large; ``SESSION_LOAD_FAILED`` otherwise."""
    about = os.fstat(descriptor)
    if stat.S_ISDIR(about.st_mode):
        from shlex import quote

        raise damaged(path, "it is a folder", hint=f"Run 'rm -r {quote(path)}' to be rid of it.")
    if not stat.S_ISREG(about.st_mode):
        raise damaged(path, "it is no regular file")
    blocks: list[bytes] = []
    size = 0
    while size <= MOST_BYTES and about.st_size <= MOST_BYTES:
        block = os.pread(descriptor, min(max(about.st_size - size, 0) + 1, _BLOCK), size)
        if not block:
            return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        blocks.append(block)
        size += len(block)
    raise damaged(path, f"it is larger than {MOST_BYTES // 1024 // 1024} MiB")


def is_absent(error: OSError | ValueError) -> bool:
    """Whether it is not there, or not even the folder, or a file stands where that should."""
    return isinstance(error, OSError) and error.errno in {errno.ENOENT, errno.ENOTDIR}


def damaged(path: str, reason: str, *, hint: str | None = None) -> ClawError:
    """Why a file that is there is no session that can be read."""
    if hint is None:
        directory, name = os.path.split(path)
        hint = f"Run '{command(directory, 'delete-session', name.rpartition('.')[0])}' to be rid of it."
    return ClawError(
        "SESSION_LOAD_FAILED", f"cannot read {path}: {reason}", hint=hint, operation="read", target=path
    )


def unreadable(path: str, error: OSError | ValueError) -> ClawError:
    """Why a file that is there cannot be opened or read."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return damaged(path, "it is a link, and links are not followed", hint=f"Put the file itself at {path}.")
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM}:
        from shlex import quote

        return damaged(path, why(error), hint=f"Run 'chmod u+r {quote(path)}'.")
    return damaged(path, why(error))


def unwritable(path: str, error: OSError | ValueError, operation: str = "write") -> ClawError:
    """Why nothing can be written there, and what helps."""
    from shlex import quote

    number, at = (error.errno, error.filename) if isinstance(error, OSError) else (None, None)
    other = "pass --directory with a folder that can be written to"
    match number:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            hint = "Free space on the disk, or pass --directory with a folder on another one."
        case errno.EACCES | errno.EPERM:
            refuses = _nearest(at if isinstance(at, str) else path)
            mode = "u+rwx" if os.path.isdir(refuses) else "u+rw"
            hint = f"Run 'chmod {mode} {quote(refuses)}', or {other}."
        case errno.ENOENT:
            folder = path if operation == "mkdir" else os.path.dirname(path) or "."
            hint = f"Run 'mkdir -p {quote(folder)}', or {other}."
        case errno.ENOTDIR | errno.EEXIST:
            hint = f"A file stands where a folder should: {other}."
        case _:
            hint = f"{other[0].upper()}{other[1:]}."
    return ClawError(
        "SESSION_WRITE_FAILED",
        f"cannot {operation} {path}: {why(error)}",
        hint=hint,
        operation=operation,
        target=path,
    )


def _nearest(path: str) -> str:
    """The path itself, or the folder above it that is there."""
    while path and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path or "."


def make_folder(path: str) -> None:
    """Make a folder and those above it, for their owner alone."""
    missing, at = [], path
    while True:
        try:
            os.mkdir(at, 0o700)
            break
        except FileNotFoundError:
            above = os.path.dirname(at.rstrip("/"))
            if above in ("", at):
                raise
            missing.append(at)
            at = above
        except FileExistsError:
            if not os.path.isdir(at):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), at) from None
            break
    for at in reversed(missing):
        with suppress(FileExistsError):  # others make it, too
            os.mkdir(at, 0o700)


def is_held(descriptor: int) -> bool:
    """Whether a process writes to the session. Those who look do not stand in each other's way."""
    if not _flock(descriptor, fcntl.LOCK_SH):
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def take_lock(descriptor: int, deadline: float) -> bool:
    """Hold the session until the descriptor is closed. False when somebody writes to it past the deadline."""
    patient = max(deadline, time.monotonic() + _LOOKED_AT_SECONDS)
    while not _flock(descriptor, fcntl.LOCK_EX):
        # Who only looks will soon be gone, and is no reason to say that it is busy.
        if time.monotonic() >= (deadline if is_held(descriptor) else patient):
            return False
        # Not all at once, so that no one is always a moment too late.
        time.sleep(_POLL_SECONDS * (0.5 + os.urandom(1)[0] / 256))
    return True


def is_at(descriptor: int, path: str) -> bool:
    """Whether the file that is open is still the one at the path: it may have been removed, and made anew."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)


def busy(directory: str, session_id: str) -> ClawError:
    return ClawError(
        "SESSION_BUSY",
        f"another process writes to the session {session_id}",
        hint=f"Wait until '{command(directory, 'list-sessions', '--output-format', 'json')}' says it is stopped.",
        operation="lock",
        target=session_id,
    )


def not_found(directory: str, session_id: str) -> ClawError:
    return ClawError(
        "SESSION_NOT_FOUND",
        f"session {session_id!r} not found in {directory}",
        hint=f"Run '{command(directory, 'list-sessions')}' for those there are.",
        operation="resolve_session",
        target=session_id,
    )


def _flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
