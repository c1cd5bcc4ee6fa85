"""Plans on a device made of doubles, over plain adb, with a count of what the device was asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, ShellStream
from clawperator.device.backends.adb import AdbBackend
from clawperator.device.backends.backend import RunWatch
from tests.support.command_doubles import CommandDoubles, double_server
from tests.support.ordinary_phone import SETTINGS, dumped, node, ordinary_phone, screen

FIELD_ID = f"{SETTINGS}:id/search"
FIELD = {"resourceId": FIELD_ID}


def field_screen(text: str, *, focused: bool = False, password: bool = False, more: str = "") -> str:
    """A screen with one field, and more nodes."""
    flags = f'focused="{str(focused).lower()}" password="{str(password).lower()}" focusable="true" enabled="true"'
    edit = node(
        text, bounds="[40,100][1040,220]", more=f'resource-id="{FIELD_ID}" {flags}', name="android.widget.EditText"
    )
    return screen(edit, more)


def list_screen(first: str) -> str:
    rows = '<node class="android.widget.ListView" scrollable="true" bounds="[0,0][1080,2400]">{}</node>'
    return screen(rows.format(node(first, bounds="[0,0][1080,200]")))


class DoublesBench(Struct):
    """A device of doubles. ``requests`` is how many shell commands the host sent."""

    device: Device
    doubles: CommandDoubles
    requests: int = 0
    watch: RunWatch | None = None

    def shows(self, *screens: str, seconds: float = 0.0) -> None:
        """Dump these screens, one after the other; the last one stays."""
        self.doubles.answer("uiautomator", *(dumped(each, seconds=seconds) for each in screens), when="dump *")

    def run(self, *actions: dict[str, Any], timeout_ms: int = 30_000) -> ResultEnvelope:
        document = new_execution(actions, command_id="c1", source="test", timeout_ms=timeout_ms)
        return AdbBackend(self.device, self.watch).run(validate(document))

    def step(self, kind: str, *, timeout_ms: int = 30_000, **params: Any) -> StepResult:
        """The only step of an execution."""
        action = {"id": "a1", "type": kind, **({"params": params} if params else {})}
        (step,) = self.run(action, timeout_ms=timeout_ms).stepResults
        return step

    def data(self, kind: str, **params: Any) -> dict[str, str]:
        """The data of a step that must succeed."""
        step = self.step(kind, **params)
        assert step.success, step.data
        return step.data

    def lines(self, *commands: str) -> list[str]:
        """The command lines of these Android commands, or of all, in order."""
        return [" ".join(call) for call in self.doubles.calls() if not commands or call[0] in commands]


@contextmanager
def doubles_bench(folder: Path) -> Iterator[DoublesBench]:
    doubles = ordinary_phone(folder / "phone")
    with double_server(doubles) as device:
        bench = DoublesBench(device, doubles)
        begin = ShellStream.__init__

        def count(self: ShellStream, *words: Any, **options: Any) -> None:
            bench.requests += 1
            begin(self, *words, **options)

        with patch.object(ShellStream, "__init__", count):
            yield bench
    assert doubles.unexpected() == []
