"""A simulated phone in this process, with the methods of a connected one, and a simulated user."""

import gc
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import Struct

from clawperator._base.files import AtomicFile, file_error, why
from clawperator.api.phone import AndroidPhone, ConnectedPhone
from clawperator.api.selectors import SelectorKwargs
from clawperator.api.snapshot import ScreenSearch
from clawperator.contract.execution import validate
from clawperator.contract.results import ResultEnvelope
from clawperator.contract.wire import recordings_folder
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, command_line
from clawperator.device.backends.adb_system import AdbSystem
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.device.backends.near_matches import is_failed_search, with_near_matches
from clawperator.device.recordings import check_session_id, local_recording_path
from clawperator.device.run.references import References
from clawperator.device.run.run import add_views, with_captures
from clawperator.device.run.secrets import SecretReader
from clawperator.device.uri_schemes import check_uri_schemes
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.engine.run import Engine
from clawperator.errors import ClawError
from clawperator.phone.apps.system import DELETE_KEY, ENTER_KEY, SHIFT_KEY, SYMBOLS_KEY, is_symbol
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.windows import Window
from clawperator.phone.operator.driver import PrivilegedPhoneDriver
from clawperator.phone.toolkit.app import App
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.outline import Outline
from clawperator.ui.refs import ElementFingerprint

if TYPE_CHECKING:
    from clawperator.phone.adb.adbd import AdbdServer
    from clawperator.phone.cassette.cassette import Cassette
    from clawperator.phone.core.events import AccessibilityEvent

# A simulated user


class LiveScreen(ScreenSearch):
    """The tree of the active window, read when it is made."""

    __slots__ = ("_frame", "_hierarchy")

    def __init__(self, phone: Phone) -> None:
        with phone.lock:
            self._hierarchy = phone.windows.hierarchy()
            self._frame = phone.windows.display.bounds

    @property
    def hierarchy(self) -> Hierarchy:
        return self._hierarchy

    @property
    def frame(self) -> Bounds:
        return self._frame


