"""Reading session files: completely, or as a summary for lists."""

import os
import stat
import time
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.sessions.files import LEGACY_SUFFIX, is_absent, is_held, open_file, read_file, unreadable
from clawperator.agent.sessions.records import (
    META_BEGIN,
    TurnRecord,
    Usage,
    count_messages,
    legacy_turns,
    read_legacy,
    read_turns,
    sum_usage,
)
from clawperator.errors import ClawError


class SessionSummary(Struct, frozen=True, kw_only=True):
    """A session in a list. An unreadable one is not ``valid``, and ``problem`` is the reason.

    ``stopped`` means that no process holds it for writing.
    """

    session_id: str
    path: str
    created_at: str
    last_modified: str
    updated_at_ms: int
    prompt_count: int = 0
    message_count: int = 0
    stopped: bool = True
    valid: bool = True
    size_bytes: int = 0
    problem: str | None = None


class LoadedSession(Struct, frozen=True, kw_only=True):
    """The contents of a session at the time of reading."""

    session_id: str
    path: str
    turns: tuple[TurnRecord, ...]
    prompt_count: int
    message_count: int
    input_tokens: int
    output_tokens: int
    created_at: str
    last_modified: str
    warnings: tuple[str, ...] = ()
    legacy: bool = False


def load_file(session_id: str, path: str) -> LoadedSession:
    """Load a session file. ``OSError`` when it cannot be read, ``SESSION_LOAD_FAILED`` when it is damaged."""
    descriptor = open_file(path)
    try:
        modified = os.fstat(descriptor).st_mtime
        data = read_file(descriptor, path)
    finally:
        os.close(descriptor)
    created, warnings = modified, tuple[str, ...]()
    if path.endswith(LEGACY_SUFFIX):
        legacy = read_legacy(data, path)
        turns = tuple(legacy_turns(legacy, max(int(modified * 1000), 0)))
        usage = Usage(legacy.input_tokens, legacy.output_tokens)
    else:
        records = read_turns(data, session_id, path)
        turns, warnings = records.turns, records.warnings
        usage = sum_usage(turns)
        created = records.meta.created_at_ms / 1000 if records.meta else modified
    return LoadedSession(
        session_id=session_id,
        path=path,
        turns=turns,
        prompt_count=len(turns),
        message_count=count_messages(turns),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        created_at=_timestamp(created),
        last_modified=_timestamp(modified),
        warnings=warnings,
        legacy=path.endswith(LEGACY_SUFFIX),
    )


def is_session_file(path: str) -> bool:
    """Whether a file starts like a session, wherever it is. Links are followed."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return is_file and os.pread(descriptor, len(META_BEGIN), 0) == META_BEGIN
        finally:
            os.close(descriptor)
    return False


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
        with suppress(OSError):  # without lock support there are no writers
            summary = replace(summary, stopped=not is_held(descriptor))
        data = read_file(descriptor, path)
        if path.endswith(LEGACY_SUFFIX):
            count = len(read_legacy(data, path).messages)
            return replace(summary, prompt_count=count, message_count=count)
        records = read_turns(data, session_id, path)
    except (OSError, ClawError) as e:
        error = unreadable(path, e) if isinstance(e, OSError) else e
        return replace(summary, valid=False, problem=error.message)
    finally:
        os.close(descriptor)
    return replace(
        summary,
        created_at=_timestamp(records.meta.created_at_ms / 1000) if records.meta else summary.created_at,
        prompt_count=len(records.turns),
        message_count=count_messages(records.turns),
    )


def _timestamp(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):  # an invalid time of the file system
        return "1970-01-01T00:00:00Z"
