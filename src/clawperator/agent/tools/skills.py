"""The list_skills and run_skill tools. A running skill ends with its turn."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.text import printable
from clawperator.agent.ports import Evidence, Tool, ToolContext, ToolResult
from clawperator.agent.tools.row import failed_result, make_tool, payload_error
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.skills.process import OutputListener

_MAX_TIMEOUT_MS = 3_600_000
_MAX_LINE_LENGTH = 80
_LISTED_FIELDS = ("id", "applicationId", "intent", "summary", "keywords")

Value = str | int | float | bool


class ListSkillsParams(Struct, frozen=True, forbid_unknown_fields=True):
    app: Annotated[str, Meta(description="only skills for this package name")] | UnsetType = UNSET
    keyword: Annotated[str, Meta(description="only skills that match this keyword, best first")] | UnsetType = (
        UNSET
    )


class RunSkillParams(Struct, frozen=True, forbid_unknown_fields=True):
    skill: Annotated[str, Meta(min_length=1, description="skill id")]
    args: Annotated[list[str] | dict[str, Value], Meta(description="arguments, by position or by name")] = []
    timeoutMs: Annotated[float, Meta(gt=0, le=_MAX_TIMEOUT_MS, description="timeout in ms")] | UnsetType = UNSET


def _list_skills(params: ListSkillsParams, _: ToolContext) -> ToolResult:
    from clawperator.skills.registry import open_registry, search_skills

    app = None if params.app is UNSET else params.app
    keyword = None if params.keyword is UNSET else params.keyword
    found = [_listed(entry) for entry in search_skills(open_registry().entries, app=app, keyword=keyword)]
    ids = ", ".join(printable(str(skill.get("id"))) for skill in found[:3]) + (", …" if len(found) > 3 else "")
    message = f"{len(found)} skill{'' if len(found) == 1 else 's'}: {ids}" if found else "no matching skills"
    return ToolResult(handled=True, message=message, result={"skills": found, "count": len(found)})


def _listed(entry: Any) -> dict[str, Any]:
    """The fields that are needed to choose and run a skill."""
    contract = entry.get("contract")
    inputs = contract.get("inputs") if isinstance(contract, dict) else None
    return {name: entry[name] for name in _LISTED_FIELDS if name in entry} | {"inputs": inputs}


def _run_skill(params: RunSkillParams, context: ToolContext) -> ToolResult:
    from clawperator.skills.registry import open_registry
    from clawperator.skills.run import SkillRunRequest, run_skill

    request = SkillRunRequest(
        params.skill,
        args=_arguments(params.args),
        device=context.device,
        operator_package=context.operator_package,
        timeout_ms=None if params.timeoutMs is UNSET else params.timeoutMs,
        pass_env=context.pass_env,
        allow_schemes=context.allow_schemes,
    )
    try:
        ran = run_skill(open_registry(), request, _listener(context), stop=lambda: context.deadline.is_over)
    except ClawError as e:
        context.deadline.check()  # raises when the turn itself ended the skill
        return failed_result(e, **_failure_evidence(e, request))
    document = msgspec.to_builtins(ran)
    return ToolResult(
        handled=True,
        message=f"skill {ran.skillId} succeeded" + _last_line(ran.output, ran.skillResult),
        result=document,
        evidence=(Evidence("skill_run", ran.skillId, context.device, document=document),),
    )


def _listener(context: ToolContext) -> "OutputListener":
    """Reports the last line of each piece of the skill's output."""

    def report(_: str, data: bytes) -> None:
        lines = data.decode("utf-8", "replace").split("\n")
        if shown := next((line.strip() for line in reversed(lines) if line.strip()), ""):
            context.on_progress(printable(shown)[:_MAX_LINE_LENGTH])

    return report


def _failure_evidence(error: ClawError, request: Any) -> dict[str, Any]:
    """The evidence of a failed skill that had started."""
    if "durationMs" not in error.extra:
        return {}
    document = error.document()
    return {"result": document, "evidence": (Evidence("skill_run", request.skill_id, request.device, document),)}


def _last_line(output: str, result: dict[str, Any] | None) -> str:
    """The last output line of a skill without a result frame; empty with a frame."""
    lines = output.split("\n") if result is None else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    shown = printable(last)
    return f": {shown[:_MAX_LINE_LENGTH]}{'…' if len(shown) > _MAX_LINE_LENGTH else ''}" if shown else ""


def _arguments(args: list[str] | dict[str, Value]) -> tuple[str, ...]:
    words = (
        [f"--{name}={_format_value(value)}" for name, value in args.items()] if isinstance(args, dict) else args
    )
    if any("\0" in word for word in words):
        raise payload_error("run_skill", "an argument contains a NUL character")
    return tuple(words)


def _format_value(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


SKILL_TOOLS: tuple[Tool, ...] = (
    make_tool(
        "list_skills",
        "List skills, for an app or by keyword.",
        ListSkillsParams,
        _list_skills,
        level="read-only",
        module=__name__,
        family="skill",
        model_tool="skills",
    ),
    make_tool(
        "run_skill",
        "Run a skill: a scripted task in an app that verifies its result.",
        RunSkillParams,
        _run_skill,
        level="act",
        module=__name__,
        family="skill",
        subject="skill",
        model_tool="skills",
    ),
)
