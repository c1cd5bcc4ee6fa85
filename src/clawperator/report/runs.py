"""The reports of saved documents (a skill run, a replay, an execution) and of evidence folders."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import UNSET, MsgspecError, Struct, UnsetType

from clawperator._base.files import open_regular, why
from clawperator.contract.results import ExecutionResult, ResultEnvelope
from clawperator.contract.skill_result import (
    FRAME_MARKER,
    Checkpoint,
    EnvelopeEvidence,
    JsonEvidence,
    SkillResult,
    TextEvidence,
)
from clawperator.device.run.evidence import EVIDENCE_DOCUMENT, EVIDENCE_MANIFEST, BundleFile, EvidenceManifest
from clawperator.recording.compare.checkpoints import checkpoint_sentence
from clawperator.recording.writing import pretty_json
from clawperator.replay.report import ReplayedStep, ReplayReport
from clawperator.report.builder import (
    NOTHING,
    PageBuilder,
    ReportParts,
    RowScreens,
    RowStatus,
    action_rows,
    compared_screens,
    error_facts,
)
from clawperator.report.page import MAX_OUTPUT, TONES, PageList, PageRow, Tone, Verdict, filled, plural, seconds

STEPS, CHECKPOINTS, ACTIONS, OUTPUT = "Steps", "Checkpoints", "Actions", "Output"

_TONES: Mapping[str, Tone] = {
    **dict.fromkeys(("success", "ok", "proved", "verified"), "good"),
    **dict.fromkeys(("failed", "interrupted"), "bad"),
    **dict.fromkeys(("indeterminate", "not_run", "skipped"), "warn"),
}


class SavedSkillRun(Struct, frozen=True, kw_only=True):
    """The document of ``skills run --json``, or its error document. Older ones lack some members."""

    skillId: str = ""
    status: str = ""
    skillResult: SkillResult | None = None
    output: str = ""
    stdout: str = ""
    stderr: str = ""
    exitCode: int | None = None
    durationMs: int | float | None = None
    code: str = ""
    message: str = ""
    hint: str = ""


_END_STATES = {
    "verified": "The end state was verified",
    "failed": "The end state is not the expected one",
    "not_run": "The end state was not verified",
}
Evidence = TextEvidence | JsonEvidence | EnvelopeEvidence


def document_report(document: Any, builder: PageBuilder, screens: RowScreens = NOTHING) -> ReportParts | None:
    """The report of a document; None when it is of no known kind. ``ValueError`` when it is damaged.

    ``screens`` are those before and after the run, where they are known.
    """
    if not isinstance(document, Mapping):
        return None
    try:
        if "steps" in document and "skillResult" in document:
            return _replay_report(msgspec.convert(document, ReplayReport), builder, screens)
        if "skillResult" in document:
            return _skill_report(msgspec.convert(document, SavedSkillRun), builder, screens)
        if "envelope" in document:
            return _execution_report(msgspec.convert(document, ExecutionResult), builder, screens)
    except MsgspecError as e:
        raise ValueError(str(e).replace("`", "")) from None
    return None


def _replay_report(report: ReplayReport, builder: PageBuilder, screens: RowScreens) -> ReportParts:
    shown = replay_screens(report.recordedScreen, report.observedScreen, builder)
    last = max((i for i, step in enumerate(report.steps) if step.status != "not_run"), default=-1)
    rows = [
        builder.row(
            step.action,
            _sentence(step),
            [
                *_difference(step.error or {}),
                ("Found by", step.foundBy or None),
                ("Evidence", step.evidence or None),
                ("Reason", _why(step) if step.error else None),
                *(fact for fact in error_facts(step.error or {}) if fact[0] != "Message"),
                ("Recorded event", f"seq {step.seq}"),
            ],
            note=_why(step),
            status=_status(step.status),
            screens=shown if i == last else NOTHING,
        )
        for i, step in enumerate(report.steps)
    ]
    result = report.skillResult
    actions = action_rows(_envelopes(result), builder, screens)
    points = list(_checkpoint_rows(result, builder, NOTHING))
    lists = filled(PageList(STEPS, rows), PageList(CHECKPOINTS, points), PageList(ACTIONS, actions))
    error = report.error or {}
    if report.ok:
        sentence = f"The replay repeated the recording: {plural(report.stepCount, 'step')}, each proved."
    elif last >= 0:
        step = report.steps[last]
        sentence = f"The replay stopped at step {last + 1} of {report.stepCount}, {_sentence(step)}: {_why(step)}."
    else:
        sentence = f"The replay ran no step: {error.get('message', '')}."
    tone: Tone = "good" if report.ok else "bad"
    hint = str(error.get("hint") or "")
    verdict = Verdict(tone, "proved" if report.ok else "failed", sentence, (hint,))
    return ReportParts(
        kind="Replay",
        title=report.sessionId,
        facts=[
            ("Device", report.deviceId),
            ("Closed first", ", ".join(report.closedApps) or None),
            ("Steps", f"{report.stepCount:,}"),
            ("Proved", f"{report.provedCount:,}"),
            ("Error", str(error["code"]) if error.get("code") else None),
        ],
        lists=lists,
        verdict=verdict,
        selected=_first_problem(lists),
    )


def replay_screens(recorded: str | UnsetType, observed: str | UnsetType, builder: PageBuilder) -> RowScreens:
    """The screens that a replay keeps: both of a failed step, or the last one."""
    mine, other = (builder.screens.add(xml or None) for xml in (recorded, observed))
    return compared_screens(RowScreens(mine), RowScreens(after=other))


def _sentence(step: ReplayedStep) -> str:
    """A replayed step for people: Click 'Display'."""
    verb, _, rest = step.description.partition(" ")
    return f"{verb.capitalize()} '{rest}'" if step.action == "click" else f"{verb.capitalize()} {rest}"


def _why(step: ReplayedStep) -> str:
    """Why a step counts as proved or failed, without its description, which is beside it."""
    message = str((step.error or {}).get("message", ""))
    about = (f"could not prove: {step.description}: ", f"cannot {step.description}: ")
    reason = next((message.removeprefix(one) for one in about if message.startswith(one)), message)
    return reason or step.evidence or ""


def _difference(error: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The labels that a failed step expected and those that it found."""
    details = error.get("details")
    if not isinstance(details, Mapping):
        return []

    def words(name: str) -> str | None:
        value = details.get(name)
        return ", ".join(map(str, value)) if isinstance(value, list) else value and str(value)

    return [
        ("Expected", words("missing") or words("expectedTitle") or words("expected")),
        ("Found", words("labels")),
        ("Similar elements", words("candidates")),
    ]


