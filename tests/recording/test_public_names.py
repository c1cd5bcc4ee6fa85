"""The public names of the package."""

import pytest

from clawperator import recording


def test_every_public_name_can_be_imported() -> None:
    assert set(recording.__all__) <= set(dir(recording))
    for name in recording.__all__:
        assert getattr(recording, name).__module__.startswith("clawperator.recording.")


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        getattr(recording, "nothing_here")  # noqa: B009 - type checkers know that it is not there
