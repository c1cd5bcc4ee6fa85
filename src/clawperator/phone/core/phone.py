"""The phone: everything that has a state, behind one lock.

It runs on a virtual clock in tests and on the machine's in a process of its own, and is the same phone in
both. Nothing here knows of adb; the shell and adb are doors to it.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from clawperator import __version__
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.phone.apps import CHOOSER, HOME_APPS, LAUNCHER, built_in_apps
from clawperator.phone.apps import system as system_apps
from clawperator.phone.core import keys, procfs, settings, text_fields, touch
from clawperator.phone.core.events import AccessibilityEvent
from clawperator.phone.core.faults import Faults
from clawperator.phone.core.keyboard import COMPONENT as KEYBOARD
from clawperator.phone.core.keyboard import keyboard_app
from clawperator.phone.core.packages import Packages
from clawperator.phone.core.process_list import SYSTEM_SERVER_PID
from clawperator.phone.core.sockets import Sockets
from clawperator.phone.core.tasks import Entry, Process, Tasks
from clawperator.phone.core.timers import Timers
from clawperator.phone.core.window_manager import Glass
from clawperator.phone.log.buffer import LogBuffer
from clawperator.phone.log.faults import Noise
from clawperator.phone.operator.operator import Operator
from clawperator.phone.storage.filesystem import Storage
from clawperator.phone.toolkit.app import App, Here
from clawperator.phone.toolkit.layout import Place
from clawperator.phone.toolkit.views import Effect

if TYPE_CHECKING:
    from clawperator.phone.cassette.cassette import Cassette
    from clawperator.phone.cassette.player import Player


class Phone:
    """One simulated phone. Every public method may be called from any thread."""

    def __init__(  # noqa: PLR0913 - what makes one phone differ from another
        self,
        *,
        serial: str = "claw-1",
        seed: int = 0,
        clock: Clock | None = None,
        folder: str | None = None,
        apps: Iterable[App] = (),
        operator_package: str = OPERATOR_PACKAGE,
        cassette: "Cassette | None" = None,
    ) -> None:
        self.serial = serial
        self.seed = seed
        self.lock = threading.RLock()
        self.clock: Clock = VirtualClock() if clock is None else clock
        self.random = Random(seed)  # noqa: S311 - it must repeat itself
        self.faults = Faults(seed)
        self.storage = Storage(folder)
        self.log = LogBuffer(self.clock.now_ms)
        self.log.filter = Noise(self.faults).disturb
        self.timers = Timers(self.clock)
        self.properties = settings.properties(serial, __version__)
        self.settings = settings.Settings(self.storage, self._settings_changed)
        self.listeners: list[Callable[[AccessibilityEvent], None]] = []
        self.sockets = Sockets()
        # Set when the phone ends: whatever waits in its shell stops waiting.
        self.stopping = threading.Event()
        self._suspended = 0
        self._data: dict[str, dict[str, Any]] = {}
        self.tasks = Tasks(self._data_of, self._opened, self._came_to_front)
        self.packages: Packages = Packages(self)
        self.operator: Operator = Operator(self, operator_package)
        own = (
            system_apps.system_ui(),
            system_apps.android_app(),
            keyboard_app(self.type_text, lambda: self.key(67), lambda: self.key(66)),
        )
        # Shows a recording in place of the apps that every phone has.
        self.player: Player | None = self._insert(cassette)
        ours = built_in_apps() if self.player is None else built_in_apps(HOME_APPS)
        recorded = () if self.player is None else self.player.apps()
        for app in (*own, system_apps.operator_app(operator_package, __version__), *ours, *apps, *recorded):
            self.packages.add(app)
        self.glass: Glass = Glass(self, own)
        if cassette is not None:
            self.glass.display = cassette.display
        procfs.provide(self)
        self._boot()

    def _boot(self) -> None:
        self.settings.set_quietly("secure", "default_input_method", KEYBOARD)
        self.settings.set_quietly("secure", "enabled_input_methods", KEYBOARD)
        self.operator.grant()
        self.settings.load()
        self.packages.load()
        self.tasks.start(self.packages.app(LAUNCHER))
        self.tasks.ensure_process(self.packages.app(self.operator.package))
        if self.player is not None:
            self.player.begin()
        self.log.write("I", "SystemServer", "boot completed", SYSTEM_SERVER_PID)

    def _insert(self, cassette: "Cassette | None") -> "Player | None":
        if cassette is None:
            return None
        from clawperator.phone.cassette.player import Player

        return Player(self, cassette)

    def close(self) -> None:
        """End what runs in the background. The files of a phone without a folder are removed."""
        self.stopping.set()
        self.operator.close()
        self.timers.close()
        self.storage.close()

    def screenshot(self) -> bytes:
        """The glass as PNG."""
        from clawperator.phone.render.painter import paint

        with self.lock:
            return paint(self.glass, self.clock.now_ms()).encode()

    def foreground(self) -> str:
        """The package in front."""
        with self.lock:
            return self.glass.top().package

    # Hands

    def tap(self, x: int, y: int, hold_ms: int = 100) -> None:
        with self.lock:
            if not self.faults.happens("dropped_tap"):
                touch.tap(self, x, y, hold_ms)
            self._perhaps_alert()

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int = 300) -> None:
        with self.lock:
            if not self.faults.happens("dropped_tap"):
                touch.swipe(self, start, end, duration_ms)
            self._perhaps_alert()

    def type_text(self, text: str) -> None:
        """As from a keyboard: into the field that has the focus, a character at a time."""
        with self.lock:
            text_fields.type_text(self, text)

    def key(self, code: int) -> None:
        """A key event, as injected by a program."""
        with self.lock:
            keys.press(self, code)

    def press_back_key(self) -> None:
        """A Back key under a thumb. Unlike an injected one, accessibility is told of it."""
        with self.lock:
            self.emit(AccessibilityEvent(kind="key_back", package=""))
            self.go_back()

    def go_back(self) -> None:
        with self.lock:
            if self.glass.dismiss_alert() or (self.player is not None and self.player.key("back")):
                return
            if self.glass.hide_keyboard():
                return
            entry = self.tasks.front.top
            if entry.screen.kind == "activity" or entry.screen.cancelable:
                self.tasks.leave(entry)

    def go_home(self) -> None:
        with self.lock:
            if self.player is None or not self.player.key("home"):
                self.tasks.go_home()

    def show_recents(self) -> None:
        with self.lock:
            if self.player is not None and self.player.key("recents"):
                return
            self.tasks.go_home()
            self.tasks.open(self.tasks.launcher.process, "recents", {})

    # Accessibility's hands: on a view itself, wherever it is by now

    def click(self, place: Place, *, long: bool = False) -> bool:
        """False when the view is gone or takes no click."""
        with self.lock:
            now = self._find_again(place)
            if now is None:
                return False
            if self.player is not None and self.player.pressed(now, *now.node.bounds.centre, long=long):
                return True
            return touch.press(self, self.glass.active(), now, long=long)

    def focus(self, place: Place) -> bool:
        with self.lock:
            now = self._find_again(place)
            if now is None or not now.view.edits:
                return False
            text_fields.focus(self, now)
            return True

    def set_text(self, place: Place, text: str) -> bool:
        with self.lock:
            now = self._find_again(place)
            return now is not None and text_fields.replace(self, now, text)

    def submit(self, place: Place) -> bool:
        with self.lock:
            now = self._find_again(place)
            return now is not None and bool(now.view.edits) and text_fields.submit(self, now)

    def _find_again(self, place: Place) -> Place | None:
        """The view of that name on the same screen, if it is still of the same kind."""
        window = self.glass.active()
        now = window.places.get(place.key) if window.entry is place.entry else None
        return now if now is not None and now.view.class_name == place.view.class_name else None

    # Apps

    def launch(self, package: str) -> bool:
        """Start an app or bring it back. False when it cannot be started."""
        with self.lock:
            app = self.packages.launchable(package)
            if app is None:
                return False
            self.tasks.start(app)
            return True

    def view(self, uri: str) -> bool:
        """Open a link with the one app that takes it, or by asking which. False when none does."""
        with self.lock:
            found = self.packages.handlers(uri)
            if len(found) == 1:
                self.open_with(found[0].package, uri)
            elif found:
                names = [app.package for app in found]
                self.tasks.start(self.packages.app(CHOOSER), "choose", {"uri": uri, "apps": names})
            return bool(found)

    def open_with(self, package: str, uri: str) -> None:
        with self.lock:
            app = self.packages.app(package)
            self.tasks.start(app, app.link_screen, {"uri": uri})

    def stop_app(self, package: str) -> bool:
        """Force-stop an app. False when it did not run."""
        with self.lock:
            self.operator.on_stopped(package)
            return self.tasks.stop(package)

    def restart_for_update(self, package: str) -> None:
        """End an app whose package is replaced. The Operator's service comes back with the new one."""
        with self.lock:
            if package == self.operator.package:
                self.operator.die()
            if self.tasks.stop(package) and package == self.operator.package:
                self.operator.bind()

    def clear_app(self, package: str) -> None:
        """Stop an app and forget what it saved."""
        with self.lock:
            self.stop_app(package)
            self._data.pop(package, None)

    def process_of(self, package: str) -> Process | None:
        return self.tasks.process(package)

    def later(self, milliseconds: float, entry: Entry, effect: Effect) -> None:
        """Run an app's effect when its time has come, if the app still runs."""

        def run() -> None:
            with self.lock:
                self.perform(entry, effect)

        self.timers.later(milliseconds / 1000, run)

    def perform(self, entry: Entry, effect: Effect) -> None:
        """Let an app do something. One that fails has crashed, and the phone goes on."""
        if entry.process.alive:
            try:
                effect(Here(self, entry))
            except Exception as e:  # noqa: BLE001 - an app may be anybody's code
                self.crash(entry, e)
            self.changed()

    def crash(self, entry: Entry, error: Exception) -> None:
        """An app's code failed: its process ends, and the log says why. Launcher and bars must not fail."""
        import traceback

        if not self.tasks.can_stop(entry):
            raise error
        trace = "".join(traceback.format_exception(error))
        process = f"Process: {entry.package}, PID: {entry.process.pid}"
        self.log.write("E", "AndroidRuntime", f"FATAL EXCEPTION: main\n{process}\n{trace}", entry.process.pid)
        self.tasks.stop(entry.package)

    def _data_of(self, app: App) -> dict[str, Any]:
        if app.package not in self._data:
            self._data[app.package] = app.fresh_data()
        return self._data[app.package]

    # Trouble

    def set_fault(self, name: str, setting: str | float | bool) -> float:  # noqa: FBT001 - a switch is on or off
        """Turn a switch of ``faults`` and let it take effect. Gives back its value, 0 when it is off."""
        with self.lock:
            value = self.faults.set(name, setting)
            if name == "storage_full":
                self.storage.full = bool(value)
            elif name == "rotation":
                self.glass.turn(int(value))
            elif name == "operator_killed":
                self.operator.die()
                if value:
                    self.tasks.stop(self.operator.package)
                else:
                    self.operator.bind()
            elif name == "dialog" and value >= 1:
                self.glass.alert()
            return value

    def pause(self) -> None:
        """What the fault ``latency`` costs. Not to be called with the lock held."""
        milliseconds = self.faults.value("latency")
        if milliseconds:
            self.clock.sleep(milliseconds / 1000)

    def _settings_changed(self) -> None:
        with self.lock:
            self.changed()
            self.operator.bind()

    def _perhaps_alert(self) -> None:
        if self.faults.happens("dialog"):
            self.glass.alert()

    # Accessibility

    def changed(self) -> None:
        """What is shown may be different from now on."""
        self.glass.changed()

    def emit(self, event: AccessibilityEvent) -> None:
        """Tell everyone who listens; the Operator only while no dump has suspended its service."""
        for listener in self.listeners:
            listener(event)
        if not self._suspended:
            self.operator.on_event(event)

    @contextmanager
    def accessibility_suspended(self) -> Iterator[None]:
        """Services hear nothing meanwhile, as while ``uiautomator`` runs."""
        with self.lock:
            self._suspended += 1
        try:
            yield
        finally:
            with self.lock:
                self._suspended -= 1

    def tell_window(self, entry: Entry) -> None:
        """Another window is in front."""
        screen = entry.screen
        self.emit(
            AccessibilityEvent(
                kind="window_state_changed",
                package=entry.package,
                class_name=screen.activity,
                title=screen.title or None,
            )
        )

    def _opened(self, entry: Entry) -> None:
        self.changed()
        if entry.screen.on_show:
            self.perform(entry, entry.screen.on_show)

    def _came_to_front(self, entry: Entry) -> None:
        if self.player is not None and self.player.came_to_front(entry):
            return
        self.glass.hide_keyboard()
        self.changed()
        if self.glass.top() is entry:
            self.tell_window(entry)
            if entry.wants_keyboard:
                entry.wants_keyboard = False
                self.glass.show_keyboard()
