"""Recognise what is to be reported by its content, and write its report."""

import os
import shlex

import msgspec
from msgspec import UNSET, MsgspecError, Struct, UnsetType

from clawperator._base.files import is_same_file, open_regular, unusable_file, why
from clawperator._base.secrets import known_secrets
from clawperator.errors import ClawError
from clawperator.recording.export import HEAD_BYTES, is_export
from clawperator.recording.reader import Recording
from clawperator.recording.writing import open_output
from clawperator.report.builder import PageBuilder, ReportParts
from clawperator.report.page import render_page
from clawperator.report.recordings import recording_report
from clawperator.report.runs import document_report, evidence_report, is_bundle, newest_bundle

ENDING = ".report.html"
# A larger document is no saved run.
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
_KINDS_HINT = (
    "Give a recording (.ndjson), its export, the saved result of a replay or of a skill, or a folder of evidence."
)


class ReportResult(Struct, frozen=True, kw_only=True):
    """The result of ``report``. ``outcome`` is the verdict of what is reported, if it has one."""

    ok: bool = True
    outputFile: str
    kind: str
    title: str
    outcome: str | UnsetType = UNSET
    rowCount: int
    screenCount: int
    bytes: int
    warnings: list[str] | UnsetType = UNSET


def write_report(path: str, *, run: str | None = None, out: str | None = None) -> ReportResult:
    """Write the report of a recording, an export, a saved run or an evidence folder.

    ``run`` is a run to compare a recording with. The default of ``out`` is beside the input.
    """
    target = out or default_path(path)
    if run is not None and is_same_file(target, run):
        raise _failed(target, "it is the run to compare with", hint="Choose another output file.")
    builder = PageBuilder(known_secrets())
    parts = _report(path, builder, run)
    return save_report(parts, builder, target, source=path)


def save_report(parts: ReportParts, builder: PageBuilder, path: str, *, source: str = "") -> ReportResult:
    """Write a report to a file, completely or not at all."""
    data = builder.finish(parts)
    page = render_page(data)
    with open_output(path, source, "REPORT_FAILED", make_folders=True) as file:
        file.file.write(page)
    return ReportResult(
        outputFile=path,
        kind=data.kind,
        title=data.title,
        outcome=data.verdict.label if data.verdict else UNSET,
        rowCount=sum(len(page_list.rows) for page_list in data.lists),
        screenCount=len(data.screens),
        bytes=len(page),
        warnings=data.warnings or UNSET,
    )


def default_path(source: str) -> str:
    """The path of a report beside its input."""
    return (source.rstrip("/") or source) + ENDING


def _report(path: str, builder: PageBuilder, run: str | None) -> ReportParts:
    try:
        if os.path.isdir(path):
            _refuse_run(path, run)
            return _folder_report(path, builder)
        with open_regular(path) as file:
            head = file.read(HEAD_BYTES)
            if is_export(head) or _is_recording(path):
                return recording_report(path, builder, run)
            _refuse_run(path, run)
            data = head + file.read(MAX_DOCUMENT_BYTES)
        if len(data) > MAX_DOCUMENT_BYTES:
            raise _failed(path, f"it has more than {MAX_DOCUMENT_BYTES:,} bytes")
        found = document_report(_decoded(data), builder)
    except (OSError, ValueError) as e:
        raise _failed(path, why(e)) from e
    if found is None:
        raise _failed(path, "it is nothing that can be reported")
    return found


def _folder_report(folder: str, builder: PageBuilder) -> ReportParts:
    if is_bundle(folder):
        return evidence_report(folder, builder)
    newest = newest_bundle(folder)
    hint = f"Run 'clawperator report {shlex.quote(newest)}'." if newest else _KINDS_HINT
    raise _failed(folder, "it is a folder without a manifest.json", hint=hint)


def _is_recording(path: str) -> bool:
    """Whether a file begins with the header of a recording. An unsupported version is an error."""
    try:
        with Recording(path):
            return True
    except ClawError as e:
        if e.code == "RECORDING_SCHEMA_VERSION_UNSUPPORTED":
            raise
        return False


def _refuse_run(path: str, run: str | None) -> None:
    if run is not None:
        command = f"clawperator report {shlex.quote(run)} --compare {shlex.quote(path)}"
        hint = f"Run '{command}', or compare with nothing."
        raise _failed(path, "a comparison needs a recording or an export", hint=hint)


def _decoded(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not JSON, and not a recording") from None


def _failed(path: str, reason: str, *, hint: str = _KINDS_HINT) -> ClawError:
    return unusable_file("REPORT_FAILED", "report", path, reason, hint=hint, operation="report")
