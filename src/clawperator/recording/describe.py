"""describe: a demonstration as readable steps, for the author of a skill, a person or an agent."""

from collections.abc import Iterable, Iterator
from typing import IO, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.files import Spill
from clawperator._base.text import is_blank, printable, trim
from clawperator._base.typed import encode_document
from clawperator.recording.actions import (
    ActionReader,
    AppOpened,
    Confidence,
    UserAction,
    UserKey,
    UserScroll,
    UserTap,
    UserText,
    WindowShown,
)
from clawperator.recording.compare.checkpoints import CheckpointNamer
from clawperator.recording.export import EventSurvey, Export, load_demonstration
from clawperator.recording.heuristics import id_name
from clawperator.recording.writing import open_output, pretty_json

StepKind = Literal[
    "open_app", "screen", "dialog", "click", "enter_text", "choose_suggestion", "scroll", "back", "home", "recents"
]
_MAX_LINES = 200  # of the text for people; the document has all steps
_SHORTEST_TYPED = 3  # shorter texts are part of too many labels


class DescribedStep(Struct, frozen=True, kw_only=True):
    """One step of a demonstration. ``checkpoint`` is the id it has when checkpoints are derived."""

    kind: StepKind
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
    """The document ``describe`` prints. ``warnings``: events are missing, or it began in an app that was open."""

    ok: bool = True
    sessionId: str
    appPackage: str | None
    eventCount: int
    durationMs: int | float | None
    stepCount: int
    packages: list[str]
    steps: list[DescribedStep]
    outputFile: str | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET


class Description:
    """A description of any length: ``head`` is the document without its steps. Many steps are kept on disk."""

    def __init__(self, export: Export, outputFile: str | UnsetType = UNSET) -> None:  # noqa: N803 - the document's name
        survey = EventSurvey()
        events = survey.watch(export.events)
        packages: dict[str, None] = {}
        self.lines: list[str] = []
        self._steps = Spill()
        reader = ActionReader(only_steps=True)
        for step in described_steps(reader.read(events)):
            self._steps.append(msgspec.json.encode(step) + b"\n")
            packages.setdefault(step.packageName)
            if len(self.lines) < _MAX_LINES:
                self.lines.append(f"[{step.seq}] {step.sentence}")
        if self._steps.count > _MAX_LINES:
            self.lines.append(f"... and {self._steps.count - _MAX_LINES} more steps")
        self.head = Narrative(
            sessionId=export.session.sessionId,
            appPackage=survey.main_package,
            eventCount=len(export.events),
            durationMs=export.timeline.durationMs,
            stepCount=self._steps.count,
            packages=[name for name in packages if name],
            steps=[],
            outputFile=outputFile,
            warnings=[*reader.warnings(), *survey.gaps.warnings()] or UNSET,
        )

    def steps(self) -> Iterator[DescribedStep]:
        return map(_decode_step, self._steps.pieces())

    @property
    def narrative(self) -> Narrative:
        """The whole document."""
        return replace(self.head, steps=list(self.steps()))

    def write_to(self, out: IO[bytes], *, pretty: bool) -> None:
        """Write the document as JSON, step by step."""
        text = encode_document(self.head)  # the name of the output file may not be text
        if pretty:
            text = msgspec.json.format(text, indent=2)
        before, _, after = text.partition(b'"steps": []' if pretty else b'"steps":[]')
        out.write(before + (b'"steps": [' if pretty else b'"steps":['))
        separator = b""
        for step in self._steps.pieces():
            piece = b"\n    " + pretty_json(Raw(step), 2) if pretty else step.rstrip(b"\n")
            out.write(separator + piece)
            separator = b","
        out.write((b"\n  ]" if pretty and self._steps.count else b"]") + after)


_decode_step = msgspec.json.Decoder(DescribedStep).decode


def describe_recording(source: str, out: str | None = None) -> tuple[Narrative, list[str]]:
    """Describe the recording or export in ``source``. Returns the document, and one line of text per step."""
    description = describe_file(source, out)
    return description.narrative, description.lines


