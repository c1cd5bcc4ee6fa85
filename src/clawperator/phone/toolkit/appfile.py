"""Apps that users bring: Python files that define ``App`` objects, and TOML files for plain ones."""

import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._files import why
from clawperator.contract.actions import PACKAGE_NAME
from clawperator.errors import ClawError
from clawperator.phone.toolkit import views
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View

_LARGEST = 1024 * 1024
_MOST_DEPTH = 30
_APP_KEYS = {"package", "label", "version", "home", "links", "link_screen", "state", "data", "screen"}
_SCREEN_KEYS = {"name", "title", "kind", "cancelable", "on_show", "view"}
# What may be said of any view, and what it is.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("id", "desc", "hint"), str),
    **dict.fromkeys(("size", "width", "height", "weight", "padding", "gap"), float),
    **dict.fromkeys(("enabled", "selected", "heading", "clickable"), bool),
    "tone": Literal["surface", "accent", "muted", "danger", "dark"],
    "edits": Literal["text", "number", "password"],
}
_VIEW_KEYS = {*_TYPES, "kind", "text", "summary", "bind", "do", "hold", "when", "unless", "view"}


class _Words(Struct, frozen=True):
    """What a view says, with the state filled in, and the key of the state it holds."""

    text: str
    summary: str
    bind: str


_Build = Callable[[_Words, list[View], dict[str, Any]], View]


def _leaf(make: Callable[..., View]) -> _Build:
    return lambda words, _, more: make(words.text, **more)


def _group(make: Callable[..., View]) -> _Build:
    return lambda _, kids, more: make(*kids, **more)


_KINDS: dict[str, _Build] = {
    "text": _leaf(views.text),
    "title": _leaf(views.title),
    "button": _leaf(views.button),
    "tab": _leaf(views.tab),
    "icon": lambda words, _, more: views.icon(**{"desc": words.text, **more}),
    "image": lambda words, _, more: views.image(**{"desc": words.text, **more}),
    "item": lambda words, _, more: views.item(words.text, words.summary, **more),
    "field": lambda words, _, more: views.field(words.bind, **more),
    "switch": lambda words, _, more: views.switch(words.bind, **more),
    "checkbox": lambda words, _, more: views.checkbox(words.text, words.bind, **more),
    "toolbar": lambda words, kids, more: views.toolbar(words.text, *kids, **more),
    "row": _group(views.row),
    "column": _group(views.column),
    "frame": _group(views.frame),
    "scroll": _group(views.scroll),
    "listing": _group(views.listing),
    "strip": _group(views.strip),
    "tabs": _group(views.tabs),
    "web": _group(views.web),
}


def load_apps(path: str) -> list[App]:
    """The apps in a ``.py`` or ``.toml`` file. A Python file is run, so it can do whatever you can."""
    end = os.path.splitext(path)[1]
    if end == ".py":
        found = _run(path)
    elif end == ".toml":
        found = [_read(path)]
    else:
        raise _invalid(path, "an app is a .py or a .toml file")
    for app in found:
        if not PACKAGE_NAME.fullmatch(app.package):
            raise _invalid(path, f"{app.package!r} is not a package name such as com.example.door")
        for name in (app.home, app.link_screen):
            if name not in app.screens:
                raise _invalid(path, f"the app {app.package} has no screen {name!r}")
    return found


def _run(path: str) -> list[App]:
    import runpy

    try:
        names = runpy.run_path(path, run_name="clawperator_app")
    except (Exception, SystemExit) as e:
        raise _invalid(path, f"{type(e).__name__}: {e}") from e
    found = [value for value in names.values() if isinstance(value, App)]
    if not found:
        raise _invalid(path, "it defines no App")
    return list({id(app): app for app in found}.values())


def _read(path: str) -> App:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise _invalid(path, f"it is larger than {_LARGEST} bytes")
        return _Reader(path).app(tomllib.loads(data.decode()))
    except OSError as e:
        raise _invalid(path, why(e)) from e
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise _invalid(path, str(e)) from e


