"""Apps: named screens, each a function from where we are to what is shown.

    notes = App("com.example.notes", "Notes", state={"draft": ""})

    @notes.screen("home", title="Notes")
    def home(here: Here) -> View:
        return column(toolbar("Notes"), field("draft", hint="Note"), button("Save", save))

A handler such as ``save`` takes the same ``Here`` and may change ``here.state``, move to another screen,
show a dialog, start another app, or do something later.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from clawperator.phone.toolkit.views import Effect, View

if TYPE_CHECKING:
    from clawperator.phone.core.phone import Phone
    from clawperator.phone.core.tasks import Entry
    from clawperator.ui.node import Hierarchy

Build: TypeAlias = Callable[["Here"], View]
ScreenKind = Literal["activity", "dialog", "sheet"]


class Screen(Struct, frozen=True):
    """One screen of an app. A dialog lies in the middle of the one below it, a sheet at its bottom."""

    name: str
    build: Build
    kind: ScreenKind
    title: str | None
    activity: str
    on_show: Effect | None
    # Whether Back or a tap beside it takes a dialog away.
    cancelable: bool = True
    # Gives the nodes themselves, each with its ``Place``: they are shown just so, and nothing is built.
    tree: "Callable[[Entry], Hierarchy] | None" = None


class App:
    """A package. ``state`` is lost when the app is stopped, ``data`` only when it is cleared."""

    def __init__(  # noqa: PLR0913 - the facts of one app
        self,
        package: str,
        label: str,
        *,
        state: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        home: str = "home",
        version: str = "1.0.0",
        system: bool = False,
        launchable: bool = True,
        links: tuple[str, ...] = (),
        link_screen: str = "",
    ) -> None:
        self.package = package
        self.label = label
        self.home = home
        self.version = version
        self.system = system
        self.launchable = launchable
        # What it opens, such as "https://example.com/" or "tel:", and where; the link is ``here.args["uri"]``.
        self.links = links
        self.link_screen = link_screen or home
        self.screens: dict[str, Screen] = {}
        self._state = dict(state or {})
        self._data = dict(data or {})

    def fresh_state(self) -> dict[str, Any]:
        return deepcopy(self._state)

    def fresh_data(self) -> dict[str, Any]:
        return deepcopy(self._data)

    def screen(  # noqa: PLR0913 - the facts of one screen
        self,
        name: str,
        *,
        title: str | None = None,
        activity: str = "",
        kind: ScreenKind = "activity",
        on_show: Effect | None = None,
        cancelable: bool = True,
    ) -> Callable[[Build], Build]:
        """A decorator: the function builds this screen. ``on_show`` runs each time it is opened."""
        if not activity:
            plain = "android.app.AlertDialog" if kind != "activity" else f"{self.package}.{_camel(name)}Activity"
            activity = plain
        shown = title if title is not None or kind != "activity" else self.label

        def add(build: Build) -> Build:
            self.screens[name] = Screen(name, build, kind, shown, activity, on_show, cancelable)
            return build

        return add

    def dialog(self, name: str, **more: Any) -> Callable[[Build], Build]:
        return self.screen(name, **{"kind": "dialog", **more})


class Here:
    """Where a builder or a handler stands: one screen of one running app."""

    __slots__ = ("_entry", "_phone")

    def __init__(self, phone: "Phone", entry: "Entry") -> None:
        self._phone = phone
        self._entry = entry

    @property
    def state(self) -> dict[str, Any]:
        """The app's memory."""
        return self._entry.process.state

    @property
    def data(self) -> dict[str, Any]:
        """What the app has saved."""
        return self._entry.process.data

    @property
    def args(self) -> dict[str, Any]:
        """What this screen was opened with, and its own memory from then on."""
        return self._entry.args

    @property
    def system(self) -> "Phone":
        """The phone itself, for the apps that belong to it: launcher, settings, chooser."""
        return self._phone

    @property
    def is_in_front(self) -> bool:
        """Whether this screen is the one that takes the touches."""
        return self._phone.glass.top() is self._entry

    def focus(self, name: str) -> None:
        """Put the cursor into a field, by its ``bind`` or ``id``, and bring up the keyboard."""
        self._entry.focus = name
        self._entry.wants_keyboard = True
        if self.is_in_front:
            self._phone.glass.show_keyboard()

    def go(self, screen: str, /, **args: Any) -> None:
        """Open another screen of this app, on top of this one."""
        self._phone.tasks.open(self._entry.process, screen, args)

    def replace(self, screen: str, /, **args: Any) -> None:
        """Open another screen of this app in place of this one and all above it."""
        self._phone.tasks.replace(self._entry, screen, args)

    def back(self) -> None:
        """Leave this screen."""
        self._phone.tasks.leave(self._entry)

    def home(self) -> None:
        """Go back to the first screen of this app."""
        self._phone.tasks.unwind(self._entry)

    def start(self, package: str) -> bool:
        """Bring another app to the front."""
        return self._phone.launch(package)

    def view(self, uri: str) -> bool:
        """Open a link with the app that handles it."""
        return self._phone.view(uri)

    def toast(self, message: str) -> None:
        """Show a line for two seconds."""
        self._phone.glass.toast(message)

    def after(self, milliseconds: float, effect: Effect) -> None:
        """Do something later, if the app still runs then. The screen is shown anew afterwards."""
        self._phone.later(milliseconds, self._entry, effect)


def go(screen: str, /, **args: Any) -> Effect:
    return lambda here: here.go(screen, **args)


def back(here: Here) -> None:
    here.back()


def put(key: str, value: Any) -> Effect:
    """Set one entry of the app's state."""
    return lambda here: here.state.__setitem__(key, value)


def start(package: str) -> Effect:
    return lambda here: void(here.start(package))


def toast(message: str) -> Effect:
    return lambda here: here.toast(message)


def later(milliseconds: float, effect: Effect) -> Effect:
    return lambda here: here.after(milliseconds, effect)


def each(*effects: Effect) -> Effect:
    """One after the other."""

    def run(here: Here) -> None:
        for effect in effects:
            effect(here)

    return run


def void(_: object) -> None:
    """An effect returns nothing, whatever the call in it says."""


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))
