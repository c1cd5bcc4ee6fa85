"""Test doubles for your own tests: a simulated phone in this process, a scripted driver, a scripted backend.

The simulated phone uses a virtual clock, so waits take no time. With pytest, use the fixture ``phone``:

    def test_the_row_opens_its_page(phone):
        phone.launch("com.android.settings")
        phone.person.tap("Display")
        assert phone.shows("Dark theme")

Without pytest: ``with simulated_phone() as phone: ...``. Nothing listens on a port until ``serve`` is called.
``ScriptedDriver`` replaces a device below the engine, ``ScriptedBackend`` everything below a connection.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawperator.contract import NodeMatcher, Plan, ResultEnvelope, StepResult, new_execution, outcome_of, validate
from clawperator.engine import Clock, Engine, FullScriptedDriver, ScriptedDriver, VirtualClock
from clawperator.errors import ClawError
from clawperator.phone import (
    DELETE_KEY,
    ENTER_KEY,
    SHIFT_KEY,
    SYMBOLS_KEY,
    App,
    Phone,
    PrivilegedPhoneDriver,
    Window,
    is_symbol,
)
from clawperator.ui import Hierarchy, Node, find_node, find_nodes

if TYPE_CHECKING:
    from clawperator.phone import AccessibilityEvent, AdbdServer, Cassette

__all__ = [
    "FullScriptedDriver",
    "Person",
    "ScriptedBackend",
    "ScriptedDriver",
    "ShellResult",
    "SimulatedPhone",
    "VirtualClock",
    "simulated_phone",
]

_EXECUTION_MS = 120_000
_SHELL_SECONDS = 60.0
_SHELL_BYTES = 4 * 1024 * 1024


class ShellResult(Struct, frozen=True):
    """The exit code and output of a shell command."""

    code: int
    stdout: str
    stderr: str


class SimulatedPhone:
    """A simulated phone in this process."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self.person = Person(phone)
        self.screenshots: dict[str, bytes] = {}
        self.events: list[AccessibilityEvent] = []
        self._adbd: AdbdServer | None = None
        phone.listeners.append(self.events.append)
        driver = PrivilegedPhoneDriver(phone)
        self._engine = Engine(driver, phone.clock, random=phone.random, save_screenshot=self._keep_screenshot)

    # Screen

    def hierarchy(self) -> Hierarchy:
        """The tree of the active window."""
        with self.phone.lock:
            return self.phone.windows.hierarchy()

    def xml(self) -> str:
        """The same as XML, as ``uiautomator dump`` writes it."""
        with self.phone.lock:
            return self.phone.windows.xml()

    def screenshot(self) -> bytes:
        """The screen as PNG."""
        return self.phone.screenshot()

    def find(self, text: str | None = None, **matcher: str) -> Node | None:
        """The first visible node with this label, or with every field of a ``NodeMatcher`` given."""
        return find_node(self.hierarchy(), _matcher(text, matcher), self.phone.windows.display.bounds)

    def find_all(self, text: str | None = None, **matcher: str) -> list[Node]:
        return find_nodes(self.hierarchy(), _matcher(text, matcher), self.phone.windows.display.bounds)

    def shows(self, text: str | None = None, **matcher: str) -> bool:
        return self.find(text, **matcher) is not None

    def labels(self) -> list[str]:
        """Every label on the screen, from top to bottom."""
        return [node.label for node in self.hierarchy().nodes if node.label and "invisible" not in node.extras]

    def foreground(self) -> str:
        """The package in the foreground."""
        return self.phone.foreground()

    # Actions

    def launch(self, package: str) -> None:
        """Bring an app to the front; ``APP_NOT_FOUND`` when it is not installed."""
        if not self.phone.launch(package):
            raise ClawError("APP_NOT_FOUND", f"no launchable app {package}", target=package)

    def run(self, *actions: Mapping[str, Any], timeout_ms: int = _EXECUTION_MS) -> ResultEnvelope:
        """Run actions as one execution: ``{"type": "click", "params": {...}}``, with optional ids."""
        return self.execute(new_execution(actions, command_id="test", source="testing", timeout_ms=timeout_ms))

    def execute(self, document: Mapping[str, Any]) -> ResultEnvelope:
        """Validate and run an execution. Its screenshots are kept in ``screenshots``."""
        return self._engine.run(validate(dict(document)).execution)

    def shell(
        self,
        script: str | bytes,
        stdin: bytes = b"",
        *,
        timeout: float = _SHELL_SECONDS,
        max_bytes: int = _SHELL_BYTES,
    ) -> ShellResult:
        """Run a shell script on the phone, as ``adb shell`` would.

        ``DEVICE_SHELL_UNAVAILABLE`` when it does not end within ``timeout`` seconds of real time, or when it
        writes more than ``max_bytes``.
        """
        from clawperator.phone import run_limited

        code, out, err = run_limited(script, self.phone, stdin, seconds=timeout, max_bytes=max_bytes)
        return ShellResult(code, out.decode(errors="replace"), err.decode(errors="replace"))

    def wait(self, seconds: float) -> None:
        """Let time pass on the phone's clock; on a virtual clock this takes no time."""
        self.phone.clock.sleep(seconds)

    def fault(self, name: str, setting: str | float | bool = "on") -> None:  # noqa: FBT001 - a switch is on or off
        """Set a fault. ``offline`` and ``unauthorized`` also end adb connections."""
        self.phone.set_fault(name, setting)
        if name in ("offline", "unauthorized") and self._adbd is not None:
            self._adbd.disconnect()

    def start_recording(self, session_id: str | None = None) -> str:
        """Start a recording. Returns the session id."""
        with self.phone.lock:
            return self.phone.operator.recorder.start(session_id).session_id

    def stop_recording(self) -> bytes:
        """Finish the recording. Returns its NDJSON."""
        with self.phone.lock:
            recorded = self.phone.operator.recorder.stop(None)
        return self.phone.storage.system.read(recorded.file_path)

    @contextmanager
    def serve(self) -> Iterator["PhonePorts"]:
        """Accept adb connections on loopback while the ``with`` block runs."""
        from clawperator.phone import AdbdServer, AdbServer, PhoneDevice

        device = PhoneDevice(self.phone)
        adbd, server = AdbdServer(device), AdbServer(lambda: [device])
        self._adbd = adbd
        try:
            yield PhonePorts(adbd.start(), server.start())
        finally:
            self._adbd = None
            server.stop()
            adbd.stop()

    def _keep_screenshot(self, path: str | None, png: bytes) -> str:
        name = path or f"screenshot-{len(self.screenshots) + 1}.png"
        self.screenshots[name] = png
        return name


