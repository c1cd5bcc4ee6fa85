"""The pytest fixture ``phone``. It imports nothing until a test uses it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clawperator.testing import SimulatedPhone


@pytest.fixture
def phone() -> "Iterator[SimulatedPhone]":
    """A new simulated phone in this process, with a virtual clock."""
    from clawperator.testing import simulated_phone

    with simulated_phone() as started:
        yield started
