"""What a person shows on one phone is done again on another, and on the cassette made of it, and compared."""

from collections.abc import Iterator

import pytest
from msgspec import UNSET, Struct

from clawperator.recording.compare.compare import compare
from clawperator.recording.export import Export, load_demonstration
from clawperator.replay import Demonstration, ReplayReport, open_demonstration, replay
from tests.replay.persons import PERSONS, Door, open_door, record


class Shown(Struct, frozen=True):
    path: str
    demonstration: Demonstration
    export: Export


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    with open_door() as opened:
        yield opened


@pytest.fixture(scope="module", params=PERSONS)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("shown")
    path = record(PERSONS[request.param], folder)
    return Shown(path, open_demonstration(path), load_demonstration(path))


def check(report: ReplayReport, shown: Shown) -> None:
    assert report.error is UNSET
    assert report.ok
    assert {step.status for step in report.steps} == {"proved"}
    verdict = compare(shown.export, report.skillResult, strategy="derived")
    assert verdict.outcome == "literal_match"
    assert verdict.pathMatches


def test_it_is_done_again_on_a_fresh_phone(shown: Shown, door: Door) -> None:
    with door.fresh() as (_, hand):
        check(replay(shown.demonstration, hand), shown)


def test_it_is_done_again_on_the_cassette_of_it(shown: Shown, door: Door) -> None:
    with door.fresh(cassette=shown.path) as (_, hand):
        check(replay(shown.demonstration, hand), shown)
