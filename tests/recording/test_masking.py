"""Passwords in recordings are masked in everything that is made of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawperator.recording.events import TextChange, decode_event
from clawperator.recording.masking import PasswordMasker, is_hint, mask_screen
from tests.recording.samples import click, typed, window, write
from tests.support.running import clawperator
from tests.support.secret_search import find_secret

APP = "com.example.app"
SECRET = "Zx5-swordfish"
BOUNDS = {"left": 0, "top": 0, "right": 100, "bottom": 50}


def node(text: str, name: str, *, password: bool = False, focused: bool = False) -> str:
    return (
        f'<node index="0" text="{text}" resource-id="{APP}:id/{name}" class="android.widget.EditText" '
        f'package="{APP}" content-desc="" checkable="false" checked="false" clickable="true" enabled="true" '
        f'focusable="true" focused="{str(focused).lower()}" scrollable="false" long-clickable="false" '
        f'password="{str(password).lower()}" selected="false" bounds="[0,{len(name)}][100,50]" />'
    )


def screen(*nodes: str) -> str:
    return f'<hierarchy rotation="0">{"".join(nodes)}</hierarchy>'


def tap(seq: int, name: str, snapshot: str, text: str | None = None) -> Any:
    bounds = {**BOUNDS, "top": len(name)}
    return click(seq, text, APP, resourceId=f"{APP}:id/{name}", bounds=bounds, snapshot=snapshot)


EMPTY = screen(node("Email", "email"), node("Password", "secret", password=True))
FLOW = [
    window(0, APP, snapshot=EMPTY),
    tap(1, "email", EMPTY, "Email"),
    typed(2, "ann@example.org", APP),
    tap(3, "secret", EMPTY, "Password"),
    typed(4, SECRET[:-1], APP),
    typed(5, SECRET, APP),
    # The field shows its text, first as a password field, then as a plain one.
    tap(6, "eye", screen(node(SECRET, "secret", password=True, focused=True)), "Show"),
    window(7, APP, snapshot=screen(node(SECRET, "secret", focused=True))),
    tap(8, "secret", screen(node(SECRET, "secret", focused=True)), SECRET),
    typed(9, SECRET + "!", APP),
]
OUTPUTS = (
    ("parse",),
    ("export",),
    ("export", "--snapshots", "include"),
    ("describe",),
    ("replay", "--dry-run"),
)


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_password_is_in_nothing_that_is_made_of_a_recording(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "in").mkdir()
    source = write(tmp_path / "in" / "a.ndjson", FLOW)
    out = tmp_path / "out" / "made.json"
    out.parent.mkdir()
    command, *more = words
    ran = clawperator("recording", command, "--input", str(source), "--out", str(out), *more)
    assert ran.code == 0, ran.out
    found = find_secret(SECRET[:-1], [out.parent], {"stdout": ran.out, "stderr": ran.err})
    assert found == []
    everything = ran.out + out.read_bytes()
    if command != "parse":
        assert b"ann@example.org" in everything
        assert "•".encode() in everything or b"hidden text" in everything


def test_a_replay_of_a_password_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.ndjson", FLOW)
    exported = tmp_path / "a.export.json"
    clawperator("recording", "export", "--input", str(source), "--snapshots", "include")
    for path in (source, exported):
        plan = clawperator("recording", "replay", "--input", str(path), "--dry-run")
        assert b"hidden text" in plan.out
        assert find_secret(SECRET[:-1], outputs={"stdout": plan.out}) == []


def masked_texts(*events: dict[str, Any]) -> list[str]:
    masker = PasswordMasker()
    decoded = [decode_event(json.dumps(event).encode()) for event in events]
    for event in decoded:
        masker.mask(event)
    return [event.text for event in decoded if isinstance(event, TextChange)]


def test_the_clicked_field_decides_and_not_the_one_that_had_the_focus() -> None:
    both = screen(node("", "email"), node("", "secret", password=True, focused=True))
    assert masked_texts(tap(0, "email", both), typed(1, "ann", APP)) == ["ann"]
    assert masked_texts(tap(0, "secret", both), typed(1, "ann", APP)) == ["•••"]


def test_without_a_clicked_field_the_focused_one_decides() -> None:
    form = screen(node("", "email"), node("", "secret", password=True, focused=True))
    assert masked_texts(window(0, APP, snapshot=form), typed(1, "a", APP)) == ["•"]
    assert masked_texts(window(0, APP, snapshot=EMPTY), typed(1, "a", APP)) == ["a"]
    assert masked_texts(typed(0, "a", APP)) == ["a"]


@pytest.mark.parametrize(
    "text", ["Password", "Enter your PIN", "Password*", "4 to 8 digits", "密码", "PASSWORD", ""]
)
def test_a_hint_is_kept(text: str) -> None:
    assert is_hint(text)
    assert mask_screen(screen(node(text, "secret", password=True))) == screen(node(text, "secret", password=True))


@pytest.mark.parametrize("text", ["hunter2", "1234", "a-b", "camelCase", "x&lt;y"])
def test_a_text_that_is_no_hint_is_masked(text: str) -> None:
    masked = mask_screen(screen(node(text, "secret", password=True)))
    assert masked == screen(node("•" * len(text.replace("&lt;", "<")), "secret", password=True))
    assert mask_screen(screen(node(text, "email"))) == screen(node(text, "email"))
