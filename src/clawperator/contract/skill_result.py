"""SkillResult 1.x: the checkpoints that a skill reports, and the verification of its end state."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.contract.results import ResultEnvelope
from clawperator.errors import ClawError

SUPPORTED_MAJOR = "1"
# A skill prints its result as the last two lines of its output: this marker and the JSON.
FRAME_MARKER = "[Clawperator-Skill-Result]"
CONTRACT_VERSION = "1.0.0"


class TextEvidence(Struct, frozen=True, tag_field="kind", tag="text"):
    text: str


class JsonEvidence(Struct, frozen=True, tag_field="kind", tag="json"):
    value: Any


class EnvelopeEvidence(Struct, frozen=True, tag_field="kind", tag="result_envelope_ref"):
    """A reference to a step of one of ``execEnvelopes``."""

    execEnvelopeIndex: Annotated[int, Meta(ge=0)]
    stepResultId: str | UnsetType = UNSET


Evidence = TextEvidence | JsonEvidence | EnvelopeEvidence


class ScriptSource(Struct, frozen=True, tag_field="kind", tag="script"):
    pass


class AgentSource(Struct, frozen=True, tag_field="kind", tag="agent"):
    agentCli: str


class Checkpoint(Struct, frozen=True):
    id: Annotated[str, Meta(min_length=1)]
    status: Literal["ok", "failed", "skipped"]
    observedAt: str | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
    note: str | UnsetType = UNSET


class TerminalVerification(Struct, frozen=True):
    status: Literal["verified", "failed", "not_run"]
    expected: Evidence | UnsetType | None = UNSET
    observed: Evidence | UnsetType | None = UNSET
    note: str | UnsetType | None = UNSET


class Diagnostics(Struct, frozen=True):
    """Further members are allowed, and kept with the document."""

    runtimeState: Literal["healthy", "poisoned", "unavailable", "unknown"] | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    hints: list[str] | UnsetType = UNSET


class SkillResult(Struct, frozen=True):
    contractVersion: Annotated[str, Meta(pattern=r"^\s*[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}\s*$")]
    skillId: str
    status: Literal["success", "failed", "indeterminate"]
    checkpoints: list[Checkpoint]
    source: ScriptSource | AgentSource
    goal: dict[str, Any] | UnsetType = UNSET
    inputs: dict[str, Any] | UnsetType = UNSET
    result: Evidence | UnsetType | None = UNSET
    terminalVerification: TerminalVerification | UnsetType | None = UNSET
    execEnvelopes: list[ResultEnvelope] | UnsetType = UNSET
    diagnostics: Diagnostics | UnsetType = UNSET


def check_version(result: SkillResult) -> None:
    """Refuse a document of another major version. A newer minor version only adds members."""
    major = result.contractVersion.strip().partition(".")[0]
    if major != SUPPORTED_MAJOR:
        message = f"unsupported skill result contract version: {result.contractVersion}"
        hint = f"Use a skill with contract version {SUPPORTED_MAJOR}.x."
        raise ClawError("SKILL_RESULT_PARSE_FAILED", message, hint=hint)


class SkillsRun(Struct, frozen=True):
    """The part of a saved ``skills run --json`` document that is evidence."""

    skillResult: SkillResult | None