class Person:
    """A simulated user, who only touches the screen."""

    def __init__(self, phone: Phone, *, pace_ms: int = 250) -> None:
        self._phone = phone
        self._pace = pace_ms / 1000

    def tap(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> None:
        """Tap the node with this label. ``NODE_NOT_FOUND`` when it is not on the screen."""
        self._phone.tap(*self._find(text, selector).bounds.centre)
        self._pause()

    def press_long(self, text: str | None = None, **selector: Unpack[SelectorKwargs]) -> None:
        """Press the node with this label for 0.7 seconds."""
        self._phone.tap(*self._find(text, selector).bounds.centre, hold_ms=700)
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

    def _find(self, text: str | None, selector: SelectorKwargs) -> Node:
        node = LiveScreen(self._phone).find(text, **selector)
        if node is None:
            raise ClawError("NODE_NOT_FOUND", f"{text or dict(selector)} is not on the screen")
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


# Garbage collection in a process with many phones
#
# A full collection visits every object of the process. With hundreds of phones, nearly all belong to phones that
# stay. So after every 50 phones their objects are frozen (``gc.freeze``): collections skip them. When a phone is
# closed they are released again, so its memory is freed. A process that freezes objects itself is left alone.

FREEZE_EVERY = 50


class PhoneCount:
    """The open phones of this process. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._next = FREEZE_EVERY
        self._is_frozen = False

    def add(self) -> None:
        """Count a phone that is about to start, and freeze those before it when there are enough new ones."""
        with self._lock:
            if self._open >= self._next:
                # Once for each number of phones: a pool whose phones come and go must not collect at each of them.
                self._next += FREEZE_EVERY
                if gc.isenabled() and (self._is_frozen or not gc.get_freeze_count()):
                    gc.collect()
                    gc.freeze()
                    self._is_frozen = True
            self._open += 1

    def remove(self) -> None:
        """Forget a phone that was closed, and let its memory be freed."""
        with self._lock:
            self._open -= 1
            if self._is_frozen:
                gc.unfreeze()
                self._is_frozen = False
            if not self._open:
                self._next = FREEZE_EVERY


OPEN_PHONES = PhoneCount()


# The phone

_SHELL_SECONDS = 60.0
_SHELL_BYTES = 4 * 1024 * 1024


class PhonePorts(Struct, frozen=True):
    """The ports of a served phone: for ``adb connect``, and for clients of the adb server protocol."""

    adbd_port: int
    server_port: int


class SimulatedPhoneDriver(PrivilegedPhoneDriver, AdbSystem):
    """``run_script`` runs a script in the shell of the phone, with standard input."""

    def __init__(self, phone: Phone, run_script: Callable[[str, bytes], ShellAnswer]) -> None:
        super().__init__(phone)
        self._serial = phone.serial
        # Only its serial is used: the phone has no server.
        self._device = Device(phone.serial, Endpoint("127.0.0.1", 0, simulated=True))
        self._run_script = run_script

    @property
    def _name(self) -> str:
        return self._serial

    def _run(self, script: str) -> ShellAnswer:
        return self._run_script(script, b"")

    def _left(self, most: float) -> float:
        return most

    def _natural_size(self) -> tuple[int, int]:
        frame = self.frame()
        return min(frame.width, frame.height), max(frame.width, frame.height)

    def install(self, path: str) -> int:
        with open(path, "rb") as file:
            apk = file.read()
        script = command_line("cmd", "package", "install", "-r", "-S", str(len(apk)))
        answer = self._run_script(script, apk)
        if not answer.text.startswith("Success"):
            raise ClawError(
                "ANDROID_INSTALL_FAILED",
                f"cannot install {path} on {self._serial}: {answer.complaint or 'no output'}",
                hint="Check that the file is an APK.",
                details={"path": path},
            )
        return len(apk)


class SimulatedPhone(AndroidPhone):
    """A simulated phone in this process: the methods of every phone, on a virtual clock and without sockets.

    Only a simulated phone has ``person`` (a user who touches the screen), ``clock``, faults, ``events``
    (accessibility events so far), ``phone`` (its whole state) and ``screenshots`` (the PNG of each path).
    """

    def __init__(self, phone: Phone, *, allow_schemes: Sequence[str] = ()) -> None:
        self.phone = phone
        self.person = Person(phone)
        self.screenshots: dict[str, bytes] = {}
        self.events: list[AccessibilityEvent] = []
        self._allow_schemes = tuple(allow_schemes)
        self._folder: str | None = None
        self._adbd: AdbdServer | None = None
        phone.listeners.append(self.events.append)
        driver = SimulatedPhoneDriver(phone, self.shell_script)
        self._engine = Engine(
            driver,
            phone.clock,
            random=phone.random,
            save_screenshot=self._save_screenshot,
            secrets=_SecretReader(phone),
            references=_LazyReferences(self._references),
            backtracking=True,
        )

    @property
    def serial(self) -> str:
        return self.phone.serial

    @property
    def clock(self) -> Clock:
        """The phone's clock: ``clock.sleep(seconds)`` lets time pass; on a virtual clock that takes no time."""
        return self.phone.clock

    def close(self) -> None:
        """Stop the phone and delete its temporary files."""
        self.phone.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # What every phone has

    def foreground(self, *, timeout: float | None = None) -> str:  # noqa: ARG002 - it takes no time
        """The package in the foreground."""
        return self.phone.foreground()

    def pull_recording(
        self,
        session_id: str | None = None,
        folder: str | os.PathLike[str] = "recordings",
        *,
        timeout: float | None = None,  # noqa: ARG002 - it takes no time
    ) -> str:
        """Write a recording to a folder, by default the last one. Returns the path of the file."""
        session_id = self._latest_session() if session_id is None else check_session_id(session_id)
        content = self.read_recording(session_id)
        path = local_recording_path(os.fspath(folder), session_id)
        try:
            with AtomicFile(path, private=True, follow_links=False) as out:
                out.file.write(content)
        except OSError as e:
            raise file_error("RECORDING_PULL_FAILED", "write", path, e) from e
        return path

    def shell(self, command: str, *arguments: str, timeout: float = 30) -> ShellAnswer:
        """Run one command on the phone. Its arguments are quoted: the shell interprets none of them."""
        return self.shell_script(command_line(command, *arguments), timeout=timeout)

    # What only a simulated phone has

    def hierarchy(self) -> Hierarchy:
        """The tree of the active window, with what only the device knows of a node."""
        with self.phone.lock:
            return self.phone.windows.hierarchy()

    def xml(self) -> str:
        """The same as XML, as ``uiautomator dump`` writes it."""
        with self.phone.lock:
            return self.phone.windows.xml()

    def png(self) -> bytes:
        """The screen as PNG, without a file."""
        return self.phone.screenshot()

    def shell_script(
        self,
        script: str | bytes,
        stdin: bytes = b"",
        *,
        timeout: float = _SHELL_SECONDS,
        max_bytes: int = _SHELL_BYTES,
    ) -> ShellAnswer:
        """Run a shell script on the phone, as ``adb shell`` would.

        ``DEVICE_SHELL_UNAVAILABLE`` when it does not end within ``timeout`` seconds of real time, or when it
        writes more than ``max_bytes``.
        """
        from clawperator.phone.shell.language.interpreter import run_limited

        return ShellAnswer(*run_limited(script, self.phone, stdin, seconds=timeout, max_bytes=max_bytes))

    def fault(self, name: str, setting: str | float | bool = "on") -> None:  # noqa: FBT001 - a switch is on or off
        """Set a fault. ``offline`` and ``unauthorized`` also end adb connections."""
        self.phone.set_fault(name, setting)
        if name in ("offline", "unauthorized") and self._adbd is not None:
            self._adbd.disconnect()

    def read_recording(self, session_id: str | None = None) -> bytes:
        """The NDJSON of a recording, by default the one finished last."""
        session_id = self._latest_session() if session_id is None else check_session_id(session_id)
        try:
            return self._read_file(f"{session_id}.ndjson")
        except OSError as e:
            message = f"cannot read the recording {session_id!r}: {why(e)}"
            raise ClawError("RECORDING_PULL_FAILED", message, operation="pull", target=session_id) from e

    @contextmanager
    def serve(self) -> Iterator["PhonePorts"]:
        """Accept adb connections on loopback while the ``with`` block runs."""
        from clawperator.phone.adb.adbd import AdbdServer
        from clawperator.phone.adb.device import PhoneDevice
        from clawperator.phone.adb.server import AdbServer

        device = PhoneDevice(self.phone)
        adbd, server = AdbdServer(device), AdbServer(lambda: [device])
        self._adbd = adbd
        try:
            yield PhonePorts(adbd.start(), server.start())
        finally:
            self._adbd = None
            server.stop()
            adbd.stop()

    @contextmanager
    def connected(self) -> Iterator[ConnectedPhone]:
        """A connection to this phone over adb, while the ``with`` block runs."""
        with self.serve() as ports:
            device = Device(self.serial, Endpoint("127.0.0.1", ports.server_port, simulated=True))
            yield ConnectedPhone(device, allow_schemes=self._allow_schemes)

    def _screen(self, timeout: float | None) -> ScreenSearch:  # noqa: ARG002 - it takes no time
        return LiveScreen(self.phone)

    def _run(self, document: dict[str, Any]) -> ResultEnvelope:
        plan = validate(document)
        check_uri_schemes(plan, self._allow_schemes)
        envelope = self._engine.run(with_captures(plan).execution)
        if envelope.stepResults and not envelope.stepResults[-1].success:
            last, action = envelope.stepResults[-1], plan.execution.actions[len(envelope.stepResults) - 1]
            if is_failed_search(last):
                last = with_near_matches(last, action, self.hierarchy(), self._references())
            envelope.stepResults[-1] = last
        return add_views(plan, envelope, self._references)

    def _references(self) -> References:
        """References on the phone's clock, kept as long as the phone."""
        return References(self.serial, lambda: self.clock.now_ms() / 1000, folder=self._temporary_folder())

    def _temporary_folder(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="clawperator-")
        return self._folder

    def _save_screenshot(self, path: str | None, png: bytes) -> str:
        if path is None:
            path = os.path.join(self._temporary_folder(), f"screenshot-{len(self.screenshots) + 1}.png")
        save_screenshot(png, path, "")
        self.screenshots[path] = png
        return path

    def _latest_session(self) -> str:
        try:
            return self._read_file("latest").decode()
        except OSError as e:
            message = "no recording has been finished on this phone"
            raise ClawError("RECORDING_SESSION_NOT_FOUND", message, operation="pull") from e

    def _read_file(self, name: str) -> bytes:
        """A file in the folder of recordings."""
        return self.phone.storage.system.read(f"{recordings_folder(self.phone.operator.package)}/{name}")


class _SecretReader(SecretReader):
    """Reads secrets, and knows the recording of a phone in this process."""

    def __init__(self, phone: Phone) -> None:
        super().__init__(phone.serial)
        self._phone = phone

    def active_recording(self) -> str | None:
        return self._phone.operator.recorder.session_id


class _LazyReferences:
    """References that need a folder only when one is looked up."""

    def __init__(self, references: Callable[[], References]) -> None:
        self._references = references

    @property
    def secrets(self) -> Sequence[str]:
        return self._references().secrets

    def lookup(self, ref: str) -> ElementFingerprint:
        return self._references().lookup(ref)

    def assign(self, screen: Outline, snapshot_id: str | None = None) -> None:
        self._references().assign(screen, snapshot_id)


def _apps(given: App | str | os.PathLike[str]) -> list[App]:
    from clawperator.phone.toolkit.appfile import load_apps

    return [given] if isinstance(given, App) else load_apps(os.fspath(given))


def _load(path: str) -> "Cassette":
    from clawperator.phone.cassette.cassette import load_cassette

    return load_cassette(path)


@contextmanager
def simulated_phone(  # noqa: PLR0913 - the parts of a phone
    *,
    seed: int = 0,
    serial: str = "claw-1",
    apps: Iterable[App | str | os.PathLike[str]] = (),
    clock: Clock | None = None,
    cassette: str | None = None,
    faults: Mapping[str, str | float | bool] | None = None,
    allow_schemes: Sequence[str] = (),
) -> Iterator[SimulatedPhone]:
    """A simulated phone in this process, until the ``with`` block ends. Its clock is virtual unless one is given.

    ``apps`` are further apps, or paths of app files. ``cassette`` is the path of a recording that the phone shows
    instead of its apps. ``faults`` maps names of faults to their settings. ``allow_schemes`` are URI schemes it
    may open besides http and https.
    """
    OPEN_PHONES.add()
    try:
        phone = Phone(
            seed=seed,
            serial=serial,
            apps=[app for given in apps for app in _apps(given)],
            clock=VirtualClock() if clock is None else clock,
            cassette=None if cassette is None else _load(cassette),
        )
        simulated = SimulatedPhone(phone, allow_schemes=allow_schemes)
        try:
            for name, setting in (faults or {}).items():
                simulated.fault(name, setting)
            yield simulated
        finally:
            simulated.close()
    finally:
        OPEN_PHONES.remove()
