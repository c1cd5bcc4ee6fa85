"""Sentences that the specification fixes word for word: the product still produces each of them."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.recording.compare.compare import SUMMARIES
from clawperator.recording.parse import parse_recording
from clawperator.testing import simulated_phone
from tests.recording.samples import HEADER, click, scroll, window, write
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
