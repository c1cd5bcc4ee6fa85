"""Results: the steps of a complete plan, and whether a plan may have changed the device."""

import msgspec
import pytest

from clawperator.contract.action_params import changes_device
from clawperator.contract.actions import ACTIONS
from clawperator.contract.results import (
    ExecutionResult,
    ResultEnvelope,
    StepResult,
    may_have_changed,
    step_mismatch,
)

ACTIONS_SENT = [("a1", "click"), ("a2", "sleep")]


def step(action_id: str, action_type: str, error: str = "", **data: str) -> StepResult:
    return StepResult(action_id, action_type, not error, {**data, **({"error": error} if error else {})})


def test_steps_of_a_complete_plan_match_its_actions() -> None:
    assert step_mismatch([step("a1", "click"), step("a2", "sleep")], ACTIONS_SENT) is None


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], "it has 0 steps for 2 actions"),
        ([step("a1", "click")], "it has 1 steps for 2 actions"),
        ([step("a1", "click"), step("a2", "sleep"), step("a3", "click")], "it has 3 steps for 2 actions"),
        ([step("a2", "sleep"), step("a1", "click")], "it has step 'a2' in place of 'a1'"),
        ([step("a1", "click"), step("a1", "click")], "it has step 'a1' in place of 'a2'"),
        ([step("a1", "sleep"), step("a2", "sleep")], "step 'a1' is a 'sleep', not a 'click'"),
    ],
)
def test_other_steps_are_named(steps: list[StepResult], problem: str) -> None:
    assert step_mismatch(steps, ACTIONS_SENT) == problem


def test_actions_that_only_look_do_not_change_the_device() -> None:
    looking = {name for name in ACTIONS if not changes_device(name)}
    assert looking == {
        "read_key_value_pair",
        "read_logcat",
        "read_text",
        "sleep",
        "snapshot_ui",
        "take_screenshot",
        "wait_for_any",
        "wait_for_navigation",
        "query",
        "wait_for_node",
        "wait_for_text_change",
        "wait_until_gone",
        "wait_until_idle",
    }
    assert changes_device("unknown_action")


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        ([], False),
        ([step("a1", "read_text")], False),
        ([step("a1", "wait_for_node", "NODE_NOT_FOUND")], False),
        ([step("a1", "wait_for_node", "COMMAND_TIMEOUT")], False),
        ([step("a1", "click", "NODE_NOT_FOUND")], False),
        ([step("a1", "click", "NODE_NOT_FOUND", dispatched="true")], True),
        ([step("a1", "click", "COMMAND_TIMEOUT")], True),
        ([step("a1", "click", "A_CODE_OF_ANOTHER_OPERATOR")], True),
        ([step("a1", "click")], True),
        ([step("a1", "click", effect="unchanged"), step("a2", "click", "NODE_NOT_FOUND")], True),
        ([step("a1", "scroll_until", "TARGET_NOT_FOUND")], True),
    ],
)
def test_a_plan_may_have_changed_the_device_unless_its_steps_exclude_it(
    steps: list[StepResult],
    changed: bool,  # noqa: FBT001 - the expected result
) -> None:
    assert may_have_changed(steps) is changed


@pytest.mark.parametrize(
    ("failed", "code"),
    [
        (step("a1", "stop_recording", "RECORDING_NOT_IN_PROGRESS", message="no"), "RECORDING_NOT_IN_PROGRESS"),
        (step("a1", "sleep", "COMMAND_TIMEOUT", message="no"), "RESULT_ENVELOPE_TIMEOUT"),
        (step("a1", "click", "NODE_NOT_FOUND", message="no"), None),
    ],
)
def test_some_failures_are_also_at_the_top_of_the_result(failed: StepResult, code: str | None) -> None:
    envelope = ResultEnvelope("c", "t", "failed", [step("a0", "sleep"), failed], "step a1 failed")
    document = msgspec.to_builtins(ExecutionResult(envelope, "claw-1", "operator").with_code())

    assert (document.get("code"), document.get("message")) == (code, "no" if code else None)
