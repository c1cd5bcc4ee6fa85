"""Each row of the table of real phones: the right answer, or the right refusal."""

import json
import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_doubles import SERIAL, CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import HOME_SCREEN, answer_properties, node, ordinary_phone, png, screen
from tests.support.real_phones import Answer, Outcome, Row, rows
from tests.support.running import clawperator

SDK = {7: 24, 8: 26, 9: 28, 10: 29, 11: 30, 12: 31, 13: 33, 14: 34, 15: 35, 16: 36}
SCREENS = {
    "home": HOME_SCREEN,
    "form": screen(
        node(
            "app agent test",
            bounds="[40,100][1040,220]",
            more='resource-id="com.android.settings:id/search" focused="true" focusable="true" enabled="true"',
            name="android.widget.EditText",
        )
    ),
}
# Commands that have no backend.
NO_BACKEND = ("devices", "packages", "doctor", "grant-device-permissions")
ISSUE = re.compile(r"[\w.-]+/[\w.-]+#\d+")


def test_the_table_has_rows_of_every_android_and_states_where_each_is_from() -> None:
    table = rows()
    assert len(table) >= 60
    assert {row.android for row in table} == set(SDK)
    assert len({row.id for row in table}) == len(table)
    assert len({row.vendor.split()[0] for row in table} - {"Not", "Every"}) >= 12
    wrong = [row.id for row in table if (row.mark == "reported") != bool(ISSUE.fullmatch(row.source))]
    assert wrong == []
    assert [row.id for row in table if re.search(r"https?:", repr(row))] == []


@pytest.fixture(autouse=True)
def _short_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are of no interest here."""
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.005)))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.id)
def test_a_phone_that_answers_like_this(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    doubles = _phone(row, tmp_path / "phone")
    serial = row.serial or SERIAL
    picture = tmp_path / "screen.png"
    apk = tmp_path / "app.apk"
    apk.write_bytes(b"PK\3\4" + bytes(200))
    words = [word.format(png=picture, apk=apk) for word in row.do]
    if words[0] != "devices":
        words += ["--device", serial]
    if words[0] not in NO_BACKEND:
        words += ["--backend", "adb"]
    with double_server(doubles, serial, state=row.state) as device:
        monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:127.0.0.1:{device.endpoint.port}")
        monkeypatch.setenv("ADB_PATH", str(_adb_program(tmp_path)))
        ran = clawperator(*words)
    _check(row.expect, ran.json, ran.code)
    lines = [" ".join(call) for call in doubles.calls()]
    counted = {call: sum(fnmatchcase(line, call) for line in lines) for call in _patterns(row.expect)}
    assert [call for call in row.expect.calls if counted[call] == 0] == [], lines
    assert [call for call in row.expect.once if counted[call] != 1] == [], lines
    assert [call for call in row.expect.never if counted[call] > 0] == [], lines
    if row.expect.saved:
        assert picture.read_bytes() == png()


def _patterns(expected: Outcome) -> list[str]:
    return [*expected.calls, *expected.once, *expected.never]


def _phone(row: Row, folder: Path) -> CommandDoubles:
    """An ordinary phone of this version and vendor with the answers of the row."""
    doubles = ordinary_phone(folder)
    manufacturer, _, model = row.vendor.partition(" ")
    properties = {
        "ro.build.version.sdk": str(SDK[row.android]),
        "ro.build.version.release": str(row.android),
        "ro.product.manufacturer": manufacturer,
        "ro.product.model": model or manufacturer,
    }
    answer_properties(doubles, properties)
    for run, answers in groupby(row.when, lambda answer: answer.run):
        command, _, arguments = run.partition(" ")
        doubles.answer(command, *(_reply(answer) for answer in answers), when=arguments or "*")
    return doubles


def _reply(answer: Answer) -> Reply:
    stdout = answer.stdout.encode() + (png() if answer.png else b"")
    if answer.screen is None:
        return Reply(stdout, answer.stderr, answer.code)
    written = SCREENS.get(answer.screen, answer.screen)
    done = b"UI hierchary dumped to: /data/local/tmp/x.xml\n"
    return Reply(stdout + done, answer.stderr, answer.code, written=written)


def _adb_program(folder: Path) -> Path:
    """A program that prints which version of adb it is: ``doctor`` looks for one."""
    program = folder / "adb"
    program.write_text("#!/bin/sh\necho Android Debug Bridge version 1.0.41\n")
    program.chmod(0o755)
    return program


def _check(expected: Outcome, document: Any, exit_code: int) -> None:
    if expected.check is not None:
        part = next(check for check in document["checks"] if check["id"] == expected.check)
        hint: Any = [part.get("fix"), part.get("deviceGuidance")]
    else:
        part = document.get("envelope", document)
        hint = part.get("hint")
        assert (exit_code == 0) == (expected.code is None), document
    text, hints = "\n".join(_texts(part)), "\n".join(_texts(hint))
    assert (part.get("errorCode") or part.get("code")) == expected.code, text
    if expected.code is not None:
        assert hints != ""
    assert [words for words in expected.shows if words.lower() not in text.lower()] == [], text
    assert [words for words in expected.silent if words.lower() in text.lower()] == []
    assert [words for words in expected.hint if words.lower() not in hints.lower()] == [], hints
    if expected.data:
        data = part["stepResults"][0]["data"]
        assert {name: data.get(name) for name in expected.data} == expected.data


def _texts(value: Any) -> Iterator[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)
