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


class App(Struct, eq=False):
    """A package. ``state`` is lost when the app is stopped, ``data`` only when it is cleared."""

    package: str
    label: str
    state: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    home: str = "home"
    version: str = "1.0.0"
    system: bool = False
    launchable: bool = True
    # The prefixes of the links it opens ("https://example.com/", "tel:") and the screen that opens them; the link
    # is ``context.args["uri"]``.
    links: tuple[str, ...] = ()
    link_screen: str = ""
    screens: dict[str, AppScreen] = {}

    def __post_init__(self) -> None:
        self.link_screen = self.link_screen or self.home

    def fresh_state(self) -> dict[str, Any]:
        return deepcopy(dict(self.state or {}))

    def fresh_data(self) -> dict[str, Any]:
        return deepcopy(dict(self.data or {}))

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
            own = f"{self.package}.{_camel(name)}Activity"
            activity = own if kind == "activity" else "android.app.AlertDialog"
        shown = title if title is not None or kind != "activity" else self.label
        rest = on_show, cancelable, None, keys or {}, on_back

        def add(build: Build) -> Build:
            self.screens[name] = AppScreen(name, build, kind, shown, activity, *rest)
            return build

        return add

    def dialog(self, name: str, **more: Any) -> Callable[[Build], Build]:
        return self.screen(name, **{"kind": "dialog", **more})


class AppProcess(Struct, eq=False):
    """A running app and its memory."""

    app: App
    pid: int
    data: dict[str, Any]
    state: dict[str, Any]
    alive: bool = True


class BackStackEntry(Struct, eq=False):
    """One open screen and its own state: scroll offsets, texts of unbound fields, focus, cursor."""

    process: AppProcess
    screen: AppScreen
    args: dict[str, Any]
    scroll: dict[str, tuple[int, int]] = {}
    texts: dict[str, str] = {}
    focus: str | None = None
    # The view of the last tap that may be the first of a double tap, and its time.
    last_tap: tuple[str, float] | None = None
    # Whether it has been in front, and whether the keyboard appears when it is.
    was_shown: bool = False
    wants_keyboard: bool = False
    # The cursor position, and the text it is valid for.
    cursor: int = 0
    edited: str = ""

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
    def run(context: AppContext) -> None:
        context.start(package)

    return run


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))
