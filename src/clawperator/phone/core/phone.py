"""The simulated phone: all of its state behind one lock.

It runs on a virtual clock in tests and on the system clock in its own process, with the same behaviour. The
shell and adb use it; nothing here knows about them.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from random import Random
from typing import TYPE_CHECKING, Any

from clawperator import __version__
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.engine.clock import VirtualClock
from clawperator.engine.driver import Clock
from clawperator.phone.apps import browser, notes, solar, stress, video
from clawperator.phone.apps import settings as settings_app
from clawperator.phone.apps.browser import CHOOSER
from clawperator.phone.apps.system import (
    KEYBOARD_COMPONENT,
    LAUNCHER,
    android_app,
    keyboard_app,
    launcher_app,
    operator_app,
    system_ui,
)
from clawperator.phone.core import kernel, settings, user_input
from clawperator.phone.core.events import AccessibilityEvent, window_event
from clawperator.phone.core.faults import Faults
from clawperator.phone.core.kernel import Sockets, Timers
from clawperator.phone.core.packages import Packages
from clawperator.phone.core.tasks import Tasks
from clawperator.phone.core.windows import WindowManager
from clawperator.phone.log.buffer import LogBuffer, apply_log_faults
from clawperator.phone.operator.operator import Operator
from clawperator.phone.storage.filesystem import Storage
from clawperator.phone.toolkit.app import App, AppProcess, BackStackEntry
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.layout import PlacedView

if TYPE_CHECKING:
    from clawperator.phone.cassette.cassette import Cassette
    from clawperator.phone.cassette.player import Player
    from clawperator.phone.render.pen import Scene


@cache
def built_in_apps() -> tuple[App, ...]:
    """The built-in apps.

    All phones of a process share them: an app is a description, and each phone has the state of its own processes.
    """
    modules = (settings_app, solar, video, browser, notes, stress)
    return (launcher_app(), *(app for module in modules for app in module.apps()))


class Phone:
    """One simulated phone. Every public method may be called from any thread."""

    def __init__(  # noqa: PLR0913 - the settings of one phone
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
        self.random = Random(seed)  # noqa: S311 - reproducible on purpose
        self.faults = Faults(seed)
        self.storage = Storage(folder)
        self.log = LogBuffer(self.clock.now_ms)
        self.log.filter = partial(apply_log_faults, self.faults)
        self.timers = Timers(self.clock)
        self.properties = settings.properties(serial, __version__)
        self.settings = settings.SettingsProvider(self.storage, self._on_settings_changed)
        self.listeners: list[Callable[[AccessibilityEvent], None]] = []
        self.sockets = Sockets()
        # What shell commands keep between two calls, by their name.
        self.command_state: dict[str, Any] = {}
        # Set by ``close``: background work in the shell stops waiting.
        self.stopping = threading.Event()
        self._suspended = 0
        # The last screenshot, and what it shows.
        self._picture: tuple[Scene, bytes] | None = None
        self._data: dict[str, dict[str, Any]] = {}
        self.tasks = Tasks(self._data_of, self._on_opened, self._on_front_changed)
        self.windows = WindowManager(
            self.tasks,
            self.faults,
            self.clock,
            make_context=partial(AppContext, self),
            crash=self.crash,
            announce=lambda entry: self.emit(window_event(entry)),
        )
        self.packages = Packages(
            self.storage, self.clock.now_ms, on_update=self._restart_for_update, on_remove=self._uninstalling
        )
        self.operator: Operator = Operator(self, operator_package)
        # Plays back a recording instead of the built-in apps.
        self.player: Player | None = None
        if cassette is not None:
            from clawperator.phone.cassette import player

            self.player = player.Player(self, cassette)
        self._install(apps)
        kernel.provide_proc_files(self.storage, self.processes, self.clock, self.log.boot_ms)
        self._boot()

    def _install(self, apps: Iterable[App]) -> None:
        keyboard = keyboard_app(self.type_text, lambda: self.key(67), lambda: self.key(66))
        system = (system_ui(), android_app(), keyboard)
        built_in, recorded = built_in_apps(), list[App]()
        if self.player is not None:  # every phone needs these two
            built_in = tuple(app for app in built_in if app.package in (LAUNCHER, CHOOSER))
            recorded = self.player.apps()
        for app in (*system, operator_app(self.operator.package, __version__), *built_in, *apps, *recorded):
            self.packages.add(app)
        self.windows.add_system_windows(system)

    def _boot(self) -> None:
        self.settings.set_quietly("secure", "default_input_method", KEYBOARD_COMPONENT)
        self.settings.set_quietly("secure", "enabled_input_methods", KEYBOARD_COMPONENT)
        self.operator.grant()
        if not self.storage.is_unused:  # reading would create its folders
            self.settings.load()
            self.packages.load()
        self.operator.replace_other_variants()
        self.tasks.start(self.packages.app(LAUNCHER))
        self.tasks.ensure_process(self.packages.app(self.operator.package))
        if self.player is not None:
            self.player.begin()
        self.log.write("I", "SystemServer", "boot completed", kernel.SYSTEM_SERVER_PID)

    def close(self) -> None:
        """Stop all background work. The files of a phone without a folder are removed."""
        self.stopping.set()
        self.operator.close()
        self.timers.close()
        self.storage.close()

    def screenshot(self) -> bytes:
        """The screen as PNG."""
        from clawperator.phone.render.screenshot import png

        with self.lock:
            scene = self.scene()
            if self._picture is None or self._picture[0] != scene:
                self._picture = scene, png(scene)
            return self._picture[1]

    def raw_screenshot(self) -> bytes:
        """The screen as ``screencap`` writes it: a header of four numbers, then four bytes per pixel."""
        from clawperator.phone.render.screenshot import raw_rgba

        with self.lock:
            return raw_rgba(self.scene())

    def scene(self) -> "Scene":
        """What is on the screen now, for a picture of it."""
        from clawperator.phone.render.pen import capture

        with self.lock:
            return capture(self.windows, self.settings, self.clock.now_ms())

    @property
    def content_height_dp(self) -> float:
        """The height between the bars."""
        return self.windows.display.content.height / self.windows.display.scale

    def foreground(self) -> str:
        """The package in the foreground."""
        with self.lock:
            return self.windows.top().package

    # Input

    def tap(self, x: int, y: int, hold_ms: int = 100) -> None:
        self.touch(lambda: user_input.tap(self, x, y, hold_ms))

    def swipe(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int = 300) -> None:
        self.touch(lambda: user_input.swipe(self, start, end, duration_ms))

    def drag(self, start: tuple[int, int], end: tuple[int, int], duration_ms: int) -> None:
        self.touch(lambda: user_input.drag(self, start, end, duration_ms))

    def type_text(self, text: str) -> None:
        """Type into the focused field, one character at a time."""
        with self.lock:
            user_input.type_text(self, text)

    def key(self, code: int, *, long: bool = False) -> None:
        """Inject a key event."""
        with self.lock:
            user_input.press_key(self, code, long=long)

    def press_back_key(self) -> None:
        """Press the hardware Back key. Unlike an injected key it emits an accessibility event."""
        with self.lock:
            self.emit(AccessibilityEvent(kind="key_back", package=""))
            self.go_back()

    def go_back(self) -> None:
        with self.lock:
            if self.windows.dismiss_alert() or (self.player is not None and self.player.key("back")):
                return
            if self.windows.hide_keyboard():
                return
            entry = self.tasks.front.top
            if entry.screen.on_back is not None:
                self.perform(entry, entry.screen.on_back)
            elif entry.screen.kind == "activity" or entry.screen.cancelable:
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

    def show_alert(self) -> None:
        """Show a system dialog over everything."""
        with self.lock:
            self.windows.show_alert()

    def dismiss_alert(self) -> bool:
        """Close the system dialog. False when none was shown."""
        with self.lock:
            return self.windows.dismiss_alert()

    # Accessibility actions: on a view itself, at its current position

    def click(self, placed: PlacedView, *, long: bool = False) -> bool:
        """False when the view is gone or not clickable."""
        with self.lock:
            return user_input.click(self, placed, long=long)

    def focus(self, placed: PlacedView) -> bool:
        with self.lock:
            current = self.windows.find_again(placed)
            if current is None or not current.view.edits:
                return False
            user_input.focus_field(self, current)
            return True

    def set_text(self, placed: PlacedView, text: str) -> bool:
        with self.lock:
            current = self.windows.find_again(placed)
            return current is not None and user_input.replace_text(self, current, text)

    def submit(self, placed: PlacedView) -> bool:
        with self.lock:
            current = self.windows.find_again(placed)
            return current is not None and bool(current.view.edits) and user_input.submit(self, current)

    # Apps

    def launch(self, package: str) -> bool:
        """Start an app or bring it to the front. False when it cannot be started."""
        with self.lock:
            app = self.packages.launchable(package)
            if app is None:
                return False
            self.tasks.start(app)
            return True

    def view(self, uri: str) -> bool:
        """Open a link with the only app that handles it, or show a chooser. False when no app does."""
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
        """Force-stop an app. False when it was not running."""
        with self.lock:
            self.operator.on_stopped(package)
            return self.tasks.stop(package)

    def clear_app(self, package: str) -> None:
        """Stop an app and delete what it saved."""
        with self.lock:
            self.stop_app(package)
            self._data.pop(package, None)

    def process_of(self, package: str) -> AppProcess | None:
        return self.tasks.process(package)

    def processes(self) -> list[kernel.RunningProcess]:
        """All processes, as ``ps`` lists them."""
        with self.lock:
            return kernel.running_processes(self.tasks, self.packages)

    def recent_apps(self) -> list[App]:
        """The apps shown in the overview, the latest first."""
        return [task.process.app for task in self.tasks.recent()]

    def later(self, milliseconds: float, entry: BackStackEntry, effect: Effect) -> None:
        """Run an app's handler after a delay, if the app is still running then."""

        def run() -> None:
            with self.lock:
                self.perform(entry, effect)

        self.timers.later(milliseconds / 1000, run)

    def perform(self, entry: BackStackEntry, effect: Effect) -> None:
        """Run an app's handler. An exception ends the app, not the phone."""
        if entry.process.alive:
            try:
                effect(AppContext(self, entry))
            except Exception as e:  # noqa: BLE001 - apps are users' code
                self.crash(entry, e)
            self.windows.invalidate()

    def crash(self, entry: BackStackEntry, error: Exception) -> None:
        """End an app whose code failed, and log the exception. Launcher and bars must not fail."""
        import traceback

        if not self.tasks.can_stop(entry):
            raise error
        trace = "".join(traceback.format_exception(error))
        process = f"Process: {entry.package}, PID: {entry.process.pid}"
        self.log.write("E", "AndroidRuntime", f"FATAL EXCEPTION: main\n{process}\n{trace}", entry.process.pid)
        self.tasks.stop(entry.package)

    def _data_of(self, app: App) -> dict[str, Any]:
        return self._data.setdefault(app.package, app.fresh_data())

    def _uninstalling(self, package: str) -> None:
        with self.lock:
            self.clear_app(package)
            self.settings.remove_components(package)

    def _restart_for_update(self, package: str) -> None:
        """End an app whose package is replaced. The Operator's service starts again with the new one."""
        with self.lock:
            if package == self.operator.package:
                self.operator.die()
            if self.tasks.stop(package) and package == self.operator.package:
                self.operator.bind()

    # Faults

    def set_fault(self, name: str, setting: str | float | bool) -> float:  # noqa: FBT001 - on or off
        """Set a fault and apply it. Returns its value, 0 when it is off."""
        with self.lock:
            value = self.faults.set(name, setting)
            if name == "storage_full":
                self.storage.full = bool(value)
            elif name == "rotation":
                self.windows.rotate(int(value))
            elif name == "operator_killed":
                self.operator.die()
                if value:
                    self.tasks.stop(self.operator.package)
                else:
                    self.operator.bind()
            elif name == "dialog" and value >= 1:
                self.windows.show_alert()
            return value

    def apply_latency(self) -> None:
        """Wait as long as the fault ``latency`` demands. Must be called without the lock."""
        milliseconds = self.faults.value("latency")
        if milliseconds:
            self.clock.sleep(milliseconds / 1000)

    def touch(self, perform: Callable[[], None]) -> None:
        """Perform a touch, with the faults that affect touches."""
        with self.lock:
            if self.faults.happens("shift"):
                self.windows.shift()
            if not self.faults.happens("dropped_tap"):
                perform()
            if self.faults.happens("dialog"):
                self.windows.show_alert()

    # Events

    def emit(self, event: AccessibilityEvent) -> None:
        """Send an event to all listeners, and to the Operator unless its service is suspended."""
        for listener in self.listeners:
            listener(event)
        if not self._suspended:
            self.operator.on_event(event)

    @contextmanager
    def accessibility_suspended(self) -> Iterator[None]:
        """Suspend accessibility services, as ``uiautomator`` does while it runs."""
        with self.lock:
            self._suspended += 1
        try:
            yield
        finally:
            with self.lock:
                self._suspended -= 1

    def _on_settings_changed(self) -> None:
        with self.lock:
            self.windows.invalidate()
            self.operator.bind()

    def _on_opened(self, entry: BackStackEntry) -> None:
        self.windows.invalidate()
        if entry.screen.on_show:
            self.perform(entry, entry.screen.on_show)

    def _on_front_changed(self, entry: BackStackEntry) -> None:
        if self.player is not None and self.player.came_to_front(entry):
            return
        self.windows.hide_keyboard()
        self.windows.invalidate()
        if self.windows.top() is entry:
            self.emit(window_event(entry))
            entry.was_shown = True
            if entry.wants_keyboard:
                entry.wants_keyboard = False
                self.windows.show_keyboard()
