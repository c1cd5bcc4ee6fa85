"""What the file of a session holds: a line that says whose it is, then a line for each turn that counts.

A line counts once its line end is there. What a crash left after the last one was never part of the session.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

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
    """What a turn used: words, or the tokens a model's service counted."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0


class CallRecord(Struct, frozen=True, omit_defaults=True):
    """A call of a tool, and what came of it. ``code`` is that of the error, if it failed."""

    name: str
    params: Mapping[str, Any]
    handled: bool
    message: str
    code: str | None = None


class Denial(Struct, frozen=True):
    """A call that the policy did not let through."""

    tool_name: str
    reason: str
    status: str = "blocked"


class EvidenceLink(Struct, frozen=True, omit_defaults=True):
    """Where a piece of evidence lies. The path of a document we wrote is relative to the sessions' directory."""

    kind: str
    ref: str
    path: str
    device_id: str | None = None
    bytes: int | None = None
    sha256: str | None = None


class TurnRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="turn"):
    """A turn that counts. The session gives it its number, and the links to its evidence.

    ``output`` is None when there was no answer: the prompt alone was kept.
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


class CountedTurn(Struct, frozen=True, tag_field="type", tag="turn"):
    """As much of a turn as a list of sessions tells."""

    prompt: str
    turn: int = 0
    output: str | None = None


class LegacySession(Struct, frozen=True):
    """A session as the reference harness kept it: one document, and the prompts alone."""

    messages: tuple[str, ...]
    session_id: str = ""
    input_tokens: _Count = 0
    output_tokens: _Count = 0


class _Kind(Struct, frozen=True):
    type: str


_Turn = TypeVar("_Turn", TurnRecord, CountedTurn)


class Records(Struct, Generic[_Turn], frozen=True):
    """What was read. ``committed`` is how many bytes count; ``meta`` is None when nothing does yet."""

    meta: SessionMeta | None
    turns: tuple[_Turn, ...]
    committed: int
    warnings: tuple[str, ...]


_META = msgspec.json.Decoder(SessionMeta)
_TURN = msgspec.json.Decoder(TurnRecord)
_COUNTED = msgspec.json.Decoder(CountedTurn)
_KIND = msgspec.json.Decoder(_Kind)
_LEGACY = msgspec.json.Decoder(LegacySession)


def line_of(record: SessionMeta | TurnRecord) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def read_turns(data: bytes, session_id: str, path: str) -> Records[TurnRecord]:
    """The whole session; ``SESSION_LOAD_FAILED`` says what keeps it from being one."""
    return _read(data, session_id, path, _TURN)


def read_turn(line: bytes) -> TurnRecord:
    """One turn, from its line."""
    return _TURN.decode(line)


def count_turns(data: bytes, session_id: str, path: str) -> Records[CountedTurn]:
    """The same, with no more of each turn than a list tells."""
    return _read(data, session_id, path, _COUNTED)


def read_legacy(data: bytes, path: str) -> LegacySession:
    try:
        return _LEGACY.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as e:
        raise damaged(path, _said(e)) from None


def _read(data: bytes, session_id: str, path: str, decoder: msgspec.json.Decoder[_Turn]) -> Records[_Turn]:
    lines, committed = _whole_lines(data)
    torn = len(data) - committed
    warnings = [f"the last {torn} bytes are no whole line and do not count"] if torn else []
    if not lines:
        # Nobody writes anything before this line: with other bytes it is a file of somebody else.
        if not data.startswith(META_BEGIN) and not META_BEGIN.startswith(data):
            raise damaged(path, "it does not begin with a session_meta line")
        return Records(None, (), 0, tuple(warnings))
    meta = _read_meta(lines[0], path)
    if meta.session_id != session_id:
        warnings.append(f"the file says that it is the session {meta.session_id!r}")
    turns: list[_Turn] = []
    unknown: dict[str, int] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            turns.append(decoder.decode(line))
        except (msgspec.MsgspecError, ValueError, RecursionError) as e:
            if not line.strip():
                continue
            kind = _other_kind(line)
            if kind is None:
                raise damaged(path, f"line {number}: {_said(e)}") from None
            unknown[kind] = unknown.get(kind, 0) + 1
    warnings += _oddities((turn.turn for turn in turns), unknown)
    return Records(meta, tuple(turns), committed, tuple(warnings))


def _oddities(numbers: Iterable[int], unknown: Mapping[str, int]) -> Iterator[str]:
    if unknown:
        kinds = ", ".join(repr(kind[:40]) for kind in sorted(unknown)[:5])
        yield f"{sum(unknown.values())} records of a kind that is not known here were passed over: {kinds}"
    for place, number in enumerate(numbers, 1):
        if number != place:
            yield f"turn {number} stands where turn {place} should"
            return


def _whole_lines(data: bytes) -> tuple[list[bytes], int]:
    """The lines that count, and how many bytes they are with their line ends."""
    lines = data.split(b"\n")
    committed = len(data) - len(lines.pop())
    # A computer that lost its power may keep the length of a line and not all of its bytes.
    if lines and b"\0" in lines[-1]:
        committed -= len(lines.pop()) + 1
    return lines, committed


def _read_meta(line: bytes, path: str) -> SessionMeta:
    try:
        meta = _META.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise damaged(path, "it does not begin with a session_meta line") from None
    if meta.version > VERSION:
        raise damaged(
            path,
            f"it is of version {meta.version}, and this program reads version {VERSION}",
            hint="Run 'pip install --upgrade clawperator'.",
        )
    if meta.version < 1:
        raise damaged(path, f"there is no version {meta.version}")
    return meta


def _other_kind(line: bytes) -> str | None:
    """The type of a record that is whole and no turn."""
    try:
        kind = _KIND.decode(line).type
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return None if kind in {"turn", "session_meta"} else kind


def _said(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not valid UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).replace("`", "")


def count_messages(turns: Sequence[TurnRecord] | Sequence[CountedTurn]) -> int:
    """Prompts and answers."""
    return len(turns) + sum(turn.output is not None for turn in turns)


def sum_usage(turns: Sequence[TurnRecord]) -> Usage:
    return Usage(sum(turn.usage.input_tokens for turn in turns), sum(turn.usage.output_tokens for turn in turns))


def legacy_turns(legacy: LegacySession, at_ms: int) -> Iterator[TurnRecord]:
    """The prompts as turns without answers."""
    for number, prompt in enumerate(legacy.messages, 1):
        yield TurnRecord(turn=number, prompt=prompt, started_at_ms=at_ms, ended_at_ms=at_ms)


def cut(text: str) -> str:
    """So much of a text stands in a turn."""
    over = len(text) - MOST_CHARACTERS
    return text if over <= 0 else f"{text[:MOST_CHARACTERS]}[{over} more characters left out]"


def rewritten(record: TurnRecord, text: Callable[[str], str], value: Callable[[Any], Any]) -> TurnRecord:
    """The record with each text that came from outside put through ``text``, all parameters through ``value``."""
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
