"""What a phone showed when a test failed, as files and as a report."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from clawperator._base.files import make_folder
from clawperator.api.phone import AndroidPhone, listening_to_calls
from clawperator.api.snapshot import ScreenSearch
from clawperator.testing.phone import LiveScreen, SimulatedPhone
from clawperator.ui.outline import outline_of, render_outline
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import has_password

if TYPE_CHECKING:
    from clawperator.report.failed_test import CallRecorder, LastScreen

# A phone that does not answer must not hold up the other tests.
_SECONDS = 10.0
_LOG_LINES = "2000"
_MAX_LABELS = 60


def keep_failure(phone: AndroidPhone, folder: str) -> str:
    """Write the picture, the tree and the log of a phone to a folder. Returns a report of labels and files.

    It never raises: what could not be read or written is a line of the report. The pytest plugin calls it when a
    test fails; call it yourself with another test runner.
    """
    lines: list[str] = []
    try:
        make_folder(folder)
    except OSError as e:
        lines.append(f"cannot write to {folder}: {e.strerror}")
    lines += _screen(phone, folder)
    lines.append(_kept(folder, "screen.png", lambda path: _save_picture(phone, path)))
    lines.append(_kept(folder, "log.txt", lambda path: _write(path, _log(phone))))
    return "\n".join(lines)


def _screen(phone: AndroidPhone, folder: str) -> Iterator[str]:
    """The labels on the screen, and the files of its tree."""
    try:
        xml, screen, package = _capture(phone)
        labels = [repr(label) for label in screen.labels()]
        outline = render_outline(outline_of(screen.hierarchy, screen.frame))
    except Exception as e:  # noqa: BLE001 - a phone that failed may fail again, and the test's own failure matters
        yield f"cannot read the screen: {e}"
        return
    more = f" and {len(labels) - _MAX_LABELS} more" if len(labels) > _MAX_LABELS else ""
    yield f"{package or 'an unknown app'} shows: {', '.join(labels[:_MAX_LABELS]) or 'no labels'}{more}"
    yield _kept(folder, "screen.xml", lambda path: _write(path, xml.encode()))
    yield _kept(folder, "outline.txt", lambda path: _write(path, outline.encode()))


def _capture(phone: AndroidPhone) -> tuple[str, ScreenSearch, str | None]:
    """The XML, the searchable tree and the foreground app. A simulated phone is only looked at."""
    if isinstance(phone, SimulatedPhone):
        return phone.xml(), LiveScreen(phone.phone), phone.foreground()
    snapshot = phone.snapshot(timeout=_SECONDS)
    return snapshot.xml, snapshot, snapshot.package


def _save_picture(phone: AndroidPhone, path: str) -> None:
    if isinstance(phone, SimulatedPhone):
        _write(path, phone.png())
    else:
        phone.screenshot(path, timeout=_SECONDS)


def _log(phone: AndroidPhone) -> bytes:
    return phone.shell("logcat", "-d", "-t", _LOG_LINES, timeout=_SECONDS).stdout


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _kept(folder: str, name: str, write: Callable[[str], None]) -> str:
    """The path of a file that was written, or the reason why it was not."""
    path = os.path.join(folder, name)
    try:
        write(path)
    except Exception as e:  # noqa: BLE001 - likewise
        return f"cannot save {path}: {e}"
    return path


# The report: calls of phones, and the screens at the end, as one HTML file


@contextmanager
def recorded_calls() -> Iterator["CallRecorder"]:
    """Record the calls of all phones while the ``with`` block runs. Simulated phones are looked at each time."""
    from clawperator.report.failed_test import CallRecorder

    recorder = CallRecorder(lambda phone: phone.xml() if isinstance(phone, SimulatedPhone) else None)
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


def _last_screen(phone: AndroidPhone) -> "LastScreen":
    """The screen of a phone. There is no picture of one that may show a password."""
    from clawperator.report.failed_test import LastScreen

    xml, png = None, b""
    with suppress(Exception):  # a phone that failed may fail again
        xml = phone.xml() if isinstance(phone, SimulatedPhone) else phone.snapshot(timeout=_SECONDS).xml
        if isinstance(phone, SimulatedPhone) and not any(map(has_password, parse_hierarchy(xml).nodes)):
            png = phone.png()
    return LastScreen(phone.serial, xml, png)
