"""Tools for skills: which there are, and running one. A skill ends with the turn that asked for it."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import printable
from clawperator.agent.ports import Evidence, Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import failed, make_tool, unfit
from clawperator.errors import ClawError

_LONGEST_MS = 3_600_000
_LONGEST_SAID = 80
_SHOWN = ("id", "applicationId", "intent", "summary", "keywords")

Value = str | int | float | bool


class ListSkillsParams(Struct, frozen=True, forbid_unknown_fields=True):
    app: Annotated[str, Meta(description="only those for this app, by its package name")] | UnsetType = UNSET
    keyword: Annotated[str, Meta(description="only those that fit this word, the best first")] | UnsetType = UNSET


class RunSkillParams(Struct, frozen=True, forbid_unknown_fields=True):
    skill: Annotated[str, Meta(min_length=1, description="the id of the skill")]
    args: Annotated[
        list[str] | dict[str, Value], Meta(description="its arguments, in their order or by their names")
    ] = []
    timeoutMs: (
        Annotated[float, Meta(gt=0, le=_LONGEST_MS, description="how long it may take, in ms")] | UnsetType
    ) = UNSET


def _list_skills(params: ListSkillsParams, _: ToolContext) -> ToolResult:
    from clawperator.skills.registry import open_registry, search

    app = None if params.app is UNSET else params.app
    keyword = None if params.keyword is UNSET else params.keyword
    found = [_listed(entry) for entry in search(open_registry().entries, app=app, keyword=keyword)]
    told = ", ".join(printable(str(skill.get("id"))) for skill in found[:3]) + (", …" if len(found) > 3 else "")
    message = f"{len(found)} skill{'' if len(found) == 1 else 's'}: {told}" if found else "no skill fits"
    return ToolResult(handled=True, message=message, result={"skills": found, "count": len(found)})


def _listed(entry: Any) -> dict[str, Any]:
    """What somebody needs to choose a skill and to run it."""
    contract = entry.get("contract")
    inputs = contract.get("inputs") if isinstance(contract, dict) else None
    return {name: entry[name] for name in _SHOWN if name in entry} | {"inputs": inputs}


def _run_skill(params: RunSkillParams, context: ToolContext) -> ToolResult:
    from clawperator.skills.registry import open_registry
    from clawperator.skills.run import Order, run_skill

    order = Order(
        params.skill,
        args=_words(params.args),
        device=context.device,
        operator_package=context.operator_package,
        timeout_ms=None if params.timeoutMs is UNSET else params.timeoutMs,
    )
    try:
        ran = run_skill(open_registry(), order, stop=lambda: context.deadline.is_over)
    except ClawError as e:
        context.deadline.check()  # who stopped the skill wants to hear nothing of it
        return failed(e, **_what_it_said(e, order))
    document = msgspec.to_builtins(ran)
    return ToolResult(
        handled=True,
        message=f"the skill {ran.skillId} did its job" + _last_words(ran.output, ran.skillResult),
        result=document,
        evidence=(Evidence("skill_run", ran.skillId, context.device, document=document),),
    )


def _what_it_said(error: ClawError, order: Any) -> dict[str, Any]:
    """A skill that began has left evidence, however it ended."""
    if "durationMs" not in error.extra:
        return {}
    document = error.document()
    return {"result": document, "evidence": (Evidence("skill_run", order.skill_id, order.device, document),)}


def _last_words(output: str, result: dict[str, Any] | None) -> str:
    """The last line a skill without a result frame printed; one with a frame has said enough."""
    lines = output.split("\n") if result is None else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    shown = printable(last)
    return f": {shown[:_LONGEST_SAID]}{'…' if len(shown) > _LONGEST_SAID else ''}" if shown else ""


def _words(args: list[str] | dict[str, Value]) -> tuple[str, ...]:
    words = [f"--{name}={_written(value)}" for name, value in args.items()] if isinstance(args, dict) else args
    if any("\0" in word for word in words):
        raise unfit("run_skill", "an argument holds a NUL, which no program can be given")
    return tuple(words)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


SKILL_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "list_skills",
        "List the skills there are, for an app or by a word.",
        ListSkillsParams,
        _list_skills,
        level="read-only",
        module=__name__,
        family="skill",
    ),
    make_tool(
        "run_skill",
        "Run a skill: a tried way to reach a goal in an app, proved at its end.",
        RunSkillParams,
        _run_skill,
        level="act",
        module=__name__,
        family="skill",
        subject="skill",
    ),
)
