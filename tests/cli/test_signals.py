"""Interrupts that arrive where Python drops exceptions."""

import signal
import subprocess
import sys
import time
import weakref

import pytest

from clawperator.cli.console import interrupt_on_signals
from clawperator.cli.main import repeat_dropped_interrupt

WAIT_SECONDS = 30


class Owner:
    pass


def drop_an_object_whose_callback_receives(number: signal.Signals) -> None:
    owner = Owner()
    reference = weakref.ref(owner, lambda _: signal.raise_signal(number))
    del owner
    assert reference() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_python_drops_is_raised_again_without_a_message(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", repeat_dropped_interrupt)
    cancelled: list[bool] = []

    def work() -> None:
        with interrupt_on_signals(lambda: cancelled.append(True)):
            drop_an_object_whose_callback_receives(number)
            assert cancelled
            time.sleep(WAIT_SECONDS)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert capfd.readouterr() == ("", "")


def test_other_dropped_exceptions_are_still_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise ValueError("in a callback")

    monkeypatch.setattr(sys, "unraisablehook", repeat_dropped_interrupt)
    owner = Owner()
    reference = weakref.ref(owner, fail)
    del owner
    assert reference() is None
    assert "ValueError: in a callback" in capfd.readouterr().err


def test_the_commands_repeat_dropped_interrupts() -> None:
    program = (
        "import os, sys; from clawperator.cli import main as cli;"
        "import clawperator.cli.dispatch as d;"
        "d.run = lambda _: print(sys.unraisablehook is cli.repeat_dropped_interrupt, flush=True) or 0;"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=WAIT_SECONDS, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (b"True\n", b"", 0)
