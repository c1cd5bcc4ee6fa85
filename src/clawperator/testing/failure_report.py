"""The report of a failed test: its calls of phones, and the screens at the end, as one HTML file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from clawperator.api.phone import AndroidPhone, listening_to_calls
from clawperator.testing.phone import SimulatedPhone
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import has_password

if TYPE_CHECKING:
    from clawperator.report.failed_test import CallRecorder, LastScreen

# A phone that does not answer must not hold up the other tests.
_SECONDS = 10.0


@contextmanager
def recorded_calls() -> Iterator["CallRecorder"]:
    """Record the calls of all phones while the ``with`` block runs. Simulated phones are looked at each time."""
    from clawperator.report.failed_test import CallRecorder

    recorder = CallRecorder(_tree)
    with listening_to_calls(recorder):
        yield recorder


def report_failure(
    path: str, test: str, error: str, recorder: "CallRecorder", phones: Sequence[AndroidPhone]
) -> str:
    """Write the report of a failed test. Returns its path, or why there is none; it never raises."""
    from clawperator.report.failed_test import write_test_report

    try:
        screens = [_last_screen(phone) for phone in phones]
        return write_test_report(path, test, error, recorder, screens).outputFile
    except Exception as e:  # noqa: BLE001 - the failure of the test must be reported in any case
        return f"cannot write {path}: {e}"


def _tree(phone: AndroidPhone) -> str | None:
    return phone.xml() if isinstance(phone, SimulatedPhone) else None


def _last_screen(phone: AndroidPhone) -> "LastScreen":
    """The screen of a phone. There is no picture of one that may show a password."""
    from clawperator.report.failed_test import LastScreen

    xml, png = None, b""
    with suppress(Exception):  # a phone that failed may fail again
        xml = phone.xml() if isinstance(phone, SimulatedPhone) else phone.snapshot(timeout=_SECONDS).xml
        if isinstance(phone, SimulatedPhone) and not any(map(has_password, parse_hierarchy(xml).nodes)):
            png = phone.png()
    return LastScreen(phone.serial, xml, png)
