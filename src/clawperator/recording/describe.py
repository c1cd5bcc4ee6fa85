"""describe: a demonstration told in readable steps, for those who write skills, people or agents."""

from msgspec import UNSET, Struct, UnsetType

from clawperator._text import is_blank, printable
from clawperator.recording.actions import Confidence, Kind, Moment, tell
from clawperator.recording.compare.strategies.derived import derive_checkpoints
from clawperator.recording.compare.strategies.solax import main_package
from clawperator.recording.demonstration import load_demonstration
from clawperator.recording.export import Export
from clawperator.recording.writing import output, pretty

_MAX_LINES = 200  # of the text for people; the document has all steps


class Step(Struct, frozen=True, kw_only=True):
    """One step of the story. ``checkpoint`` is the id it has when checkpoints are derived."""

    kind: Kind
    sentence: str
    seq: int | float
    lastSeq: int | float
    events: int
    packageName: str
    target: str | UnsetType = UNSET
    resourceId: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    direction: str | UnsetType = UNSET
    checkpoint: str | UnsetType = UNSET
    confidence: Confidence
    why: str | UnsetType = UNSET


class Narrative(Struct, frozen=True, kw_only=True):
    """The document ``describe`` prints."""

    ok: bool = True
    sessionId: str
    appPackage: str | None
    eventCount: int
    durationMs: int | float | None
    stepCount: int
    packages: list[str]
    steps: list[Step]
    outputFile: str | UnsetType = UNSET


def describe_recording(source: str, out: str | None = None) -> tuple[Narrative, list[str]]:
    """Tell the recording or export in ``source``. Returns the document, and a line for people per step."""
    narrative = describe(load_demonstration(source), outputFile=out or UNSET)
    if out:
        with output(out, source, "RECORDING_PARSE_FAILED") as result:
            result.file.write(pretty(narrative))
    return narrative, story(narrative)


def describe(export: Export, *, outputFile: str | UnsetType = UNSET) -> Narrative:  # noqa: N803 - the document's name
    # A vanished click never is a checkpoint, so no two moments of a kind end at the same event.
    ids = {(c.seq, c.event_type): c.id for c in derive_checkpoints(export)}
    moments = tell(export.events)
    steps = [_step(moment, ids.get((moment.last_seq, _SEEN_BY.get(moment.kind, "")))) for moment in moments]
    return Narrative(
        sessionId=export.session.sessionId,
        appPackage=main_package(export.events),
        eventCount=len(export.events),
        durationMs=export.timeline.durationMs,
        stepCount=len(steps),
        packages=list(dict.fromkeys(m.package for m in moments if m.package)),
        steps=steps,
        outputFile=outputFile,
    )


def story(narrative: Narrative) -> list[str]:
    """The steps as lines of text."""
    lines = [f"[{step.seq}] {step.sentence}" for step in narrative.steps[:_MAX_LINES]]
    if len(narrative.steps) > _MAX_LINES:
        lines.append(f"... and {len(narrative.steps) - _MAX_LINES} more steps")
    return lines


_SEEN_BY = {
    "open_app": "window_change",
    "dialog": "window_change",
    "click": "click",
    "choose_suggestion": "click",
    "enter_text": "text_change",
}


def _step(moment: Moment, checkpoint: str | None) -> Step:
    sentence = _sentence(moment)
    if moment.confidence != "recorded":
        sentence += f" ({moment.confidence} confidence: {moment.why})"
    return Step(
        kind=moment.kind,
        sentence=sentence,
        seq=moment.seq,
        lastSeq=moment.last_seq,
        events=moment.events,
        packageName=moment.package,
        target=moment.label or UNSET,
        resourceId=moment.resource_id or UNSET,
        text=UNSET if moment.text is None else moment.text,
        direction=moment.direction or UNSET,
        checkpoint=checkpoint or UNSET,
        confidence=moment.confidence,
        why=moment.why or UNSET,
    )


def _sentence(moment: Moment) -> str:
    label = _quoted(moment.label)
    match moment.kind:
        case "open_app":
            return f"Open {printable(moment.package)}" + (f" by its icon {label}" if label else "")
        case "screen":
            return f"The screen {label} comes" if label else "Another screen comes"
        case "dialog":
            return f"The dialog {label} comes"
        case "click":
            return f"Click {label or 'something without a label'}"
        case "enter_text":
            field = printable(moment.label) or "a field"
            return f"Empty {field}" if is_blank(moment.text or "") else f"Type {_quoted(moment.text)} into {field}"
        case "choose_suggestion":
            return f"Choose the suggestion {label} after typing {_quoted(moment.text)}"
        case "scroll":
            way = {"vertical": " up or down", "horizontal": " sideways"}.get(moment.direction or "", "")
            return f"Scroll{way}" + (f" in {printable(moment.label)}" if moment.label else "")
        case "recents":
            return "Show the recent apps"
        case key:
            return f"Go {key}"


def _quoted(text: str | None) -> str:
    return f'"{printable(text)}"' if text else ""
