"""Session files: names, opening without following links, locks, their errors; and the records in them.

A writer holds an exclusive lock on the file of its session; the lock ends with its process. Readers hold a shared
lock briefly, and writers wait for them.

The records are a meta line, then one line for each committed turn. A line is committed with its line end. Bytes
after the last line end, left by a crash, are not part of the session.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.files import closing, file_error, try_lock, unlock, why
from clawperator._base.text import Grammar
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
_OWN_ID = Grammar(r"sess_[0-9a-z]+_[0-9a-f]{8}")


def is_session_id(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_ID and text[0] not in ".-" and _ID_CHARACTERS.issuperset(text)


def check_id(session_id: str, *, is_new: bool = False) -> str:
    """The id itself; ``SESSION_ID_INVALID`` when it is malformed. For a new session the hint is a valid id."""
    if not is_session_id(session_id):
        near = "".join(c for c in session_id if c in _ID_CHARACTERS).lstrip(".-")[:_LONGEST_ID] or "demo"
        message = (
            f"invalid session id {session_id!r}: use at most {_LONGEST_ID} letters, digits, '.', '_' and '-', "
            "starting with a letter, digit or '_'"
        )
        hint = f"Pass '--session-id {near}', or leave it out to generate one." if is_new else None
        raise unresolved("SESSION_ID_INVALID", session_id, message, hint)
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


def is_own_file(session_id: str, directory: str) -> bool:
    """Whether a session file is ours whatever it contains: by an id that we made, or in our own folder."""
    with suppress(ValueError):  # no path at all
        if os.path.realpath(directory).endswith(os.sep + DEFAULT_DIRECTORY):
            return True
    return _OWN_ID.fullmatch(session_id) is not None


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
        session_id = name.rpartition(".")[0]
        hint = f"Run '{claw_command(directory, 'delete-session', session_id)}' to remove it."
        if not is_own_file(session_id, directory) and not is_session_file(path):
            hint = f"It is no session. Run '{claw_command(directory, 'list-sessions')}' to list the sessions."
    message = f"cannot read {path}: {reason}"
    return ClawError("SESSION_LOAD_FAILED", message, hint=hint, operation="read", target=path)


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
    message = f"session {session_id!r} is in use by another process"
    hint = f"Wait until '{check}' reports it as stopped."
    return ClawError("SESSION_BUSY", message, hint=hint, operation="lock", target=session_id)


def unresolved(code: str, session_id: str, message: str, hint: str | None) -> ClawError:
    """The error of a session that cannot be used under this id."""
    return ClawError(code, message, hint=hint, operation="resolve_session", target=session_id)


def not_found(directory: str, session_id: str) -> ClawError:
    hint = f"Run '{claw_command(directory, 'list-sessions')}' to list the sessions."
    return unresolved("SESSION_NOT_FOUND", session_id, f"session {session_id!r} not found in {directory}", hint)


# Records

VERSION = 1
MOST_CHARACTERS = 64 * 1024

META_BEGIN = b'{"type":"session_meta"'
_Milliseconds = Annotated[int, Meta(ge=0, le=LATEST_MS)]
_Count = Annotated[int, Meta(ge=0)]


class SessionMeta(Struct, frozen=True, kw_only=True, tag_field="type", tag="session_meta"):
    """The first line."""

    version: int = VERSION
    session_id: str
    created_at_ms: _Milliseconds


class Usage(Struct, frozen=True):
    """Token usage of a turn: words, or the count of a model service.

    ``cached_tokens`` and ``cache_write_tokens`` are the input tokens that the service read from its cache and
    wrote to it; ``requests`` counts its replies.
    """

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cached_tokens: _Count = 0
    cache_write_tokens: _Count = 0
    requests: _Count = 0

    def plus(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class CallRecord(Struct, frozen=True, omit_defaults=True):
    """A tool call and its outcome. ``code`` is the error code of a failed call."""

    name: str
    params: Mapping[str, Any]
    handled: bool
    message: str
    code: str | None = None


class Denial(Struct, frozen=True):
    """A call that the policy denied."""

    tool_name: str
    reason: str
    status: str = "blocked"


class EvidenceLink(Struct, frozen=True, omit_defaults=True):
    """A link to evidence. The path of a stored document is relative to the sessions' directory."""

    kind: str
    ref: str
    path: str
    device_id: str | None = None
    bytes: int | None = None
    sha256: str | None = None


class TurnRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="turn"):
    """A committed turn. The session sets its number and the links to its evidence.

    ``output`` is None for a prompt that was stored without an answer.
    """

    turn: _Count = 0
    correlation_id: str = ""
    prompt: str
    output: str | None = None
    stop_reason: str = "completed"
    outcome: str | None = None
    started_at_ms: int
    ended_at_ms: int
    brain: str | None = None
    usage: Usage = Usage()
    matched_commands: tuple[str, ...] = ()
    matched_tools: tuple[str, ...] = ()
    tool_calls: tuple[CallRecord, ...] = ()
    permission_denials: tuple[Denial, ...] = ()
    evidence: tuple[EvidenceLink, ...] = ()


class LegacySession(Struct, frozen=True):
    """A session of the reference harness: one document with the prompts only."""

    messages: tuple[str, ...]
    session_id: str = ""
    input_tokens: _Count = 0
    output_tokens: _Count = 0


class _Kind(Struct, frozen=True):
    type: str


