"""The doubles themselves: what tests with them rely on."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.adb.client import command_line, run_shell
from tests.support.adb_services import exec_out
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import ordinary_phone, png

WORDS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), max_size=5
)


def test_a_rule_answers_and_the_latest_counts(tmp_path: Path) -> None:
    doubles = CommandDoubles(tmp_path / "d")
    doubles.answer("pm", "any\n")
    doubles.answer("pm", Reply("one\n", "warning\n", 3), "two\n", when="list packages*")
    with double_server(doubles) as device:
        answers = [run_shell(device, "pm list packages -3", seconds=10) for _ in range(3)]
        assert [(a.code, a.text, a.stderr) for a in answers] == [
            (3, "one\n", b"warning\n"),
            (0, "two\n", b""),
            (0, "two\n", b""),
        ]
        assert run_shell(device, "pm path x", seconds=10).text == "any\n"
        assert run_shell(device, "getprop", seconds=10).code == 127
    assert doubles.calls("pm")[-1] == ["pm", "path", "x"]
    assert doubles.unexpected() == []


def test_a_call_without_a_rule_is_noticed(tmp_path: Path) -> None:
    doubles = CommandDoubles(tmp_path / "d")
    doubles.answer("wm", "", when="size")
    with double_server(doubles) as device:
        assert run_shell(device, "wm density", seconds=10).code == 127
    assert doubles.unexpected() == ["wm density"]


def test_files_of_the_device_stay_in_the_folder(tmp_path: Path) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    with double_server(doubles) as device:
        script = "uiautomator dump /data/local/tmp/a.xml; cat /data/local/tmp/a.xml; rm -f /data/local/tmp/a.xml"
        answer = run_shell(device, script, seconds=10)
    assert answer.code == 0
    assert "Network &amp; internet" in answer.text
    assert not list((doubles.root / "data/local/tmp").iterdir())


def test_exec_merges_the_streams_and_shell_does_not(tmp_path: Path) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    doubles.answer("screencap", Reply(png(), "[Warning] Multiple displays\n"))
    with double_server(doubles) as device:
        assert run_shell(device, "screencap -p", seconds=10).stdout == png()
        merged = exec_out(device, "screencap -p", seconds=10)
    assert b"[Warning]" in merged
    assert png() in merged


@given(lists=st.lists(WORDS, min_size=1, max_size=3))
def test_argument_lists_are_logged_exactly(
    tmp_path_factory: pytest.TempPathFactory, lists: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("doubles")
    doubles = CommandDoubles(folder / "d")
    doubles.answer("input", "")
    with double_server(doubles) as device:
        for words in lists:
            run_shell(device, command_line("input", *words), seconds=10)
    assert doubles.calls() == [["input", *words] for words in lists]
