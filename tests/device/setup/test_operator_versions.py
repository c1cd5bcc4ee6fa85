"""The table of supported Operators, at its boundaries."""

import pytest

from clawperator.device.setup.version_check import Version, is_supported, read_version, supported_text


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((0, 0, 9), False),
        ((0, 1, 0), True),
        ((0, 2, 99), True),
        ((0, 3, 0), False),
        ((0, 5, 2), False),
        ((0, 5, 3), True),
        ((0, 7, 99), True),
        ((0, 8, 0), False),
        ((1, 1, 0), False),
    ],
)
def test_a_version_is_supported_from_the_first_to_the_last_of_a_row(version: Version, *, expected: bool) -> None:
    assert is_supported(version) is expected


@pytest.mark.parametrize(
    ("name", "version"),
    [("1.2.3", (1, 2, 3)), ("1.2.3-d", (1, 2, 3)), ("1.2", None), ("1.2.3-rc1", None), ("v1.2.3", None)],
)
def test_a_version_has_three_numbers(name: str, version: Version | None) -> None:
    assert read_version(name) == version


def test_the_supported_versions_are_named() -> None:
    assert supported_text() == "0.1.0 to 0.2.x and 0.5.3 to 0.7.x"
