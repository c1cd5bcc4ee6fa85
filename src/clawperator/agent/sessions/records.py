"""Records of a session file: a meta line, then one line for each committed turn.

A line is committed with its line end. Bytes after the last line end, left by a crash, are not part of the session.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from clawperator.agent.sessions.files import LATEST_MS, damaged

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
_TURN = msgspec.json.Decoder(TurnRecord)
_KIND = msgspec.json.Decoder(_Kind)
_LEGACY = msgspec.json.Decoder(LegacySession)


def encode_line(record: SessionMeta | TurnRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def read_turn(line: bytes) -> TurnRecord:
    """Decode the line of a turn."""
    return _TURN.decode(line)


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
            turns.append(read_turn(line))
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
        raise damaged(
            path,
            f"version {meta.version} is newer than version {VERSION}, which this program reads",
            hint="Run 'pip install --upgrade clawperator'.",
        )
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


def sum_usage(turns: Sequence[TurnRecord]) -> Usage:
    total = Usage()
    for turn in turns:
        total = total.plus(turn.usage)
    return total


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
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return is_file and os.pread(descriptor, len(META_BEGIN), 0) == META_BEGIN
        finally:
            os.close(descriptor)
    return False
