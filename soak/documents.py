"""Readers of documents: executions, hierarchies, log lines, skills, app files, APKs and control requests."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from clawperator._base.home import PhoneFolder, PhoneRecord
from clawperator._base.typed import decode
from clawperator.contract.execution import new_execution, validate
from clawperator.contract.skill_result import SkillResult
from clawperator.device.backends.operator_link import LogLines, OperatorLogReader, plausible_text, read_record
from clawperator.device.run.lease import Holder, lease
from clawperator.errors import ClawError
from clawperator.phone.core.apk import ApkError, read_apk
from clawperator.phone.process.launch import describe_phone
from clawperator.phone.toolkit.appfile import load_apps
from clawperator.skills.registry import SkillRegistry, read_registry
from clawperator.skills.run import read_frame
from clawperator.skills.validation import (
    compile_artifact,
    parse_agent,
    parse_contract,
    parse_inputs,
    read_variables,
    validate_all,
    validate_skill,
)
from clawperator.testing import simulated_phone
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.write import write_hierarchy
from soak.fuzz import Target, reads, reads_file
from soak.runner import require
from tests.phone.core.apks import make_apk

_MATCHER = {"textEquals": "Wi-Fi", "role": "switch"}
_EXECUTION = new_execution(
    [
        {"type": "click", "params": {"matcher": _MATCHER}},
        {"type": "scroll", "params": {"direction": "down", "container": {"role": "list"}}},
        {"type": "enter_text", "params": {"matcher": _MATCHER, "text": "hello", "submit": True}},
        {"type": "scroll_until", "params": {"matcher": _MATCHER, "maxScrolls": 5, "clickAfter": True}},
        {"type": "open_uri", "params": {"uri": "https://example.com"}},
        {"type": "read_text", "params": {"matcher": _MATCHER, "validator": "regex", "validatorPattern": "a+"}},
        {"type": "wait_for_navigation", "params": {"expectedPackage": "com.a.b", "timeoutMs": 5000}},
        {"type": "press_key", "params": {"key": "back"}},
        {"type": "snapshot_ui"},
    ],
    command_id="c",
    source="soak",
    timeout_ms=30_000,
)
_RESULT = {
    "commandId": "c",
    "taskId": "c",
    "status": "success",
    "stepResults": [{"id": "a1", "actionType": "click", "success": True, "data": {"effect": "changed"}}],
    "error": None,
}
_TREE = (
    b"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation=\"0\">"
    b'<node index="0" text="a &amp; b&#10;c" resource-id="com.a:id/b" class="android.widget.TextView" '
    b'package="com.a" content-desc="" checkable="true" checked="false" clickable="true" bounds="[0,0][90,40]">'
    b'<node index="0" text="\xc3\xa9 \xf0\x9f\x98\x80" bounds="[1,2][3,4]" password="true" /></node></hierarchy>'
)
_LOG = b"\n".join(
    (
        b"--------- beginning of main",
        b"11-16 10:00:00.000  100  101 D Operator: [Clawperator-Command] start commandId=c",
        b"11-16 10:00:00.000  100  101 I Operator: [TaskScope] UI Hierarchy:",
        *(
            b"11-16 10:00:00.000  100  101 I Operator: " + line
            for line in _TREE.replace(b"><", b">\n<").split(b"\n")
        ),
        b"11-16 10:00:00.000  100  101 I Operator: [Clawperator-Result] " + json.dumps(_RESULT).encode(),
        b"",
    )
)
_SKILL_ID = "com.android.settings.overview"
_FRAME = {
    "contractVersion": "1.0.0",
    "skillId": _SKILL_ID,
    "goal": {"kind": "read"},
    "inputs": {},
    "status": "success",
    "checkpoints": [{"id": "one", "status": "ok", "note": "seen"}],
    "terminalVerification": {"status": "verified", "observed": {"kind": "text", "text": "41%"}},
    "diagnostics": {},
}
_CONTRACT = {
    "inputs": {"name": "string", "percent": "integer[0,100]"},
    "verification": {"kind": "node_text_matches", "matcher": "Discharge to {percent}%"},
}
_ENTRY: dict[str, Any] = {
    "id": _SKILL_ID,
    "applicationId": "com.android.settings",
    "intent": "overview",
    "summary": "Read the overview.",
    "path": f"skills/{_SKILL_ID}",
    "skillFile": f"skills/{_SKILL_ID}/SKILL.md",
    "scripts": [f"skills/{_SKILL_ID}/scripts/run.py"],
    "artifacts": [f"skills/{_SKILL_ID}/artifacts/read.recipe.json"],
}
_APP = b"""
package = "com.example.door"
label = "Door"
links = ["door:"]
[state]
code = ""
[[screen]]
name = "home"
title = "Front door"
on_show = { toast = "hello {code}" }
  [[screen.view]]
  kind = "field"
  bind = "code"
  hint = "Code"
  width = 200
  [[screen.view]]
  kind = "button"
  text = "Open {code}"
  do = [{ put = { who = "You" } }, { after = 10, do = { go = "open", name = "x" } }]
  [[screen.view]]
  kind = "listing"
    [[screen.view.view]]
    kind = "item"
    text = "Later"
    when = "who"
