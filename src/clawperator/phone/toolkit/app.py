"""Apps: named screens, each a function that builds a view from an ``AppContext``.

    notes = App("com.example.notes", "Notes", state={"draft": ""})

    @notes.screen("home", title="Notes")
    def home(context: AppContext) -> View:
        return column(toolbar("Notes"), field("draft", hint="Note"), button("Save", save))

A handler such as ``save`` takes the same ``AppContext``. It may change ``context.state``, open another screen or a
dialog, start another app, or schedule a handler for later.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View

if TYPE_CHECKING:
    from clawperator.ui.node import Hierarchy

Build: TypeAlias = Callable[[AppContext], View]
ScreenKind = Literal["activity", "dialog", "sheet"]


class AppScreen(Struct, frozen=True):
    """The declaration of one screen. A dialog is centred over the screen below it, a sheet is at the bottom."""

    name: str
    build: Build
    kind: ScreenKind
    title: str | None
    activity: str
    on_show: Effect | None
    # Whether Back or a tap outside closes a dialog.
    cancelable: bool = True
    # Returns ready nodes, each with its ``PlacedView``: they are shown unchanged, and ``build`` is not called.
    tree: "Callable[[BackStackEntry], Hierarchy] | None" = None
    # The keys that it handles itself, by their names without KEYCODE_.
    keys: Mapping[str, Effect] = {}
    # Runs instead of closing the screen when Back is pressed.
    on_back: Effect | None = None


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
        # The prefixes of the links it opens ("https://example.com/", "tel:") and the screen that opens them; the
        # link is ``context.args["uri"]``.
        self.links = links
        self.link_screen = link_screen or home
        self.screens: dict[str, AppScreen] = {}
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
        keys: Mapping[str, Effect] | None = None,
        on_back: Effect | None = None,
    ) -> Callable[[Build], Build]:
        """A decorator: the function builds this screen.

        ``on_show`` runs each time the screen is opened, ``on_back`` instead of closing it when Back is pressed.
        ``keys`` are handlers by the name of their key, such as MEDIA_PLAY_PAUSE.
        """
        if not activity:
            plain = "android.app.AlertDialog" if kind != "activity" else f"{self.package}.{_camel(name)}Activity"
            activity = plain
        shown = title if title is not None or kind != "activity" else self.label

        def add(build: Build) -> Build:
            self.screens[name] = AppScreen(
                name,
                build,
                kind,
                shown,
                activity,
                on_show,
                cancelable,
                keys=keys or {},
                on_back=on_back,
            )
            return build

        return add

    def dialog(self, name: str, **more: Any) -> Callable[[Build], Build]:
        return self.screen(name, **{"kind": "dialog", **more})


class AppProcess:
    """A running app and its memory."""

    __slots__ = ("alive", "app", "data", "pid", "state")

    def __init__(self, app: App, pid: int, data: dict[str, Any]) -> None:
        self.app = app
        self.pid = pid
        self.data = data
        self.state = app.fresh_state()
        self.alive = True


class BackStackEntry:
    """One open screen and its own state: scroll offsets, texts of unbound fields, focus, cursor."""

    __slots__ = (
        "args",
        "cursor",
        "edited",
        "focus",
        "last_tap",
        "process",
        "screen",
        "scroll",
        "texts",
        "wants_keyboard",
        "was_shown",
    )

    def __init__(self, process: AppProcess, screen: AppScreen, args: dict[str, Any]) -> None:
        self.process = process
        self.screen = screen
        self.args = args
        self.scroll: dict[str, tuple[int, int]] = {}
        self.texts: dict[str, str] = {}
        self.focus: str | None = None
        # The view of the last tap that may be the first of a double tap, and its time.
        self.last_tap: tuple[str, float] | None = None
        # Whether it has been in front, and whether the keyboard appears when it is.
        self.was_shown = False
        self.wants_keyboard = False
        # The cursor position, and the text it is valid for.
        self.cursor = 0
        self.edited = ""

    @property
    def package(self) -> str:
        return self.process.app.package


def go(screen: str, /, **args: Any) -> Effect:
    return lambda context: context.go(screen, **args)


def back(context: AppContext) -> None:
    context.back()


def put(key: str, value: Any) -> Effect:
    """Set one key of the app's state."""
    return lambda context: context.state.__setitem__(key, value)


def start(package: str) -> Effect:
    return lambda context: void(context.start(package))


def void(_: object) -> None:
    """Discard a result: handlers return nothing."""


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))
