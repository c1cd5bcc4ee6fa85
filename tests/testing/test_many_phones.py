"""Many phones in one process: what garbage collections skip, and that the memory of closed phones is freed."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from clawperator.testing import phone as phones
from clawperator.testing import simulated_phone
from clawperator.testing.phone import PhoneCount

SETTINGS = "com.android.settings"


@pytest.fixture(autouse=True)
def count(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A count of its own, which freezes after every two phones."""
    monkeypatch.setattr(phones, "FREEZE_EVERY", 2)
    monkeypatch.setattr("clawperator.testing.phone.OPEN_PHONES", PhoneCount())
    gc.unfreeze()  # the tests freeze what they share
    yield
    gc.freeze()


def test_collections_skip_the_phones_that_stay() -> None:
    with ExitStack() as stack:
        stays = [stack.enter_context(simulated_phone()) for _ in range(2)]
        for phone in stays:
            phone.open_app(SETTINGS)
        assert gc.get_freeze_count() == 0
        stack.enter_context(simulated_phone())
        tracked = {id(one) for one in gc.get_objects()}
        assert not any(id(phone.phone) in tracked for phone in stays)
        for phone in stays:
            phone.click("Display")
            assert phone.shows("Dark theme")
    assert gc.get_freeze_count() == 0


def test_the_memory_of_a_closed_phone_is_freed_while_others_stay() -> None:
    with ExitStack() as stack, ExitStack() as first:
        closed = weakref.ref(first.enter_context(simulated_phone()).phone)
        for _ in range(4):
            stack.enter_context(simulated_phone())
        assert gc.get_freeze_count() > 0
        first.close()
        gc.collect()
        assert closed() is None


def test_a_pool_whose_phones_come_and_go_does_not_collect_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    collections: list[None] = []
    monkeypatch.setattr(gc, "collect", lambda: collections.append(None))
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(simulated_phone())
        for _ in range(5):
            with simulated_phone():
                pass
    assert len(collections) == 1


def test_a_process_that_freezes_objects_itself_is_left_alone() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(simulated_phone())
    assert gc.get_freeze_count() >= frozen > 0


def test_phones_share_the_descriptions_of_apps_and_not_their_state() -> None:
    with simulated_phone() as one, simulated_phone() as other:
        assert one.phone.packages.app(SETTINGS) is other.phone.packages.app(SETTINGS)
        for phone in (one, other):
            phone.open_app(SETTINGS)
        one.click("Search settings")
        one.enter_text("blue")
        assert one.shows("blue")
        assert not other.shows("blue")
        assert other.shows("Display")