def _skill_report(run: SavedSkillRun, builder: PageBuilder, screens: RowScreens) -> ReportParts:
    result = run.skillResult
    status = run.status or ("failed" if run.code else result.status if result else "unknown")
    lists = filled(
        PageList(CHECKPOINTS, list(_checkpoint_rows(result, builder, screens)) if result else []),
        PageList(ACTIONS, action_rows(_envelopes(result), builder, screens)),
        PageList(OUTPUT, list(_output_rows(run, builder))),
    )
    problem = {"code": run.code, "message": run.message, "hint": run.hint} if run.code else {}
    duration = seconds(run.durationMs) if run.durationMs is not None else None
    return ReportParts(
        kind="Skill run",
        title=run.skillId or (result.skillId if result else "skill"),
        facts=[
            ("Duration", duration),
            ("Exit code", None if run.exitCode is None else str(run.exitCode)),
            ("Run by", result.source.agentCli if result and hasattr(result.source, "agentCli") else None),
            ("Runtime", (result.diagnostics.runtimeState or None) if result and result.diagnostics else None),
        ],
        lists=lists,
        verdict=Verdict(
            _TONES.get(status, "warn"),
            status,
            _skill_sentence(status, result),
            tuple(value for _, value in error_facts(problem) if value),
        ),
        selected=_first_problem(lists),
    )


def _execution_report(result: ExecutionResult, builder: PageBuilder, screens: RowScreens) -> ReportParts:
    envelope = result.envelope
    lists = filled(PageList(ACTIONS, action_rows([envelope], builder, screens)))
    return ReportParts(
        kind="Execution",
        title=envelope.commandId,
        facts=[("Device", result.deviceId), ("Backend", result.backend), ("Task", envelope.taskId)],
        lists=lists,
        verdict=Verdict(
            _TONES[envelope.status], envelope.status, _execution_sentence(envelope), (envelope.hint or "",)
        ),
        selected=_first_problem(lists),
    )


# Checkpoints


def _checkpoint_rows(result: SkillResult, builder: PageBuilder, screens: RowScreens) -> Iterator[PageRow]:
    """The checkpoints, the verification and the result, which is shown between the screens of the run."""
    start: float | None = None
    # The position of the first action of each execution in the list of all actions.
    firsts = list(accumulate((len(one.stepResults) for one in _envelopes(result)), initial=0))[:-1]
    for point in result.checkpoints:
        at = _milliseconds(point.observedAt)
        start = at if start is None else start
        yield builder.row(
            "checkpoint",
            checkpoint_sentence(point.id),
            [
                ("Evidence", _evidence(point.evidence)),
                ("Note", point.note or None),
                ("Checkpoint", point.id),
            ],
            note=point.note or (point.evidence.text if isinstance(point.evidence, TextEvidence) else ""),
            time=None if at is None or start is None else at - start,
            status=_status(point.status),
            link=_action_of(point, firsts),
        )
    verified = result.terminalVerification
    if verified:
        yield builder.row(
            "verification",
            _END_STATES.get(verified.status, "The end state"),
            [
                ("Expected", _evidence(verified.expected)),
                ("Observed", _evidence(verified.observed)),
                ("Note", verified.note or None),
            ],
            status=_status(verified.status),
        )
    if not isinstance(result.goal, Mapping) or result.goal.get("kind") != "replay":
        yield _result_row(result, builder, screens)


