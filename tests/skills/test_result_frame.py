"""The result frame: its position and contents."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.skill_result import FRAME_MARKER
from clawperator.errors import ClawError
from clawperator.skills.result_frame import is_newer_contract, read_frame
from tests.skills.sample_skills import ID, frame

SCRIPT = {"kind": "script"}


def read(output: str) -> dict[str, Any] | None:
    return read_frame(output, ID, dict(SCRIPT))


def framed(document: Any, before: str = "hello\n", after: str = "\n") -> str:
    return f"{before}{FRAME_MARKER}\n{document if isinstance(document, str) else json.dumps(document)}{after}"


@pytest.mark.parametrize("output", ["", "hello\n", f" {FRAME_MARKER}\n{{}}\n", f"x{FRAME_MARKER}\n{{}}\n"])
def test_output_without_the_marker_has_no_result(output: str) -> None:
    assert read(output) is None


@pytest.mark.parametrize(
    "output",
    [
        framed(frame()),
        framed(frame(), after="\n\n  \n"),
        framed(frame(), after=""),
        framed(frame(), before=""),
        f"{FRAME_MARKER}\n\n\n{json.dumps(frame())}\n",
        f"{FRAME_MARKER}\r\n{json.dumps(frame())}\r\n",
        framed(frame(unknown=1, diagnostics={"more": [1]})),
    ],
)
def test_a_frame_at_the_end_is_the_result(output: str) -> None:
    result = read(output)
    assert result is not None
    assert (result["skillId"], result["source"]) == (ID, SCRIPT)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (f"{FRAME_MARKER}\n", "no JSON follows"),
        (framed(frame()) + "more\n", "not at the end"),
        (framed(frame()) * 2, "more than once"),
        (framed("[]"), "not an object"),
        (framed("{"), "not valid JSON"),
        (framed(frame(source=SCRIPT)), "'source'"),
        (framed(frame(status="good")), "status"),
        (framed(frame(checkpoints=[{"id": "", "status": "ok"}])), "checkpoints"),
        (framed(frame(contractVersion="2.0.0")), "unsupported"),
        (framed(frame(contractVersion="one")), "contractVersion"),
        (framed(frame(contractVersion=f"1.{'9' * 5_000}.0")), "contractVersion"),
        (framed(frame(checkpoints=[{"id": "a", "status": "ok", "note": None}])), "note"),
        (framed(frame(skillId="other")), "'other'"),
        (framed(json.dumps(frame(), indent=1)), "not at the end"),
    ],
)
def test_an_invalid_frame_is_rejected(output: str, expected: str) -> None:
    with pytest.raises(ClawError) as caught:
        read(output)
    assert caught.value.code == "SKILL_RESULT_PARSE_FAILED"
    assert expected in caught.value.message


def test_a_later_minor_version_is_understood() -> None:
    for version in ("1.7.0", " 1.7.0 "):
        result = read(framed(frame(contractVersion=version)))
        assert result is not None
        assert is_newer_contract(result)
    assert not is_newer_contract(frame())


@pytest.mark.random
@given(st.lists(st.sampled_from([FRAME_MARKER, json.dumps(frame()), "{}", "", " ", "text", "\r"]), max_size=6))
def test_any_output_is_a_result_or_none_or_refused(lines: list[str]) -> None:
    try:
        result = read("\n".join(lines))
    except ClawError as e:
        assert e.code == "SKILL_RESULT_PARSE_FAILED"  # noqa: PT017 - either way is allowed
    else:
        shown = [line for line in lines if line.strip()]
        assert (result is None) == (FRAME_MARKER not in lines)
        assert result is None or shown[-2:] == [FRAME_MARKER, json.dumps(frame())]
