"""The policy in force, checked before every action, and inherited by child processes.

Inside ``enforcing`` every plan that runs, every skill that starts and every nested claw is checked by one gate. A
child process inherits the policy by the variable ``CLAWPERATOR_POLICY``. ``clawperator``, ``claw`` and the Python
API obey it; they can only restrict it further.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from clawperator.contract.commands import POLICY_VARIABLE
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.execution import Plan
    from clawperator.contract.fields import Level
    from clawperator.policy.rules import Asker, Policy, PolicyCall, PolicyDecision, PolicyEntry


class PolicyGate:
    """Lets calls pass that the policy allows. ``asker`` asks the user; without one, "ask" means deny.

    A confirmation holds for as long as the gate is in force.
    """

    def __init__(self, policy: "Policy", asker: "Asker | None" = None) -> None:
        self.policy = policy
        self.can_ask = asker is not None
        self._asker = asker
        self._names: set[str] = set()
        self._calls: set[tuple[str, tuple[str, ...]]] = set()

    def require(self, calls: "Iterable[PolicyCall]") -> None:
        """Raise ``PERMISSION_DENIED`` unless all calls may be made. No question is asked when one is denied."""
        decided = [(tool, params, self.policy.decide(tool, params)) for tool, params in calls]
        for tool, _, decision in decided:
            if decision.decision == "deny":
                raise denial(tool, decision)
        for tool, params, decision in sorted(decided, key=lambda one: not one[0].is_whole):
            if decision.decision == "ask":
                self._ask(tool, params, decision)

    def _ask(self, tool: "PolicyEntry", params: Mapping[str, Any], decision: "PolicyDecision") -> None:
        from clawperator.policy.rules import subjects_of

        call = tool.name, subjects_of(tool, params)
        if tool.name in self._names or call in self._calls:
            return
        if self._asker is None or not self._asker(tool, params, decision.reason):
            raise denial(tool, decision, asked=self.can_ask)
        self._calls.add(call)
        if tool.is_whole and tool.performs is not None:
            self._names.update(tool.performs(params))


_gate: ContextVar[PolicyGate | None] = ContextVar("policy gate", default=None)


@contextmanager
def enforcing(gate: PolicyGate) -> Iterator[PolicyGate]:
    """Check everything in the block, also in threads that copy its context."""
    token = _gate.set(gate)
    try:
        yield gate
    finally:
        _gate.reset(token)


def inherited_policy() -> "Policy | None":
    """The policy of the surrounding block or, in a child process, of its parent. None when there is none."""
    gate = _gate.get()
    if gate is not None:
        return gate.policy
    text = os.environ.get(POLICY_VARIABLE)
    if text is None:
        return None
    from clawperator.policy.rules import decode_policy

    return decode_policy(text)


def policy_in_force() -> bool:
    """Whether a policy decides on calls here."""
    return _gate.get() is not None or POLICY_VARIABLE in os.environ


def check_calls(calls: "Iterable[PolicyCall]") -> None:
    """Raise ``PERMISSION_DENIED`` when the policy in force does not allow all of these calls."""
    gate = _gate.get()
    if gate is None:
        policy = inherited_policy()
        if policy is None:
            return
        gate = PolicyGate(policy)
    gate.require(calls)


def check_call(name: str, level: "Level", *subjects: str, command: str = "") -> None:
    """Check a call that does not pass the gate of operations: a shell on the device, or a part of an operation.

    The name is that of the tool. Rules about its command, by default that of the same name, apply, and rules about
    the family of the command.
    """
    if policy_in_force():
        from clawperator.contract.commands import command_names
        from clawperator.policy.rules import PolicyEntry

        command = command or name.replace("_", " ")
        others = tuple(other.replace(" ", "-") for other in command_names(command))
        performed = (*others, command.partition(" ")[0])
        check_calls([(PolicyEntry(name, level, others, lambda _: subjects, lambda _: performed, others), {})])


def check_actions(
    actions: Iterable[Mapping[str, Any]],
    *,
    level: "Level" = "read-only",
    whole: tuple[str, str] | None = None,
    files: tuple[str, ...] = (),
) -> None:
    """Check actions, each of which needs this level or its own, whichever is higher.

    ``whole`` is the name and the subject of a call that runs a whole execution: rules about it apply as well, and
    deny and ask rules about the ``files`` that the command around it reads or writes. ``PERMISSION_DENIED`` names
    the first that is not allowed.
    """
    if policy_in_force():
        from clawperator.policy.actions import plan_calls

        check_calls(plan_calls(actions, level, whole, files))


def check_possible(action: Mapping[str, Any]) -> None:
    """Refuse an action that the policy denies whatever its target is, before the target is looked up."""
    policy = inherited_policy()
    if policy is None:
        return
    from clawperator.policy.actions import action_entry

    gate = _gate.get()
    if not policy.may_allow(action_entry(action["type"]), can_ask=gate is not None and gate.can_ask):
        check_actions([action])


class ApprovedPlan(Struct, frozen=True):
    """A plan whose actions may run here. Only ``approve`` and ``approve_own`` make one."""

    plan: "Plan"

    def within(self, timeout_ms: float) -> "ApprovedPlan":
        """The same actions with another timeout."""
        plan = self.plan
        execution = replace(plan.execution, timeoutMs=timeout_ms)
        document = {**plan.document, "timeoutMs": timeout_ms}
        return ApprovedPlan(replace(plan, execution=execution, document=document))


def approve(
    plan: "Plan",
    *,
    level: "Level" = "read-only",
    whole: tuple[str, str] | None = None,
    files: tuple[str, ...] = (),
) -> ApprovedPlan:
    """The plan, if the policy in force allows it as ``check_actions`` has it; ``PERMISSION_DENIED`` otherwise."""
    check_actions(plan.document["actions"], level=level, whole=whole, files=files)
    return ApprovedPlan(plan)


def approve_own(plan: "Plan") -> ApprovedPlan:
    """A look that an allowed operation takes for itself. ``ValueError`` when the plan does more than look."""
    from clawperator.contract.actions import ACTIONS

    if not all(ACTIONS[action.type].read_only for action in plan.execution.actions):
        raise ValueError("the plan does more than look")
    return ApprovedPlan(plan)


def check_look(name: str) -> None:
    """Check an action that only looks and writes nothing: the live screen of the page."""
    if policy_in_force():
        from clawperator.policy.actions import action_entry

        check_calls([(replace(action_entry(name), level="read-only"), {})])


def check_labelled_action(name: str, params: Mapping[str, Any], labels: tuple[str, ...]) -> None:
    """Check an action on a node with these labels: deny and ask rules see them after the subjects it names."""
    if policy_in_force():
        from clawperator.policy.actions import action_entry
        from clawperator.policy.rules import subjects_of

        entry = action_entry(name)
        subjects = (*subjects_of(entry, params), *labels)
        check_calls([(replace(entry, subjects=lambda _: subjects), params)])


def policy_environment() -> dict[str, str]:
    """The variable that passes the policy in force to a child process; empty when there is none."""
    policy = inherited_policy()
    if policy is None:
        return {}
    from clawperator.policy.rules import encode_policy

    return {POLICY_VARIABLE: encode_policy(policy)}


def denial(tool: "PolicyEntry", decision: "PolicyDecision", *, asked: bool = False) -> ClawError:
    """The error of a call that is not allowed."""
    if decision.source == "mode":
        hint = f"Use the permission mode {tool.level}, or allow the tool {tool.name}."
    elif decision.source.startswith("--"):
        hint = f"Remove '{decision.source}' from the command line to allow it."
    elif decision.source == "tools":
        hint = "Run 'claw tool-pool --output-format json' to list the tools."
    elif decision.source == POLICY_VARIABLE:
        hint = "Allow it in the permissions of the claw command that started this one."
    else:
        hint = f"Remove the rule from permissions.{decision.decision} in {decision.source}."
    reason = decision.reason
    if decision.decision == "ask":
        reason += ": denied by the user" if asked else ": no terminal to ask on"
    return ClawError("PERMISSION_DENIED", reason, hint=hint, operation="check_policy", target=tool.name)
