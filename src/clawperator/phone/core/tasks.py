"""Running apps: a process per app, a task per app, a back stack of screens per task."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from clawperator.phone.toolkit.app import App, AppProcess, BackStackEntry

FIRST_PID = 4_000
_MAX_ENTRIES = 100


class Task(Struct, eq=False):
    """The open screens of one app, the bottom one first. Never empty."""

    process: AppProcess
    entries: list[BackStackEntry]
    number: int

    @property
    def top(self) -> BackStackEntry:
        return self.entries[-1]

    @property
    def is_transient(self) -> bool:
        """Whether it ends when it is left, as the chooser does: it cannot be opened again."""
        return self.number != 1 and not self.process.app.launchable

    def shown(self) -> list[BackStackEntry]:
        """Its visible entries: the topmost activity and the dialogs over it."""
        for i in range(len(self.entries) - 1, -1, -1):
            if self.entries[i].screen.kind == "activity":
                return self.entries[i:]
        return list(self.entries)


class Tasks:
    """All tasks. Number 1 is the launcher's; the last in order is in front.

    ``opened`` is called with each new entry, ``changed`` each time another entry comes to the front.
    """

    def __init__(
        self,
        data: Callable[[App], dict[str, Any]],
        opened: Callable[[BackStackEntry], None],
        changed: Callable[[BackStackEntry], None],
    ) -> None:
        self._data = data
        self._opened = opened
        self._changed = changed
        self._order: list[Task] = []
        self._processes: dict[str, AppProcess] = {}
        self._pids = FIRST_PID
        self._numbers = 0

    @property
    def front(self) -> Task:
        return self._order[-1]

    @property
    def launcher(self) -> Task:
        return next(task for task in self._order if task.number == 1)

    def recent(self) -> Iterator[Task]:
        """The tasks shown in the overview, the latest first."""
        return (task for task in reversed(self._order) if task.process.app.launchable)

    def processes(self) -> list[AppProcess]:
        return sorted(self._processes.values(), key=lambda process: process.pid)

    def process(self, package: str) -> AppProcess | None:
        return self._processes.get(package)

    def ensure_process(self, app: App) -> AppProcess:
        """The process of an app, started if necessary."""
        process = self._processes.get(app.package)
        if process is None:
            self._pids += 17
            process = AppProcess(app, self._pids, self._data(app), app.fresh_state())
            self._processes[app.package] = process
        return process

    def start(self, app: App, screen: str | None = None, args: dict[str, Any] | None = None) -> None:
        """Bring an app to the front: as it was, or on a named screen."""
        process = self.ensure_process(app)
        task = next((t for t in self._order if t.process is process), None)
        if task is not None and screen is not None and task.is_transient:
            self._order.remove(task)
            task = None
        if task is None:
            self._numbers += 1
            entry = BackStackEntry(process, app.screens[screen or app.home], dict(args or {}))
            self._order.append(Task(process, [entry], self._numbers))
            self._announce(entry)
            return
        self._order.remove(task)
        self._order.append(task)
        if screen is None:
            self._changed(task.top)
        else:
            self.open(process, screen, dict(args or {}))

    def open(self, process: AppProcess, screen: str, args: dict[str, Any]) -> None:
        """Push a screen on its task. A stopped app opens nothing."""
        task = next((t for t in self._order if t.process is process), None)
        if task is None or not process.alive:
            return
        entry = BackStackEntry(process, process.app.screens[screen], args)
        task.entries.append(entry)
        if len(task.entries) > _MAX_ENTRIES:
            del task.entries[1]
        self._announce(entry)

    def replace(self, entry: BackStackEntry, screen: str, args: dict[str, Any]) -> None:
        """Replace a screen, and all above it, by another."""
        task = self._task_of(entry)
        if task is not None:
            new = BackStackEntry(entry.process, entry.process.app.screens[screen], args)
            task.entries[task.entries.index(entry) :] = [new]
            self._announce(new)

    def leave(self, entry: BackStackEntry) -> None:
        """Close a screen and all above it.

        Closing an app's first screen puts the app behind the launcher. A transient task ends, and the task
        that was in front before it is in front again.
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
            if task.is_transient:
                self._order.remove(task)
            if in_front and task.is_transient:
                self._changed(self.front.top)
            elif in_front:
                self.go_home()
            return
        del task.entries[at:]
        if task is self.front:
            self._changed(task.top)

    def unwind(self, entry: BackStackEntry) -> None:
        """Close every screen above the first of its task."""
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
        """End an app with its memory and screens. False when it is not running."""
        process = self._processes.pop(package, None)
        if process is None:
            return False
        process.alive = False
        gone = [t for t in self._order if t.process is process]
        in_front = self.front in gone
        for task in gone:
            if task.number == 1:  # the launcher restarts immediately
                task.process = self.ensure_process(process.app)
                task.entries[:] = [BackStackEntry(task.process, process.app.screens[process.app.home], {})]
            else:
                self._order.remove(task)
        if in_front:
            self.go_home()
        return True

    def shown(self) -> list[BackStackEntry]:
        """All visible entries, the lowest first: the topmost activity and the dialogs over it."""
        found: list[BackStackEntry] = []
        for task in reversed(self._order):
            found = task.shown() + found
            if found[0].screen.kind == "activity":
                break
        return found

    def can_stop(self, entry: BackStackEntry) -> bool:
        """Whether the entry's app may be stopped: it belongs to a task, and is not the launcher."""
        task = self._task_of(entry)
        return task is not None and task.number != 1

    def _task_of(self, entry: BackStackEntry) -> Task | None:
        return next((t for t in self._order if entry in t.entries), None)

    def _announce(self, entry: BackStackEntry) -> None:
        """Announce a new entry; as in front, unless its ``on_show`` handler has opened another one."""
        self._opened(entry)
        if self.front.top is entry:
            self._changed(entry)
