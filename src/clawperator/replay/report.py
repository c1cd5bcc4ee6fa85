"""Replay documents: the plan before a replay, and the report after it, which ``recording compare`` accepts."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.skill_result import (
    CONTRACT_VERSION,
    Checkpoint,
    Diagnostics,
    EnvelopeEvidence,
    JsonEvidence,
    ScriptSource,
    SkillResult,
    TerminalVerification,
)
from clawperator.device.run.evidence import masked_tree
from clawperator.errors import ClawError
from clawperator.recording.compare.checkpoints import BaselineCheckpoint
from clawperator.replay.planner import RecordedSteps, ReplayStep
from clawperator.replay.run import ReplayRun, StepOutcome
from clawperator.replay.screens import screen_labels

# Codes of a failed device, or of a failed connection to it.
_DEVICE_FAILURES = ("ADB_", "BROADCAST_", "DEVICE_", "NO_DEVICES", "OPERATOR_", "RESULT_ENVELOPE_", "SERVICE_")


class Demonstration(Struct, frozen=True):
    """The steps of a recording in the file ``path``, and the checkpoints that compare derives from it."""

    path: str
    session: str
    recorded: RecordedSteps
    checkpoints: tuple[BaselineCheckpoint, ...]


class PlannedStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A step before it runs: what it does, how its target is found, and the window expected after it."""

    seq: int | float
    lastSeq: int | float
    action: str
    description: str
    locators: list[str] = []
    scrolls: list[str] = []
    expects: dict[str, Any] | UnsetType = UNSET
    note: str | UnsetType = UNSET
    refusal: str | UnsetType = UNSET


class ReplayPlan(Struct, frozen=True, kw_only=True):
    """The document ``--dry-run`` prints. ``closes`` are the apps that a replay closes first."""

    ok: bool = True
    dryRun: bool = True
    sessionId: str
    stepCount: int
    closes: list[str]
    steps: list[PlannedStep]
    checkpointIds: list[str]
    warnings: list[str]


class ReplayedStep(Struct, frozen=True, kw_only=True):
    seq: int | float
    action: str
    description: str
    status: str
    foundBy: str | UnsetType = UNSET
    evidence: str | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class ReplayReport(Struct, frozen=True, kw_only=True):
    """The document a replay prints. ``closedApps`` were open before it; ``skillResult`` is what compare reads.

    ``observedScreen`` is the tree after the last step that ran. If that failed, ``recordedScreen`` is the one that
    was recorded there, if there is one. Both are masked.
    """

    ok: bool
    sessionId: str
    deviceId: str
    closedApps: list[str] = []
    stepCount: int
    provedCount: int
    steps: list[ReplayedStep]
    skillResult: SkillResult
    observedScreen: str | UnsetType = UNSET
    recordedScreen: str | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


def plan_document(demonstration: Demonstration, chosen: RecordedSteps) -> ReplayPlan:
    return ReplayPlan(
        sessionId=demonstration.session,
        stepCount=len(chosen.steps),
        closes=chosen.opened_apps,
        steps=[_planned(step) for step in chosen.steps],
        checkpointIds=[point.id for point in demonstration.checkpoints],
        warnings=list(chosen.warnings),
    )


def report_document(  # noqa: PLR0913 - the parts of a report
    demonstration: Demonstration,
    serial: str,
    chosen: RecordedSteps,
    run: ReplayRun,
    *,
    is_whole: bool,
    recorded_screen: str | None = None,
) -> ReplayReport:
    """The report. ``is_whole`` is false when the replay was to end before the recording does."""
    proved = [step for step in run.steps if step.status == "proved"]
    session = demonstration.session
    return ReplayReport(
        ok=run.error is None,
        sessionId=session,
        deviceId=serial,
        closedApps=list(run.closed),
        stepCount=len(run.steps),
        provedCount=len(proved),
        steps=[_replayed(step) for step in run.steps],
        skillResult=SkillResult(
            contractVersion=CONTRACT_VERSION,
            skillId=f"replay.{session}",
            goal={"kind": "replay", "sessionId": session},
            status="failed" if run.error else "success" if is_whole else "indeterminate",
            checkpoints=list(_checkpoints(run, demonstration.checkpoints)),
            source=ScriptSource(),
            terminalVerification=_verification(run, is_whole=is_whole),
            execEnvelopes=list(run.envelopes),
            diagnostics=_diagnostics(chosen, run.error),
        ),
        observedScreen=_observed_tree(run),
        recordedScreen=recorded_screen or UNSET,
        error=run.error.document() if run.error else UNSET,
    )


def _planned(step: ReplayStep) -> PlannedStep:
    target = step.target
    window = step.window
    return PlannedStep(
        seq=step.seq,
        lastSeq=step.last_seq,
        action=step.kind,
        description=step.description,
        locators=[locator.name for locator in target.locators] if target else [],
        scrolls=list(step.scrolls),
        expects={"seq": window.seq, "package": window.package, "title": window.title} if window else UNSET,
        note=step.note or UNSET,
        refusal="REPLAY_TEXT_HIDDEN" if step.secret else UNSET,
    )


def _replayed(outcome: StepOutcome) -> ReplayedStep:
    return ReplayedStep(
        seq=outcome.step.seq,
        action=outcome.step.kind,
        description=outcome.step.description,
        status=outcome.status,
        foundBy=outcome.found_by,
        evidence=outcome.evidence,
        error=outcome.error,
    )


def _checkpoints(run: ReplayRun, wanted: tuple[BaselineCheckpoint, ...]) -> list[Checkpoint]:
    """Each checkpoint of the recording whose step ran, up to the one that failed."""
    found: list[Checkpoint] = []
    for point in wanted:
        owner = next((step for step in reversed(run.steps) if step.step.seq <= point.seq), None)
        if owner is None or owner.status == "not_run" or point.seq > run.steps[-1].step.last_seq:
            break
        evidence = UNSET if owner.envelope is UNSET else EnvelopeEvidence(owner.envelope)
        failed = owner.status == "failed"
        note = owner.error["message"] if isinstance(owner.error, dict) else owner.evidence
        found.append(Checkpoint(point.id, "failed" if failed else "ok", owner.at, evidence, note))
        if failed:
            break
    return found


def _verification(run: ReplayRun, *, is_whole: bool) -> TerminalVerification:
    """The end state is verified by the proof of the last recorded step."""
    last = run.steps[-1].step if run.steps else None
    if last is None or not is_whole or (run.error and run.steps[-1].status == "not_run"):
        return TerminalVerification("not_run", note="the replay ended before the recording does")
    window = last.window
    expected = {"step": last.description, "package": window.package if window else last.package}
    if window is not None and window.title:
        expected["title"] = window.title
    screen, evidence = run.screen, run.error.message if run.error else run.steps[-1].evidence
    observed = {"package": screen and screen.package, "labels": screen_labels(screen) if screen else []}
    status: Literal["failed", "verified"] = "failed" if run.error else "verified"
    return TerminalVerification(status, JsonEvidence(expected), JsonEvidence(observed), evidence)


def _observed_tree(run: ReplayRun) -> str | UnsetType:
    try:
        return masked_tree(run.screen.hierarchy) if run.screen else UNSET
    except ClawError:  # the device sent a tree that cannot be read
        return UNSET


def _diagnostics(chosen: RecordedSteps, error: ClawError | None) -> Diagnostics:
    hints = [error.hint] if error else []
    is_unavailable = error is not None and error.code.startswith(_DEVICE_FAILURES)
    return Diagnostics(
        "unavailable" if is_unavailable else "healthy", list(chosen.warnings) or UNSET, hints or UNSET
    )
