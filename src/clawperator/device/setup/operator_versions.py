"""The versions of the Operator that this program works with."""

import re

from msgspec import Struct

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
# The suffix of development builds, which behave as the release.
_DEVELOPMENT = "-d"

Version = tuple[int, int, int]


class SupportedVersions(Struct, frozen=True):
    """A range of versions with one contract, and whose they are."""

    first: Version
    # Up to this minor version, with all of its patches.
    last: tuple[int, int]
    origin: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.first))} to {'.'.join(map(str, self.last))}.x"


SUPPORTED_OPERATORS = (
    SupportedVersions((0, 1, 0), (0, 2), "the simulated phone"),
    SupportedVersions((0, 5, 3), (0, 7), "the reference project"),
)


def read_version(name: str) -> Version | None:
    """The numbers of a version name such as 0.5.3 or 0.5.3-d; None for any other text."""
    found = _VERSION.fullmatch(name.removesuffix(_DEVELOPMENT))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def is_supported(version: Version) -> bool:
    return any(row.first <= version and version[:2] <= row.last for row in SUPPORTED_OPERATORS)


def supported_text() -> str:
    return " and ".join(map(str, SUPPORTED_OPERATORS))
