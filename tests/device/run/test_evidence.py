"""Evidence bundles: their folders, files and manifests."""

import hashlib
import json
import os
import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from clawperator._base.deadline import Deadline
from clawperator._base.notes import listening, note
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run import evidence as module
from clawperator.device.run.evidence import CaptureSource, EvidenceBundle, FinishedRun
from clawperator.errors import ClawError
from clawperator.policy.gate import ApprovedPlan, PolicyGate, check_actions, enforcing, policy_in_force
from clawperator.policy.rules import Policy, read_rule
from clawperator.ui.node import Node
from clawperator.ui.write import write_hierarchy
from tests.ui.trees import hierarchy, node

if TYPE_CHECKING:
    from clawperator.contract.execution import Plan

RUN = FinishedRun(command="click", argv=["clawperator", "click"], deviceId="claw-1", exitCode=0, status="success")


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


class Frozen(datetime):
    """A clock that moves by a second and a half with each look at it."""

    looks = 0

    @classmethod
    def now(cls, tz: Any = None) -> "Frozen":
        cls.looks += 1
        return cls(2026, 1, 2, 3, 4, 5, 678_900, tz) + timedelta(seconds=1.5) * (cls.looks - 1)


def test_two_runs_of_one_moment_have_different_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.now(UTC)
    monkeypatch.setattr(module, "datetime", SimpleNamespace(now=lambda _: moment))
    paths = [EvidenceBundle(str(tmp_path), "one").path for _ in range(3)]
    assert paths == [paths[0], f"{paths[0]}-2", f"{paths[0]}-3"]
    assert all(os.path.isdir(path) for path in paths)


def test_the_name_and_the_manifest_have_the_times_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Frozen, "looks", 0)
    monkeypatch.setattr(module, "datetime", Frozen)
    bundle = EvidenceBundle(str(tmp_path), "click-1")
    bundle.finish(b"{}", RUN)
    text = Path(bundle.path, "manifest.json").read_text()
    manifest = json.loads(text)
    assert bundle.path == str(tmp_path / "20260102T030405.678Z-click-1")
    assert (manifest["started"], manifest["finished"]) == ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:07.178Z")
    assert {name: manifest[name] for name in ("runId", "command", "argv", "deviceId", "exitCode", "status")} == {
        "runId": "click-1",
        "command": "click",
        "argv": ["clawperator", "click"],
        "deviceId": "claw-1",
        "exitCode": 0,
        "status": "success",
    }
    assert text.startswith('{\n  "version": 1,\n')
    assert text.endswith("}\n")


def test_too_many_bundles_of_one_run_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "mkdir", lambda *_: (_ for _ in ()).throw(FileExistsError))
    with pytest.raises(FileExistsError, match="too many bundles of one run") as error:
        EvidenceBundle(str(tmp_path), "one")
    assert error.value.filename == str(tmp_path)


@pytest.mark.parametrize(
    ("run_id", "name"),
    [("aZ-9_.x", "aZ-9_.x"), ("a/b c\nd", "a_b_c_d"), ("é²٣", "___"), ("x" * 81, "x" * 80), ("", "")],
)
def test_a_folder_has_the_letters_and_digits_of_its_run_id(tmp_path: Path, run_id: str, name: str) -> None:
    assert Path(EvidenceBundle(str(tmp_path), run_id).path).name.partition("Z-")[2] == name


def test_a_run_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    bundle = EvidenceBundle(str(tmp_path), "../../x/" + "y" * 500)
    assert Path(bundle.path).parent == tmp_path
    assert len(Path(bundle.path).name) < 255


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        EvidenceBundle(str(tmp_path / "file"), "one")


@pytest.mark.parametrize("name", ["envelope.json", "manifest.json"])
def test_no_file_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    bundle = EvidenceBundle(str(tmp_path / "ev"), "one")
    (tmp_path / "other").write_text("mine")
    Path(bundle.path, name).symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic link"):
        bundle.finish(b"{}", RUN)
    assert (tmp_path / "other").read_text() == "mine"


def test_without_a_manifest_a_bundle_is_incomplete(tmp_path: Path) -> None:
    bundle = EvidenceBundle(str(tmp_path), "one")
    bundle.add("before.xml", "tree", b"x")
    assert os.listdir(bundle.path) == ["before.xml"]


# Captures

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
SOURCE = CaptureSource(DEVICE, "com.operator", "adb", ("hunter2",))
PNG = b"\x89PNG a picture"


class DeviceDouble:
    """Answers looks with a step, and pictures with bytes or an error. Keeps how it was asked."""

    def __init__(self, *steps: StepResult) -> None:
        self.steps = list(steps)
        self.picture: bytes | Exception = PNG
        self.asked: dict[str, Any] = {}
        self.plan: Plan | None = None
        self.limit: float | None = None

    def run_plan(self, approved: ApprovedPlan, device: Device, **options: Any) -> Any:
        plan = approved.plan
        assert device == DEVICE
        note("looking")
        self.asked, self.plan, self.limit = options, plan, Deadline(None).remaining
        return SimpleNamespace(envelope=ResultEnvelope("c", "t", "success", self.steps, None))

    def capture_png(self, device: Device, *, seconds: float) -> bytes:
        assert (device, seconds) == (DEVICE, 10)
        if isinstance(self.picture, Exception):
            raise self.picture
        return self.picture


def seen(*nodes: Node) -> StepResult:
    return StepResult("a1", "snapshot_ui", True, {"text": write_hierarchy(hierarchy(*nodes))})


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeviceDouble:
    made = DeviceDouble(seen(node(text="Settings")))
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "run_plan", made.run_plan)
    monkeypatch.setattr(module, "capture_png", made.capture_png)
    return made


