"""A short part of every soak campaign, with a fixed seed: no findings."""

import json
import re
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from clawperator.agent.sessions.store import SessionStore
from clawperator.contract.commands import leaves
from clawperator.device.backends import operator_driver
from clawperator.errors import ClawError
from soak import faults, references, runner
from soak import run as soak_run
from soak.campaigns import CAMPAIGNS, READERS, SLOW_READERS
from soak.faults import CASES, NOT_ON_A_PHONE
from soak.fuzz import Target
from soak.runner import Campaign, Finding, OracleError, PartResult, Run, install_timers, require, started

SEED = 20
MOVING_TASK = 1_457
# How many inputs of each campaign the suite tries.
INPUTS = {
    "readers": 3_000,
    "languages": 100,
    "endpoints": 300,
    "policies": 2_000,
    "references": 40,
    "http": 300,  # ten of each operation
    "events": 1,
    "kills": 5,
    "secrets": 5,
}


def found(run: Run) -> list[str]:
    return [f"{finding.target}: {finding.problem}\n{finding.detail}\n{finding.data!r}" for finding in run.findings]


@pytest.fixture(autouse=True)
def timers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place for the campaigns that change the working folder, and the timers they need."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    before = {number: signal.getsignal(number) for number in (signal.SIGVTALRM, signal.SIGALRM)}
    install_timers()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("campaign", [c for c in CAMPAIGNS if c.name in INPUTS], ids=lambda c: c.name)
def test_a_short_campaign_finds_nothing(campaign: Campaign) -> None:
    with started(campaign, SEED, most=INPUTS[campaign.name]) as run:
        campaign.run(run)
        assert run.inputs >= INPUTS[campaign.name]
        assert found(run) == []


def test_the_references_campaign_notices_a_product_that_does_not_check_what_was_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In this task the rows move after the host has found the place of one of them."""
    counts = references.TaskCounts()
    with started(Campaign("references", references.run_references, 1), SEED) as run:
        references.try_task(run, MOVING_TASK, counts)
        assert (counts.tasks, counts.wrong, counts.unverified) == (1, 0, 0)
        monkeypatch.setattr(operator_driver, "check_matched", lambda *_, **__: None)
        monkeypatch.setattr(operator_driver, "own_guard", lambda _: {})
        monkeypatch.setattr(operator_driver, "is_in_place", lambda *_: True)
        with pytest.raises(OracleError, match="a wrong click was reported as success"):
            references.try_task(run, MOVING_TASK, counts)
    assert counts.wrong == 1


def test_a_sample_of_the_fault_matrix_finds_nothing() -> None:
    (campaign,) = (c for c in CAMPAIGNS if c.name == "faults")
    with started(campaign, SEED, most=12) as run:
        for case, backend, settings in run.random.sample(faults.cells(), 12):
            faults.check_cell(run, case, backend, settings)
        assert found(run) == []


def test_every_command_that_uses_a_device_is_in_the_fault_matrix() -> None:
    assert {case.name for case in CASES} | NOT_ON_A_PHONE == {name for name, _ in leaves()}
    assert not {case.name for case in CASES} & NOT_ON_A_PHONE


@pytest.mark.parametrize("target", [*READERS, *SLOW_READERS], ids=lambda target: target.name)
def test_the_inputs_that_are_mutated_are_valid(target: Target, tmp_path: Path) -> None:
    call = target.open(tmp_path)
    for seed in target.seeds:
        call(seed)
    if target.name == "session":
        assert SessionStore(str(tmp_path)).load("one").prompt_count == 1


def test_only_typed_errors_may_escape_and_findings_are_counted_once() -> None:
    run = Run("test", 1)

    def fails(data: bytes) -> None:
        require(data != b"oracle", "an oracle")
        raise ValueError(data.decode())

    for data in (b"a", b"b", b"oracle"):
        run.check("target", data, fails)
    run.close()
    first, second = run.findings
    assert (first.count, first.data) == (2, b"a")
    assert first.problem.startswith("ValueError in ")
    assert (second.count, second.problem) == (1, "an oracle")


def _keep(run: Run, inputs: list[bytes], _: str, data: bytes, __: object, **___: object) -> None:
    run.inputs += 1
    inputs.append(data)


def test_a_typed_error_is_a_finding_where_nothing_may_be_refused() -> None:
    def refuse(_: bytes) -> None:
        raise ClawError("PHONE_START_FAILED", "no")

    run = Run("test", 1)
    run.check("target", b"x", refuse)
    assert list(run.findings) == []
    run.check("target", b"x", refuse, may_refuse=False)
    run.close()
    assert [finding.problem for finding in run.findings] == ["failed with PHONE_START_FAILED"]


def test_the_same_seed_tries_the_same_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    (campaign,) = (c for c in CAMPAIGNS if c.name == "readers")
    tried: list[list[bytes]] = [[], []]
    for inputs in tried:
        with started(campaign, SEED, most=50) as run:
            monkeypatch.setattr(run, "check", partial(_keep, run, inputs))
            campaign.run(run)
    assert tried[0] == tried[1]
    assert json.loads(tried[0][0])


def test_a_finding_is_printed_with_its_reproducer_and_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = Finding("readers", "skills registry", "KeyError in a.py:1", "the traceback", b"\x00input", 3)
    results = [PartResult("readers", 1_200, 2.0, (finding,)), PartResult("readers", 300, 2.0, ())]
    monkeypatch.setattr(soak_run, "_run_all", lambda *_: results)
    monkeypatch.setattr("sys.argv", ["soak", "--seed", "7", "--findings", str(tmp_path), "readers"])
    assert soak_run.main() == 1
    printed = capsys.readouterr().out
    assert re.search(r"^readers +1,500 +1 +4$", printed, re.MULTILINE)
    assert "seed 7: 1 findings" in printed
    (kept,) = tmp_path.glob("*.input")
    assert kept.read_bytes() == b"\x00input"
    assert str(kept) in printed
    assert "the traceback" in kept.with_suffix(".txt").read_text()


def test_a_run_without_findings_succeeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak_run, "_run_all", lambda *_: [PartResult("readers", 10, 1.0, ())])
    monkeypatch.setattr("sys.argv", ["soak", "--seed", "7", "readers"])
    assert soak_run.main() == 0
    assert "seed 7: 0 findings" in capsys.readouterr().out


def test_an_input_that_keeps_the_processor_busy_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CPU_SECONDS", 0.2)

    def spin(_: bytes) -> None:
        while True:
            pass

    run = Run("test", 1)
    run.check("target", b"x", spin)
    run.close()
    assert [finding.problem for finding in run.findings] == ["too slow"]