class SessionRecords(Struct, frozen=True):
    """The records of a file. ``committed`` is the number of committed bytes; ``meta`` is None for none."""

    meta: SessionMeta | None
    turns: tuple[TurnRecord, ...]
    committed: int
    warnings: tuple[str, ...]


_META = msgspec.json.Decoder(SessionMeta)
TURN = msgspec.json.Decoder(TurnRecord)
_KIND = msgspec.json.Decoder(_Kind)
_LEGACY = msgspec.json.Decoder(LegacySession)


def encode_line(record: SessionMeta | TurnRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def read_legacy(data: bytes, path: str) -> LegacySession:
    try:
        return _LEGACY.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as e:
        raise damaged(path, _reason(e)) from None


def read_turns(data: bytes, session_id: str, path: str) -> SessionRecords:
    """Read all turns; ``SESSION_LOAD_FAILED`` with the reason for an invalid file.

    Lists and loads use it alike, so a session that is listed as valid can be loaded.
    """
    lines, committed = _whole_lines(data)
    torn = len(data) - committed
    warnings = [f"the last {torn} bytes are an incomplete line and are ignored"] if torn else []
    if not lines:
        # The meta line is always written first: other bytes mean a foreign file.
        if not data.startswith(META_BEGIN) and not META_BEGIN.startswith(data):
            raise damaged(path, "no session_meta line at the start")
        return SessionRecords(None, (), 0, tuple(warnings))
    meta = _read_meta(lines[0], path)
    if meta.session_id != session_id:
        warnings.append(f"the file contains the session id {meta.session_id!r}")
    turns: list[TurnRecord] = []
    unknown: dict[str, int] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            turns.append(TURN.decode(line))
        except (msgspec.MsgspecError, ValueError, RecursionError) as e:
            if not line.strip():
                continue
            kind = _other_kind(line)
            if kind is None:
                raise damaged(path, f"line {number}: {_reason(e)}") from None
            unknown[kind] = unknown.get(kind, 0) + 1
    warnings += _anomalies((turn.turn for turn in turns), unknown)
    return SessionRecords(meta, tuple(turns), committed, tuple(warnings))


def _anomalies(numbers: Iterable[int], unknown: Mapping[str, int]) -> Iterator[str]:
    if unknown:
        kinds = ", ".join(repr(kind[:40]) for kind in sorted(unknown)[:5])
        yield f"{sum(unknown.values())} records of unknown kinds were ignored: {kinds}"
    for place, number in enumerate(numbers, 1):
        if number != place:
            yield f"turn {number} is in the place of turn {place}"
            return


def _whole_lines(data: bytes) -> tuple[list[bytes], int]:
    """The committed lines, and their size in bytes with line ends."""
    lines = data.split(b"\n")
    committed = len(data) - len(lines.pop())
    # After a power loss a line may have its length but not all of its bytes.
    if lines and b"\0" in lines[-1]:
        committed -= len(lines.pop()) + 1
    return lines, committed


def _read_meta(line: bytes, path: str) -> SessionMeta:
    try:
        meta = _META.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise damaged(path, "no session_meta line at the start") from None
    if meta.version > VERSION:
        reason = f"version {meta.version} is newer than version {VERSION}, which this program reads"
        raise damaged(path, reason, hint="Run 'pip install --upgrade clawperator'.")
    if meta.version < 1:
        raise damaged(path, f"invalid version {meta.version}")
    return meta


def _other_kind(line: bytes) -> str | None:
    """The type of a valid record that is not a turn."""
    try:
        kind = _KIND.decode(line).type
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if kind in {"turn", "session_meta"} else kind


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not valid UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).replace("`", "")


def count_messages(turns: Sequence[TurnRecord]) -> int:
    """The number of prompts and answers."""
    return len(turns) + sum(turn.output is not None for turn in turns)


def sum_usage(usages: Iterable[Usage]) -> Usage:
    return reduce(Usage.plus, usages, Usage())


def legacy_turns(legacy: LegacySession, at_ms: int) -> Iterator[TurnRecord]:
    """The prompts as turns without answers."""
    for number, prompt in enumerate(legacy.messages, 1):
        yield TurnRecord(turn=number, prompt=prompt, started_at_ms=at_ms, ended_at_ms=at_ms)


def truncate(text: str) -> str:
    """Shorten a text to the maximum of a turn."""
    over = len(text) - MOST_CHARACTERS
    return text if over <= 0 else f"{text[:MOST_CHARACTERS]}[{over} more characters omitted]"


def map_texts(record: TurnRecord, text: Callable[[str], str], value: Callable[[Any], Any]) -> TurnRecord:
    """Apply ``text`` to each external text of the record and ``value`` to all parameters."""
    return replace(
        record,
        correlation_id=text(record.correlation_id),
        prompt=text(record.prompt),
        output=None if record.output is None else text(record.output),
        brain=None if record.brain is None else text(record.brain),
        matched_commands=tuple(map(text, record.matched_commands)),
        matched_tools=tuple(map(text, record.matched_tools)),
        tool_calls=tuple(
            replace(call, name=text(call.name), params=value(call.params), message=text(call.message))
            for call in record.tool_calls
        ),
        permission_denials=tuple(
            replace(denial, tool_name=text(denial.tool_name), reason=text(denial.reason))
            for denial in record.permission_denials
        ),
    )


def is_session_file(path: str) -> bool:
    """Whether a file starts like a session, wherever it is. Links are followed."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError, ValueError), closing(os.open(path, flags)) as descriptor:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return is_file and os.pread(descriptor, len(META_BEGIN), 0) == META_BEGIN
    return False