def describe_file(source: str, out: str | None = None) -> Description:
    """Like ``describe_recording``, for a recording of any size: the document is written in pieces."""
    description = Description(load_demonstration(source), outputFile=out or UNSET)
    if out:
        with open_output(out, source, "RECORDING_PARSE_FAILED") as result:
            description.write_to(result.file, pretty=True)
    return description


class _Step(Struct, kw_only=True):
    """A step without its sentence."""

    kind: StepKind
    label: str = ""
    resource_id: str | None = None
    text: str | None = None
    direction: str | None = None
    confidence: Confidence | None = None
    why: str | None = None


def described_steps(actions: Iterable[UserAction]) -> Iterator[DescribedStep]:
    """The steps of a demonstration. Windows that show nothing new are none."""
    namer = CheckpointNamer()
    for action in actions:
        checkpoint = namer.checkpoint_of(action)
        step = None if action.merged else _step(action)
        if step is None:
            continue
        confidence, why = step.confidence or action.confidence, step.why if step.confidence else action.why
        sentence = _sentence(step, action.package)
        if confidence != "recorded":
            sentence += f" ({confidence} confidence: {why})"
        yield DescribedStep(
            kind=step.kind,
            sentence=sentence,
            seq=action.first_seq,
            lastSeq=action.last_seq,
            events=action.events,
            packageName=action.package,
            target=step.label or UNSET,
            resourceId=step.resource_id or UNSET,
            text=UNSET if step.text is None else step.text,
            direction=step.direction or UNSET,
            checkpoint=checkpoint.id if checkpoint else UNSET,
            confidence=confidence,
            why=why or UNSET,
        )


def _step(action: UserAction) -> _Step | None:
    match action:
        case UserTap():
            return _tap_step(action)
        case UserText():
            label = id_name(action.field)
            return _Step(kind="enter_text", label=label, resource_id=action.field, text=action.text)
        case AppOpened():
            return _Step(kind="open_app", label=action.label)
        case WindowShown(role="screen"):
            label = trim(action.title or "") or action.class_name.rpartition(".")[2]
            return _Step(kind="screen", label=label)
        case WindowShown(role="dialog"):
            return _Step(kind="dialog", label=trim(action.title or ""))
        case UserKey():
            return _Step(kind=action.key)
        case UserScroll(follows_text=False):
            label = id_name(action.resource_id)
            return _Step(kind="scroll", label=label, resource_id=action.resource_id, direction=action.axis)
    return None


def _tap_step(tap: UserTap) -> _Step:
    typed, click = tap.typed_before, _Step(kind="click", label=tap.label, resource_id=tap.click.resourceId)
    if typed is None or is_blank(tap.label):
        return click
    chosen = replace(click, kind="choose_suggestion", text=typed.text)
    if tap.filled:
        return replace(chosen, resource_id=typed.field, confidence="recorded")
    text, label = trim(typed.text).casefold(), tap.label.casefold()
    if len(text) >= _SHORTEST_TYPED and len(label) > len(text) and text in label:
        return replace(chosen, confidence="medium", why="its label completes what was typed")
    return click


def _sentence(step: _Step, package: str) -> str:
    label = _quoted(step.label)
    match step.kind:
        case "open_app":
            return f"Open {printable(package)}" + (f" by its icon {label}" if label else "")
        case "screen":
            return f"The screen {label} appears" if label else "Another screen appears"
        case "dialog":
            return f"The dialog {label} appears"
        case "click":
            return f"Click {label or 'an element without a label'}"
        case "enter_text":
            field = printable(step.label) or "a field"
            return f"Clear {field}" if is_blank(step.text or "") else f"Type {_quoted(step.text)} into {field}"
        case "choose_suggestion":
            return f"Choose the suggestion {label} after typing {_quoted(step.text)}"
        case "scroll":
            axis = {"vertical": " vertically", "horizontal": " horizontally"}.get(step.direction or "", "")
            return f"Scroll{axis}" + (f" in {printable(step.label)}" if step.label else "")
        case "recents":
            return "Show the recent apps"
        case key:
            return f"Go {key}"


def _quoted(text: str | None) -> str:
    return f'"{printable(text)}"' if text else ""
