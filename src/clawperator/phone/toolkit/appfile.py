"""User-defined apps: Python files that define ``App`` objects, and TOML files for simple apps."""

import os
import tomllib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from clawperator._base.files import open_regular, why
from clawperator.contract.action_params import PACKAGE_NAME
from clawperator.errors import ClawError
from clawperator.phone.toolkit import views
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View

_MAX_BYTES = 1024 * 1024
_MAX_DEPTH = 30
_ALERT_TITLE = "android:id/alertTitle"
_APP_KEYS = {"package", "label", "version", "home", "links", "link_screen", "state", "data", "screen"}
_SCREEN_KEYS = {"name", "title", "kind", "cancelable", "on_show", "view"}
_MAX_DELAY_MS = 24 * 60 * 60 * 1000
_Text = str | int | float | bool
_Length = Annotated[float, Meta(ge=-10_000, le=10_000)]
# The attributes of every view, and their types.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("id", "desc", "hint"), str),
    **dict.fromkeys(("size", "width", "height", "weight", "padding", "gap"), _Length),
    **dict.fromkeys(("enabled", "selected", "heading", "clickable"), bool),
    "tone": Literal["surface", "accent", "muted", "danger", "dark"],
    "edits": Literal["text", "number", "password"],
}
_VIEW_KEYS = {*_TYPES, "kind", "text", "summary", "bind", "do", "hold", "double", "when", "unless", "view"}


class _Texts(Struct, frozen=True):
    """The texts of a view with state values inserted, and the state key it is bound to."""

    text: str
    summary: str
    bind: str


_Build = Callable[[_Texts, list[View], dict[str, Any]], View]


def _leaf(make: Callable[..., View]) -> _Build:
    return lambda texts, _, more: make(texts.text, **more)


def _group(make: Callable[..., View]) -> _Build:
    return lambda _, children, more: make(*children, **more)


_GROUPS = (views.row, views.column, views.frame, views.scroll, views.listing, views.strip, views.tabs, views.web)
_KINDS: dict[str, _Build] = {
    **{make.__name__: _leaf(make) for make in (views.text, views.title, views.button, views.tab)},
    "icon": lambda texts, _, more: views.icon(**{"desc": texts.text, **more}),
    "image": lambda texts, _, more: views.image(**{"desc": texts.text, **more}),
    "item": lambda texts, _, more: views.item(texts.text, texts.summary, **more),
    "field": lambda texts, _, more: views.field(texts.bind, **more),
    "switch": lambda texts, _, more: views.switch(texts.bind, text=texts.text, **more),
    "checkbox": lambda texts, _, more: views.checkbox(texts.text, texts.bind, **more),
    "toolbar": lambda texts, children, more: views.toolbar(texts.text, *children, **more),
    **{make.__name__: _group(make) for make in _GROUPS},
}


def load_apps(path: str) -> list[App]:
    """Load the apps of a ``.py`` or ``.toml`` file. A Python file is executed with the user's permissions."""
    end = os.path.splitext(path)[1]
    if end == ".py":
        found = _run(path)
    elif end == ".toml":
        found = [_read(path)]
    else:
        raise _invalid(path, "an app file must end in .py or .toml")
    for app in found:
        if not PACKAGE_NAME.fullmatch(str(app.package)):
            raise _invalid(path, f"{app.package!r} is not a valid package name (example: com.example.door)")
        for name in (app.home, app.link_screen):
            if name not in app.screens:
                raise _invalid(path, f"the app {app.package} has no screen {name!r}")
    return found


def _run(path: str) -> list[App]:
    import runpy

    try:
        names = runpy.run_path(path, run_name="clawperator_app")
    except (Exception, SystemExit) as e:
        raise _invalid(path, _line(path, e) + f"{type(e).__name__}: {e}") from e
    found = [value for value in names.values() if isinstance(value, App)]
    if not found:
        raise _invalid(path, "the file defines no App")
    return list({id(app): app for app in found}.values())


