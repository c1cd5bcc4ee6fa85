"""parse: a recording as a short step log for people. Events that are no steps are dropped; export keeps them."""

from collections.abc import Iterator
from typing import IO, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawperator._base.files import Spill
from clawperator._base.secrets import known_secrets
from clawperator._base.text import printable
from clawperator.recording.events import (
    Click,
    Event,
    EventBounds,
    Number,
    Scroll,
    WindowChange,
    has_snapshot,
    whole_bounds,
)
from clawperator.recording.masking import PasswordMasker
from clawperator.recording.reader import Progress, Recording
from clawperator.recording.writing import ListWriter, derived_path, open_output, pretty_json

# The result lists this many warnings and counts the others; the file has all of them.
MAX_REPORTED = 1_000
MAX_SUMMARY_LINES = 200
_CLICK_FIELDS = ("packageName", "resourceId", "text", "contentDesc")


class OpenAppStep(Struct, frozen=True, tag_field="type", tag="open_app"):
    seq: Number
    packageName: str
    uiStateBefore: str | None


class ClickStep(Struct, frozen=True, tag_field="type", tag="click"):
    seq: Number
    packageName: str
    resourceId: str | None
    text: str | None
    contentDesc: str | None
    bounds: EventBounds
    uiStateBefore: str | None


class StepLog(Struct, frozen=True):
    """The document ``parse`` writes."""

    sessionId: str
    schemaVersion: int
    steps: list[OpenAppStep | ClickStep]
    warnings: list[str] | UnsetType = msgspec.field(default=UNSET, name="_warnings")


class ParseResult(Struct, frozen=True, kw_only=True):
    """The result of ``parse``. ``warningCount`` is present when ``warnings`` does not list all of them."""

    ok: bool = True
    outputFile: str
    stepCount: int
    warnings: list[str] | UnsetType = UNSET
    warningCount: int | UnsetType = UNSET


class _StepLogWriter:
    """One pass over the events. The first window opens the app, and every click is a step.

    The form of the log is fixed: it knows no other actions, and reports scrolls as dropped.
    """

    def __init__(self) -> None:
        self.missing = _Warnings()
        self.dropped = _Warnings()
        self.summary: list[str] = []
        self.count = 0

    def write(self, events: Iterator[Event], out: IO[bytes]) -> None:
        steps = ListWriter(out)
        opened = False
        masker = PasswordMasker(known_secrets())
        for event in events:
            masker.mask(event)
            if isinstance(event, Click | WindowChange):
                if not has_snapshot(event):
                    self.missing.add(_missing_snapshot(event))
                if isinstance(event, WindowChange):
                    if opened:
                        continue
                    opened = True
                masker.mask_snapshot(event)
                if len(self.summary) < MAX_SUMMARY_LINES:
                    self.summary.append(_summary_line(event))
                head = steps.text_of(_head(event)).removesuffix(b"\n    }")
                steps.add_text(head, b',\n      "uiStateBefore": ', event.snapshot, b"\n    }")
            elif isinstance(event, Scroll):
                self.dropped.add(f"seq {event.seq}: scroll event dropped (not extracted in v1)")
        steps.end()
        self.count = steps.count


class _Warnings:
    """Warnings in order: all of them for the file, the first ones for the result."""

    def __init__(self) -> None:
        self.all = Spill()
        self.first: list[str] = []

    def add(self, text: str) -> None:
        self.all.append(b',\n    "%b"' % text.encode())  # our own text: nothing in it needs an escape
        if len(self.first) < MAX_REPORTED:
            self.first.append(text)


def parse_recording(
    source: str, out: str | None = None, *, progress: Progress | None = None
) -> tuple[ParseResult, list[str]]:
    """Write the step log of ``source``. Returns the result, and one line of text per step."""
    target = out or derived_path(source, ".steps.json")
    with (
        Recording(source, progress=progress) as recording,
        open_output(target, source, "RECORDING_PARSE_FAILED") as result,
    ):
        head = {"sessionId": recording.header.sessionId, "schemaVersion": recording.header.schemaVersion}

        def build(events: Iterator[Event]) -> _StepLogWriter:
            result.restart()
            result.file.write(pretty_json(head)[: -len(b"\n}")] + b',\n  "steps": ')
            log = _StepLogWriter()
            log.write(events, result.file)
            return log

        log = recording.in_order(build)
        if recording.out_of_order:  # these warnings are in file order
            log.missing = _Warnings()
            for event in recording.in_file_order():
                if isinstance(event, Click | WindowChange) and not has_snapshot(event):
                    log.missing.add(_missing_snapshot(event))
        for warning in recording.gaps.warnings():
            log.dropped.add(warning)
        count = log.missing.all.count + log.dropped.all.count
        if count:
            result.file.write(b',\n  "_warnings": [')
            log.missing.all.copy_to(result.file, skip=1)
            log.dropped.all.copy_to(result.file, skip=0 if log.missing.all.count else 1)
            result.file.write(b"\n  ]")
        result.file.write(b"\n}")
    reported = (log.missing.first + log.dropped.first)[:MAX_REPORTED]
    if log.count > len(log.summary):
        log.summary.append(f"... and {log.count - len(log.summary)} more steps in {target}")
    parsed = ParseResult(
        outputFile=target,
        stepCount=log.count,
        warnings=reported or UNSET,
        warningCount=count if count > len(reported) else UNSET,
    )
    return parsed, log.summary


def _missing_snapshot(event: Click | WindowChange) -> str:
    return f"seq {event.seq}: snapshot missing on {event.kind} event (uiStateBefore null)"


def _head(event: Click | WindowChange) -> dict[str, Any]:
    """The step without its snapshot."""
    if isinstance(event, WindowChange):
        return {"seq": event.seq, "type": "open_app", "packageName": event.packageName}
    own = {name: getattr(event, name) for name in _CLICK_FIELDS}
    return {"seq": event.seq, "type": "click", **own, "bounds": whole_bounds(event.bounds)}


def _summary_line(event: Click | WindowChange) -> str:
    if isinstance(event, WindowChange):
        return f"[{event.seq}] open_app   {printable(event.packageName)}"
    shown = [
        f'text="{printable(event.text)}"' if event.text else "",
        f"resourceId={printable(event.resourceId)}" if event.resourceId else "",
        f'contentDesc="{printable(event.contentDesc)}"' if event.contentDesc else "",
    ]
    return f"[{event.seq}] click      {' '.join(filter(None, shown)) or '(no selector)'}"
