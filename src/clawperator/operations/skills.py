"""Operations on skills: list, get, search, validate, create, compile, run, install, update."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, convert, to_builtins
from msgspec.structs import replace

from clawperator._base.text import printable
from clawperator.contract.fields import about
from clawperator.errors import ClawError
from clawperator.operations.model import (
    FAMILIES,
    HOUR_SECONDS,
    EvidenceFolder,
    Family,
    FilePath,
    JunitFile,
    NoParams,
    Params,
    Rule,
    find_operation,
    operation,
)
from clawperator.skills.registry import SHIPPED, SkillRegistry, configured_registry, open_registry, search_skills

if TYPE_CHECKING:
    from clawperator.operations.call import Caller
    from clawperator.skills.registry import SyncedSkills
    from clawperator.skills.run import SkillRun
    from clawperator.skills.scaffold import CreatedSkill
    from clawperator.skills.validation import ValidatedSkill

FAMILIES["skills"] = Family("Find, validate, create, install and run skills.")
_SYNCED = "clawperator.skills.registry:SyncedSkills"
_LISTINGS, _REPORTS = "clawperator.cli.text.listings:", "clawperator.cli.text.reports:"
_OVERVIEW = "com.android.settings.overview"
_NEW = (
    "clawperator skills new com.example.app.greet --recording-context demo.export.json"
    " --registry mine/skills/skills-registry.json"
)
_COMPILE = (
    f"clawperator skills compile-artifact {_OVERVIEW} --artifact read-row"
    """ --vars '{"PAGE":"Battery","ROW":"Battery level"}'"""
)
_MAX_TIMEOUT_MS = 3_600_000
_LONGEST_LINE = 80
_MOST_NAMED = 3
# What an agent needs to choose and run a skill, besides its inputs.
_CHOICE = ("id", "applicationId", "intent", "summary", "keywords")


def _registry_file(**use: Any) -> Meta:
    shipped = f"registry file, or '{SHIPPED}' for the skills of this package"
    return about(shipped, path="registry", not_paths=(SHIPPED,), metavar="<file>", cli_only=True, **use)


RegistryFile = Annotated[FilePath | UnsetType, _registry_file()]
TrustedRegistryFile = Annotated[FilePath | UnsetType, _registry_file(raises="full")]
SkillName = Annotated[str, Meta(min_length=1)]
SkillId = Annotated[SkillName, about("skill id", word=1, flag="--skill-id", metavar="<id>")]
App = Annotated[
    str | UnsetType, about("only skills for this package name", aliases=("--package",), metavar="<package>")
]
Intent = Annotated[str | UnsetType, about("only skills with this intent", rare=True)]
_KEYWORD = "only skills that match this keyword, best first"


class SkillList(Struct, frozen=True):
    skills: list[Mapping[str, Any]]
    count: int


def _opened(registry: str | UnsetType, caller: "Caller", *, to_validate: bool = False) -> SkillRegistry:
    """The registry to use. Its warnings go to the caller."""
    opened = open_registry(registry or None, to_validate=to_validate)
    for text in opened.warnings:
        caller.warn(text)
    return opened


def _found(registry: str | UnsetType, caller: "Caller", **filters: str | UnsetType) -> SkillList:
    wanted = {name: text or None for name, text in filters.items()}
    found = search_skills(_opened(registry, caller).entries, **wanted)
    if caller.entry.name == "tool":
        found = [_choice(entry) for entry in found]
    return SkillList(found, len(found))


def _choice(entry: Mapping[str, Any]) -> dict[str, Any]:
    contract = entry.get("contract")
    inputs = contract.get("inputs") if isinstance(contract, dict) else None
    return {name: entry[name] for name in _CHOICE if name in entry} | {"inputs": inputs}


def _listed(result: SkillList, _: "Caller") -> str:
    if not result.count:
        return "no matching skills"
    ids = ", ".join(printable(str(skill.get("id"))) for skill in result.skills[:_MOST_NAMED])
    more = ", …" if result.count > _MOST_NAMED else ""
    return f"{result.count} skill{'' if result.count == 1 else 's'}: {ids}{more}"


class ListSkillsParams(Params, frozen=True, kw_only=True):
    """List skills, for an app or by keyword."""

    app: App = UNSET
    intent: Intent = UNSET
    keyword: Annotated[str | UnsetType, about(_KEYWORD)] = UNSET
    registry: RegistryFile = UNSET


@operation(
    "skills list",
    level="read-only",
    message=_listed,
    text=_LISTINGS + "skills_blocks",
    route="GET /skills",
    errors=("REGISTRY_READ_FAILED",),
    tool="skills",
    tool_alias="list_skills",
)
def list_all(params: ListSkillsParams, caller: "Caller") -> SkillList:
    return _found(params.registry, caller, app=params.app, intent=params.intent, keyword=params.keyword)


class GetSkillParams(Params, frozen=True, kw_only=True):
    """Print the registry entry of a skill."""

    skill: SkillId
    registry: RegistryFile = UNSET


class OneSkill(Struct, frozen=True):
    skill: dict[str, Any]


@operation(
    "skills get",
    level="read-only",
    subject="skill",
    performs=("skills list",),
    message=lambda result, _: printable(f"{result.skill['id']}: {result.skill.get('summary', '')}"),
    text=_LISTINGS + "skill_blocks",
    route="GET /skills/{skill}",
    errors=("SKILL_NOT_FOUND", "REGISTRY_READ_FAILED"),
    examples=(f"clawperator skills get {_OVERVIEW}",),
)
def get(params: GetSkillParams, caller: "Caller") -> OneSkill:
    return OneSkill(_opened(params.registry, caller).entry(params.skill))


class SearchSkillsParams(Params, frozen=True, kw_only=True):
    """Search skills by app, intent or keyword; best match first."""

    keyword: Annotated[str | UnsetType, about(_KEYWORD, word=1, flag="--keyword")] = UNSET
    app: App = UNSET
    intent: Intent = UNSET
    registry: RegistryFile = UNSET


@operation(
    "skills search",
    level="read-only",
    subject="keyword",
    performs=("skills list",),
    message=_listed,
    text=_LISTINGS + "skills_blocks",
    examples=("clawperator skills search battery",),
)
def search(params: SearchSkillsParams, caller: "Caller") -> SkillList:
    if not (params.keyword or params.app or params.intent):
        raise _incomplete(caller, "skills search", "a keyword, an app or an intent")
    return _found(params.registry, caller, app=params.app, intent=params.intent, keyword=params.keyword)


def _incomplete(caller: "Caller", name: str, wanted: str) -> ClawError:
    from clawperator.operations.call import invalid

    return invalid(find_operation(name), caller.entry, f"{name} needs {wanted}")


class AppSkillsParams(Params, frozen=True, kw_only=True):
    """List the skills for an app."""

    app: Annotated[str, about("package name of the app", word=1, metavar="<package>")]
    registry: RegistryFile = UNSET


@operation(
    "skills for-app",
    level="read-only",
    subject="app",
    performs=("skills list",),
    message=_listed,
    text=_LISTINGS + "skills_blocks",
    examples=("clawperator skills for-app com.android.settings",),
)
def for_app(params: AppSkillsParams, caller: "Caller") -> SkillList:
    return _found(params.registry, caller, app=params.app)


class ValidateSkillParams(Params, frozen=True, kw_only=True):
    """Validate a skill against its registry entry."""

    skill: Annotated[SkillName | UnsetType, about("skill id", word=1, flag="--skill-id", metavar="<id>")] = UNSET
    all: Annotated[bool, about("validate every skill")] = False
    dry_run: Annotated[bool, about("also validate the artifacts as executions")] = False
    registry: RegistryFile = UNSET


def _validated(result: "ValidatedSkill | dict[str, Any]", _: "Caller") -> str:
    if isinstance(result, dict):
        return f"{result['totalSkills']} skills are valid"
    return f"skill {printable(str(result.skill['id']))} is valid"


@operation(
    "skills validate",
    "clawperator.skills.validation:ValidatedSkill",
    level="read-only",
    subject="skill",
    rules=(Rule("skill", "all", (False,)),),
    message=_validated,
    text=_REPORTS + "validated_blocks",
    examples=(f"clawperator skills validate {_OVERVIEW}", "clawperator skills validate --all --dry-run"),
)
def validate(params: ValidateSkillParams, caller: "Caller") -> "ValidatedSkill | dict[str, Any]":
    from clawperator.skills.validation import validate_all, validate_skill

    if not (params.skill or params.all):
        raise _incomplete(caller, "skills validate", "a skill id, or all")
    # Nothing of the registry runs, so that of a folder which is not trusted counts too.
    registry = _opened(params.registry, caller, to_validate=True)
    if params.all:
        return validate_all(registry, dry_run=params.dry_run)
    return validate_skill(registry, params.skill or "", dry_run=params.dry_run)


class NewSkillParams(Params, frozen=True, kw_only=True):
    """Create the files of a new skill."""

    skill: SkillId
    summary: Annotated[str | UnsetType, about("one sentence about the skill", metavar="<text>")] = UNSET
    recording_context: Annotated[
        FilePath | UnsetType, about("export of a recording, kept as evidence", metavar="<export.json>", path="in")
    ] = UNSET
    registry: RegistryFile = UNSET


def _own_registry(params: NewSkillParams, caller: "Caller") -> NewSkillParams:
    """An agent creates skills in its folder, or in the configured registry if that is in its folder."""
    if caller.confine is None or params.registry is not UNSET:
        return params
    from clawperator._base.trust import REGISTRY

    return replace(params, registry=configured_registry() or os.path.join(caller.folder, REGISTRY))


@operation(
    "skills new",
    "clawperator.skills.scaffold:CreatedSkill",
    level="act",
    subject="skill",
    resolve=_own_registry,
    message=lambda result, caller: f"created {result.skillId} in {caller.shown(result.skillPath)}",
    text=_LISTINGS + "created_skill_blocks",
    examples=(_NEW,),
    notes="The id is the app's package name, a dot and the intent. A missing registry is created.",
)
def new(params: NewSkillParams, _: "Caller") -> "CreatedSkill":
    from clawperator.skills.scaffold import new_skill

    return new_skill(
        params.skill,
        summary=params.summary or None,
        context=params.recording_context or None,
        registry=params.registry or None,
    )


class CompileArtifactParams(Params, frozen=True, kw_only=True):
    """Fill in an artifact and print the execution."""

    skill: SkillId
    artifact: Annotated[str, about("artifact name, with or without .recipe.json", metavar="<name>")]
    vars: Annotated[str | UnsetType, about("values of its placeholders, as a JSON object", metavar="<json>")] = (
        UNSET
    )
    registry: RegistryFile = UNSET


class CompiledArtifact(Struct, frozen=True):
    execution: dict[str, Any]


@operation(
    "skills compile-artifact",
    level="read-only",
    subject="skill",
    message=lambda result, _: f"compiled an execution of {len(result.execution['actions'])} actions",
    examples=(_COMPILE,),
)
def compile_artifact(params: CompileArtifactParams, caller: "Caller") -> CompiledArtifact:
    from clawperator.skills.validation import compile_artifact as compile_

    registry = _opened(params.registry, caller)
    return CompiledArtifact(compile_(registry, params.skill, params.artifact, params.vars or None))


class RunSkillParams(Params, frozen=True, kw_only=True):
    """Run a skill: a scripted task in an app that verifies its result."""

    skill: SkillId
    args: Annotated[
        list[str] | dict[str, str | int | float | bool],
        about("arguments of the script, by position or by name", word=2, metavar="-- <argument>"),
    ] = []
    timeout_ms: Annotated[
        Annotated[int, Meta(ge=1, le=_MAX_TIMEOUT_MS)] | UnsetType, about("timeout in ms", rare=True, not_cli=True)
    ] = UNSET
    expect_contains: Annotated[
        str | UnsetType, about("text that the output must contain", metavar="<text>", rare=True)
    ] = UNSET
    skip_validate: Annotated[bool, about("do not validate the skill first", cli_only=True)] = False
    junit: JunitFile = UNSET
    evidence: EvidenceFolder = UNSET
    allow_schemes: Annotated[
        list[str],
        about(
            "URI scheme to open besides http and https",
            flag="--allow-scheme",
            metavar="<scheme>",
            raises="full",
            cli_only=True,
        ),
    ] = []
    pass_env: Annotated[
        list[str], about("variable that the skill also receives", metavar="<name>", raises="full", cli_only=True)
    ] = []
    registry: TrustedRegistryFile = UNSET


class SkillAnswer(Struct, frozen=True, kw_only=True):
    """The answer of the route: the document of the command without the status, which is that of the answer."""

    skillId: str
    output: str
    exitCode: int
    durationMs: int
    timeoutMs: int | float | UnsetType = UNSET
    expectedSubstring: str | UnsetType = UNSET
    skillResult: dict[str, Any] | None


def _succeeded(result: "SkillRun", _: "Caller") -> str:
    """A result frame has its own words; without one, the last line of the output is shown."""
    lines = result.output.split("\n") if result.skillResult is None else []
    last = printable(next((line.strip() for line in reversed(lines) if line.strip()), ""))
    shown = f": {last[:_LONGEST_LINE]}{'…' if len(last) > _LONGEST_LINE else ''}" if last else ""
    return f"skill {result.skillId} succeeded{shown}"


@operation(
    "skills run",
    "clawperator.operations.skills:SkillAnswer",
    level="act",
    subject="skill",
    message=_succeeded,
    text=_REPORTS + "skill_run_blocks",
    evidence=("skill_run", "skillId"),
    on_device=True,
    route="POST /skills/{skill}/run",
    errors=(
        *("INVALID_ARGS", "INVALID_TIMEOUT_MS", "INVALID_EXPECT_CONTAINS"),
        *("SKILL_NOT_FOUND", "SKILL_EXECUTION_FAILED", "SKILL_EXECUTION_TIMEOUT", "REGISTRY_READ_FAILED"),
        "SKILL_OUTPUT_ASSERTION_FAILED",
    ),
    seconds=HOUR_SECONDS,
    tool="skills",
    tool_alias="run_skill",
    around="clawperator.cli.handlers.runs:run_skill",
    examples=(
        f"clawperator skills run {_OVERVIEW}",
        f"clawperator skills run {_OVERVIEW} --pass-env OPENAI_API_KEY",
        f"clawperator skills run {_OVERVIEW} --junit report.xml",
    ),
    notes="Arguments after -- go to the skill. --timeout limits the skill (default: 120000 ms); after it\n"
    "the skill and all its child processes are killed.",
)
def run(params: RunSkillParams, caller: "Caller") -> "SkillRun | SkillAnswer":
    from clawperator.skills.run import SkillRunRequest, run_skill

    request = SkillRunRequest(
        params.skill,
        args=_words(params.args),
        device=caller.device,
        operator_package=caller.operator_package,
        timeout_ms=caller.timeout_ms if params.timeout_ms is UNSET else params.timeout_ms,
        expect=None if params.expect_contains is UNSET else params.expect_contains,
        check=not params.skip_validate,
        pass_env=(*caller.pass_env, *params.pass_env),
        allow_schemes=(*caller.allow_schemes, *params.allow_schemes),
    )
    ran = run_skill(_opened(params.registry, caller), request, caller.on_output, stop=caller.is_stopping)
    return convert(to_builtins(ran), SkillAnswer) if caller.entry.name == "http" else ran


def _words(args: list[str] | dict[str, str | int | float | bool]) -> tuple[str, ...]:
    """Arguments as words. Those by name are ``--name=value``."""
    if not isinstance(args, dict):
        return tuple(args)
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in args.items()}
    return tuple(f"--{name}={text}" for name, text in texts.items())


@operation(
    "skills install",
    _SYNCED,
    purpose="Install the published skills with git.",
    level="full",
    text=_LISTINGS + "synced_blocks",
)
def install(_: NoParams, __: "Caller") -> "SyncedSkills":
    from clawperator.skills.registry import install_skills

    return install_skills()


class UpdateSkillsParams(Params, frozen=True, kw_only=True):
    """Update the installed skills."""

    ref: Annotated[str, about("branch, tag or commit")] = "main"


@operation("skills update", _SYNCED, level="full", subject="ref", text=_LISTINGS + "synced_blocks")
def update(params: UpdateSkillsParams, _: "Caller") -> "SyncedSkills":
    from clawperator.skills.registry import sync_skills

    return sync_skills(params.ref)


class SyncSkillsParams(Params, frozen=True, kw_only=True):
    """Check out a branch, tag or commit of the installed skills."""

    ref: Annotated[str, about("branch, tag or commit")]


@operation(
    "skills sync",
    _SYNCED,
    level="full",
    subject="ref",
    text=_LISTINGS + "synced_blocks",
    examples=("clawperator skills sync --ref v1",),
)
def sync(params: SyncSkillsParams, _: "Caller") -> "SyncedSkills":
    from clawperator.skills.registry import sync_skills

    return sync_skills(params.ref)