class PhonePorts(Struct, frozen=True):
    """The ports of a served phone: for ``adb connect``, and for clients of the adb server protocol."""

    adbd_port: int
    server_port: int


class Person:
    """A simulated user, who only touches the screen."""

    def __init__(self, phone: Phone, *, pace_ms: int = 250) -> None:
        self._phone = phone
        self._pace = pace_ms / 1000

    def tap(self, text: str | None = None, **matcher: str) -> None:
        """Tap the node with this label. ``NODE_NOT_FOUND`` when it is not on the screen."""
        self._phone.tap(*self._find(text, matcher).bounds.centre)
        self._pause()

    def press_long(self, text: str | None = None, **matcher: str) -> None:
        self._phone.tap(*self._find(text, matcher).bounds.centre, hold_ms=700)
        self._pause()

    def type(self, text: str) -> None:
        """Type on the visible keyboard, key by key."""
        for character in text:
            self._type_one(character)
            self._pause(0.3)

    def delete(self, times: int = 1) -> None:
        for _ in range(times):
            self._tap_key(DELETE_KEY)

    def enter(self) -> None:
        self._tap_key(ENTER_KEY)
        self._pause()

    def scroll_down(self) -> None:
        """Drag the content up by half a screen."""
        self._drag(0.7, 0.3)

    def scroll_up(self) -> None:
        self._drag(0.3, 0.7)

    def back(self) -> None:
        """Tap Back in the navigation bar."""
        self._tap_bar("Back")

    def home(self) -> None:
        self._tap_bar("Home")

    def recents(self) -> None:
        self._tap_bar("Overview")

    def _find(self, text: str | None, matcher: Mapping[str, str]) -> Node:
        with self._phone.lock:
            manager = self._phone.windows
            node = find_node(manager.hierarchy(), _matcher(text, matcher), manager.display.bounds)
        if node is None:
            raise ClawError("NODE_NOT_FOUND", f"{text or dict(matcher)} is not on the screen")
        return node

    def _type_one(self, character: str) -> None:
        with self._phone.lock:
            shown = self._phone.windows.keyboard()
        if shown is None:
            raise ClawError("NODE_NOT_FOUND", "no keyboard is visible")
        if _key(shown, character) is None and is_symbol(character) is not None:
            if is_symbol(character) != bool(_key(shown, "1")):
                self._tap_key(SYMBOLS_KEY)
            if character.isupper():
                self._tap_key(SHIFT_KEY)
        self._tap_key(character)

    def _tap_key(self, label: str) -> None:
        with self._phone.lock:
            shown = self._phone.windows.keyboard()
        node = _key(shown, label) if shown else None
        if node is None:
            raise ClawError("NODE_NOT_FOUND", f"the keyboard has no key {label!r}")
        self._phone.tap(*node.bounds.centre)

    def _tap_bar(self, label: str) -> None:
        with self._phone.lock:
            bar = self._phone.windows.navigation()
        node = next(node for node in bar.nodes if node.content_desc == label)
        self._phone.tap(*node.bounds.centre)
        self._pause()

    def _drag(self, start: float, end: float) -> None:
        area = self._phone.windows.display.content
        x = area.centre[0]
        heights = [area.top + round(area.height * part) for part in (start, end)]
        self._phone.swipe((x, heights[0]), (x, heights[1]))
        self._pause()

    def _pause(self, paces: float = 1) -> None:
        self._phone.clock.sleep(self._pace * paces)


