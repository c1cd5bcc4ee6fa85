"""JSON Schema of every document, derived from the types that read and write them."""

from collections.abc import Callable, Mapping
from typing import Any, Union

import msgspec
from msgspec import Struct

from clawperator._text import nearest
from clawperator.agent.envelope import CLASSES, COMMON, KINDS, SCHEMA_VERSION
from clawperator.agent.sessions.records import SessionMeta, TurnRecord
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import ExecutionShape
from clawperator.contract.results import ExecutionResult, ResultEnvelope
from clawperator.contract.selectors import NodeMatcher
from clawperator.contract.skill_result import SkillResult, SkillsRun
from clawperator.device.emulators.avd import Avd
from clawperator.device.setup.doctor import Report
from clawperator.device.setup.install import Granted, OperatorSetup
from clawperator.device.setup.version_check import Compatibility
from clawperator.errors import CODES, ClawError
from clawperator.recording.compare.compare import CompareReport
from clawperator.recording.compare.strategies.declared import Declaration
from clawperator.recording.describe import Narrative
from clawperator.recording.events import FACTS, Header
from clawperator.recording.export import Export, ExportResult
from clawperator.recording.parse import ParseResult, StepLog
from clawperator.recording.repair import RepairResult
from clawperator.replay.report import ReplayPlan, ReplayReport

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_TRUE = {"const": True}

Schema = dict[str, Any]


class Entry(Struct, frozen=True):
    description: str
    make: Callable[[], Schema]


def list_schemas() -> list[dict[str, str]]:
    return [{"name": name, "description": entry.description} for name, entry in SCHEMAS.items()]


