"""``--evidence``: a bundle per run, no secrets in it, and the same result as without it."""

import errno
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from clawperator._base.deadline import Deadline
from clawperator.cli import actions
from clawperator.contract.commands import leaves
from clawperator.device.run import evidence as device_evidence
from clawperator.errors import ClawError
from clawperator.operations.claw import claw_commands
from clawperator.phone.process.server import PhoneServer
from clawperator.policy.rules import Policy, encode_policy, read_rule
from clawperator.schemas import schema
from clawperator.ui.parse import parse_hierarchy
from tests.device.phone_servers import running_phone_server
from tests.replay.flows import record, settings_dark
from tests.skills.sample_skills import ID, frame, write_skill
from tests.skills.test_run import printing
from tests.support.running import claw_json, clawperator
from tests.support.secret_search import find_secret

SECRET = "Tr0ub4dor-and-3"
SETTINGS = "com.android.settings"
BOTH = {"before.xml", "before.png", "after.xml", "after.png"}
TIMES = ("commandId", "taskId", "settled_ms")


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhoneServer]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(folder / "home"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("ADB_PATH", str(folder / "no-adb"))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    with running_phone_server() as running:
        yield running


class Bundle:
    """The only bundle in a folder."""

    def __init__(self, parent: Path) -> None:
        (self.path,) = parent.iterdir()
        self.manifest = json.loads((self.path / "manifest.json").read_bytes())
        jsonschema.validate(self.manifest, schema("evidence-manifest"))
        self.names = {listed["name"] for listed in self.manifest["files"]}
        self.missing = {listed["name"]: listed["reason"] for listed in self.manifest["missing"]}
        for listed in self.manifest["files"]:
            assert hashlib.sha256(self.bytes(listed["name"])).hexdigest() == listed["sha256"]
        assert {path.name for path in self.path.iterdir()} == self.names | {"manifest.json"}

    def bytes(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def labels(self, name: str) -> list[str]:
        return [node.label for node in parse_hierarchy(self.bytes(name)).nodes]

    @property
    def document(self) -> Any:
        return json.loads(self.bytes("envelope.json"))


def without_times(document: Any) -> Any:
    """A result without what differs between two runs."""
    if isinstance(document, dict):
        return {name: without_times(value) for name, value in document.items() if name not in TIMES}
    return [without_times(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize("backend", ["operator", "adb"])
@pytest.mark.usefixtures("server")
def test_a_bundle_has_the_document_and_the_screen_before_and_after(folder: Path, backend: str) -> None:
    ran = clawperator("open", SETTINGS, "--evidence", "ev", "--backend", backend)
    assert (ran.code, ran.err) == (0, "")
    bundle = Bundle(folder / "ev")
    assert bundle.names == {"envelope.json", *BOTH}
    assert bundle.missing == {}
    assert bundle.document == ran.json
    assert "Connected devices" in bundle.labels("after.xml")
    assert "Connected devices" not in bundle.labels("before.xml")
    assert bundle.bytes("after.png").startswith(b"\x89PNG")
    manifest = bundle.manifest
    assert bundle.path.name.endswith(f"Z-{ran.json['envelope']['commandId']}")
    assert (manifest["command"], manifest["deviceId"]) == ("open", "claw-1")
    assert (manifest["exitCode"], manifest["status"]) == (0, "success")
    assert manifest["argv"] == ["clawperator", "open", SETTINGS, "--evidence", "ev", "--backend", backend]
    assert manifest["started"] <= manifest["finished"]


@pytest.mark.usefixtures("server")
def test_the_result_is_the_same_as_without_evidence() -> None:
    line = ("press", "home")
    clawperator(*line)
    plain, kept = clawperator(*line), clawperator(*line, "--evidence", "ev")
    assert without_times(kept.json) == without_times(plain.json)
    assert (kept.code, kept.err) == (plain.code, plain.err)


@pytest.mark.usefixtures("server")
def test_a_failed_run_has_its_evidence(folder: Path) -> None:
    ran = clawperator("click", "--text", "No such label", "--timeout", "1000", "--evidence", "ev")
    assert ran.code == 1
    bundle = Bundle(folder / "ev")
    assert bundle.document == ran.json
    assert (bundle.manifest["exitCode"], bundle.manifest["status"]) == (1, "failed")
    assert bundle.names >= BOTH


def test_without_a_device_the_error_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(folder / "home"))
    monkeypatch.setenv("ADB_PATH", str(folder / "no-adb"))
    ran = clawperator("press", "home", "--evidence", "ev")
    assert (ran.code, ran.json["code"]) == (1, "ADB_NOT_FOUND")
    bundle = Bundle(folder / "ev")
    assert bundle.document == ran.json
    assert set(bundle.missing) == BOTH
    assert bundle.manifest["deviceId"] is None


# Secrets.


@pytest.mark.parametrize("backend", ["operator", "adb"])
@pytest.mark.usefixtures("server")
def test_a_typed_secret_is_in_no_file_and_there_is_no_picture_after_it(folder: Path, backend: str) -> None:
    clawperator("open", "com.google.android.youtube")
    clawperator("click", "--desc", "Search")
    words = ("type", "--secret", "SHOP_PASSWORD", "--role", "textfield", "--backend", backend)
    assert clawperator(*words, "--evidence", "ev").code == 0
    bundle = Bundle(folder / "ev")
    assert find_secret(SECRET, [folder / "ev"]) == []
    assert bundle.missing == {"after.png": "a secret was typed"}
    assert "••••" in bundle.labels("after.xml")
    assert "--secret" in bundle.manifest["argv"]


@pytest.mark.usefixtures("server")
def test_a_declared_secret_on_the_screen_is_masked_and_has_no_picture(folder: Path) -> None:
    (folder / "home" / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD"]\n')
    clawperator("open", "com.google.android.youtube")
    clawperator("click", "--desc", "Search")
    assert clawperator("type", "--secret", "SHOP_PASSWORD", "--role", "textfield").code == 0
    assert clawperator("wait", "--role", "textfield", "--evidence", "ev").code == 0
    assert find_secret(SECRET, [folder / "ev"]) == []
    bundle = Bundle(folder / "ev")
    assert bundle.missing == dict.fromkeys(("before.png", "after.png"), "a secret is on the screen")


@pytest.mark.usefixtures("server")
def test_a_password_field_is_masked_and_has_no_picture(folder: Path) -> None:
    clawperator("open", "com.clawperator.notes")
    clawperator("click", "--text", "Account")
    assert clawperator("type", SECRET, "--id", "password", "--evidence", "ev").code == 0
    bundle = Bundle(folder / "ev")
    assert find_secret(SECRET, [folder / "ev"]) == []
    assert bundle.missing["after.png"] == "a password field on the screen is focused or holds a text"
    assert bundle.manifest["argv"][:3] == ["clawperator", "type", "••••"]
    assert any(node.flag("password") for node in parse_hierarchy(bundle.bytes("after.xml")).nodes)


# Where evidence is refused or fails.


@pytest.mark.usefixtures("server")
def test_a_folder_that_cannot_be_made_is_an_error_before_the_run(folder: Path, server: PhoneServer) -> None:
    (folder / "file").write_text("")
    before = server.phone.foreground()
    ran = clawperator("open", SETTINGS, "--evidence", "file")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert server.phone.foreground() == before


@pytest.mark.usefixtures("server")
def test_a_full_disk_is_a_warning_and_the_result_is_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk:
        def __init__(self, *_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(device_evidence, "AtomicFile", FullDisk)
    ran = clawperator("press", "home", "--evidence", "ev")
    assert (ran.code, ran.json["envelope"]["status"]) == (0, "success")
    assert "is incomplete: No space left on device" in ran.err
    (bundle,) = (folder / "ev").iterdir()
    assert os.listdir(bundle) == []  # no manifest: the bundle is incomplete


@pytest.mark.parametrize("flag", ["--dry-run", "--validate-only"])
def test_nothing_is_kept_of_a_command_that_runs_nothing(folder: Path, flag: str) -> None:
    ran = clawperator("press", "home", flag, "--evidence", "ev")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert not (folder / "ev").exists()


def test_an_invalid_command_leaves_no_folder(folder: Path) -> None:
    assert clawperator("press", "no-such-key", "--evidence", "ev").code == 1
    assert not (folder / "ev").exists()


@pytest.mark.usefixtures("server")
def test_an_interrupted_run_is_not_captured_afterwards(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(actions, "_run", interrupted)
    ran = clawperator("press", "home", "--evidence", "ev")
    assert (ran.code, ran.json["code"]) == (130, "INTERRUPTED")
    assert "claw" not in ran.json["hint"]
    bundle = Bundle(folder / "ev")
    assert bundle.manifest["status"] == "interrupted"
    assert bundle.missing == dict.fromkeys(("after.xml", "after.png"), "the run was interrupted")


@pytest.mark.usefixtures("server")
def test_an_interrupt_after_the_run_does_not_lose_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    look, looks = device_evidence._look, []

    def interrupted(source: Any) -> Any:
        looks.append(source)
        if len(looks) == 2:
            raise KeyboardInterrupt
        return look(source)

    monkeypatch.setattr(device_evidence, "_look", interrupted)
    ran = clawperator("press", "home", "--evidence", "ev")
    assert (ran.code, ran.json["envelope"]["status"]) == (0, "success")
    assert "interrupted from the keyboard; the evidence is incomplete" in ran.err


@pytest.mark.usefixtures("server")
def test_captures_do_not_count_for_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the phone is looked at, a hundred seconds pass; the command still has all its time."""
    passed, left = [0.0], []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(passed))
    monkeypatch.setattr("clawperator._base.deadline.time", clock)

    def slow_look(_: object) -> None:
        passed.append(100.0)
        raise ClawError("SNAPSHOT_HIERARCHY_UNAVAILABLE", "slow")

    def run(*_: object) -> None:
        left.append(Deadline(None).remaining or 0)
        raise ClawError("NODE_NOT_FOUND", "enough")

    monkeypatch.setattr(device_evidence, "_look", slow_look)
    monkeypatch.setattr(actions, "_run", run)
    ran = clawperator("press", "home", "--timeout", "120000", "--evidence", "ev")
    assert ran.json["code"] == "NODE_NOT_FOUND"
    assert 100 < left[0] <= 125


# Under a policy.


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        (Policy("act"), BOTH),
        (Policy("act", deny=(read_rule("take_screenshot", "test"),)), {"before.xml", "after.xml"}),
        (Policy("act", ask=(read_rule("snapshot_ui", "test"),)), set()),
    ],
    ids=["allowed", "no picture", "no look"],
)
@pytest.mark.usefixtures("server")
def test_captures_need_the_permission_to_look(
    folder: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy, names: set[str]
) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY", encode_policy(policy))
    assert clawperator("press", "home", "--evidence", "ev").code == 0
    bundle = Bundle(folder / "ev")
    assert bundle.names == {"envelope.json", *names}
    assert set(bundle.missing) == BOTH - names


@pytest.mark.usefixtures("server")
def test_an_agent_cannot_keep_evidence_outside_of_its_folder(folder: Path) -> None:
    outside = folder.parent / f"{folder.name}-outside"
    ran = claw_json("exec-command", "press", f"home --evidence {outside}")
    assert ran.json["error"]["code"] == "PERMISSION_DENIED"
    assert not outside.exists()
    assert claw_json("exec-command", "press", "home --evidence ev").code == 0
    assert Bundle(folder / "ev").names >= BOTH


def test_evidence_of_a_command_that_looks_needs_the_level_act() -> None:
    rows = {
        name: command for name, command in leaves() if any(flag.name == "--evidence" for flag in command.flags)
    }
    assert {
        "snapshot",
        "click",
        "swipe",
        "rotate",
        "exec",
        "recording start",
        "recording replay",
        "skills run",
    } <= set(rows)
    assert all(
        any(flag.name == "--evidence" for flag in command.flags) == command.is_action
        for name, command in leaves()
        if name not in ("recording replay", "skills run")
    )
    assert {command.level_with(["--evidence"]) for command in rows.values()} == {"act", "full"}
    assert [c.name for c in claw_commands() if any(flag.name == "--evidence" for flag in c.flags)] == [
        "bootstrap",
        "turn-loop",
    ]


# Skills, replays and turns.


@pytest.mark.usefixtures("server")
def test_a_run_of_a_skill_has_its_evidence(folder: Path) -> None:
    registry = write_skill(folder, printing(frame()))
    line = ("skills", "run", ID, "--registry", str(registry), "--evidence", "ev", "--junit", "report.xml")
    ran = clawperator(*line, "--", "--password", SECRET)
    assert ran.code == 0
    bundle = Bundle(folder / "ev")
    assert bundle.document == ran.json
    assert bundle.names >= BOTH
    assert SECRET not in json.dumps(bundle.manifest)
    assert (folder / "report.xml").is_file()


def test_a_replay_has_its_evidence(folder: Path, server: PhoneServer) -> None:
    assert server.phone is not None
    shown = record(settings_dark, folder)
    ran = clawperator("recording", "replay", "--input", shown, "--evidence", "ev")
    assert ran.code == 0
    bundle = Bundle(folder / "ev")
    assert bundle.document == ran.json
    assert bundle.manifest["command"] == "recording replay"
    assert bundle.names >= BOTH


@pytest.mark.parametrize("command", ["bootstrap", "turn-loop"])
@pytest.mark.usefixtures("server")
def test_turns_have_their_evidence(folder: Path, command: str) -> None:
    plain = claw_json(command, "open settings")
    ran = claw_json(command, "open settings", "--evidence", "ev")
    assert ran.code == 0
    assert ran.json.keys() == plain.json.keys()
    bundle = Bundle(folder / "ev")
    assert bundle.manifest["runId"] == ran.json["correlation_id"]
    assert bundle.document["command"] == command
    assert bundle.document["correlation_id"] == ran.json["correlation_id"]
    assert "Connected devices" in bundle.labels("after.xml")


@pytest.mark.usefixtures("server")
def test_the_prompt_of_a_turn_is_redacted_and_its_policy_holds_for_captures(folder: Path) -> None:
    prompt = f'type "{SECRET}" into the password field'
    line = ("bootstrap", prompt, "--deny-tool", "take_screenshot", "--evidence", "ev")
    claw_json(*line)
    assert find_secret(SECRET, [folder / "ev"]) == []
    assert Bundle(folder / "ev").names == {"envelope.json", "before.xml", "after.xml"}