def _key(window: Window, label: str) -> Node | None:
    return next((node for node in window.nodes if node.text == label), None)


def _matcher(text: str | None, fields: Mapping[str, str]) -> NodeMatcher:
    given = dict(fields)
    if text is not None:
        given["textEquals"] = text
    return NodeMatcher(**given)


def _load(path: str) -> "Cassette":
    from clawperator.phone import load_cassette

    return load_cassette(path)


class ScriptedBackend:
    """A ``Backend`` without a device: ``results`` are the data of the steps, in the order they run.

    Data with ``error`` make a failed step; steps without a result succeed. ``plans`` records what was run.
    """

    def __init__(self, *results: Mapping[str, str]) -> None:
        self.plans: list[Plan] = []
        self._results = iter(results)

    def run(self, plan: Plan) -> ResultEnvelope:
        self.plans.append(plan)
        steps = []
        for action in plan.execution.actions:
            data = dict(next(self._results, {}))
            steps.append(StepResult(action.id, action.type, "error" not in data, data))
        outcome = outcome_of(steps)
        ids = plan.execution.commandId, plan.execution.taskId
        return ResultEnvelope(*ids, outcome.status, steps, outcome.error, outcome.errorCode, outcome.hint)


@contextmanager
def simulated_phone(
    *,
    seed: int = 0,
    serial: str = "claw-1",
    apps: Iterable[App] = (),
    clock: Clock | None = None,
    cassette: str | None = None,
) -> Iterator[SimulatedPhone]:
    """A simulated phone in this process, until the ``with`` block ends. Its clock is virtual unless one is given.

    ``cassette`` is the path of a recording that the phone shows instead of its apps.
    """
    phone = Phone(
        seed=seed,
        serial=serial,
        apps=apps,
        clock=VirtualClock() if clock is None else clock,
        cassette=None if cassette is None else _load(cassette),
    )
    try:
        yield SimulatedPhone(phone)
    finally:
        phone.close()


# Old names, kept for one release.
_RENAMED = {"BoxedPhone": "SimulatedPhone", "start_phone": "simulated_phone"}


def __getattr__(name: str) -> object:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import warnings

    warnings.warn(f"use clawperator.testing.{_RENAMED[name]}", DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
