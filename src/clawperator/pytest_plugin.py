"""The fixture ``phone`` for pytest. It costs nothing until a test asks for it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clawperator.testing import BoxedPhone


@pytest.fixture
def phone() -> "Iterator[BoxedPhone]":
    """A new phone in the box, in this process, by a virtual clock."""
    from clawperator.testing import start_phone

    with start_phone() as boxed:
        yield boxed
