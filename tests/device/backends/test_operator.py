"""The Operator backend: parts of a plan, and snapshots whose hierarchies did not arrive."""

from pathlib import Path

import pytest

from clawperator._deadline import Deadline
from clawperator.contract import ResultEnvelope, StepResult, new_execution, validate
from clawperator.contract.wire import TEXT_BYTES, TEXT_SUM, sum_of
from clawperator.device import resolve_device
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import RunWatch
from clawperator.device.backends.operator import OperatorRun, attach_hierarchies
from clawperator.device.backends.operator_link import Delivered
from clawperator.device.backends.operator_log import LoggedTree
from clawperator.device.operators import OperatorChoice
from clawperator.device.run import run_plan
from clawperator.errors import CODES
from tests.device.phone_servers import running_phone_server

BIG_APP = """package = "com.example.big"
label = "Big"
[[screen]]
name = "home"
  [[screen.view]]
  kind = "scroll"
"""
ROW = """    [[screen.view.view]]
    kind = "text"
    text = "Row {number}"
"""


def failed_step(data: dict[str, str], orphaned: int = 0) -> dict[str, str]:
    step = StepResult("snap", "snapshot_ui", True, {"actual_format": "hierarchy_xml"} | data)
    envelope = ResultEnvelope("c", "t", "success", [step], None)
    (made,) = attach_hierarchies(Delivered(envelope, (), orphaned))
    assert not made.success
    return made.data


def test_a_large_hierarchy_that_did_not_arrive_is_too_large() -> None:
    data = failed_step({TEXT_BYTES: "1400000", TEXT_SUM: "1"})

    assert data["error"] == "SNAPSHOT_TOO_LARGE"
    assert data["hint"] == "Run 'clawperator snapshot --backend adb'."
    assert not CODES["SNAPSHOT_TOO_LARGE"].retryable


def test_a_hierarchy_that_lost_its_beginning_is_too_large_also_without_a_declared_size() -> None:
    assert failed_step({}, orphaned=250_000)["error"] == "SNAPSHOT_TOO_LARGE"


def test_a_small_hierarchy_that_did_not_arrive_may_arrive_the_next_time() -> None:
    data = failed_step({TEXT_BYTES: "26000", TEXT_SUM: "1"}, orphaned=500)

    assert data["error"] == "SNAPSHOT_EXTRACTION_FAILED"
    assert CODES["SNAPSHOT_EXTRACTION_FAILED"].retryable


def test_a_hierarchy_without_a_checksum_is_marked() -> None:
    lines = ("<?xml version='1.0' ?>", '<hierarchy rotation="0">', '<node index="0" class="a" />', "</hierarchy>")
    tree = LoggedTree(lines, True)
    step = StepResult("snap", "snapshot_ui", True, {})
    (made,) = attach_hierarchies(Delivered(ResultEnvelope("c", "t", "success", [step], None), (tree,)))
    assert (made.success, made.data["complete"]) == (True, "unverified")
    text = "\n".join(lines)
    length, checksum = sum_of(text)
    summed = StepResult("snap", "snapshot_ui", True, {TEXT_BYTES: str(length), TEXT_SUM: str(checksum)})
    (proved,) = attach_hierarchies(Delivered(ResultEnvelope("c", "t", "success", [summed], None), (tree,)))
    assert proved.data == {"text": text}


def test_a_screen_beyond_the_log_names_the_command_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    app = tmp_path / "big.toml"
    app.write_text(BIG_APP + "".join(ROW.format(number=number) for number in range(3_600)))
    look = {"type": "snapshot_ui", "params": {"retry": {"maxAttempts": 1}, "view": "outline"}}
    plan = validate(new_execution([look], command_id="c", source="test", timeout_ms=60_000))
    with running_phone_server(apps=(str(app),)) as server:
        server.phone.launch("com.example.big")
        device = resolve_device("claw-1")
        too_large = run_plan(plan, device, package="com.clawperator.operator").envelope
        arrived = run_plan(plan, device, package="com.clawperator.operator", backend="adb").envelope

    assert too_large.errorCode == "SNAPSHOT_TOO_LARGE"
    assert too_large.hint == "Run 'clawperator snapshot --backend adb'."
    assert arrived.status == "success"
    assert '"Row 0"' in arrived.stepResults[0].data["text"]


@pytest.mark.parametrize(("seconds_left", "timeout_ms"), [(12.5, 12_500), (0.2, 1_000), (0.0, 1_000)])
def test_a_part_of_a_plan_gets_the_time_that_is_left(seconds_left: float, timeout_ms: int) -> None:
    look = {"id": "look", "type": "snapshot_ui"}
    plan = validate(new_execution([look], command_id="c", source="test", timeout_ms=60_000))
    run = OperatorRun(Device("claw-1", Endpoint("127.0.0.1", 1)), OperatorChoice("p"), plan, RunWatch())
    run._deadline = Deadline(seconds_left, lambda: 100.0)
    part = run._part([look])
    assert (part["commandId"], part["timeoutMs"]) == ("c.1", timeout_ms)
    assert run._part([look])["commandId"] == "c.2"
