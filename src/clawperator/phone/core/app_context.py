"""The phone's implementation of ``AppContext``: one open screen of one running app."""

from typing import Any, Protocol

from clawperator.phone.core.tasks import Tasks
from clawperator.phone.core.window_manager import WindowManager
from clawperator.phone.toolkit.app import BackStackEntry
from clawperator.phone.toolkit.context import Effect, SystemServices


class AppHost(SystemServices, Protocol):
    """What a context uses of the phone."""

    @property
    def tasks(self) -> Tasks: ...
    @property
    def windows(self) -> WindowManager: ...
    def launch(self, package: str, /) -> bool: ...
    def view(self, uri: str, /) -> bool: ...
    def later(self, milliseconds: float, entry: BackStackEntry, effect: Effect, /) -> None: ...


class ScreenContext:
    """An ``AppContext`` over an entry of the back stack."""

    __slots__ = ("_entry", "_phone")

    def __init__(self, phone: AppHost, entry: BackStackEntry) -> None:
        self._phone = phone
        self._entry = entry

    @property
    def state(self) -> dict[str, Any]:
        return self._entry.process.state

    @property
    def data(self) -> dict[str, Any]:
        return self._entry.process.data

    @property
    def args(self) -> dict[str, Any]:
        return self._entry.args

    @property
    def system(self) -> SystemServices:
        return self._phone

    @property
    def is_in_front(self) -> bool:
        return self._phone.windows.top() is self._entry

    def focus(self, name: str) -> None:
        self._entry.focus = name
        self._entry.wants_keyboard = True
        if self.is_in_front:
            self._phone.windows.show_keyboard()

    def go(self, screen: str, /, **args: Any) -> None:
        self._phone.tasks.open(self._entry.process, screen, args)

    def replace(self, screen: str, /, **args: Any) -> None:
        self._phone.tasks.replace(self._entry, screen, args)

    def back(self) -> None:
        self._phone.tasks.leave(self._entry)

    def home(self) -> None:
        self._phone.tasks.unwind(self._entry)

    def start(self, package: str) -> bool:
        return self._phone.launch(package)

    def view(self, uri: str) -> bool:
        return self._phone.view(uri)

    def toast(self, message: str) -> None:
        self._phone.windows.toast(message)

    def after(self, milliseconds: float, effect: Effect) -> None:
        self._phone.later(milliseconds, self._entry, effect)
