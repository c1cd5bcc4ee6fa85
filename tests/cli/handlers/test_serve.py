"""``clawperator serve --open`` and the command that ``phone start`` prints."""

import io
import re
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from clawperator.cli.dispatch import run
from tests.support.hanging import HANG_SECONDS, wait_until
from tests.support.http_client import serve_process


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stderr", [Terminal(), io.StringIO()], ids=["terminal", "pipe"])
def test_the_page_is_opened_with_a_code_which_only_a_terminal_gets(
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
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#[\w-]{40,}", opened[0])
    assert token not in opened[0]
    assert token not in stderr.getvalue()
    assert (opened[0] in stderr.getvalue()) == stderr.isatty()


def test_the_command_line_of_the_browser_has_no_token_but_a_code_that_signs_in_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = tmp_path / "argv"
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {argv}.new && mv {argv}.new {argv}\n")
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with serve_process(tmp_path, "--open") as (_, client):
        wait_until(argv.exists)
        given = argv.read_text()
        assert client.token not in given
        code = given.strip().partition("#")[2]
        replies = [client.send("POST", "/session", {"token": code}, {"Authorization": ""}) for _ in range(2)]
        assert [reply.status for reply in replies] == [200, 401]


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
