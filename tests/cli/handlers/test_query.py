"""``query``: the elements that match a selector, on a device or in a saved snapshot."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.testing import simulated_phone
from tests.device.phone_servers import running_phone_server
from tests.support.running import Ran, clawperator

SETTINGS = "com.android.settings"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    with simulated_phone() as phone:
        phone.open_app(SETTINGS)
        path = tmp_path / "snapshot.xml"
        path.write_text(phone.xml(), "utf-8")
    return path


def test_a_saved_snapshot_is_queried_without_a_device(saved: Path) -> None:
    found = clawperator("query", "--file", str(saved), "--text-matches", "D.*y").json
    assert (found["count"], found["matches"][0]["label"]) == (1, "Display")
    assert set(found["matches"][0]) == {"role", "label", "resourceId", "class", "bounds", "states"}
    every = clawperator("query", "--file", str(saved), "--limit", "3").json
    assert every["count"] > 3
    assert len(every["matches"]) == 3
    assert clawperator("query", "--file", str(saved), "--text", "Nothing").json["count"] == 0


def test_every_suggested_selector_selects_its_element_alone(saved: Path) -> None:
    found = clawperator("query", "--file", str(saved), "--suggest", "--limit", "20").json
    for match in found["matches"]:
        assert match["selectors"], match
        for selector, flags in zip(match["selectors"], match["flags"], strict=True):
            for words in (shlex.split(flags), ["--selector", json.dumps(selector)]):
                again = clawperator("query", "--file", str(saved), *words).json
                assert [one["bounds"] for one in again["matches"]] == [match["bounds"]], words


def _node(number: int, attributes: str) -> str:
    common = 'package="p" class="android.widget.TextView" clickable="true"'
    return f'<node {common} {attributes} bounds="[0,{number * 100}][100,{number * 100 + 90}]"/>'


def _write_screen(path: Path, *attributes: str) -> Path:
    nodes = "".join(_node(number, one) for number, one in enumerate(attributes))
    root = f'<node package="p" class="android.widget.FrameLayout" bounds="[0,0][1000,2000]">{nodes}</node>'
    path.write_text(f'<hierarchy rotation="0">{root}</hierarchy>', "utf-8")
    return path


@pytest.mark.parametrize(
    "others",
    [
        ['resource-id="q:id/tag" text="1"'],
        ['text="it\'s --text, a &quot;quote&quot; and $HOME"'],
        ['text="-5"', 'text="{5}"'],
        ['text="two&#10;lines"', 'text="--unique"'],
    ],
)
def test_suggested_flags_work_in_a_shell(tmp_path: Path, others: list[str]) -> None:
    screen = _write_screen(tmp_path / "x.xml", 'resource-id="tag" text="a"', *others)
    found = clawperator("query", "--file", str(screen), "--suggest").json
    assert found["count"] == len(others) + 1
    for match in found["matches"]:
        assert match["flags"]
        for flags in match["flags"]:
            again = clawperator("query", "--file", str(screen), *shlex.split(flags)).json
            assert [one["bounds"] for one in again["matches"]] == [match["bounds"]], flags


def test_a_password_is_masked_and_not_suggested(tmp_path: Path) -> None:
    screen = _write_screen(tmp_path / "x.xml", 'password="true" text="hunter2" resource-id="p:id/pin"', 'text="a"')
    ran = clawperator("query", "--file", str(screen), "--suggest")
    assert ran.json["matches"][0]["label"] == "••••"
    assert b"hunter2" not in ran.out


def test_the_result_of_a_snapshot_is_a_saved_snapshot(saved: Path, tmp_path: Path) -> None:
    step = {"data": {"actual_format": "hierarchy_xml", "text": saved.read_text("utf-8")}}
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"envelope": {"stepResults": [step]}}), "utf-8")
    assert clawperator("query", "--file", str(result), "--text", "Display").json["count"] == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "FILESYSTEM_FAILED"), ("{}", "EXECUTION_VALIDATION_FAILED"), ("<html/>", "HIERARCHY_INVALID")],
)
def test_a_file_without_a_snapshot_is_refused(tmp_path: Path, content: str | None, code: str) -> None:
    path = tmp_path / "x"
    if content is not None:
        path.write_text(content)
    ran = clawperator("query", "--file", str(path))
    assert (ran.code, ran.json["code"]) == (1, code)
    assert ran.json["hint"]


def test_the_hint_for_a_file_as_an_argument_names_the_flag() -> None:
    ran = clawperator("query", "screen one.xml")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert ran.json["hint"] == "Run 'clawperator query --file 'screen one.xml''."
    assert "--text Display" in clawperator("query", "Display").json["hint"]


def test_the_page_source_of_appium_is_a_saved_snapshot(tmp_path: Path) -> None:
    saved = tmp_path / "source.xml"
    saved.write_text('<hierarchy><android.widget.Button text="OK" bounds="[0,0][9,9]" /></hierarchy>')

    assert clawperator("query", "--file", str(saved), "--class", "Button", "--text", "OK").json["count"] == 1


def test_a_reference_is_not_looked_up_in_a_file(saved: Path) -> None:
    assert clawperator("query", "e1", "--file", str(saved)).json["code"] == "EXECUTION_VALIDATION_FAILED"


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with running_phone_server():
        yield


@pytest.mark.usefixtures("phone")
def test_a_device_is_queried_by_either_backend() -> None:
    assert clawperator("open", SETTINGS).code == 0
    for backend in ("operator", "adb"):
        ran = clawperator("query", "--text", "Display", "--suggest", "--backend", backend)
        (step,) = ran.json["envelope"]["stepResults"]
        assert step["data"]["count"] == "1"
        (match,) = json.loads(step["data"]["matches"])
        assert match["label"] == "Display"
        assert {"textEquals": "Display"} in match["selectors"]
        assert "--text Display" in match["flags"]


@pytest.mark.usefixtures("phone")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_a_match_has_the_reference_of_the_outline(backend: str) -> None:
    where = ("--backend", backend)
    assert clawperator("open", SETTINGS).code == 0
    shown = _step(clawperator("snapshot", "--view", "json", *where))["data"]["text"]
    refs = {one["label"]: one["ref"] for one in json.loads(shown)["elements"] if one["label"]}
    (match,) = json.loads(_step(clawperator("query", "--text", "Display", *where))["data"]["matches"])
    assert match["ref"] == refs["Display"]
    every = json.loads(_step(clawperator("query", *where))["data"]["matches"])
    assert {one["label"]: one["ref"] for one in every if one.get("label") in refs}.items() <= refs.items()
    assert all(one["ref"] for one in every)


@pytest.mark.usefixtures("phone", "quick_retries")
def test_a_match_is_clicked_by_its_reference_without_a_snapshot() -> None:
    assert clawperator("open", SETTINGS).code == 0
    (match,) = json.loads(_step(clawperator("query", "--text", "Display"))["data"]["matches"])
    clicked = _step(clawperator("click", match["ref"]))
    assert clicked["success"], clicked
    assert clawperator("wait", "--text", "Navigate up").code == 0
    assert _step(clawperator("click", match["ref"]))["data"]["error"] == "REF_STALE"


@pytest.mark.usefixtures("phone")
def test_matches_have_no_references_where_none_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "references").write_text("")
    step = _step(clawperator("query", "--text", "Display"))
    assert step["success"]
    assert "ref" not in step["data"]["matches"]


@pytest.mark.usefixtures("phone", "quick_retries")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_a_near_match_of_an_earlier_snapshot_has_its_reference(backend: str) -> None:
    search = ("click", "--text", "Dispaly", "--timeout", "1000", "--backend", backend)
    assert clawperator("open", SETTINGS).code == 0
    data = _step(clawperator(*search))["data"]
    assert 'text "Display"?' in data["hint"]
    assert "ref" not in data["nearest"]
    (match,) = json.loads(
        _step(clawperator("query", "--text", "Display", "--backend", backend))["data"]["matches"]
    )
    data = _step(clawperator(*search))["data"]
    assert f'text "Display" ({match["ref"]})' in data["hint"]
    assert json.loads(data["nearest"])[0]["ref"] == match["ref"]


def _step(ran: Ran) -> dict[str, Any]:
    (step,) = ran.json["envelope"]["stepResults"]
    return dict(step)
