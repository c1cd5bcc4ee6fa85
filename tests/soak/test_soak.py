"""A short part of every soak campaign, with a fixed seed: no findings."""

import json
from functools import partial

import pytest

from clawperator.commands import leaves
from soak import faults
from soak.campaigns import CAMPAIGNS
from soak.faults import CASES, NOT_ON_A_PHONE
from soak.runner import Campaign, Run, install_timers, require, started

SEED = 20
# How many inputs of each campaign the suite tries.
INPUTS = {"readers": 3_000, "languages": 100, "endpoints": 300, "policies": 2_000, "kills": 5, "secrets": 5}


def found(run: Run) -> list[str]:
    return [f"{finding.target}: {finding.problem}\n{finding.detail}\n{finding.data!r}" for finding in run.findings]


@pytest.fixture(autouse=True)
def timers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place for the campaigns that change the working folder, and the timers they need."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    install_timers()


@pytest.mark.parametrize("campaign", [c for c in CAMPAIGNS if c.name in INPUTS], ids=lambda c: c.name)
def test_a_short_campaign_finds_nothing(campaign: Campaign) -> None:
    with started(campaign, SEED, most=INPUTS[campaign.name]) as run:
        campaign.run(run)
        assert run.inputs >= INPUTS[campaign.name]
        assert found(run) == []


def test_a_sample_of_the_fault_matrix_finds_nothing() -> None:
    (campaign,) = (c for c in CAMPAIGNS if c.name == "faults")
    with started(campaign, SEED, most=12) as run:
        for case, backend, settings in run.random.sample(faults.cells(), 12):
            faults.check_cell(run, case, backend, settings)
        assert found(run) == []


def test_every_command_that_uses_a_device_is_in_the_fault_matrix() -> None:
    assert {case.name for case in CASES} | NOT_ON_A_PHONE == {name for name, _ in leaves()}
    assert not {case.name for case in CASES} & NOT_ON_A_PHONE


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


def _keep(run: Run, inputs: list[bytes], _: str, data: bytes, __: object) -> None:
    run.inputs += 1
    inputs.append(data)


def test_the_same_seed_tries_the_same_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    (campaign,) = (c for c in CAMPAIGNS if c.name == "readers")
    tried: list[list[bytes]] = [[], []]
    for inputs in tried:
        with started(campaign, SEED, most=50) as run:
            monkeypatch.setattr(run, "check", partial(_keep, run, inputs))
            campaign.run(run)
    assert tried[0] == tried[1]
    assert json.loads(tried[0][0])