def _result_row(result: SkillResult, builder: PageBuilder, screens: RowScreens) -> PageRow:
    found = result.diagnostics
    return builder.row(
        "result",
        "Result",
        [
            ("Goal", pretty_json(result.goal).decode() if result.goal else None),
            ("Inputs", pretty_json(result.inputs).decode() if result.inputs else None),
            ("Result", _evidence(result.result)),
            ("Warnings", "\n".join(found.warnings or ()) if found else None),
            ("Hints", "\n".join(found.hints or ()) if found else None),
        ],
        status=_status(result.status),
        screens=screens,
    )


def _action_of(point: Checkpoint, firsts: Sequence[int]) -> int:
    evidence = point.evidence
    if isinstance(evidence, EnvelopeEvidence) and evidence.execEnvelopeIndex < len(firsts):
        return firsts[evidence.execEnvelopeIndex]
    return -1


def _evidence(evidence: Evidence | UnsetType | None) -> str | None:
    match evidence:
        case TextEvidence():
            return evidence.text
        case JsonEvidence():
            return pretty_json(evidence.value).decode()
        case EnvelopeEvidence():
            step = f", step {evidence.stepResultId}" if evidence.stepResultId else ""
            return f"execution {evidence.execEnvelopeIndex + 1}{step}"
    return None


def _skill_sentence(status: str, result: SkillResult | None) -> str:
    ended = {"success": "succeeded", "failed": "failed"}
    how = f"The skill {ended.get(status, f'reported {status}')}"
    if result is None:
        return f"{how}: it printed no result."
    verified = result.terminalVerification
    if not verified:
        return f"{how}. It has no terminal verification."
    return f"{how}. {_END_STATES[verified.status]}" + (f": {verified.note}." if verified.note else ".")


def _execution_sentence(envelope: ResultEnvelope) -> str:
    steps = envelope.stepResults
    failed = next((i for i, step in enumerate(steps) if not step.success), None)
    if failed is not None:
        step = steps[failed]
        reason = step.data.get("message") or step.data.get("error") or envelope.error or "no reason was reported"
        return f"Action {failed + 1} of {len(steps)}, {step.actionType}, failed: {reason}"
    if envelope.status == "failed":
        return f"The execution failed: {envelope.error or 'no reason was reported'}"
    return "The action succeeded." if len(steps) == 1 else f"All {len(steps)} actions succeeded."


def _envelopes(result: SkillResult | None) -> list[ResultEnvelope]:
    return [] if result is None or result.execEnvelopes is UNSET else result.execEnvelopes


# Output and problems


def _output_rows(run: SavedSkillRun, builder: PageBuilder) -> Iterator[PageRow]:
    out = (run.output or run.stdout).partition(FRAME_MARKER)[0].strip()
    for name, text in (("stdout", out), ("stderr", run.stderr.strip())):
        if text:
            yield builder.row("output", name, [(name, text)], longest=MAX_OUTPUT)


def _status(status: str) -> RowStatus:
    return RowStatus(status.replace("_", " "), _TONES.get(status, ""))


def _first_problem(lists: Sequence[PageList]) -> tuple[int, int]:
    """The first bad row, or the first row."""
    bad = TONES.index("bad")
    found = ((at, i) for at, one in enumerate(lists) for i, row in enumerate(one.rows) if row.tone == bad)
    return next(found, (0, 0))


def _milliseconds(moment: str | UnsetType) -> float | None:
    with suppress(ValueError, OverflowError):
        return None if moment is UNSET else datetime.fromisoformat(moment).timestamp() * 1000
    return None


# Evidence folders: the screens before and after a run, what it printed, and the files

SCREENS, FILES = "Screens", "Files"
# A larger file of a bundle is not read.
MAX_FILE_BYTES = 64 * 1024 * 1024
_STATUS_TONES: Mapping[str, Tone] = {"success": "good", "failed": "bad", "interrupted": "warn"}


def is_bundle(folder: str) -> bool:
    """Whether a folder is the complete evidence of a run."""
    return os.path.isfile(os.path.join(folder, EVIDENCE_MANIFEST))


def newest_bundle(folder: str) -> str | None:
    """The newest evidence in a folder of several; their names begin with their time."""
    names = sorted(name for name in os.listdir(folder) if is_bundle(os.path.join(folder, name)))
    return os.path.join(folder, names[-1]) if names else None


