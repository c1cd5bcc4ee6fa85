"""The offline brain on many sentences: it never claims what the phone does not show."""

from pathlib import Path

import pytest

from clawperator.testing import simulated_phone
from tests.agent.offline.sentences import (
    DEVELOPMENT,
    FOLDER,
    Expected,
    SentenceRow,
    go_to_start,
    load_rows,
    means_yes,
    problems,
    report,
    score,
    sentence_files,
)

MIN_TRUTHFUL = 0.45


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))


# Several tests, so that two processes share the work.
ROWS_PER_TEST = 100
DEVELOPMENT_ROWS = load_rows(DEVELOPMENT)


@pytest.mark.parametrize("start", range(0, len(DEVELOPMENT_ROWS), ROWS_PER_TEST))
def test_no_sentence_of_the_development_set_is_claimed_wrongly(start: int) -> None:
    scores = [score(row) for row in DEVELOPMENT_ROWS[start : start + ROWS_PER_TEST]]
    assert [each.row.id for each in scores if each.verdict == "wrong"] == [], report(scores)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_no_sentence_is_claimed_wrongly_and_enough_are_done(path: Path) -> None:
    scores = [score(row) for row in load_rows(path)]
    assert [each.row.id for each in scores if each.verdict == "wrong"] == [], report(scores)
    truthful = sum(each.verdict == "truthful" for each in scores)
    assert truthful >= MIN_TRUTHFUL * len(scores), report(scores)


@pytest.mark.parametrize("path", sentence_files(), ids=lambda path: path.stem)
def test_the_ids_of_sentences_are_unique(path: Path) -> None:
    ids = [row.id for row in load_rows(path)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("start", "expect", "problem"),
    [
        ("settings:Display", Expected(switch={"Dark theme": True}), "switch 'Dark theme': {'off'}"),
        ("settings:Display", Expected(value={"Font size": "Large"}), "value 'Font size': ['Default']"),
        ("settings:Display", Expected(shows=["Bluetooth"]), "'Bluetooth' is not on the screen"),
        ("settings:Display", Expected(not_shows=["font size"]), "'font size' is on the screen"),
        ("notes:new", Expected(field={"Title": "Milk"}), "field 'Title': ['']"),
        ("notes:Milk,Bread", Expected(shows=["Milk", "Bread"], not_shows=["Eggs"]), ""),
        ("home", Expected(package="com.android.settings"), "com.android.launcher3 is in the foreground"),
        ("home", Expected(setting={"secure/ui_night_mode": "2"}), "setting secure/ui_night_mode is None"),
        ("home", Expected(switch={"USB debugging": True}, on_page="settings:System > Developer options"), ""),
        ("home", Expected(answer_has=["done"], answer_not=["failed"]), "the answer lacks 'done'"),
    ],
)
def test_expectations_are_read_from_the_phone(start: str, expect: Expected, problem: str) -> None:
    with simulated_phone() as phone:
        go_to_start(phone, start)
        assert next(problems(phone, expect, "the answer"), "") == problem


def test_a_claim_that_had_to_be_refused_is_wrong() -> None:
    assert score(SentenceRow("x", "x", "home", "open Settings", Expected(refuse=True))).verdict == "wrong"
    assert score(SentenceRow("x", "x", "home", "frobnicate", Expected(refuse=True))).verdict == "refused"


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("Yes: 'Wi-Fi' is on.", True),
        ("No: 'Wi-Fi' is not on the screen.", False),
        ("'Do Not Disturb' is on.", True),
        ("'Turn on at sunset' is off.", False),
        ("Opened Settings. 'Wi-Fi': Burrow.", None),
    ],
)
def test_an_answer_means_yes_or_no_or_neither(answer: str, meaning: bool | None) -> None:  # noqa: FBT001 - a case of the table
    assert means_yes(answer) is meaning