[[screen]]
name = "open"
kind = "dialog"
  [[screen.view]]
  kind = "switch"
  bind = "on"
  do = { back = true }
"""


def _encoded(*values: Any) -> list[bytes]:
    return [json.dumps(value).encode() for value in values]


def _execution(data: bytes) -> None:
    try:
        document = decode(data)
    except ValueError:
        return
    plan = validate(document)
    require(validate(plan.document).document == plan.document, "a validated execution validates to itself")


def _hierarchy(data: bytes) -> None:
    tree = parse_hierarchy(data)
    again = parse_hierarchy(write_hierarchy(tree))
    same = [node.attributes for node in again.nodes] == [node.attributes for node in tree.nodes]
    require(same, "a hierarchy that is written and read again is the same")


def _log(data: bytes) -> None:
    lines, reader = LogLines(), OperatorLogReader()
    for start in range(0, len(data), 700):
        for line in lines.feed(data[start : start + 700]):
            record = read_record(line)
            document = reader.feed(record) if record is not None else None
            if document is not None:
                msgspec.json.encode(document)
    for tree in reader.hierarchies:
        plausible_text(tree)


def _frame(data: bytes) -> None:
    result = read_frame(data.decode("utf-8", "replace"), _SKILL_ID, {"kind": "script"})
    if result is not None:
        msgspec.convert(result, SkillResult)


def _contract(data: bytes) -> None:
    try:
        document = decode(data)
    except ValueError:
        return
    contract = parse_contract(_SKILL_ID, document)
    if contract.inputs is not None:
        parse_inputs(_SKILL_ID, contract.inputs, ["--name", "x", "7"])
    try:
        parse_agent(document)
    except ValueError:
        return


def _registry(path: str) -> None:
    registry = read_registry(path)
    try:
        validate_all(registry, dry_run=True)
    except ClawError:
        return
    for entry in registry.entries:
        registry.entry(entry["id"])


def _write_skill(folder: Path) -> SkillRegistry:
    """A registry with one complete skill."""
    files = {"scripts/run.py": b"", "SKILL.md": b"", "skill.json": _SKILL, "artifacts/read.recipe.json": _TEMPLATE}
    for name, data in files.items():
        path = folder / _ENTRY["path"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    registry = folder / "skills" / "skills-registry.json"
    registry.write_text(json.dumps({"schemaVersion": 1, "skills": [_ENTRY]}))
    return read_registry(str(registry))


def _open_artifact(folder: Path) -> Callable[[bytes], object]:
    registry = _write_skill(folder)

    def call(data: bytes) -> None:
        (folder / _ENTRY["artifacts"][0]).write_bytes(data)
        compile_artifact(registry, _SKILL_ID, "read", '{"LABEL":"Wi-Fi","N":5}')

    return call


def _open_skill(folder: Path) -> Callable[[bytes], object]:
    registry = _write_skill(folder)

    def call(data: bytes) -> None:
        (folder / _ENTRY["path"] / "skill.json").write_bytes(data)
        validate_skill(registry, _SKILL_ID, dry_run=True)

    return call


def _variables(data: bytes) -> None:
    read_variables(data.decode("utf-8", "surrogateescape"))


def _app(path: str) -> None:
    with simulated_phone(apps=load_apps(path)) as phone:
        for app in load_apps(path):
            phone.open_app(app.package)
            phone.xml()
            for label in phone.labels()[:4]:
                if phone.shows(label):
                    phone.person.tap(label)
            phone.sleep(1)
            phone.xml()


def _lease(folder: Path) -> Callable[[bytes], object]:
    """A record that an earlier process left: whatever it is, the next command gets the device, or is refused."""

    def call(data: bytes) -> None:
        with patch.dict(os.environ, {"CLAWPERATOR_HOME": str(folder)}):
            (folder / "leases").mkdir(exist_ok=True)
            (folder / "leases" / f"{b'claw-1'.hex()}.lock").write_bytes(data)
            with lease("claw-1", "c", 0.0):
                pass

    return call


def _phone_record(folder: Path) -> Callable[[bytes], object]:
    def call(data: bytes) -> None:
        with patch.dict(os.environ, {"CLAWPERATOR_HOME": str(folder)}):
            phone = PhoneFolder("claw-1")
            phone.make()
            (folder / "phones" / "claw-1" / "phone.json").write_bytes(data)
            phone.read()
            describe_phone(phone)

    return call


def _apk(data: bytes) -> None:
    try:
        read_apk(io.BytesIO(data))
    except ApkError:
        return


_SKILL = json.dumps({**_ENTRY, "contract": _CONTRACT, "agent": {"cli": "claude", "timeoutMs": 5}}).encode()
_RECORD = PhoneRecord("claw-1", 1, 0, "127.0.0.1", 1, 2, 3, "token", 0, "com.clawperator.operator", ["a.toml"])
_HOLDER = Holder(1, "c", 1_700_000_000_000, "click", started=1.0, ends=2.0, sent="c")
_TEMPLATE = json.dumps(_EXECUTION).replace('"Wi-Fi"', '"{{LABEL}}"').replace('"c"', '"{{COMMAND_ID}}"').encode()

TARGETS = (
    Target(
        "execution", _encoded(_EXECUTION, {**_EXECUTION, "actions": _EXECUTION["actions"][:1]}), reads(_execution)
    ),
    Target("hierarchy", [_TREE], reads(_hierarchy)),
    Target("log", [_LOG], reads(_log)),
    Target("frame", [b"hi\n[Clawperator-Skill-Result]\n" + frame for frame in _encoded(_FRAME)], reads(_frame)),
    Target("skill contract", _encoded(_CONTRACT, {"cli": "claude", "timeoutMs": 5}), reads(_contract)),
    Target(
        "skills registry",
        _encoded({"schemaVersion": 1, "skills": [_ENTRY]}),
        reads_file("skills/skills-registry.json", _registry),
    ),
    Target("artifact", [_TEMPLATE], _open_artifact),
    Target("skill.json", [_SKILL], _open_skill),
    Target("variables", _encoded({"LABEL": "x", "1": 2, "a": [1.5]}), reads(_variables)),
    Target("lease", [msgspec.json.encode(_HOLDER) + b"\n"], _lease),
    Target("phone record", [msgspec.json.encode(_RECORD)], _phone_record),
    Target("apk", [make_apk("com.example.one", label="One")], reads(_apk)),
)
SLOW_TARGETS = (Target("app file", [_APP], reads_file("door.toml", _app)),)