def evidence_report(folder: str, builder: PageBuilder) -> ReportParts:
    """The report of a folder. ``OSError`` when it cannot be read, ``ValueError`` when its manifest is damaged."""
    try:
        manifest = msgspec.json.decode(_read(folder, EVIDENCE_MANIFEST), type=EvidenceManifest)
    except MsgspecError as e:
        raise ValueError(f"{EVIDENCE_MANIFEST}: {e}".replace("`", "")) from None
    files = _BundleFiles(folder, manifest, builder)
    screens = RowScreens(files.screen("before"), files.screen("after"))
    document = files.document()
    run = document_report(document, builder, screens)
    lists = filled(
        *(run.lists if run else [PageList("Document", _document_rows(document, builder))]),
        PageList(SCREENS, list(_screen_rows(screens, builder))),
        PageList(FILES, files.rows),
    )
    if files.altered:
        builder.warnings.append(f"{plural(files.altered, 'file')} changed since the evidence was kept.")
    verdict = run.verdict if run and run.verdict else None
    argv = manifest.argv
    at = argv.index("--evidence") if "--evidence" in argv else len(argv)
    return ReportParts(
        kind=f"Evidence: {run.kind.lower()}" if run else "Evidence",
        title=" ".join(argv[:at] + argv[at + 2 :]),  # without the flag that kept the evidence
        facts=[
            ("Run", manifest.runId),
            *([fact for fact in run.facts if fact[0] not in ("Device", "Task", "Exit code")] if run else ()),
            ("Device", manifest.deviceId),
            ("Started", _moment(manifest.started)),
            ("Finished", _moment(manifest.finished)),
            ("Exit code", str(manifest.exitCode)),
        ],
        lists=lists,
        verdict=verdict or Verdict(_STATUS_TONES.get(manifest.status, "warn"), manifest.status),
        selected=run.selected if run else (0, 0),
    )


class _BundleFiles:
    """The files of a bundle, each read once and checked against the manifest."""

    def __init__(self, folder: str, manifest: EvidenceManifest, builder: PageBuilder) -> None:
        self._builder = builder
        self._content: dict[str, bytes] = {}
        self.altered = 0
        self.rows = [self._row(folder, file) for file in manifest.files]
        self.rows += [
            builder.row("file", one.name, [("Reason", one.reason)], status=RowStatus("missing", "warn"))
            for one in manifest.missing
        ]

    def _row(self, folder: str, file: BundleFile) -> PageRow:
        status = RowStatus("ok", "good")
        try:
            content = self._content[file.name] = _read(folder, file.name)
            if hashlib.sha256(content).hexdigest() != file.sha256:
                self.altered += 1
                status = RowStatus("changed", "bad")
        except (OSError, ValueError) as e:
            status = RowStatus(why(e), "bad")
        facts = [("Kind", file.kind), ("Size", f"{file.bytes:,} bytes"), ("SHA-256", file.sha256)]
        return self._builder.row("file", file.name, facts, status=status)

    def screen(self, moment: str) -> int:
        """The screen of a moment, with its picture if there is one."""
        tree = self._content.get(f"{moment}.xml", b"")
        screen = self._builder.screens.add(tree.decode("utf-8", "replace"))
        if screen >= 0 and (picture := self._content.get(f"{moment}.png")):
            self._builder.screens.add_picture(screen, picture)
        return screen

    def document(self) -> Any:
        try:
            return msgspec.json.decode(self._content.get(EVIDENCE_DOCUMENT, b"null"))
        except MsgspecError:
            self._builder.warnings.append(f"{EVIDENCE_DOCUMENT} is not JSON.")
            return None


def _moment(text: str) -> str:
    """A time of the manifest as other reports have it."""
    with suppress(ValueError):
        if (moment := datetime.fromisoformat(text)).tzinfo:
            return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return text


def _screen_rows(screens: RowScreens, builder: PageBuilder) -> Iterator[PageRow]:
    if screens.before >= 0:
        yield builder.row("screen", "Before the run", screens=RowScreens(screens.before))
    if screens.after >= 0:
        yield builder.row("screen", "After the run", screens=screens)


def _document_rows(document: Any, builder: PageBuilder) -> list[PageRow]:
    """A document of another kind: each of its members as a fact."""
    if not isinstance(document, Mapping):
        return []
    facts = [
        (str(name), value if isinstance(value, str) else msgspec.json.encode(value).decode())
        for name, value in document.items()
    ]
    return [builder.row("output", EVIDENCE_DOCUMENT, facts)]


def _read(folder: str, name: str) -> bytes:
    """A file of the folder. A name that leads elsewhere is a ``ValueError``."""
    if name != os.path.basename(name) or name in ("", ".", ".."):
        raise ValueError("not a file of this folder")
    with open_regular(os.path.join(folder, name)) as file:
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
    return data
