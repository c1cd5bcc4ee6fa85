"""JSON Schema of every document, derived from the types that read and write them."""

from collections.abc import Callable, Mapping
from typing import Any, Union

import msgspec

from clawperator._base.text import nearest
from clawperator.agent.envelope import CLASSES, COMMON, KINDS, SCHEMA_VERSION
from clawperator.agent.sessions.records import SessionMeta, TurnRecord
from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import ExecutionShape
from clawperator.contract.results import ExecutionResult, ResultEnvelope
from clawperator.contract.selectors import NodeMatcher
from clawperator.contract.skill_result import SkillResult, SkillsRun
from clawperator.device.emulators import Avd
from clawperator.device.pairing import PairedDevice
from clawperator.device.run.evidence import EvidenceManifest
from clawperator.device.screen.live_view import ScreenReport
from clawperator.device.setup.compatibility_report import CompatibilityReport
from clawperator.device.setup.doctor import Report
from clawperator.device.setup.install import Granted, OperatorSetup
from clawperator.device.setup.version_check import Compatibility
from clawperator.errors import CODES, ClawError
from clawperator.recording.compare.checkpoints import Declaration
from clawperator.recording.compare.compare import CompareReport
from clawperator.recording.describe import Narrative
from clawperator.recording.events import FACTS, Header
from clawperator.recording.export import Export, ExportResult
from clawperator.recording.parse import ParseResult, StepLog
from clawperator.recording.repair import RepairResult
from clawperator.replay.report import ReplayPlan, ReplayReport
from clawperator.report.write import ReportResult

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_TRUE = {"const": True}

Schema = dict[str, Any]


def list_schemas() -> list[dict[str, str]]:
    return [{"name": name, "description": description} for name, (description, _) in SCHEMAS.items()]


def schema(name: str) -> Schema:
    """The schema of that name, or ``SCHEMA_NOT_FOUND``."""
    entry = SCHEMAS.get(name)
    if entry is None:
        near = nearest(name, SCHEMAS, max(2, len(name) // 2))
        message = f"unknown schema {name!r}" + (f"; did you mean {near!r}?" if near else "")
        raise ClawError("SCHEMA_NOT_FOUND", message, operation="schema", target=name)
    description, make = entry
    return {"$schema": _DIALECT, "title": name, "description": description, **make()}


def _of(type_: Any) -> Callable[[], Schema]:
    return lambda: msgspec.json.schema(type_, ref_template=_REF)


def _error() -> Schema:
    text = {"type": "string"}
    return _object({"code": {"enum": sorted(CODES)}, "message": text}, hint=text, details={"type": "object"})


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


def _object(properties: Schema, **optional: Schema) -> Schema:
    """An object in which all of these properties are required, and others are optional."""
    return {"type": "object", "properties": {**properties, **optional}, "required": list(properties)}


def _recording_event() -> Schema:
    """The event types, with the snapshot as decoded text."""
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
    return _object(always, details={"type": "object"})


def _claw_envelope() -> Schema:
    """The fields of every claw response. Each command adds its own."""
    text = {"type": "string"}
    always = dict.fromkeys(COMMON, text) | {
        "exit_code": {"enum": [0, 1, 2]},
        "output_format": {"const": "json"},
        "schema_version": {"const": SCHEMA_VERSION},
        "warnings": {"type": "array", "items": text},
    }
    return _object(always, error=_claw_error())


# The description of each document, and what makes its schema.
SCHEMAS: Mapping[str, tuple[str, Callable[[], Schema]]] = {
    "execution": ("input of exec: 1 to 50 actions with their params, in canonical names", _execution),
    "node-matcher": ("selector of a node on the screen", _of(NodeMatcher)),
    **{f"action.{n}": (f"params of {n}: {row.summary}", _of(row.params)) for n, row in ACTIONS.items()},
    "validated-execution": ("output of --validate-only", _validated),
    "dry-run": ("output of --dry-run", _dry_run),
    "execution-result": ("output of a command that ran on a device", _of(ExecutionResult)),
    "result-envelope": ("outcome of one execution, step by step", _of(ResultEnvelope)),
    "error": ("output of a failed command", _error),
    "skill-result": ("result that a skill reports", _of(SkillResult)),
    "skills-run": ("part of a saved skills run that compare reads", _of(SkillsRun)),
    "recording-header": ("first line of a recording", _of(Header)),
    "recording-event": ("every other line of a recording", _recording_event),
    "recording-steps": ("output file of recording parse", _of(StepLog)),
    "recording-export": ("output file of recording export", _of(Export)),
    "parse-result": ("output of recording parse", _of(ParseResult)),
    "export-result": ("output of recording export", _of(ExportResult)),
    "repair-result": ("output of recording repair", _of(RepairResult)),
    "recording-narrative": ("output of recording describe", _of(Narrative)),
    "compare-checkpoints": ("file of declared checkpoints for recording compare", _of(Declaration)),
    "compare-report": ("output of recording compare", _of(CompareReport)),
    "replay-plan": ("output of recording replay --dry-run", _of(ReplayPlan)),
    "replay-report": ("output of recording replay", _of(ReplayReport)),
    "report-result": ("output of report", _of(ReportResult)),
    "evidence-manifest": ("manifest.json of a folder that --evidence wrote", _of(EvidenceManifest)),
    "watch": ("a line of watch", _of(ScreenReport)),
    "claw-envelope": ("fields that every claw command prints, beside its own", _claw_envelope),
    "claw-error": ("error of a claw command", _claw_error),
    "session-meta": ("first line of a session", _of(SessionMeta)),
    "session-turn": ("every other line of a session: a turn", _of(TurnRecord)),
    "doctor-report": ("output of doctor", _of(Report)),
    "compatibility-report": ("file of doctor --report", _of(CompatibilityReport)),
    "compatibility": ("output of version --check-compat", _of(Compatibility)),
    "operator-setup": ("output of operator setup", _of(OperatorSetup)),
    "paired-device": ("output of pair", _of(PairedDevice)),
    "granted-permissions": ("output of grant-device-permissions", _of(Granted)),
    "virtual-device": ("output of emulator inspect", _of(Avd)),
}
