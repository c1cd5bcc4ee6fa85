"""The report of an evidence folder: the screens before and after a run, what it printed, and the files."""

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import MsgspecError

from clawperator._base.files import open_regular, why
from clawperator.device.run.evidence import EVIDENCE_DOCUMENT, EVIDENCE_MANIFEST, BundleFile, EvidenceManifest
from clawperator.report.builder import PageBuilder, ReportParts, RowScreens, RowStatus
from clawperator.report.page_data import PageList, PageRow, Tone, Verdict, filled, plural
from clawperator.report.runs import document_report

SCREENS, FILES = "Screens", "Files"
# A larger file of a bundle is not read.
MAX_FILE_BYTES = 64 * 1024 * 1024
_TONES: Mapping[str, Tone] = {"success": "good", "failed": "bad", "interrupted": "warn"}


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
        PageList(SCREENS, _screen_rows(screens, builder)),
        PageList(FILES, files.rows),
    )
    if files.altered:
        builder.warnings.append(f"{plural(files.altered, 'file')} changed since the evidence was kept.")
    verdict = run.verdict if run and run.verdict else None
    return ReportParts(
        kind=f"Evidence: {run.kind.lower()}" if run else "Evidence",
        title=" ".join(_without_evidence(manifest.argv)),
        facts=[
            ("Run", manifest.runId),
            *([fact for fact in run.facts if fact[0] not in ("Device", "Task", "Exit code")] if run else ()),
            ("Device", manifest.deviceId),
            ("Started", _moment(manifest.started)),
            ("Finished", _moment(manifest.finished)),
            ("Exit code", str(manifest.exitCode)),
        ],
        lists=lists,
        verdict=verdict or Verdict(_TONES.get(manifest.status, "warn"), manifest.status),
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
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo else text


def _without_evidence(argv: list[str]) -> list[str]:
    """The command line without the flag that kept the evidence."""
    at = argv.index("--evidence") if "--evidence" in argv else len(argv)
    return argv[:at] + argv[at + 2 :]


def _screen_rows(screens: RowScreens, builder: PageBuilder) -> list[PageRow]:
    rows = []
    if screens.before >= 0:
        rows.append(builder.row("screen", "Before the run", screens=RowScreens(screens.before)))
    if screens.after >= 0:
        rows.append(builder.row("screen", "After the run", screens=RowScreens(screens.before, screens.after)))
    return rows


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
