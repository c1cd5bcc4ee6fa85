"""Write the report of a recording."""

from collections.abc import Iterable

from msgspec import UNSET, Struct, UnsetType

from clawperator._files import is_same_file, open_regular, why
from clawperator.errors import ClawError
from clawperator.recording import Recording, is_export, open_output
from clawperator.report.builder import PageBuilder, ReportParts
from clawperator.report.page import render_page
from clawperator.report.recordings import recording_report

ENDING = ".report.html"
_HEAD_BYTES = 4_096
_KINDS_HINT = "Pass a recording (.ndjson) or its export."


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
    """Write the report of a recording or an export.

    ``run`` is a run to compare a recording with. The default of ``out`` is beside the input.
    """
    target = out or default_path(path)
    if run is not None and is_same_file(target, run):
        raise _failed(target, "it is the run to compare with", hint="Choose another file with --out.")
    builder = PageBuilder(declared_secrets())
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


def declared_secrets() -> Iterable[str]:
    """The texts of the user's ``secrets`` setting: no report may contain one."""
    from clawperator.device import declared_texts

    try:
        return declared_texts()
    except ClawError:  # the setting is invalid, which commands that need it report
        return ()


def _report(path: str, builder: PageBuilder, run: str | None) -> ReportParts:
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError) as e:
        raise _failed(path, why(e), hint=_KINDS_HINT) from e
    if not is_export(head) and not _is_recording(path):
        raise _failed(path, "it is nothing that can be reported", hint=_KINDS_HINT)
    return recording_report(path, builder, run)


def _is_recording(path: str) -> bool:
    """Whether a file begins with the header of a recording. An unsupported version is an error."""
    try:
        with Recording(path):
            return True
    except ClawError as e:
        if e.code == "RECORDING_SCHEMA_VERSION_UNSUPPORTED":
            raise
        return False


def _failed(path: str, reason: str, *, hint: str) -> ClawError:
    return ClawError(
        "REPORT_FAILED",
        f"Cannot report {path}: {reason}",
        hint=hint,
        details={"path": path, "reason": reason},
        operation="report",
        target=path,
    )
