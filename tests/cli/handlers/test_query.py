"""``query``: the elements that match a selector, on a device or in a saved snapshot."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.commands import render_flags
from clawperator.testing import simulated_phone
from tests.device.phone_servers import running_phone_server
from tests.support.running import clawperator

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
        for selector in match["selectors"]:
            again = clawperator("query", "--file", str(saved), *render_flags(selector)).json
            assert [one["bounds"] for one in again["matches"]] == [match["bounds"]], shlex.join(
                render_flags(selector)
            )


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
