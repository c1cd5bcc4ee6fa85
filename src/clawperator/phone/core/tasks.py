"""Which screens are open: a process per running app, a task per app, a stack of screens per task."""

from collections.abc import Callable, Iterator
from typing import Any

from clawperator.phone.toolkit.app import App, Screen

FIRST_PID = 4_000
_MOST_SCREENS = 100


class Process:
    """A running app and its memory."""

    __slots__ = ("alive", "app", "data", "pid", "state")

    def __init__(self, app: App, pid: int, data: dict[str, Any]) -> None:
        self.app = app
        self.pid = pid
        self.data = data
        self.state = app.fresh_state()
        self.alive = True


class Entry:
    """One open screen, with what it remembers: where it was scrolled to, which field has the focus."""

    __slots__ = ("args", "cursor", "edited", "focus", "process", "screen", "scroll", "texts", "wants_keyboard")

    def __init__(self, process: Process, screen: Screen, args: dict[str, Any]) -> None:
        self.process = process
        self.screen = screen
        self.args = args
        self.scroll: dict[str, tuple[int, int]] = {}
        self.texts: dict[str, str] = {}
        self.focus: str | None = None
        self.wants_keyboard = False
        # Where the next character goes, and the text that was true of.
        self.cursor = 0
        self.edited = ""

    @property
    def package(self) -> str:
        return self.process.app.package


class Task:
    """The screens of one app, the bottom one first. Never empty."""

    __slots__ = ("entries", "number", "process")

    def __init__(self, process: Process, entry: Entry, number: int) -> None:
        self.process = process
        self.entries = [entry]
        self.number = number

    @property
    def top(self) -> Entry:
        return self.entries[-1]

    @property
    def is_passing(self) -> bool:
        """Whether nothing leads back to it, as with the chooser: it ends when it is left."""
        return self.number != 1 and not self.process.app.launchable

    def shown(self) -> list[Entry]:
        """What can be seen of it: the topmost activity and the dialogs over it."""
        for i in range(len(self.entries) - 1, -1, -1):
            if self.entries[i].screen.kind == "activity":
                return self.entries[i:]
        return list(self.entries)


class Tasks:
    """All that is open. The first task is the launcher's; the last of ``order`` is in front.

    ``opened`` is told of each new screen, ``changed`` each time another screen comes to the front.
    """

    def __init__(
        self,
        data: Callable[[App], dict[str, Any]],
        opened: Callable[[Entry], None],
        changed: Callable[[Entry], None],
    ) -> None:
        self._data = data
        self._opened = opened
        self._changed = changed
        self._order: list[Task] = []
        self._processes: dict[str, Process] = {}
        self._pids = FIRST_PID
        self._numbers = 0

    @property
    def front(self) -> Task:
        return self._order[-1]

    @property
    def launcher(self) -> Task:
        return next(task for task in self._order if task.number == 1)

    def recent(self) -> Iterator[Task]:
        """The tasks a person can come back to, the latest first."""
        return (task for task in reversed(self._order) if task.process.app.launchable)

    def processes(self) -> list[Process]:
        return sorted(self._processes.values(), key=lambda process: process.pid)

    def process(self, package: str) -> Process | None:
        return self._processes.get(package)

    def ensure_process(self, app: App) -> Process:
        """The running app; it is begun when it does not run."""
        process = self._processes.get(app.package)
        if process is None:
            self._pids += 17
            process = self._processes[app.package] = Process(app, self._pids, self._data(app))
        return process

    def start(self, app: App, screen: str | None = None, args: dict[str, Any] | None = None) -> None:
        """Bring an app to the front: where it was, or on a screen of its own when one is named."""
        process = self.ensure_process(app)
        task = next((t for t in self._order if t.process is process), None)
        if task is not None and screen is not None and task.is_passing:
            self._order.remove(task)
            task = None
        if task is None:
            self._numbers += 1
            entry = Entry(process, app.screens[screen or app.home], dict(args or {}))
            self._order.append(Task(process, entry, self._numbers))
            self._opened(entry)
            self._tell(entry)
            return
        self._order.remove(task)
        self._order.append(task)
        if screen is None:
            self._changed(task.top)
        else:
            self.open(process, screen, dict(args or {}))

    def open(self, process: Process, screen: str, args: dict[str, Any]) -> None:
        """Put a screen on top of its task. A stopped app opens nothing."""
        task = next((t for t in self._order if t.process is process), None)
        if task is None or not process.alive:
            return
        entry = Entry(process, process.app.screens[screen], args)
        task.entries.append(entry)
        if len(task.entries) > _MOST_SCREENS:  # nobody goes back that far
            del task.entries[1]
        self._opened(entry)
        self._tell(entry)

    def replace(self, entry: Entry, screen: str, args: dict[str, Any]) -> None:
        """Put a screen where another was; that one and all above it are gone."""
        task = self._task_of(entry)
        if task is not None:
            new = Entry(entry.process, entry.process.app.screens[screen], args)
            task.entries[task.entries.index(entry) :] = [new]
            self._opened(new)
            self._tell(new)

    def leave(self, entry: Entry) -> None:
        """Close a screen and all above it.

        Closing an app's first screen puts the app behind the launcher; what is only passing ends, and what
        was in front before it is again.
        """
        task = self._task_of(entry)
        if task is None:
            return
        at = task.entries.index(entry)
        if at == 0:
            if task.number == 1:
                return
            del task.entries[1:]
            in_front = task is self.front
            if task.is_passing:
                self._order.remove(task)
            if in_front and task.is_passing:
                self._changed(self.front.top)
            elif in_front:
                self.go_home()
            return
        del task.entries[at:]
        if task is self.front:
            self._changed(task.top)

    def unwind(self, entry: Entry) -> None:
        """Close every screen above the first of a task."""
        task = self._task_of(entry)
        if task is not None and len(task.entries) > 1:
            self.leave(task.entries[1])

    def go_home(self) -> None:
        task = self.launcher
        del task.entries[1:]
        self._order.remove(task)
        self._order.append(task)
        self._changed(task.top)

    def stop(self, package: str) -> bool:
        """End an app at once: its memory and its screens are gone. False when it does not run."""
        process = self._processes.pop(package, None)
        if process is None:
            return False
        process.alive = False
        gone = [t for t in self._order if t.process is process]
        in_front = self.front in gone
        for task in gone:
            if task.number == 1:  # the launcher comes back at once
                task.process = self.ensure_process(process.app)
                task.entries[:] = [Entry(task.process, process.app.screens[process.app.home], {})]
            else:
                self._order.remove(task)
        if in_front:
            self.go_home()
        return True

    def shown(self) -> list[Entry]:
        """All screens that can be seen, the lowest first: the topmost activity, and what lies over it."""
        found: list[Entry] = []
        for task in reversed(self._order):
            found = task.shown() + found
            if found[0].screen.kind == "activity":
                break
        return found

    def can_stop(self, entry: Entry) -> bool:
        """Whether the phone can go on without the app of a screen: it is one of a task, and not the launcher."""
        task = self._task_of(entry)
        return task is not None and task.number != 1

    def _task_of(self, entry: Entry) -> Task | None:
        return next((t for t in self._order if entry in t.entries), None)

    def _tell(self, entry: Entry) -> None:
        """Say that a new screen is in front, unless what was done at its opening has put another there."""
        if self.front.top is entry:
            self._changed(entry)
