"""The room's public names."""

import pytest

import clawperator.recording as room


def test_every_public_name_is_there_and_has_a_home() -> None:
    assert sorted(room._HOMES) == sorted(room.__all__)
    for name in room.__all__:
        assert getattr(room, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        room.nothing_here  # noqa: B018 - the look-up is the test
