"""``clawperator.skill_api``: prints one truthful result frame."""

import json
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.skill_api import Skill, declared_inputs
from clawperator.skills.run import read_frame
from tests.skills.sample_skills import ID

Captured = pytest.CaptureFixture[str]


def printed(capsys: Captured) -> dict[str, Any]:
    result = read_frame(capsys.readouterr().out, ID, {"kind": "script"})
    assert result is not None
    return result


def run_plan(plan: tuple[str, ...], *points: str, error: Exception | None = None, verified: bool = False) -> None:
    """A skill that passes these checkpoints, then fails or verifies its result."""
    with Skill(ID, plan=plan) as skill:
        for point in points:
            skill.checkpoint(point)
        if error is not None:
            raise error
        if verified:
            skill.verify(expected=1, observed=1)


def test_a_verified_run_is_a_success(capsys: Captured) -> None:
    with Skill(ID, goal={"kind": "greet"}, inputs={"name": "Ann"}, plan=("one", "two")) as skill:
        skill.checkpoint("one", "a text")
        skill.checkpoint("two", {"a": 1}, note="well")
        skill.answer(["Ann"])
        skill.warn("slow")
        assert skill.verify(expected="Hello", observed="Hello")
    result = printed(capsys)
    assert (result["status"], result["goal"], result["inputs"]) == ("success", {"kind": "greet"}, {"name": "Ann"})
    assert [(point["id"], point["status"]) for point in result["checkpoints"]] == [("one", "ok"), ("two", "ok")]
    assert result["checkpoints"][0]["evidence"] == {"kind": "text", "text": "a text"}
    assert result["checkpoints"][1]["evidence"] == {"kind": "json", "value": {"a": 1}}
    assert result["result"] == {"kind": "json", "value": ["Ann"]}
    assert result["terminalVerification"]["status"] == "verified"
    assert result["diagnostics"]["warnings"] == ["slow"]


def test_a_clawperator_error_fails_the_next_checkpoint(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        run_plan(("one", "two", "three"), "one", error=ClawError("NODE_NOT_FOUND", "no node", hint="Look."))
    assert ended.value.code == 1
    result = printed(capsys)
    assert (result["status"], result["terminalVerification"]) == ("failed", {"status": "not_run"})
    last = result["checkpoints"][-1]
    assert (last["id"], last["status"], last["note"]) == ("two", "failed", "NODE_NOT_FOUND: no node")
    assert last["evidence"]["value"]["code"] == "NODE_NOT_FOUND"
    assert result["diagnostics"]["hints"] == ["Look."]


@pytest.mark.parametrize("code", ["SERVICE_UNAVAILABLE", "DEVICE_OFFLINE", "NO_DEVICES", "OPERATOR_NOT_INSTALLED"])
def test_a_missing_device_is_an_unavailable_runtime(capsys: Captured, code: str) -> None:
    with pytest.raises(SystemExit), Skill(ID, plan=("one",)):
        raise ClawError(code, "gone")
    assert printed(capsys)["diagnostics"]["runtimeState"] == "unavailable"


def test_any_other_exception_is_framed_and_propagates(capsys: Captured) -> None:
    with pytest.raises(KeyError):
        run_plan((), "one", error=KeyError("x"))
    result = printed(capsys)
    assert [(point["id"], point["status"]) for point in result["checkpoints"]] == [
        ("one", "ok"),
        ("unplanned_step", "failed"),
    ]


def fail_while_expecting(name: str | None) -> None:
    """A skill without a plan that reaches checkpoint one as it expected, and fails on the way to another."""

    def run() -> None:
        with Skill(ID) as skill:
            skill.expect("one")
            skill.checkpoint("one")
            if name is not None:
                skill.expect(name)
            raise ClawError("NODE_NOT_FOUND", "no node")

    with pytest.raises(SystemExit):
        run()


def test_a_skill_without_a_plan_can_name_the_checkpoint_it_is_on_the_way_to(capsys: Captured) -> None:
    fail_while_expecting("two")
    states = {point["id"]: point["status"] for point in printed(capsys)["checkpoints"]}
    assert states == {"one": "ok", "two": "failed"}


def test_an_expected_checkpoint_that_was_reached_is_not_reported_as_failed(capsys: Captured) -> None:
    fail_while_expecting(None)
    assert [point["id"] for point in printed(capsys)["checkpoints"]] == ["one", "unplanned_step"]


def test_a_plan_names_what_is_expected_and_nothing_else_does() -> None:
    with pytest.raises(ValueError, match="with a plan"), Skill(ID, plan=("one",)) as skill:
        skill.expect("two")


def test_a_failure_after_the_last_checkpoint_is_noted_at_the_verification(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        run_plan(("one",), "one", error=ClawError("NODE_NOT_FOUND", "no node"))
    result = printed(capsys)
    assert len(result["checkpoints"]) == 1
    assert result["terminalVerification"] == {"status": "not_run", "note": "NODE_NOT_FOUND: no node"}


def test_a_run_without_verification_is_indeterminate(capsys: Captured) -> None:
    with pytest.raises(SystemExit), Skill(ID):
        pass
    assert printed(capsys)["status"] == "indeterminate"


def test_a_failed_verification_is_indeterminate(capsys: Captured) -> None:
    with pytest.raises(SystemExit), Skill(ID) as skill:
        assert not skill.verify(expected="a", observed="b", note="read twice")
    result = printed(capsys)
    assert (result["status"], result["terminalVerification"]["status"]) == ("indeterminate", "failed")


def test_an_incomplete_plan_is_indeterminate(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        run_plan(("one", "two"), "one", verified=True)
    assert printed(capsys)["status"] == "indeterminate"


def test_checkpoints_follow_the_order_of_the_plan(capsys: Captured) -> None:
    with pytest.raises(ValueError, match="is 'one', not 'two'"), Skill(ID, plan=("one", "two")) as skill:
        skill.checkpoint("two")
    assert printed(capsys)["checkpoints"][0]["id"] == "one"


def test_the_frame_is_printed_once(capsys: Captured) -> None:
    skill = Skill(ID)
    with skill:
        skill.verify(expected=1, observed=1)
    with pytest.raises(RuntimeError), skill:
        pass
    assert printed(capsys)["status"] == "success"


def test_declared_inputs_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILL_INPUTS", json.dumps({"percent": 5}))
    assert declared_inputs() == {"percent": 5}
    for text in ("[]", "{"):
        monkeypatch.setenv("CLAWPERATOR_SKILL_INPUTS", text)
        with pytest.raises(ClawError) as caught:
            declared_inputs()
        assert caught.value.code == "SKILL_INPUT_INVALID"
