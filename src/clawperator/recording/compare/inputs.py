"""The inputs of compare: a baseline, a run or a second recording, and declared checkpoints, read from files."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Literal, overload

import msgspec

from clawperator._base.files import open_regular, unusable_file, why
from clawperator.contract.skill_result import Checkpoint, SkillResult, SkillsRun, check_version
from clawperator.errors import ClawError
from clawperator.recording.actions import ActionReader, WindowShown
from clawperator.recording.compare.checkpoints import (
    FILE_NAME,
    MINIMUM_SEMANTIC_COVERAGE,
    NONE_FOUND,
    BaselineCheckpoint,
    Declaration,
    find_checkpoints,
    name_checkpoints,
    read_declaration,
)
from clawperator.recording.export import (
    HEAD_BYTES,
    EventSurvey,
    Export,
    ExportedEvent,
    is_export,
    read_export_file,
)
from clawperator.recording.kinds import CompareStrategy

InputRole = Literal["baseline", "result", "checkpoints"]

_BLOCK = 1024 * 1024

_RUN = msgspec.json.Decoder(SkillsRun)
_HINTS: dict[InputRole, str] = {
    "baseline": "Give an export: run 'clawperator recording export --input <recording>' to make it.",
    "result": "Give the whole result of a skill, not the bare skillResult.",
    "checkpoints": "Run 'clawperator schema compare-checkpoints' for the schema of this file.",
}


class RecordedCheckpoints(Sequence[Checkpoint]):
    """The checkpoints of a recording. The phone recorded them, so they are proved."""

    def __init__(self, ids: list[str]) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Checkpoint: ...
    @overload
    def __getitem__(self, index: slice) -> list[Checkpoint]: ...
    def __getitem__(self, index: int | slice) -> Checkpoint | list[Checkpoint]:
        if isinstance(index, slice):
            return [Checkpoint(name, "ok") for name in self.ids[index]]
        return Checkpoint(self.ids[index], "ok")

    def __iter__(self) -> Iterator[Checkpoint]:
        return (Checkpoint(name, "ok") for name in self.ids)


class ComparedRecording:
    """An export and its checkpoints by a strategy; ``declared`` needs the declaration.

    ``ids`` are those of the checkpoints in order, ``texts`` what was entered at some of them. There may be a
    million, so nothing else is kept. ``problem`` is the reason why nothing can be compared with it, ``warnings``
    are what is missing in it.
    """

    def __init__(
        self,
        export: Export,
        role: InputRole,
        strategy: CompareStrategy,
        declaration: Declaration | None = None,
        like: Sequence[str] = (),
    ) -> None:
        self.session_id = export.session.sessionId
        self.ids: list[str] = []
        self.texts: dict[str, str] = {}
        self._strategy = strategy
        self._export = export
        self._reader: ActionReader | None = None
        survey = EventSurvey()
        events = survey.watch(export.events)  # one pass for all: a large export is read for each
        self._found: Sequence[BaselineCheckpoint] = ()  # of other strategies, which find few
        if strategy == "derived":
            self._reader = ActionReader(only_steps=True)
            self._keep(_derived(events, self._reader, like))
            self.problem = "" if self.ids else NONE_FOUND
        else:
            deque(events, maxlen=0)
            found = find_checkpoints(export, strategy, declaration)
            self._found, self.problem = found.checkpoints, "; ".join(found.problems)
            self._keep(self._found)
        self.package = survey.main_package
        self.warnings = survey.gaps.warnings(f"the {role}")

    def _keep(self, checkpoints: Iterable[BaselineCheckpoint]) -> None:
        for checkpoint in checkpoints:
            self.ids.append(checkpoint.id)
            if checkpoint.text is not None:
                self.texts[checkpoint.id] = checkpoint.text

    @property
    def minimum_coverage(self) -> int:
        """How many of the checkpoints a run on another path must name: half of them, at least two."""
        if self._strategy == "solax_heuristic":
            return MINIMUM_SEMANTIC_COVERAGE
        return min(len(self.ids), max(MINIMUM_SEMANTIC_COVERAGE, (len(self.ids) + 1) // 2))

    @property
    def last_screen(self) -> WindowShown | None:
        """The last window of an app. Going home to end the recording is not part of the demonstration."""
        if self._reader is None:
            self._reader = ActionReader(only_steps=True)
            deque(_derived(self._export.events, self._reader), maxlen=0)
        return self._reader.last_screen

    def summary(self, position: int) -> str:
        """One line about a checkpoint. A derived one is derived again: one is needed, of a million."""
        points = self._found or _derived(self._export.events, ActionReader(only_steps=True))
        return next(islice(points, position, None)).summary


def _derived(
    events: Iterable[ExportedEvent], reader: ActionReader, like: Sequence[str] = ()
) -> Iterator[BaselineCheckpoint]:
    # Scrolls are no checkpoints and do not change other actions.
    return name_checkpoints(reader.read(event for event in events if event.kind != "scroll"), like)


def read_baseline(path: str) -> Export:
    with _opened(path, "baseline") as file:
        return _export(path, "baseline", file)


def read_result(path: str) -> SkillResult | Export:
    """The run in a saved document, or the export of a second recording."""
    with _opened(path, "result") as file:
        if is_export(file.read(HEAD_BYTES)) and not _contains(file, b'"skillResult"'):
            file.seek(0)
            return _export(path, "result", file)
        file.seek(0)
        data = file.read()
    try:
        run = _RUN.decode(data).skillResult
        if run is not None:
            check_version(run)
    except UnicodeDecodeError:
        raise unusable(path, "result", "it is not valid UTF-8") from None
    except (msgspec.DecodeError, RecursionError) as e:
        reason = str(e).replace("`", "")
        raise unusable(path, "result", f"it is not a saved skills run with a skillResult: {reason}") from None
    except ClawError as e:
        raise unusable(path, "result", e.message) from None
    if run is None:
        raise unusable(path, "result", "its skillResult is null: the skill printed no result frame")
    return run


def is_recording(path: str) -> bool:
    """Whether the run in a file is a recording itself."""
    with _opened(path, "result") as file:
        return b'"recording_header"' in file.read(HEAD_BYTES).lstrip().partition(b"\n")[0]


def declaration_beside(baseline_path: str) -> str | None:
    """The file of declared checkpoints in the folder of a baseline, or in ``references`` there."""
    folder = os.path.dirname(baseline_path)
    places = (os.path.join(folder, FILE_NAME), os.path.join(folder, "references", FILE_NAME))
    return next(filter(os.path.isfile, places), None)


def find_declaration(path: str | None, baseline_path: str, *, required: bool) -> Declaration | None:
    """The declared checkpoints in ``path``, or beside the baseline."""
    path = path or declaration_beside(baseline_path)
    if path is None:
        if required:
            raise unusable(baseline_path, "checkpoints", f"there is no {FILE_NAME} beside the baseline")
        return None
    with _opened(path, "checkpoints") as file:
        data = file.read()
    try:
        return read_declaration(data)
    except ValueError as e:
        raise unusable(path, "checkpoints", f"it does not declare checkpoints: {e}") from None


def _export(path: str, role: InputRole, file: IO[bytes]) -> Export:
    try:
        return read_export_file(file)
    except ValueError as e:
        raise unusable(path, role, f"it is not a valid recording export: {e}") from None


@contextmanager
def _opened(path: str, role: InputRole) -> Iterator[IO[bytes]]:
    """The file. Errors of the system, while opening or reading it, are those of an unusable input."""
    try:
        file = open_regular(path)
    except (OSError, ValueError) as e:
        raise unusable(path, role, why(e)) from e
    with file:
        try:
            yield file
        except OSError as e:
            raise unusable(path, role, why(e)) from e


def _contains(file: IO[bytes], key: bytes) -> bool:
    """Whether the file has this text, however large it is."""
    file.seek(0)
    before = b""
    while block := file.read(_BLOCK):
        if key in before + block:
            return True
        before = block[-len(key) :]
    return False


def unusable(path: str, role: InputRole, reason: str) -> ClawError:
    return unusable_file("RECORDING_COMPARE_FAILED", f"use the {role}", path, reason, hint=_HINTS[role], role=role)
