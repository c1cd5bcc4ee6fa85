"""Turns for tests of sessions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.sessions.records import TurnRecord
from clawperator.agent.sessions.store import SessionStore
from clawperator.errors import ClawError


def turn(prompt: str = "open settings", output: str | None = "done", **fields: Any) -> TurnRecord:
    return TurnRecord(prompt=prompt, output=output, started_at_ms=1_000, ended_at_ms=2_000, **fields)


def written(folder: Path, session_id: str = "s", *prompts: str) -> Path:
    """The file of a session that has these prompts."""
    with SessionStore(str(folder)).open(session_id) as session:
        for prompt in prompts or ("first",):
            session.commit(turn(prompt))
    return folder / f"{session_id}.jsonl"


class Refusal:
    """The error of a block, set when the block has ended."""

    value: ClawError


@contextmanager
def refused(code: str) -> Iterator[Refusal]:
    """The block raises this code, with an operation, a target and a hint."""
    refusal = Refusal()
    with pytest.raises(ClawError) as caught:
        yield refusal
    refusal.value = caught.value
    assert refusal.value.code == code, refusal.value.message
    assert refusal.value.operation
    assert refusal.value.target
    assert refusal.value.hint
