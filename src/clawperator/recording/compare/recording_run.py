"""A second recording as a run: what a person did again, held against what was shown first.

The phone itself wrote both down, so each checkpoint is proved by being there. The end state is proved when the
recording ends on the same screen with the same texts entered. Texts that are hidden prove nothing.
"""

from clawperator.contract.skill_result import (
    Checkpoint,
    ScriptSource,
    SkillResult,
    TerminalVerification,
    TextEvidence,
)
from clawperator.recording.compare.strategies.derived import slug
from clawperator.recording.compare.strategies.solax import BaselineCheckpoint
from clawperator.recording.export import Export, ExportedTextChange, ExportedWindowChange
from clawperator.recording.heuristics import SYSTEM_UI, is_keyboard, is_launcher, is_masked, is_transient

Path = tuple[BaselineCheckpoint, ...]


def run_of_recording(shown: Export, path: Path, again: Export, repeated: Path) -> SkillResult:
    """The run that the recording ``again`` stands for; ``path`` and ``repeated`` are their checkpoints."""
    return SkillResult(
        contractVersion="1.0.0",
        skillId=again.session.sessionId,
        status="success",
        checkpoints=[Checkpoint(c.id, "ok") for c in repeated],
        source=ScriptSource(),
        terminalVerification=_verify(shown, path, again, repeated),
    )


def _verify(shown: Export, path: Path, again: Export, repeated: Path) -> TerminalVerification:
    expected, observed = _last_screen(shown), _last_screen(again)
    if expected is None:
        return TerminalVerification("not_run", note="the demonstration shows no window to end on")
    evidence = (TextEvidence(expected), TextEvidence(observed) if observed else None)
    if expected != observed:
        note = f"the demonstration ends on {expected}, the recording on {observed or 'no window'}"
        return TerminalVerification("failed", *evidence, note)
    entered = _texts(again, repeated)
    hidden = None
    for name, text in _texts(shown, path).items():
        other = entered.get(name)
        if other is None:
            continue  # a missing checkpoint is told by the path
        if is_masked(text) or is_masked(other):
            hidden = hidden or name
        elif other != text:
            return TerminalVerification("failed", *evidence, f"another text was entered at {name}")
    if hidden:
        return TerminalVerification("not_run", *evidence, f"the text entered at {hidden} is hidden")
    return TerminalVerification("verified", *evidence)


def _last_screen(export: Export) -> str | None:
    """The last window of an app; going home to end the recording is not part of what is shown."""
    for event in reversed(export.events):
        if not isinstance(event, ExportedWindowChange) or not event.packageName:
            continue
        package, window = event.packageName, event.className or ""
        if is_transient(window) or is_keyboard(package, window) or is_launcher(package) or package == SYSTEM_UI:
            continue
        return " ".join(filter(None, (package, window, slug(event.title or ""))))
    return None


def _texts(export: Export, path: Path) -> dict[str, str]:
    """What was entered at each checkpoint that is a text."""
    seqs = {c.seq: c.id for c in path if c.event_type == ExportedTextChange.kind}
    return {seqs[e.seq]: e.text for e in export.events if isinstance(e, ExportedTextChange) and e.seq in seqs}
