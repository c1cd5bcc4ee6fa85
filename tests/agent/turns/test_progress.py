"""The progress of a turn."""

import time

import pytest

from clawperator.agent.turns.progress import TurnProgress


def test_the_duration_is_in_milliseconds_of_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    turn = TurnProgress()
    assert turn.duration_ms == 0
    now[0] = 112.5
    assert turn.duration_ms == 12_500
