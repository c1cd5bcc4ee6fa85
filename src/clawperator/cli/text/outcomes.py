"""Executions as text: one line for each action, and what it read or captured below it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clawperator._base.text import count
from clawperator.api.results import read_count
from clawperator.cli.text.layout import Block, Fields, Line, Painted, Part, Table, state
from clawperator.cli.text.values import scalar, seconds, table
from clawperator.contract.action_params import is_snapshot
from clawperator.contract.execution import Action, Plan
from clawperator.contract.results import ExecutionResult, StepResult

_ContentRenderer = Callable[[Mapping[str, str]], Iterator[Block]]
_MATCH_MEMBERS = ("ref", "role", "label", "resourceId", "states", "bounds")
_MATCH_COLUMNS = dict(zip(("REF", "ROLE", "LABEL", "ID", "STATES", "BOUNDS"), _MATCH_MEMBERS, strict=True))


def execution_blocks(result: ExecutionResult, plan: Plan | None) -> Iterator[Block]:
    """What an execution did. Of one action, its result; of several, a numbered line for each."""
    steps = result.envelope.stepResults
    actions = {action.id: action for action in plan.execution.actions} if plan is not None else {}
    if len(steps) == 1 and len(actions) <= 1:
        if steps[0].success:
            yield from _step_blocks(steps[0], actions.get(steps[0].id))
        return
    for number, step in enumerate(steps, 1):
        head = f"{number}. {step.id} "
        if not step.success:
            yield (head, Painted("failed", "red"), f": {step.data.get('error', 'UNKNOWN')}")
            continue
        action = actions.get(step.id)
        # Asked for its content: a screen, texts, matches, log lines.
        if is_snapshot(step.actionType) or _content_renderer(step.data) is not None:
            yield head + _message(step, action)
            yield from _indented(_step_blocks(step, action))
        else:
            yield (head, *_sentence(step, action))
    done = {step.id for step in steps}
    for number, action in enumerate(actions.values(), 1):
        if action.id not in done:
            yield (f"{number}. {action.id} ", Painted("not run", "yellow"))


def _indented(blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        if isinstance(block, Table):
            yield Table(block.columns, block.rows, block.indent + 3)
        elif not isinstance(block, Fields):  # a line
            yield ("   ", *(block if isinstance(block, tuple) else (block,)))


def _step_blocks(step: StepResult, action: Action | None) -> Iterator[Block]:
    if is_snapshot(step.actionType):
        yield from _screen(step, action)
    elif (render := _content_renderer(step.data)) is not None:
        yield from render(step.data)
    else:
        yield _sentence(step, action)


def _sentence(step: StepResult, action: Action | None) -> tuple[Part, ...]:
    """The result of an action in one line: its target, its effect, and how long it took."""
    data = step.data
    message = _message(step, action)
    effect = data.get("effect")
    before, mark, after = message.rpartition(": ")
    colour: Part = Painted(after, "yellow") if mark and effect in ("unchanged", "unknown") else after
    facts = []
    if (candidates := read_count(data, "candidate_count")) > 1:
        facts.append(f"the first of {candidates} matches")
    if "expected_after_ms" in data:
        facts.append(f"as expected after {seconds(read_count(data, 'expected_after_ms'))}")
    elif "settled_ms" in data:
        facts.append(f"settled in {seconds(read_count(data, 'settled_ms'))}")
    if data.get("target_verified") == "false":
        facts.append("the target is not verified")
    return (before + mark, colour, f" ({', '.join(facts)})" if facts else "")


def _message(step: StepResult, action: Action | None) -> str:
    from clawperator.agent.tools.messages import describe_steps

    no_params: Any = None
    return describe_steps([action or Action(step.id, step.actionType, no_params)], [step])


def _screen(step: StepResult, action: Action | None) -> Iterator[Line]:
    """The outline of the screen, or the view that was asked for."""
    view = getattr(action.params, "view", None) if action is not None else None
    if view == "xml":
        yield from step.data.get("text", "").splitlines()
        return
    from clawperator.agent.tools.builtin import screen_lines

    yield from screen_lines(msgspec.to_builtins(step))


def _texts(data: Mapping[str, str]) -> Iterator[Block]:
    """Texts as they are, one on each line."""
    if data.get("all") != "true":
        yield data.get("text", "")
        return
    yield from (scalar(text) for text in _decoded(data, "text"))


def _pairs(data: Mapping[str, str]) -> Iterator[Block]:
    pairs = _decoded(data, "pairs") if "pairs" in data else [data]
    yield Table(("", ""), [(f"{pair.get('label', '')}:", pair.get("value", "")) for pair in pairs])


# The member that only the data of such a step have.
_CONTENT: Mapping[str, _ContentRenderer] = {
    "matches": lambda data: match_blocks(read_count(data, "count"), _decoded(data, "matches")),
    "line_count": lambda data: iter(data.get("text", "").splitlines()),
    "validator": _texts,
    "value": _pairs,
}


def _content_renderer(data: Mapping[str, str]) -> _ContentRenderer | None:
    return next((render for member, render in _CONTENT.items() if member in data), None)


def match_blocks(total: int, matches: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """The elements that a query found."""
    if not total:
        yield "no elements match"
        return
    yield table(matches, _MATCH_COLUMNS)
    for match in matches:
        if flags := match.get("flags"):
            yield f"flags that select {match.get('ref') or 'it'}, '{match.get('label', '')}':"
            yield from (f"  {line}" for line in flags)
    if total > len(matches):
        yield f"{len(matches)} of {total} matches; all: add --limit {total}"


def _decoded(data: Mapping[str, str], name: str) -> list[Any]:
    """A list in a step's data, which are texts; empty when it is not one."""
    try:
        return msgspec.json.decode(data.get(name, "[]"), type=list[Any])
    except (msgspec.DecodeError, RecursionError):
        return []


def plan_blocks(document: Mapping[str, Any]) -> Iterator[Block]:
    """A plan that was validated and did not run: its actions with their parameters."""
    is_dry = "plan" in document
    plan = document["plan"] if is_dry else document["execution"]
    actions = plan["actions"]
    facts = f": {count(len(actions), 'action')}, timeout {seconds(plan['timeoutMs'])}"
    yield ("dry run, nothing was sent" if is_dry else state("valid"), facts)
    yield table(actions, {"ID": "id", "ACTION": "type", "PARAMETERS": "params"}, indent=2)
