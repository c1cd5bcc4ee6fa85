"""Sorting a file of any size by ``seq``: an index of its lines, in runs that fit memory, merged.

Kept apart from the reader because almost no recording needs it.
"""

import heapq
import marshal
from collections.abc import Iterator
from typing import IO

_RUN = 50_000  # entries sorted in memory, about 8 MB
_BLOCK = 500  # entries of a run read back at a time

# The seq of a line, where it begins, and how long it is.
Entry = tuple[int | float, int, int]


class SeqIndex:
    """Lines of a file, by ``seq`` and then by place."""

    def __init__(self) -> None:
        self._run: list[Entry] = []
        self._spilled: IO[bytes] | None = None
        self._blocks: list[list[int]] = []  # where each block of each run lies

    def __del__(self) -> None:
        if self._spilled is not None:
            self._spilled.close()

    def add(self, seq: int | float, offset: int, size: int) -> None:
        self._run.append((seq, offset, size))
        if len(self._run) >= _RUN:
            self._spill()

    def places(self) -> Iterator[tuple[int, int]]:
        """Where every line begins and how long it is, in order."""
        self._run.sort()
        runs = [self._read(blocks) for blocks in self._blocks]
        for _, offset, size in heapq.merge(*runs, self._run):
            yield offset, size

    def _spill(self) -> None:
        if self._spilled is None:
            import tempfile

            self._spilled = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the index
        self._run.sort()
        blocks: list[int] = []
        for i in range(0, len(self._run), _BLOCK):
            blocks.append(self._spilled.tell())
            marshal.dump(self._run[i : i + _BLOCK], self._spilled)
        self._blocks.append(blocks)
        self._run = []

    def _read(self, blocks: list[int]) -> Iterator[Entry]:
        assert self._spilled is not None
        for place in blocks:
            self._spilled.seek(place)
            yield from marshal.load(self._spilled)  # noqa: S302 - our own temporary file
