"""Missing events of a recording, by their sequence numbers.

A phone numbers events from 0, also those that it could not write. So a number that is missing is an event that is
missing.
"""

from collections.abc import Iterable, Iterator
from math import ceil, floor
from typing import TypeVar

from clawperator.recording.events import EventFacts

E = TypeVar("E", bound=EventFacts)

_MAX_LISTED = 10


class SeqGaps:
    """Collects the missing numbers while the events of a recording come in order."""

    def __init__(self) -> None:
        self.count = 0
        self.next: int | float = 0  # the number that the next event has if none is missing
        self._ranges: list[str] = []
        self._more = 0

    def add(self, seq: int | float) -> None:
        """Count an event. Events of equal numbers are no gap."""
        if seq > self.next:
            first, last = ceil(self.next), floor(seq) - (seq == floor(seq))
            if last >= first:
                self.count += last - first + 1
                if len(self._ranges) < _MAX_LISTED:
                    self._ranges.append(f"{first}-{last}" if last > first else f"{first}")
                else:
                    self._more += 1
        self.next = max(self.next, seq + 1)

    def add_page(self, numbers: list[int | float]) -> None:
        """Count the events of a page."""
        first = self.next
        if isinstance(first, int) and numbers == list(range(first, first + len(numbers))):
            self.next = first + len(numbers)
            return
        for number in numbers:
            self.add(number)

    def watch(self, events: Iterable[E]) -> Iterator[E]:
        """The events, each counted when it passes."""
        for event in events:
            if event.seq != self.next:
                self.add(event.seq)
            else:
                self.next += 1
            yield event

    def warnings(self, what: str = "") -> list[str]:
        """One sentence when events are missing; none otherwise. ``what`` names the recording."""
        if not self.count:
            return []
        more = f" and {self._more} more ranges" if self._more else ""
        where = f" from {what}" if what else ""
        missing = "1 event is missing" if self.count == 1 else f"{self.count} events are missing"
        return [f"{missing}{where}: seq {', '.join(self._ranges)}{more}"]
