"""The fixture ``phone`` for pytest. It costs nothing until a test asks for it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clawperator.testing import SimulatedPhone


@pytest.fixture
def phone() -> "Iterator[SimulatedPhone]":
    """A new simulated phone, in this process, by a virtual clock."""
    from clawperator.testing import simulated_phone

    with simulated_phone() as simulated:
        yield simulated
