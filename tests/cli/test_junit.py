"""JUnit reports of skills and replays: their structure, and that they are written however a run ends."""

import errno
import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.files import AtomicFile
from clawperator.cli.junit import MAX_OUTPUT, CaseProblem, ReportCase, ReportSuite, render_suite
from clawperator.replay import run as replay_run
from tests.device.phone_servers import running_phone_server
from tests.skills.sample_skills import ID, frame, write_skill
from tests.skills.test_run import printing
from tests.skills.test_run import run as run_skill
from tests.support.running import clawperator

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def read_report(path: Path) -> ET.Element:
    """The suite of a report whose structure is that of the common schema."""
    return check_structure(path.read_bytes())


def check_structure(data: bytes) -> ET.Element:
    root = ET.fromstring(data)
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"} == set(suite.attrib)
    datetime.strptime(suite.attrib["timestamp"], "%Y-%m-%dT%H:%M:%S")  # noqa: DTZ007 - the schema has no zone
    order = ["properties", "testcase", "system-out", "system-err"]
    places = [order.index(child.tag) for child in suite]
    assert places == sorted(places)
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.attrib["tests"]) == int(root.attrib["tests"]) > 0
    for attribute, tag in COUNTS.items():
        assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
    for case in cases:
        assert set(case.attrib) == {"classname", "name", "time"}
        assert float(case.attrib["time"]) >= 0
        assert len(case) <= 1
        for problem in case:
            assert set(problem.attrib) == ({"message"} if problem.tag == "skipped" else {"message", "type"})
    return suite


def problems(suite: ET.Element) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (case.attrib["name"], problem.tag, problem.get("type"), problem.get("message"))
        for case in suite.findall("testcase")
        for problem in case
    ]


text = st.text(st.characters(), max_size=30)
cases = st.builds(
    ReportCase,
    text,
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1, max_value=1e6),
    st.none() | st.builds(CaseProblem, st.sampled_from(("failure", "error", "skipped")), text, text),
)


@pytest.mark.random
@given(text, st.lists(cases, min_size=1, max_size=3), st.dictionaries(text, text, max_size=2), text, text)
def test_a_report_is_well_formed_whatever_its_texts_are(
    name: str, listed: list[ReportCase], properties: dict[str, str], output: str, errors: str
) -> None:
    suite = check_structure(
        render_suite(ReportSuite(name, tuple(listed), properties, output, errors), STARTED, 1.5)
    )
    assert suite.attrib["time"] == "1.500"
    assert suite.attrib["timestamp"] == "2026-01-02T03:04:05"
    assert len(suite.findall("properties/property")) == len(properties)


def test_texts_are_kept_and_control_characters_are_escaped() -> None:
    problem = CaseProblem("failure", 'a "b" <c> & \n\x00\ud800', "NODE_NOT_FOUND")
    suite = check_structure(render_suite(ReportSuite("s", (ReportCase("x\x1b", 0.25, problem),)), STARTED, 0))
    assert problems(suite) == [("x\\u001b", "failure", "NODE_NOT_FOUND", 'a "b" <c> & \n\\u0000\\ud800')]


def test_only_the_end_of_a_long_output_is_kept() -> None:
    data = render_suite(ReportSuite("s", (ReportCase("x"),), output="a" * MAX_OUTPUT + "end"), STARTED, 0)
    kept = check_structure(data).findtext("system-out")
    assert kept is not None
    assert kept.startswith("[3 characters omitted]\na")
    assert kept.endswith("aend")


# Skills.

POINTS = [
    {"id": "one", "status": "ok", "observedAt": "2099-01-02T03:04:05Z"},
    {"id": "two", "status": "failed", "note": "no\x07 door", "observedAt": "2099-01-02T03:04:07.500Z"},
    {"id": "three", "status": "skipped"},
]


def test_a_case_per_checkpoint_and_one_for_the_verification(tmp_path: Path) -> None:
    verified = {"status": "verified", "observed": {"kind": "text", "text": "hi"}}
    script = printing(frame(checkpoints=POINTS[:1], terminalVerification=verified))
    registry, report = write_skill(tmp_path, script), tmp_path / "report.xml"
    ran = run_skill(registry, "--junit", str(report))
    assert ran.code == 0
    suite = read_report(report)
    assert suite.attrib["name"] == ID
    assert [case.attrib["name"] for case in suite.findall("testcase")] == ["one", "terminal verification"]
    assert problems(suite) == []
    assert "hello" in (suite.findtext("system-out") or "")


def test_a_failed_checkpoint_is_a_failure_with_the_code_of_the_run(tmp_path: Path) -> None:
    script = printing(frame(status="failed", checkpoints=POINTS), 3)
    registry, report = write_skill(tmp_path, script), tmp_path / "report.xml"
    ran = run_skill(registry, "--junit", str(report))
    assert ran.code == 1
    suite = read_report(report)
    assert problems(suite) == [
        ("two", "failure", "SKILL_EXECUTION_FAILED", "no\\u0007 door"),
        ("three", "skipped", None, "skipped"),
    ]
    assert suite.findall("testcase")[1].attrib["time"] == "2.500"