class _Reader:
    """Turns the tables of one file into an app. Every refusal names the file and the place in it."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Where each screen that is gone to was named, to be checked when all are known.
        self._goes: dict[str, str] = {}

    def app(self, table: dict[str, Any]) -> App:
        self._known("the file", table, _APP_KEYS)
        screens = table.get("screen")
        if not isinstance(screens, list) or not screens:
            raise self._bad("the file", "it needs at least one [[screen]]")
        names = [self._text(f"screen {i + 1}", s, "name") for i, s in enumerate(screens)]
        app = App(
            self._text("the file", table, "package"),
            self._text("the file", table, "label"),
            state=self._table("state", table),
            data=self._table("data", table),
            home=str(table.get("home", names[0])),
            version=str(table.get("version", "1.0.0")),
            links=tuple(map(str, table.get("links", ()))),
            link_screen=str(table.get("link_screen", "")),
        )
        for name, screen in zip(names, screens, strict=True):
            self._screen(app, name, screen)
        for target, place in self._goes.items():
            if target not in app.screens:
                raise self._bad(place, f"there is no screen {target!r} to go to")
        return app

    def _screen(self, app: App, name: str, table: dict[str, Any]) -> None:
        place = f"screen {name!r}"
        self._known(place, table, _SCREEN_KEYS)
        kind = table.get("kind", "activity")
        if kind not in ("activity", "dialog", "sheet"):
            raise self._bad(place, f"kind is activity, dialog or sheet, not {kind!r}")
        makers = self._views(place, table.get("view", []), 0)
        app.screen(
            name,
            kind=kind,
            title=table.get("title"),
            cancelable=bool(table.get("cancelable", True)),
            on_show=self._effect(place, table["on_show"]) if "on_show" in table else None,
        )(lambda here: views.column(*_made(makers, here), weight=1))

    def _views(self, place: str, tables: Any, depth: int) -> list["_Maker"]:
        if not isinstance(tables, list) or depth > _MOST_DEPTH:
            raise self._bad(place, "view is a list of tables, at most 30 deep")
        return [self._view(f"{place}, view {i + 1}", table, depth) for i, table in enumerate(tables)]

    def _view(self, place: str, table: Any, depth: int) -> "_Maker":
        if not isinstance(table, dict):
            raise self._bad(place, "a view is a table")
        kind = table.get("kind")
        if kind not in _KINDS:
            raise self._bad(place, f"kind is one of {', '.join(_KINDS)}, not {kind!r}")
        self._known(place, table, _VIEW_KEYS)
        kids = self._views(place, table.get("view", []), depth + 1)
        more = {key: self._value(place, key, table[key]) for key in table if key in _TYPES}
        if "do" in table:
            more["on_submit" if kind == "field" else "on_click"] = self._effect(place, table["do"])
        if "hold" in table:
            more["on_long_click"] = self._effect(place, table["hold"])
        words, summary, bind = (str(table.get(key, "")) for key in ("text", "summary", "bind"))
        if kind in ("field", "switch", "checkbox") and not bind:
            raise self._bad(place, f"a {kind} needs bind: the key of the state that holds it")

        def make(here: AppContext) -> View | None:
            state = {**here.data, **here.state, **here.args}
            if not _is_wanted(table, state):
                return None
            said = _Words(_filled(words, state), _filled(summary, state), bind)
            return _KINDS[kind](said, _made(kids, here), more)

        return make

    def _effect(self, place: str, steps: Any) -> Effect:
        if isinstance(steps, dict):
            steps = [steps]
        if not isinstance(steps, list):
            raise self._bad(place, "do is a table or a list of tables")
        effects = [self._step(place, step) for step in steps]

        def run(here: AppContext) -> None:
            for effect in effects:
                effect(here)

        return run

    def _step(self, place: str, step: Any) -> Effect:
        match step:
            case {"go": str(screen), **args}:
                self._goes[screen] = place
                named = {str(key): value for key, value in args.items()}
                return lambda here: here.go(screen, **named)
            case {"back": True}:
                return lambda here: here.back()
            case {"put": dict(values)}:
                return lambda here: here.state.update(_filled_all(values, here.state))
            case {"keep": dict(values)}:
                return lambda here: here.data.update(_filled_all(values, here.state))
            case {"toast": str(message)}:
                return lambda here: here.toast(_filled(message, here.state))
            case {"start": str(package)}:
                return lambda here: None if here.start(package) else here.toast(f"{package} is not installed")
            case {"view": str(uri)}:
                return lambda here: None if here.view(uri) else here.toast(f"nothing opens {uri}")
            case {"after": int(milliseconds), "do": later} if milliseconds >= 0:
                effect = self._effect(place, later)
                return lambda here: here.after(milliseconds, effect)
            case _:
                steps = "go, back, put, keep, toast, start, view, or after with do"
                raise self._bad(place, f"{step!r} is no step; a step is {steps}")

    def _value(self, place: str, key: str, value: Any) -> Any:
        try:
            return msgspec.convert(value, _TYPES[key])
        except msgspec.ValidationError as e:
            raise self._bad(place, f"{key}: {e}") from None

    def _text(self, place: str, table: Any, key: str) -> str:
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(value, str) or not value:
            raise self._bad(place, f"it needs {key}, a text")
        return value

    def _table(self, key: str, table: dict[str, Any]) -> dict[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._bad(f"[{key}]", "it is a table")
        return value

    def _known(self, place: str, table: Mapping[str, Any], known: set[str]) -> None:
        if not isinstance(table, dict):
            raise self._bad(place, "it is a table")
        unknown = sorted(set(table) - known)
        if unknown:
            raise self._bad(place, f"{unknown[0]!r} means nothing here; there are {', '.join(sorted(known))}")

    def _bad(self, place: str, message: str) -> ClawError:
        return _invalid(self._path, f"{place}: {message}")


_Maker = Callable[[AppContext], View | None]


def _made(makers: list[_Maker], here: AppContext) -> list[View]:
    return [view for make in makers if (view := make(here)) is not None]


def _is_wanted(table: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether ``when`` and ``unless`` let a view be shown."""
    return bool(state.get(table["when"]) if "when" in table else True) and not (
        "unless" in table and state.get(table["unless"])
    )


def _filled(text: str, state: Mapping[str, Any]) -> str:
    """Text with each ``{key}`` replaced by the state's value. What is no key stays as it is."""
    for key, value in state.items():
        if "{" not in text:
            break
        text = text.replace("{" + key + "}", str(value))
    return text


def _filled_all(values: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _filled(v, state) if isinstance(v, str) else v for k, v in values.items()}


def _invalid(path: str, message: str) -> ClawError:
    return ClawError(
        "PHONE_APP_INVALID",
        f"{path}: {message}",
        hint="See 'Your own apps' in docs/phone.md for what an app file holds.",
        operation="load app",
        target=path,
    )
