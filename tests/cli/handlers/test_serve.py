"""``clawperator serve --open`` and the command that ``phone start`` prints."""

import io
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from clawperator.cli.dispatch import run
from tests.support.hanging import HANG_SECONDS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stderr", [Terminal(), io.StringIO()], ids=["terminal", "pipe"])
def test_the_page_is_opened_with_the_token_which_only_a_terminal_gets(
    stderr: io.StringIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("CLAWPERATOR_HOME", str(home))
    monkeypatch.setattr(sys, "stderr", stderr)
    opened, is_open = [], threading.Event()

    def open_(address: str, *_: Any) -> bool:
        opened.append(address)
        is_open.set()
        return True

    monkeypatch.setattr(webbrowser, "open", open_)
    assert run(["serve", "--open", "--port", "0", "--timeout", "1000", "--folder", str(tmp_path)]) == 0
    assert is_open.wait(HANG_SECONDS)
    token = (home / "serve" / "token").read_text().strip()
    assert opened[0].startswith("http://127.0.0.1:")
    assert opened[0].endswith(f"/#{token}")
    assert (token in stderr.getvalue()) == stderr.isatty()


def test_without_a_browser_it_says_so_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    asked = threading.Event()

    def refuse(_: str) -> bool:
        asked.set()
        return False

    monkeypatch.setattr(webbrowser, "open", refuse)
    assert run(["serve", "--open", "--port", "0", "--timeout", "1000", "--folder", str(tmp_path)]) == 0
    assert asked.wait(HANG_SECONDS)
    token = (tmp_path / "home" / "serve" / "token").read_text().strip()
    assert token not in capsys.readouterr().err
