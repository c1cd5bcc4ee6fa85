"""Every flow is replayed on a fresh phone and on its own cassette, and the runs are compared."""

from collections.abc import Iterator

import pytest
from msgspec import UNSET, Struct

from clawperator.recording.compare.compare import compare
from clawperator.recording.export import Export, load_demonstration
from clawperator.replay.demonstration import open_demonstration, replay
from clawperator.replay.report import Demonstration, ReplayReport
from tests.replay.flows import FLOWS, ReplayTarget, record, replay_target


class Shown(Struct, frozen=True):
    path: str
    demonstration: Demonstration
    export: Export


@pytest.fixture(scope="module")
def target() -> Iterator[ReplayTarget]:
    with replay_target() as opened:
        yield opened


@pytest.fixture(scope="module", params=FLOWS)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("shown")
    path = record(FLOWS[request.param], folder)
    return Shown(path, open_demonstration(path), load_demonstration(path))


def check(report: ReplayReport, shown: Shown) -> None:
    assert report.error is UNSET
    assert report.ok
    assert {step.status for step in report.steps} == {"proved"}
    verdict = compare(shown.export, report.skillResult, strategy="derived")
    assert verdict.outcome == "literal_match"
    assert verdict.pathMatches


def test_the_flow_is_replayed_on_a_fresh_phone(shown: Shown, target: ReplayTarget) -> None:
    with target.fresh() as (_, connected):
        check(replay(shown.demonstration, connected), shown)


def test_the_flow_is_replayed_on_its_cassette(shown: Shown, target: ReplayTarget) -> None:
    with target.fresh(cassette=shown.path) as (_, connected):
        check(replay(shown.demonstration, connected), shown)