def captured(folder: Path, **options: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files of a capture, and the reasons of those that are missing."""
    bundle = EvidenceBundle(str(folder / "ev"), "one")
    bundle.capture("before", SOURCE, **options)
    files = {path.name: path.read_bytes() for path in Path(bundle.path).iterdir()}
    bundle.finish(b"{}", RUN)
    manifest = json.loads(Path(bundle.path, "manifest.json").read_bytes())
    kinds = {"before.xml": "tree", "before.png": "screenshot", "envelope.json": "document"}
    assert {one["name"]: one["kind"] for one in manifest["files"]} == {
        name: kinds[name] for name in (*files, "envelope.json")
    }
    return files, {one["name"]: one["reason"] for one in manifest["missing"]}


def test_a_capture_is_a_tree_and_a_picture(double: DeviceDouble, tmp_path: Path) -> None:
    files, missing = captured(tmp_path)
    assert missing == {}
    assert files == {"before.xml": double.steps[0].data["text"].encode(), "before.png": PNG}


def test_a_look_has_a_time_limit_and_sends_no_notes(
    double: DeviceDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    heard: list[str] = []
    with listening(heard.append):
        captured(tmp_path)
    timeout = double.asked.pop("timeout_ms")
    assert 0 < timeout <= 60_000
    assert double.asked == {"package": "com.operator", "backend": "adb"}
    assert double.plan is not None
    assert [action.type for action in double.plan.execution.actions] == ["snapshot_ui"]
    assert (double.plan.execution.timeoutMs, double.limit) == (timeout, timeout / 1_000)
    assert heard == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([], "the device returned no UI hierarchy"),
        ([StepResult("a1", "snapshot_ui", False, {"message": "off", "error": "X"})], "off"),
        ([StepResult("a1", "snapshot_ui", False, {"error": "X", "text": "<hierarchy/>"})], "X"),
        ([StepResult("a1", "snapshot_ui", True, {})], "the device returned no UI hierarchy"),
    ],
)
def test_without_a_tree_there_is_no_picture(
    double: DeviceDouble, tmp_path: Path, steps: list[StepResult], reason: str
) -> None:
    double.steps = steps
    assert captured(tmp_path) == (
        {},
        {
            "before.xml": f"SNAPSHOT_HIERARCHY_UNAVAILABLE: {reason}",
            "before.png": "without a tree it is unknown whether the screen shows a password",
        },
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ClawError("DEVICE_OFFLINE", "it is gone"), "DEVICE_OFFLINE: it is gone"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_a_picture_that_cannot_be_taken_is_noted(
    double: DeviceDouble, tmp_path: Path, error: Exception, reason: str
) -> None:
    double.picture = error
    files, missing = captured(tmp_path)
    assert list(files) == ["before.xml"]
    assert missing == {"before.png": reason}


PASSWORD = "a password field on the screen is focused or holds a text"


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"password": "true", "text": "x1y2z3"}, PASSWORD),
        ({"password": "true", "text": "", "focused": "true"}, PASSWORD),
        ({"password": "true", "text": ""}, None),
        ({"password": "false", "text": "x1y2z3", "focused": "true"}, None),
        ({"text": "my hunter2"}, "a secret is on the screen"),
        ({"text": "my declared1"}, "a secret is on the screen"),
    ],
)
def test_a_screen_that_may_show_a_secret_has_no_picture(
    double: DeviceDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attributes: dict[str, str],
    reason: str | None,
) -> None:
    monkeypatch.setenv("DECLARED", "declared1")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "clawperator.toml").write_text('secrets = ["DECLARED"]\n')
    double.steps = [seen(node(), Node({"bounds": "[0,0][9,9]", **attributes}))]
    files, missing = captured(tmp_path)
    assert missing == ({} if reason is None else {"before.png": reason})
    text = files["before.xml"].decode()
    assert ("x1y2z3" in text) == (attributes.get("password") == "false")
    assert "hunter2" not in text
    assert "declared1" not in text


def test_a_setting_of_secrets_that_is_invalid_names_none(double: DeviceDouble, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "clawperator.toml").write_text("secrets = \n")
    double.steps = [seen(node(text="my hunter2"))]
    assert captured(tmp_path)[1] == {"before.png": "a secret is on the screen"}


@pytest.mark.usefixtures("double")
def test_the_caller_has_a_reason_for_no_picture(tmp_path: Path) -> None:
    assert captured(tmp_path, no_picture="a secret was typed")[1] == {"before.png": "a secret was typed"}


def asked(*_: object) -> Any:
    raise AssertionError("a question was asked")


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("rules", ["deny", "ask"])
def test_the_policy_of_the_caller_holds_and_no_question_is_asked(tmp_path: Path, rules: str) -> None:
    rule = (read_rule("screenshot", "flag"),)
    policy = Policy(deny=rule) if rules == "deny" else Policy(ask=rule)
    with enforcing(PolicyGate(policy, asked)):
        files, missing = captured(tmp_path)
        assert policy_in_force()
    assert list(files) == ["before.xml"]
    assert missing["before.png"].startswith("PERMISSION_DENIED: ")


@pytest.mark.usefixtures("double")
def test_what_the_caller_may_do_is_the_same_after_a_capture(tmp_path: Path) -> None:
    captured(tmp_path)
    check_actions([{"type": "take_screenshot", "params": {}}])
    assert not policy_in_force()
