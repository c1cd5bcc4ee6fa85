"""``clawperator.skill_api``: the frame is printed for the author, once, and says what is true."""

import json
import subprocess
import sys
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.skill_api import Skill, declared_inputs
from clawperator.skills.run import read_frame
from tests.skills.homemade import ID

Captured = pytest.CaptureFixture[str]


def printed(capsys: Captured) -> dict[str, Any]:
    result = read_frame(capsys.readouterr().out, ID, {"kind": "script"})
    assert result is not None
    return result


def go(plan: tuple[str, ...], *points: str, error: Exception | None = None, proved: bool = False) -> None:
    """A skill that passes these checkpoints, and then fails or proves its end."""
    with Skill(ID, plan=plan) as skill:
        for point in points:
            skill.checkpoint(point)
        if error is not None:
            raise error
        if proved:
            skill.verify(expected=1, observed=1)


def test_a_proved_run_is_a_success(capsys: Captured) -> None:
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


def test_a_typed_failure_names_the_checkpoint_it_was_on_the_way_to(capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        go(("one", "two", "three"), "one", error=ClawError("NODE_NOT_FOUND", "no node", hint="Look."))
    assert ended.value.code == 1
    result = printed(capsys)
    assert (result["status"], result["terminalVerification"]) == ("failed", {"status": "not_run"})
    last = result["checkpoints"][-1]
    assert (last["id"], last["status"], last["note"]) == ("two", "failed", "NODE_NOT_FOUND: no node")
    assert last["evidence"]["value"]["code"] == "NODE_NOT_FOUND"
    assert result["diagnostics"]["hints"] == ["Look."]


@pytest.mark.parametrize("code", ["SERVICE_UNAVAILABLE", "DEVICE_OFFLINE", "NO_DEVICES", "OPERATOR_NOT_INSTALLED"])
def test_a_phone_that_is_not_there_is_an_unavailable_runtime(capsys: Captured, code: str) -> None:
    with pytest.raises(SystemExit), Skill(ID, plan=("one",)):
        raise ClawError(code, "gone")
    assert printed(capsys)["diagnostics"]["runtimeState"] == "unavailable"


def test_any_other_failure_is_framed_and_goes_on(capsys: Captured) -> None:
    with pytest.raises(KeyError):
        go((), "one", error=KeyError("x"))
    result = printed(capsys)
    assert [(point["id"], point["status"]) for point in result["checkpoints"]] == [
        ("one", "ok"),
        ("unplanned_step", "failed"),
    ]


def test_a_failure_after_the_last_checkpoint_is_told_of_the_end(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        go(("one",), "one", error=ClawError("NODE_NOT_FOUND", "no node"))
    result = printed(capsys)
    assert len(result["checkpoints"]) == 1
    assert result["terminalVerification"] == {"status": "not_run", "note": "NODE_NOT_FOUND: no node"}


def test_a_run_without_proof_is_indeterminate(capsys: Captured) -> None:
    with pytest.raises(SystemExit), Skill(ID):
        pass
    assert printed(capsys)["status"] == "indeterminate"


def test_an_end_that_is_not_the_expected_one_is_no_success(capsys: Captured) -> None:
    with pytest.raises(SystemExit), Skill(ID) as skill:
        assert not skill.verify(expected="a", observed="b", note="read twice")
    result = printed(capsys)
    assert (result["status"], result["terminalVerification"]["status"]) == ("indeterminate", "failed")


def test_a_plan_that_was_not_gone_through_is_no_success(capsys: Captured) -> None:
    with pytest.raises(SystemExit):
        go(("one", "two"), "one", proved=True)
    assert printed(capsys)["status"] == "indeterminate"


def test_checkpoints_come_in_the_order_of_the_plan(capsys: Captured) -> None:
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


def test_declared_inputs_come_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILL_INPUTS", json.dumps({"percent": 5}))
    assert declared_inputs() == {"percent": 5}
    for text in ("[]", "{"):
        monkeypatch.setenv("CLAWPERATOR_SKILL_INPUTS", text)
        with pytest.raises(ClawError) as caught:
            declared_inputs()
        assert caught.value.code == "SKILL_INPUT_INVALID"


def test_the_old_module_name_works_and_warns() -> None:
    script = (
        "import warnings; warnings.simplefilter('error', DeprecationWarning)\n"
        "try:\n    import clawperator.skill\nexcept DeprecationWarning as e:\n    print(e)\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\n"
        "import clawperator.skill, clawperator.skill_api\n"
        "print(clawperator.skill.Skill is clawperator.skill_api.Skill)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    warning, same = ran.stdout.splitlines()
    assert "import clawperator.skill_api" in warning
    assert same == "True"
