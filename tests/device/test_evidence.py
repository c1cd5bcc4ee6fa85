"""Evidence bundles: their folders, files and manifests."""

import hashlib
import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clawperator.device import EvidenceBundle, FinishedRun
from clawperator.device import evidence as module

RUN = FinishedRun(command="click", argv=("clawperator", "click"), deviceId="claw-1", exitCode=0, status="success")


def test_a_bundle_is_private_and_its_manifest_lists_every_file(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        bundle = EvidenceBundle(str(tmp_path / "a" / "b"), "click-1")
        bundle.add("before.xml", "tree", b"<hierarchy/>")
        bundle.leave_out("before.png", "no reason")
        bundle.finish(b"{}", RUN)
    finally:
        os.umask(old)
    folder = Path(bundle.path)
    assert folder.name.endswith("Z-click-1")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["version"] == 1
    assert manifest["missing"] == [{"name": "before.png", "reason": "no reason"}]
    for listed in manifest["files"]:
        data = (folder / listed["name"]).read_bytes()
        assert (listed["sha256"], listed["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
    assert {path.name for path in folder.iterdir()} == {"before.xml", "envelope.json", "manifest.json"}


def test_two_runs_of_one_moment_have_different_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.now(UTC)

    class Frozen(datetime):
        @classmethod
        def now(cls, _: object = None) -> "Frozen":
            return moment  # type: ignore[return-value]

    monkeypatch.setattr(module, "datetime", Frozen)
    paths = {EvidenceBundle(str(tmp_path), "one").path for _ in range(3)}
    assert len(paths) == 3
    assert all(os.path.isdir(path) for path in paths)


def test_a_run_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    bundle = EvidenceBundle(str(tmp_path), "../../x/" + "y" * 500)
    assert Path(bundle.path).parent == tmp_path
    assert len(Path(bundle.path).name) < 255


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        EvidenceBundle(str(tmp_path / "file"), "one")


def test_without_a_manifest_a_bundle_is_incomplete(tmp_path: Path) -> None:
    bundle = EvidenceBundle(str(tmp_path), "one")
    bundle.add("before.xml", "tree", b"x")
    assert os.listdir(bundle.path) == ["before.xml"]
