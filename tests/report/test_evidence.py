"""Reports of evidence folders: the screens before and after, the document, the files."""

import json
import re
from pathlib import Path

import pytest

from clawperator.errors import ClawError
from clawperator.report.write import write_report
from tests.report.samples import written
from tests.support.routes import Route
from tests.support.running import clawperator


@pytest.fixture
def folder(tmp_path: Path, route: Route) -> Path:
    """The evidence of a click that opens the page Display."""
    route.shell("am force-stop com.android.settings; input keyevent HOME")
    assert clawperator("open", "com.android.settings").code == 0
    assert clawperator("click", "--text", "Display", "--evidence", str(tmp_path / "kept")).code == 0
    (found,) = (tmp_path / "kept").iterdir()
    return found


def test_the_run_is_shown_between_its_screens(folder: Path) -> None:
    report = written(str(folder) + "/")
    assert report.path == folder.with_name(folder.name + ".report.html")
    assert (report.result.kind, report.result.title) == ("Evidence: execution", "clawperator click --text Display")
    assert report.lists == ["Actions", "Screens", "Files"]
    (click,) = report.rows("Actions")
    assert "Network & internet" in report.labels(click.before)
    assert "Dark theme" in report.labels(click.after)
    assert click.mark is not None
    assert [name for name in click.facts if name[0].islower()] == []
    for name in ("Started", "Finished"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", dict(report.data["facts"])[name])
    assert len(report.data["pictures"]) == 2
    assert {one[3] for one in report.data["screens"]} == {0, 1}
    assert [row.title for row in report.rows("Screens")] == ["Before the run", "After the run"]
    assert {(row.status, row.tone) for row in report.rows("Files")} == {("ok", "good")}


def test_a_file_that_was_changed_is_reported(folder: Path) -> None:
    tree = folder / "after.xml"
    tree.write_text(tree.read_text().replace("Dark theme", "Bright theme"))
    (folder / "before.png").unlink()
    report = written(str(folder))
    status = {row.title: row.status for row in report.rows("Files")}
    assert (status["after.xml"], status["before.png"]) == ("changed", "No such file or directory")
    assert report.data["warnings"] == ["1 file changed since the evidence was kept."]


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "..", ""])
def test_a_manifest_cannot_name_files_elsewhere(folder: Path, name: str) -> None:
    (folder.parent / "secret.txt").write_text("top secret")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][0]["name"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    report = written(str(folder))
    assert report.rows("Files")[0].status == "not a file of this folder"
    assert "top secret" not in report.html


def test_a_folder_of_evidence_names_the_newest(folder: Path) -> None:
    with pytest.raises(ClawError) as caught:
        write_report(str(folder.parent))
    assert caught.value.code == "REPORT_FAILED"
    assert str(folder) in caught.value.hint


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"files": 3}'])
def test_a_damaged_manifest_is_an_error(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest)
    with pytest.raises(ClawError) as caught:
        write_report(str(folder))
    assert caught.value.code == "REPORT_FAILED"
    assert "manifest.json" in caught.value.message


def test_a_document_of_another_kind_is_shown_as_it_is(folder: Path) -> None:
    (folder / "envelope.json").write_text('{"handled": true, "text": "<b>Done.</b>"}')
    report = written(str(folder))
    (row,) = report.rows("Document")
    assert row.facts == {"handled": "true", "text": "<b>Done.</b>"}
