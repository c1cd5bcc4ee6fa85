"""The interface of an app's code: its own state and screens, and the services of the phone it runs on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias


class InstalledApp(Protocol):
    """The public facts of an installed app."""

    package: str
    label: str
    version: str
    system: bool
    launchable: bool


class InstalledPackage(Protocol):
    @property
    def app(self) -> InstalledApp: ...
    @property
    def third_party(self) -> bool: ...


class PackageService(Protocol):
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> InstalledPackage: ...
    def all(self) -> Sequence[InstalledPackage]: ...
    def app(self, name: str, /) -> InstalledApp: ...
    def handlers(self, uri: str, /) -> Sequence[InstalledApp]: ...
    def prefer(self, uri: str, name: str, /) -> None: ...
    def granted(self, name: str, /) -> list[str]: ...
    def remove(self, name: str, /) -> bool: ...


class SettingsService(Protocol):
    def get(self, namespace: str, key: str, /) -> str | None: ...
    def put(self, namespace: str, key: str, value: str, /) -> None: ...


class OperatorService(Protocol):
    @property
    def package(self) -> str: ...
    @property
    def component(self) -> str: ...
    def is_bound(self) -> bool: ...


class SystemServices(Protocol):
    """The part of the phone that system apps such as the launcher and Settings use."""

    @property
    def packages(self) -> PackageService: ...
    @property
    def settings(self) -> SettingsService: ...
    @property
    def operator(self) -> OperatorService: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def content_height_dp(self) -> float: ...
    def recent_apps(self) -> Sequence[InstalledApp]: ...
    def process_of(self, package: str, /) -> object | None: ...
    def open_with(self, package: str, uri: str, /) -> None: ...
    def stop_app(self, package: str, /) -> bool: ...
    def clear_app(self, package: str, /) -> None: ...
    def key(self, code: int, /) -> None: ...
    def go_back(self) -> None: ...
    def go_home(self) -> None: ...
    def show_recents(self) -> None: ...
    def show_alert(self) -> None: ...
    def dismiss_alert(self) -> bool: ...


class TaskService(Protocol):
    def open(self, process: Any, screen: str, args: dict[str, Any], /) -> None: ...
    def replace(self, entry: Any, screen: str, args: dict[str, Any], /) -> None: ...
    def leave(self, entry: Any, /) -> None: ...
    def unwind(self, entry: Any, /) -> None: ...


class WindowService(Protocol):
    def top(self) -> object: ...
    def show_keyboard(self) -> None: ...
    def toast(self, message: str, /) -> None: ...


class AppHost(SystemServices, Protocol):
    """The part of the phone that an app context uses."""

    @property
    def tasks(self) -> TaskService: ...
    @property
    def windows(self) -> WindowService: ...
    def launch(self, package: str, /) -> bool: ...
    def view(self, uri: str, /) -> bool: ...
    def later(self, milliseconds: float, entry: Any, effect: "Effect", /) -> None: ...


class AppMemory(Protocol):
    state: dict[str, Any]
    data: dict[str, Any]


class OpenScreen(Protocol):
    """The part of an open screen that its context uses."""

    args: dict[str, Any]
    focus: str | None
    wants_keyboard: bool
    was_shown: bool

    @property
    def process(self) -> AppMemory: ...


class AppContext:
    """One open screen of a running app: what its builder and its handlers receive."""

    __slots__ = ("_entry", "_phone")

    def __init__(self, phone: AppHost, entry: OpenScreen) -> None:
        self._phone = phone
        self._entry = entry

    @property
    def state(self) -> dict[str, Any]:
        """The app's memory. It is lost when the app is stopped."""
        return self._entry.process.state

    @property
    def data(self) -> dict[str, Any]:
        """The saved data of the app. It is lost when the app is cleared."""
        return self._entry.process.data

    @property
    def args(self) -> dict[str, Any]:
        """The arguments this screen was opened with. Handlers may change them to keep state."""
        return self._entry.args

    @property
    def system(self) -> SystemServices:
        """The phone's services, for apps that are part of the system."""
        return self._phone

    @property
    def is_in_front(self) -> bool:
        """Whether this screen receives touches."""
        return self._phone.windows.top() is self._entry

    def focus(self, name: str) -> None:
        """Focus a field, by its ``bind`` or ``id``, and show the keyboard."""
        self._entry.focus = name
        self._entry.wants_keyboard = True
        if self.is_in_front and self._entry.was_shown:
            self._phone.windows.show_keyboard()

    def go(self, screen: str, /, **args: Any) -> None:
        """Open another screen of this app on top of this one."""
        self._phone.tasks.open(self._entry.process, screen, args)

    def replace(self, screen: str, /, **args: Any) -> None:
        """Open another screen of this app in place of this one and all above it."""
        self._phone.tasks.replace(self._entry, screen, args)

    def back(self) -> None:
        """Close this screen."""
        self._phone.tasks.leave(self._entry)

    def home(self) -> None:
        """Return to the first screen of this app."""
        self._phone.tasks.unwind(self._entry)

    def start(self, package: str) -> bool:
        """Bring another app to the front. False when it cannot be started."""
        return self._phone.launch(package)

    def view(self, uri: str) -> bool:
        """Open a link with the app that handles it. False when no app does."""
        return self._phone.view(uri)

    def toast(self, message: str) -> None:
        """Show a message for two seconds."""
        self._phone.windows.toast(message)

    def after(self, milliseconds: float, effect: "Effect") -> None:
        """Run a handler later, if the app is still running then. The screen is rebuilt afterwards."""
        self._phone.later(milliseconds, self._entry, effect)


Effect: TypeAlias = Callable[[AppContext], None]
Change: TypeAlias = Callable[[AppContext, str], None]