def _line(path: str, error: BaseException) -> str:
    """The line of the file in which an exception was raised; the message of a syntax error has its own."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"line {line}: " if line else ""


def _read(path: str) -> App:
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _invalid(path, f"the file is larger than {_MAX_BYTES} bytes")
        return _Reader(path).app(tomllib.loads(data.decode()))
    except OSError as e:
        raise _invalid(path, why(e)) from e
    except ValueError as e:  # not UTF-8, not TOML, or a number of thousands of digits
        raise _invalid(path, str(e)) from e
    except RecursionError:
        raise _invalid(path, "values are nested too deeply") from None


class _Reader:
    """Converts the tables of one file to an app. Every error names the file and the position in it."""

    def __init__(self, path: str) -> None:
        self._path = path
        # The screens that ``go`` steps name, with their positions: checked when all screens are known.
        self._targets: dict[str, str] = {}

    def app(self, table: dict[str, Any]) -> App:
        self._known("the file", table, _APP_KEYS)
        screens = table.get("screen")
        if not isinstance(screens, list) or not screens:
            raise self._error("the file", "at least one [[screen]] is required")
        names = [self._text(f"screen {i + 1}", s, "name") for i, s in enumerate(screens)]
        app = App(
            self._text("the file", table, "package"),
            self._text("the file", table, "label"),
            state=self._table("state", table),
            data=self._table("data", table),
            home=self._optional("the file", table, "home", str) or names[0],
            version=self._optional("the file", table, "version", str) or "1.0.0",
            links=tuple(self._optional("the file", table, "links", list[str]) or ()),
            link_screen=self._optional("the file", table, "link_screen", str) or "",
        )
        for name, screen in zip(names, screens, strict=True):
            self._screen(app, name, screen)
        for target, position in self._targets.items():
            if target not in app.screens:
                raise self._error(position, f"unknown screen {target!r}")
        return app

    def _screen(self, app: App, name: str, table: dict[str, Any]) -> None:
        position = f"screen {name!r}"
        self._known(position, table, _SCREEN_KEYS)
        kind = table.get("kind", "activity")
        if kind not in ("activity", "dialog", "sheet"):
            raise self._error(position, f"kind must be activity, dialog or sheet, not {kind!r}")
        title = self._optional(position, table, "title", str)
        builders = self._views(position, table.get("view", []), 0)
        if kind == "dialog" and title:
            builders.insert(0, lambda context: views.title(_interpolate(title, _values(context)), id=_ALERT_TITLE))
        app.screen(
            name,
            kind=kind,
            title=title,
            cancelable=self._optional(position, table, "cancelable", bool) is not False,
            on_show=self._effect(position, table["on_show"]) if "on_show" in table else None,
        )(lambda context: views.column(*_built(builders, context), weight=1))

    def _views(self, position: str, tables: Any, depth: int) -> list["_Builder"]:
        if not isinstance(tables, list) or depth > _MAX_DEPTH:
            raise self._error(position, f"view must be a list of tables, at most {_MAX_DEPTH} deep")
        return [self._view(f"{position}, view {i + 1}", table, depth) for i, table in enumerate(tables)]

    def _view(self, position: str, table: Any, depth: int) -> "_Builder":
        if not isinstance(table, dict):
            raise self._error(position, "a view must be a table")
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise self._error(position, f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")
        self._known(position, table, _VIEW_KEYS)
        children = self._views(position, table.get("view", []), depth + 1)
        more = {key: self._value(position, key, table[key]) for key in table if key in _TYPES}
        on_do = "on_submit" if kind == "field" else "on_click"
        for key, handler in (("do", on_do), ("hold", "on_long_click"), ("double", "on_double_tap")):
            if key in table:
                more[handler] = self._effect(position, table[key])
        text, summary, bind = (
            str(self._optional(position, table, key, _Text) or "") for key in ("text", "summary", "bind")
        )
        for key in ("when", "unless"):
            self._optional(position, table, key, str)
        if kind in ("field", "switch", "checkbox") and not bind:
            raise self._error(position, f"a {kind} requires bind, the state key that holds its value")

        def build(context: AppContext) -> View | None:
            state = _values(context)
            if not _is_visible(table, state):
                return None
            texts = _Texts(_interpolate(text, state), _interpolate(summary, state), bind)
            return _KINDS[kind](texts, _built(children, context), more)

        return build

    def _effect(self, position: str, steps: Any) -> Effect:
        if isinstance(steps, dict):
            steps = [steps]
        if not isinstance(steps, list):
            raise self._error(position, "do must be a table or a list of tables")
        effects = [self._step(position, step) for step in steps]

        def run(context: AppContext) -> None:
            for effect in effects:
                effect(context)

        return run

    def _step(self, position: str, step: Any) -> Effect:
        match step:
            case {"go": str(screen), **args}:
                self._targets[screen] = position
                named = {str(key): value for key, value in args.items()}
                return lambda context: context.go(screen, **named)
            case {"back": True}:
                return lambda context: context.back()
            case {"put": dict(values)}:
                return lambda context: context.state.update(_interpolate_all(values, context.state))
            case {"keep": dict(values)}:
                return lambda context: context.data.update(_interpolate_all(values, context.state))
            case {"toast": str(message)}:
                return lambda context: context.toast(_interpolate(message, context.state))
            case {"start": str(package)}:
                return lambda context: (
                    None if context.start(package) else context.toast(f"{package} is not installed")
                )
            case {"view": str(uri)}:
                return lambda context: None if context.view(uri) else context.toast(f"no app opens {uri}")
            case {"after": int(milliseconds), "do": later} if 0 <= milliseconds <= _MAX_DELAY_MS:
                effect = self._effect(position, later)
                return lambda context: context.after(milliseconds, effect)
            case _:
                steps = "go, back, put, keep, toast, start, view, or after with do"
                raise self._error(position, f"invalid step {step!r}; valid steps: {steps}")

    def _value(self, position: str, key: str, value: Any, type_: Any = None) -> Any:
        type_ = type_ or _TYPES[key]
        try:
            return msgspec.convert(value, type_)
        except msgspec.ValidationError as e:
            valid = f"; valid values: {', '.join(get_args(type_))}" if get_origin(type_) is Literal else ""
            raise self._error(position, f"{key}: {e}{valid}") from None

    def _optional(self, position: str, table: Mapping[str, Any], key: str, type_: Any) -> Any:
        """The value of a key; None when the table does not have it."""
        return self._value(position, key, table[key], type_) if key in table else None

    def _text(self, position: str, table: Any, key: str) -> str:
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(value, str) or not value:
            raise self._error(position, f"{key} is required and must be a string")
        return value

    def _table(self, key: str, table: dict[str, Any]) -> dict[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._error(f"[{key}]", "must be a table")
        return value

    def _known(self, position: str, table: Mapping[str, Any], known: set[str]) -> None:
        if not isinstance(table, dict):
            raise self._error(position, "must be a table")
        unknown = sorted(set(table) - known)
        if unknown:
            raise self._error(position, f"unknown key {unknown[0]!r}; valid keys: {', '.join(sorted(known))}")

    def _error(self, position: str, message: str) -> ClawError:
        return _invalid(self._path, f"{position}: {message}")


_Builder = Callable[[AppContext], View | None]


def _values(context: AppContext) -> dict[str, Any]:
    """What texts and conditions refer to: saved data, state and arguments, the later ones first."""
    return {**context.data, **context.state, **context.args}


def _built(builders: list[_Builder], context: AppContext) -> list[View]:
    return [view for build in builders if (view := build(context)) is not None]


def _is_visible(table: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether the ``when`` and ``unless`` conditions of a view are met."""
    if "when" in table and not state.get(table["when"]):
        return False
    return not ("unless" in table and state.get(table["unless"]))


def _interpolate(text: str, state: Mapping[str, Any]) -> str:
    """Replace each ``{key}`` by the state's value. Unknown keys stay unchanged."""
    for key, value in state.items():
        if "{" not in text:
            break
        text = text.replace("{" + key + "}", str(value))
    return text


def _interpolate_all(values: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _interpolate(v, state) if isinstance(v, str) else v for k, v in values.items()}


def _invalid(path: str, message: str) -> ClawError:
    code, hint = "PHONE_APP_INVALID", "See 'Your own apps' in docs/guides/phone.md for the format of app files."
    return ClawError(code, f"{path}: {message}", hint=hint, operation="load app", target=path)
