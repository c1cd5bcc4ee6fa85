"""The faults of the log: lines of others in between, records in two pieces, records that never come."""

from collections.abc import Iterator

from msgspec.structs import replace

from clawperator.phone.core.faults import Faults
from clawperator.phone.log.buffer import Entry

# What a busy phone says all day, some of it just like ours.
_OTHERS = (
    ("D", "WifiScanner", "scan complete: 12 networks", 1_701),
    ("I", "ActivityManager", "Displayed in +142ms", 1_201),
    (
        "W",
        "Choreographer",
        "Skipped 31 frames!  The application may be doing too much work on its main thread.",
        3_307,
    ),
    ("V", "Sensors", "<node /> [TaskScope] nothing to see", 1_702),
    ("E", "SomeApp", "[Clawperator-Result] {not json", 3_308),
    ("I", "chatty", "uid=1000(system) expire 4 lines", 1_201),
)


class Noise:
    """Stands between those who write to the log and the log."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def disturb(self, entry: Entry) -> Iterator[Entry]:
        """What is stored in place of one record."""
        faults = self._faults
        if faults.happens("log_noise"):
            priority, tag, message, pid = faults.chance("log_noise").choice(_OTHERS)
            yield replace(entry, priority=priority, tag=tag, message=message, pid=pid, tid=pid)
        if faults.happens("lost_log"):
            return
        if len(entry.message) > 1 and faults.happens("split_log"):
            at = faults.chance("split_log").randrange(1, len(entry.message))
            yield replace(entry, message=entry.message[:at])
            yield replace(entry, message=entry.message[at:])
        else:
            yield entry