def test_the_printed_document_is_the_same_with_a_report(tmp_path: Path) -> None:
    registry = write_skill(tmp_path, printing(frame(status="failed", checkpoints=POINTS), 3))

    def document(*argv: str) -> dict[str, Any]:
        ran = run_skill(registry, *argv)
        assert ran.code == 1
        return {name: value for name, value in ran.json.items() if name != "durationMs"}

    assert document("--junit", str(tmp_path / "report.xml")) == document()


def test_a_skill_that_times_out_is_an_error_of_the_run(tmp_path: Path) -> None:
    registry, report = (
        write_skill(tmp_path, "print('x', flush=True)\nimport time\ntime.sleep(600)\n"),
        tmp_path / "r.xml",
    )
    ran = run_skill(registry, "--timeout", "2000", "--junit", str(report))
    assert ran.json["code"] == "SKILL_EXECUTION_TIMEOUT"
    suite = read_report(report)
    assert [(name, tag, code) for name, tag, code, _ in problems(suite)] == [
        ("run", "error", "SKILL_EXECUTION_TIMEOUT")
    ]


def test_a_skill_without_a_result_frame_is_one_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert run_skill(write_skill(tmp_path, "print('hello')"), "--junit", str(report)).code == 0
    assert [case.attrib["name"] for case in read_report(report).findall("testcase")] == ["run"]


def test_an_unknown_skill_is_reported(tmp_path: Path) -> None:
    registry, report = write_skill(tmp_path), tmp_path / "report.xml"
    ran = clawperator("skills", "run", "no.such.skill", "--registry", str(registry), "--junit", str(report))
    assert [problem[2] for problem in problems(read_report(report))] == [ran.json["code"]]


def test_a_report_that_cannot_be_created_is_an_error_before_the_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    registry = write_skill(tmp_path, f"open({str(mark)!r}, 'w').close()")
    ran = run_skill(registry, "--junit", str(tmp_path / "no-folder" / "report.xml"))
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert not mark.exists()


def test_a_disk_that_is_full_at_the_end_changes_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, report = write_skill(tmp_path, "print('hello')"), tmp_path / "report.xml"
    leave = AtomicFile.__exit__

    def full(self: AtomicFile, *_: Any) -> None:
        leave(self, OSError, None, None)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(AtomicFile, "__exit__", full)
    ran = run_skill(registry, "--junit", str(report))
    assert (ran.code, ran.json["status"]) == (0, "success")
    assert "was not written: No space left on device" in ran.err
    assert not report.exists()


# Replays.


def test_a_case_per_replayed_step(shown: str, tmp_path: Path) -> None:
    report, out = tmp_path / "report.xml", tmp_path / "run.json"
    with running_phone_server():
        ran = clawperator("recording", "replay", "--input", shown, "--junit", str(report), "--out", str(out))
    assert ran.code == 0
    assert json.loads(out.read_bytes()) == ran.json
    suite = read_report(report)
    steps = [f"[{step['seq']}] {step['description']}" for step in ran.json["steps"]]
    assert [case.attrib["name"] for case in suite.findall("testcase")] == steps
    assert problems(suite) == []
    assert [p.attrib for p in suite.findall("properties/property")] == [
        {"name": "deviceId", "value": ran.json["deviceId"]}
    ]


def test_steps_after_a_failed_one_are_skipped(shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_run, "POLL_INTERVAL_MS", 10)
    report = tmp_path / "report.xml"
    with running_phone_server() as server:
        server.phone.set_fault("dialog", 1)
        ran = clawperator("recording", "replay", "--input", shown, "--junit", str(report))
    assert ran.code == 1
    found = problems(read_report(report))
    assert found[0][1:] == ("failure", ran.json["error"]["code"], ran.json["error"]["message"])
    assert {problem[1:] for problem in found[1:]} == {("skipped", None, "not run")}


def test_a_replay_without_a_device_is_reported(shown: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ran = clawperator("recording", "replay", "--input", shown, "--junit", str(report))
    assert ran.json["code"] == "ADB_NOT_FOUND"
    assert [problem[:3] for problem in problems(read_report(report))] == [("run", "error", "ADB_NOT_FOUND")]


def test_an_interrupted_replay_keeps_the_steps_so_far(
    shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.xml"
    run_step = replay_run._StepRunner.run_step

    def interrupted(self: Any, step: Any) -> tuple[str, str]:
        if step.kind == "click":
            _interrupt()
        return run_step(self, step)

    monkeypatch.setattr(replay_run._StepRunner, "run_step", interrupted)
    with running_phone_server():
        ran = clawperator("recording", "replay", "--input", shown, "--junit", str(report))
    assert (ran.code, ran.json["code"]) == (130, "INTERRUPTED")
    suite = read_report(report)
    assert [case.attrib["name"] for case in suite.findall("testcase")][1:] == ["run"]
    assert problems(suite)[0][2] == "INTERRUPTED"


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt


def test_a_dry_run_has_no_report(shown: str, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ran = clawperator("recording", "replay", "--input", shown, "--dry-run", "--junit", str(report))
    assert (ran.code, ran.json["code"]) == (1, "USAGE")
    assert not report.exists()
