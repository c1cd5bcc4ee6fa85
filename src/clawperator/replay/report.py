"""What a replay tells: a plan before it, and after it a document that ``recording compare`` accepts."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.skill_result import (
    Checkpoint,
    Diagnostics,
    EnvelopeEvidence,
    JsonEvidence,
    ScriptSource,
    SkillResult,
    TerminalVerification,
)
from clawperator.errors import ClawError
from clawperator.recording.compare.strategies.solax import BaselineCheckpoint
from clawperator.replay.planner import Expectation, Step, Steps
from clawperator.replay.run import Proved, Replay

CONTRACT_VERSION = "1.0.0"
# Codes that say the phone itself, or the way to it, failed.
_PHONE_GONE = ("ADB_", "BROADCAST_", "DEVICE_", "NO_DEVICES", "OPERATOR_", "RESULT_ENVELOPE_", "SERVICE_")


class Demonstration(Struct, frozen=True):
    """The steps of a recording, and the checkpoints compare finds in it."""

    session: str
    steps: Steps
    checkpoints: tuple[BaselineCheckpoint, ...]


class PlannedStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step before it is done: what it does, how its target is found, and what is to come of it."""

    seq: int | float
    lastSeq: int | float
    action: str
    told: str
    clues: list[str] = []
    scrolls: list[str] = []
    expects: dict[str, Any] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    refusal: str | UnsetType = UNSET


class ReplayPlan(Struct, frozen=True, kw_only=True):
    """What ``--dry-run`` prints."""

    ok: bool = True
    dryRun: bool = True
    sessionId: str
    stepCount: int
    steps: list[PlannedStep]
    checkpointIds: list[str]
    warnings: list[str]


class ReplayedStep(Struct, frozen=True, kw_only=True):
    seq: int | float
    action: str
    told: str
    status: str
    foundBy: str | UnsetType = UNSET
    evidence: str | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class ReplayReport(Struct, frozen=True, kw_only=True):
    """What a replay prints. ``skillResult`` is what compare looks at."""

    ok: bool
    sessionId: str
    deviceId: str
    stepCount: int
    provedCount: int
    steps: list[ReplayedStep]
    skillResult: SkillResult
    error: dict[str, Any] | UnsetType = UNSET


def tell_plan(demonstration: Demonstration, plan: Steps) -> ReplayPlan:
    return ReplayPlan(
        sessionId=demonstration.session,
        stepCount=len(plan.steps),
        steps=[_planned(step) for step in plan.steps],
        checkpointIds=[point.id for point in demonstration.checkpoints],
        warnings=list(plan.warnings),
    )


def tell_replay(
    demonstration: Demonstration, serial: str, plan: Steps, replay: Replay, *, is_whole: bool
) -> ReplayReport:
    """The document. ``is_whole`` is false when the replay was to end before the recording does."""
    proved = [step for step in replay.steps if step.status == "proved"]
    session = demonstration.session
    return ReplayReport(
        ok=replay.is_proved,
        sessionId=session,
        deviceId=serial,
        stepCount=len(replay.steps),
        provedCount=len(proved),
        steps=[_replayed(step) for step in replay.steps],
        skillResult=SkillResult(
            contractVersion=CONTRACT_VERSION,
            skillId=f"replay.{session}",
            goal={"kind": "replay", "sessionId": session},
            status="failed" if replay.error else "success" if is_whole else "indeterminate",
            checkpoints=list(_checkpoints(replay, demonstration.checkpoints)),
            source=ScriptSource(),
            terminalVerification=_verification(replay, is_whole=is_whole),
            execEnvelopes=list(replay.envelopes),
            diagnostics=_diagnostics(plan, replay.error),
        ),
        error=replay.error.document() if replay.error else UNSET,
    )


def _planned(step: Step) -> PlannedStep:
    target = step.target
    window = step.window
    return PlannedStep(
        seq=step.seq,
        lastSeq=step.last_seq,
        action=step.kind,
        told=step.told,
        clues=[clue.name for clue in target.clues] if target else [],
        scrolls=list(step.scrolls),
        expects=_told_window(window) if window else UNSET,
        note=step.note or UNSET,
        refusal="REPLAY_TEXT_HIDDEN" if step.secret else UNSET,
    )


def _told_window(window: Expectation) -> dict[str, Any]:
    return {"seq": window.seq, "package": window.package, "title": window.title}


def _replayed(proved: Proved) -> ReplayedStep:
    return ReplayedStep(
        seq=proved.step.seq,
        action=proved.step.kind,
        told=proved.step.told,
        status=proved.status,
        foundBy=proved.by,
        evidence=proved.evidence,
        error=proved.error,
    )


def _checkpoints(replay: Replay, wanted: tuple[BaselineCheckpoint, ...]) -> list[Checkpoint]:
    """Each checkpoint of the recording that a step was done for, up to the one that failed."""
    told: list[Checkpoint] = []
    for point in wanted:
        owner = next((step for step in reversed(replay.steps) if step.step.seq <= point.seq), None)
        if owner is None or owner.status == "not_run" or point.seq > replay.steps[-1].step.last_seq:
            break
        evidence = UNSET if owner.envelope is UNSET else EnvelopeEvidence(owner.envelope)
        failed = owner.status == "failed"
        note = owner.error["message"] if isinstance(owner.error, dict) else owner.evidence
        told.append(Checkpoint(point.id, "failed" if failed else "ok", owner.at, evidence, note))
        if failed:
            break
    return told


def _verification(replay: Replay, *, is_whole: bool) -> TerminalVerification:
    """The end is proved when the last recorded step is: its proof is the screen at the end."""
    last = replay.steps[-1].step if replay.steps else None
    if last is None or not is_whole or (replay.error and replay.steps[-1].status == "not_run"):
        return TerminalVerification("not_run", note="the replay ended before the recording does")
    window = last.window
    expected = {"step": last.told, "package": window.package if window else last.package}
    if window is not None and window.title:
        expected["title"] = window.title
    return TerminalVerification(
        "failed" if replay.error else "verified",
        JsonEvidence(expected),
        JsonEvidence({"package": replay.package, "labels": list(replay.labels)}),
        replay.error.message if replay.error else replay.steps[-1].evidence,
    )


def _diagnostics(plan: Steps, error: ClawError | None) -> Diagnostics:
    hints = [error.hint] if error and error.hint else []
    gone = error is not None and error.code.startswith(_PHONE_GONE)
    return Diagnostics("unavailable" if gone else "healthy", list(plan.warnings) or UNSET, hints or UNSET)
