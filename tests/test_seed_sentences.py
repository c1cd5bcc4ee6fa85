"""Sentences that the specification fixes word for word: the product still produces each of them."""

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.recording.compare.compare import SUMMARIES
from clawperator.recording.parse import parse_recording
from clawperator.testing import simulated_phone
from tests.device.phone_servers import running_phone_server
from tests.recording.samples import HEADER, click, scroll, window, write
from tests.support.running import clawperator
from tests.support.sources import parsed_sources

# Fixed texts as the code holds them; ``{}`` is any value.
FIXED = {
    "recording errors": (
        "No recording session found on device. Start a recording first.",
        "Recording is already in progress",
        "Recording is not in progress",
        "Failed to pull recording from device: {}",
        "Malformed NDJSON at line {}",
        "Unsupported recording schema version: {}",
    ),
    "parse warnings": (
        "seq {}: scroll event dropped (not extracted in v1)",
        "seq {}: snapshot missing on {} event (uiStateBefore null)",
    ),
    "compare summaries": (
        "terminal verification matched even though the runtime path differed from the recording baseline",
        (
            "checkpoint sequence matched the recording baseline but terminal verification did not match the requested "
            "outcome"
        ),
    ),
    "compare divergences": (
        "missing_expected_checkpoint",
        "unexpected_extra_checkpoint",
        "failed_before_expected_checkpoint",
    ),
    "snapshot step": (
        (
            "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
            "between click and snapshot_ui"
        ),
        "UI hierarchy extraction produced no output for this step. ",
        "Check clawperator version compatibility and logcat extraction health.",
        "[TaskScope] UI Hierarchy:",
        "[Clawperator-Result]",
    ),
    "claw text lines": (
        "(no sessions)",
        "{} messages",
        "in={} out={}",
        "deleted: {}",
        "not found: {}",
        "flushed=True",
        "{} not found: {}",
    ),
}


@cache
def texts() -> str:
    """All text of the product's code, one literal per line, with ``{}`` for the values of f-strings."""
    return "\n".join(_text(node) for nodes in parsed_sources().values() for node in nodes if _is_text(node))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _text(node: Any) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join("{}" if isinstance(part, ast.FormattedValue) else str(part.value) for part in node.values)


@pytest.mark.parametrize("sentence", [sentence for group in FIXED.values() for sentence in group])
def test_the_code_holds_the_fixed_sentence(sentence: str) -> None:
    assert sentence in texts()


def test_a_sentence_that_is_not_there_is_not_found() -> None:
    assert "Recording is already in {}progress" not in texts()


def test_compare_prints_the_fixed_summaries() -> None:
    path_differs, failed = FIXED["compare summaries"]
    assert SUMMARIES["outcome_matches_path_differs"] == path_differs
    assert SUMMARIES["verification_failed"] == failed


def test_parse_prints_the_fixed_warnings(tmp_path: Path) -> None:
    events = [window(0), click(1, snapshot=None), window(2), scroll(3)]
    result, _ = parse_recording(str(write(tmp_path / "demo-session.ndjson", events)))
    assert result.warnings == [
        "seq 1: snapshot missing on click event (uiStateBefore null)",
        "seq 3: scroll event dropped (not extracted in v1)",
    ]


def test_a_damaged_recording_and_another_schema_version_have_the_fixed_errors(tmp_path: Path) -> None:
    damaged = write(tmp_path / "damaged.ndjson", [window(0)])
    damaged.write_bytes(damaged.read_bytes() + b"{\n")
    newer = write(tmp_path / "newer.ndjson", [], {**HEADER, "schemaVersion": 2})
    for path, message in (
        (damaged, "Malformed NDJSON at line 3"),
        (newer, "Unsupported recording schema version: 2"),
    ):
        with pytest.raises(ClawError) as refused:
            parse_recording(str(path))
        assert refused.value.message == message


def test_the_operator_reports_the_fixed_recording_errors() -> None:
    with simulated_phone() as phone:
        stop = phone.run({"type": "stop_recording", "params": {}})
        start = {"type": "start_recording", "params": {"sessionId": "demo-session"}}
        again = phone.run([start, {**start, "params": {"sessionId": "other"}}])
    assert stop.stepResults[0].data["message"] == "Recording is not in progress"
    assert again.stepResults[1].data["message"] == "Recording is already in progress"


# What a command prints


@pytest.fixture
def served_phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    with running_phone_server():
        yield


@pytest.mark.usefixtures("served_phone")
def test_recording_errors_have_their_code_at_the_top() -> None:
    stopped = clawperator("record", "stop")
    clawperator("record", "start", "--session-id", "demo-session")
    again = clawperator("record", "start", "--session-id", "other")

    assert (stopped.code, again.code) == (1, 1)
    assert (stopped.json["code"], stopped.json["message"]) == (
        "RECORDING_NOT_IN_PROGRESS",
        "Recording is not in progress",
    )
    assert (again.json["code"], again.json["message"]) == (
        "RECORDING_ALREADY_IN_PROGRESS",
        "Recording is already in progress",
    )
    assert again.json["envelope"]["sessionId"] == "demo-session"


@pytest.mark.usefixtures("served_phone")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_a_payload_that_runs_too_long_is_an_envelope_timeout_beside_the_steps_that_finished(backend: str) -> None:
    actions = [
        {"id": "short", "type": "sleep", "params": {"durationMs": 10}},
        {
            "id": "home",
            "type": "wait_for_navigation",
            "params": {"expectedPackage": "com.example.never", "timeoutMs": 30_000},
        },
    ]
    ids = {"commandId": "c1", "taskId": "t1", "source": "test", "expectedFormat": "android-ui-automator"}
    ran = clawperator("exec", json.dumps({**ids, "timeoutMs": 1_000, "actions": actions}), "--backend", backend)

    assert ran.code == 1
    assert ran.json["code"] == "RESULT_ENVELOPE_TIMEOUT"
    assert [step["success"] for step in ran.json["envelope"]["stepResults"]] == [True, False]


@pytest.mark.usefixtures("served_phone")
def test_a_verbose_snapshot_shows_the_marker_of_the_hierarchy_without_its_content() -> None:
    ran = clawperator("snapshot", "--verbose")

    (line,) = [line for line in ran.err.splitlines() if "[TaskScope] UI Hierarchy:" in line]
    assert line.endswith("complete")
    assert "<node" not in ran.err


@pytest.mark.parametrize("name", ["v", "login_button", "com.app:id/title"])
def test_a_resource_id_stays_one_in_the_document(name: str) -> None:
    ran = clawperator("click", "--resource-id", name, "--dry-run")

    assert ran.json["plan"]["actions"][0]["params"]["matcher"] == {"resourceId": name}


@pytest.mark.parametrize("uri", ["mailto:x", "geo:0,0", "tel:+123", "MAILTO:a@b.c?subject=Hi there", "a.b:c"])
def test_a_uri_without_slashes_is_a_uri(uri: str) -> None:
    (action,) = clawperator("open", uri, "--dry-run").json["plan"]["actions"]

    assert (action["type"], action["params"]) == ("open_uri", {"uri": uri})


@pytest.mark.usefixtures("served_phone")
def test_a_uri_without_slashes_needs_its_scheme_allowed() -> None:
    refused = clawperator("open", "mailto:x")

    assert (refused.code, refused.json["code"]) == (1, "URI_SCHEME_NOT_ALLOWED")
    assert "--allow-scheme mailto" in refused.json["hint"]