def schema(name: str) -> Schema:
    """The schema of that name, or ``SCHEMA_NOT_FOUND``."""
    entry = SCHEMAS.get(name)
    if entry is None:
        near = nearest(name, SCHEMAS, max(2, len(name) // 2))
        raise ClawError(
            "SCHEMA_NOT_FOUND",
            f"there is no schema {name!r}" + (f"; did you mean {near!r}?" if near else ""),
            operation="schema",
            target=name,
        )
    return {"$schema": _DIALECT, "title": name, "description": entry.description, **entry.make()}


def _of(type_: Any) -> Callable[[], Schema]:
    return lambda: msgspec.json.schema(type_, ref_template=_REF)


def _error() -> Schema:
    return {
        "type": "object",
        "properties": {
            "code": {"enum": sorted(CODES)},
            "message": {"type": "string"},
            "hint": {"type": "string"},
            "details": {"type": "object"},
        },
        "required": ["code", "message"],
    }


def _execution() -> Schema:
    """The execution with each action type's own params."""
    rows = list(ACTIONS.values())
    shapes, defs = msgspec.json.schema_components([row.params for row in rows], ref_template=_REF)
    (top,), more = msgspec.json.schema_components([ExecutionShape], ref_template=_REF)
    defs |= more
    base = defs.pop("ActionShape")
    variants = []
    for row, params in zip(rows, shapes, strict=True):
        properties = {**base["properties"], "type": {"const": row.name}, "params": params}
        required = ["id", "type"]
        if any(f.required for f in msgspec.structs.fields(row.params)):
            required.append("params")
        variants.append({**base, "title": row.name, "description": row.summary, "properties": properties})
        variants[-1]["required"] = required
    defs["ActionShape"] = {"anyOf": variants}
    return {**top, "$defs": defs}


def _validated() -> Schema:
    execution = _execution()
    properties = {"ok": _TRUE, "validated": _TRUE, "execution": {"$ref": execution["$ref"]}}
    return {**_object(properties), "$defs": execution["$defs"]}


def _dry_run() -> Schema:
    defs = _execution()["$defs"]
    top = defs["ExecutionShape"]["properties"]
    plan = _object(
        {
            "commandId": top["commandId"],
            "timeoutMs": top["timeoutMs"],
            "actionCount": {"type": "integer", "minimum": 1},
            "actions": top["actions"],
        }
    )
    return {**_object({"ok": _TRUE, "dryRun": _TRUE, "plan": plan}), "$defs": defs}


def _object(properties: Schema) -> Schema:
    """An object that has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _recording_event() -> Schema:
    """The kinds of event, with their snapshot as what it is once decoded."""
    kinds = [
        msgspec.defstruct(
            facts.__name__.removesuffix("Facts"),
            [("snapshot", str | None, None)],
            bases=(facts,),
            tag_field="type",
            tag=facts.kind,
            kw_only=True,
        )
        for facts in FACTS
    ]
    return _of(Union[tuple(kinds)])()  # noqa: UP007 - the types are only known now


def _claw_error() -> Schema:
    kinds = sorted({*CLASSES, *KINDS.values()})
    text = {"type": "string"}
    always = {
        "kind": {"enum": kinds},
        "operation": text,
        "target": text,
        "retryable": {"type": "boolean"},
        "message": text,
        "hint": text,
        "class": {"enum": list(CLASSES)},
        "code": {"enum": sorted(CODES)},
    }
    whole = _object(always)
    return {**whole, "properties": {**always, "details": {"type": "object"}}}


def _claw_envelope() -> Schema:
    """What every answer of claw has. The fields of each command stand between."""
    text = {"type": "string"}
    always = dict.fromkeys(COMMON, text) | {
        "exit_code": {"enum": [0, 1, 2]},
        "output_format": {"const": "json"},
        "schema_version": {"const": SCHEMA_VERSION},
        "warnings": {"type": "array", "items": text},
    }
    whole = _object(always)
    return {**whole, "properties": {**always, "error": _claw_error()}}


SCHEMAS: Mapping[str, Entry] = {
    "execution": Entry("what exec takes: 1 to 50 actions with their params, in canonical names", _execution),
    "node-matcher": Entry("which node of the screen is meant", _of(NodeMatcher)),
    **{f"action.{n}": Entry(f"params of {n}: {row.summary}", _of(row.params)) for n, row in ACTIONS.items()},
    "validated-execution": Entry("what --validate-only prints", _validated),
    "dry-run": Entry("what --dry-run prints", _dry_run),
    "execution-result": Entry("what a command that ran on a phone prints", _of(ExecutionResult)),
    "result-envelope": Entry("the outcome of one execution, step by step", _of(ResultEnvelope)),
    "error": Entry("what a failed command prints", _error),
    "skill-result": Entry("what a skill says it did", _of(SkillResult)),
    "skills-run": Entry("the part of a saved skills run that compare reads", _of(SkillsRun)),
    "recording-header": Entry("the first line of a recording", _of(Header)),
    "recording-event": Entry("any other line of a recording", _recording_event),
    "recording-steps": Entry("the file that recording parse writes", _of(StepLog)),
    "recording-export": Entry("the file that recording export writes", _of(Export)),
    "parse-result": Entry("what recording parse prints", _of(ParseResult)),
    "export-result": Entry("what recording export prints", _of(ExportResult)),
    "repair-result": Entry("what recording repair prints", _of(RepairResult)),
    "recording-narrative": Entry("what recording describe prints", _of(Narrative)),
    "compare-checkpoints": Entry(
        "the file of declared checkpoints that recording compare reads", _of(Declaration)
    ),
    "compare-report": Entry("what recording compare prints", _of(CompareReport)),
    "replay-plan": Entry("what recording replay --dry-run prints", _of(ReplayPlan)),
    "replay-report": Entry("what recording replay prints", _of(ReplayReport)),
    "claw-envelope": Entry("what every command of claw prints, beside its own fields", _claw_envelope),
    "claw-error": Entry("the error of a command of claw", _claw_error),
    "session-meta": Entry("the first line of a session", _of(SessionMeta)),
    "session-turn": Entry("any other line of a session: a turn", _of(TurnRecord)),
    "doctor-report": Entry("what doctor prints", _of(Report)),
    "compatibility": Entry("what version --check-compat prints", _of(Compatibility)),
    "operator-setup": Entry("what operator setup prints", _of(OperatorSetup)),
    "granted-permissions": Entry("what grant-device-permissions prints", _of(Granted)),
    "virtual-device": Entry("what emulator inspect prints", _of(Avd)),
}
