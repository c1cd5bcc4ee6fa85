"""Errors of ``claw`` name the resource that failed, and their hints can be followed."""

from pathlib import Path
from typing import Any

import pytest

from tests.device.phone_servers import running_phone_server
from tests.support.running import claw, claw_json

pytestmark = pytest.mark.usefixtures("folder")


def _error(*argv: str) -> dict[str, Any]:
    ran = claw_json(*argv)
    assert ran.code == 1
    error: dict[str, Any] = ran.json["error"]
    return error


@pytest.mark.parametrize(
    "argv",
    [
        ("exec-command", "screenshot", "--path none/out.png"),
        ("exec-tool", "take_screenshot", '{"path": "none/out.png"}'),
        ("exec-tool", "take_screenshot", '{"path": "none/out.png"}', "--backend", "adb"),
        ("exec-command", "phone-screenshot", "--path none/out.png"),
    ],
)
def test_a_file_that_cannot_be_written_is_the_target_of_the_error(argv: tuple[str, ...]) -> None:
    with running_phone_server():
        error = _error(*argv)
    path = str(Path("none/out.png").absolute())
    assert (error["kind"], error["operation"], error["target"]) == ("filesystem", "write", path)
    assert error["retryable"] is True
    assert "No such file or directory" in error["message"]


@pytest.mark.parametrize(
    "argv",
    [
        ("exec-command", "recording-parse", "--input none.ndjson"),
        ("exec-tool", "recording_parse", '{"input": "none.ndjson"}'),
    ],
)
def test_a_file_that_cannot_be_read_is_the_target_of_the_error(argv: tuple[str, ...]) -> None:
    error = _error(*argv)
    assert (error["operation"], error["target"]) == ("read", str(Path("none.ndjson").absolute()))


def test_an_output_of_a_recording_that_cannot_be_written_is_the_target_of_the_error() -> None:
    header = (
        '{"type":"recording_header","schemaVersion":1,"sessionId":"a","startedAt":1,"operatorPackage":"com.a"}'
    )
    Path("a.ndjson").write_text(f"{header}\n")
    Path("a-file").touch()
    for argv in (
        ("exec-tool", "recording_export", '{"input": "a.ndjson", "out": "a-file/a.json"}'),
        ("exec-command", "recording-export", "--input a.ndjson --out a-file/a.json"),
    ):
        error = _error(*argv)
        assert (error["operation"], error["target"]) == ("write", str(Path("a-file/a.json").absolute()))
        assert (error["kind"], error["retryable"]) == ("filesystem", True)


def test_a_session_folder_that_cannot_be_made_is_not_suggested_again() -> None:
    error = _error("flush-transcript", "hi", "--directory", "/proc/none")
    assert (error["operation"], error["target"], error["retryable"]) == ("mkdir", "/proc/none", True)
    assert error["hint"] == "Pass another folder, for example '--directory .claw/sessions'."


@pytest.mark.parametrize(("given", "valid"), [("../x", "x"), ("a b", "ab"), ("ä", "demo"), ("-.x", "x")])
def test_the_hint_for_an_invalid_id_of_a_new_session_is_a_valid_one(given: str, valid: str) -> None:
    error = _error("flush-transcript", "hi", f"--session-id={given}")
    assert error["hint"] == f"Pass '--session-id {valid}', or leave it out to generate one."
    assert claw("flush-transcript", "hi", "--session-id", valid).code == 0


def test_sessions_that_cannot_be_loaded_are_reported_on_stdout_like_missing_ones() -> None:
    Path(".claw/sessions").mkdir(parents=True)
    Path(".claw/sessions/bad.jsonl").write_text("x\n")
    missing, damaged = claw("load-session", "nope"), claw("load-session", "bad")
    assert (missing.code, missing.err, damaged.code, damaged.err) == (1, "", 1, "")
    assert missing.out == b"error: session 'nope' not found in .claw/sessions\n"
    assert damaged.out.startswith(b"error: cannot read .claw/sessions/bad.jsonl: ")


def test_a_file_given_as_session_folder_is_a_warning() -> None:
    Path("a-file").touch()
    assert claw_json("list-sessions", "--directory", "a-file").json["warnings"] == [
        "a-file is not a folder; it has no sessions"
    ]
    assert claw_json("list-sessions", "--directory", "none").json["warnings"] == []
    assert "a-file is not a folder" in claw("list-sessions", "--directory", "a-file").err
