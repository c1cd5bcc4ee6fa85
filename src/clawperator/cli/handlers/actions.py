"""The flat action commands: each is one action, written with flags."""

from collections.abc import Callable, Mapping
from typing import Any

from clawperator._text import is_blank, read_number
from clawperator.cli import selectors
from clawperator.cli.handler import Call
from clawperator.cli.handlers.execution import carry_out
from clawperator.cli.parsing import Arguments, invalid
from clawperator.contract.builders import LONGEST_WAIT_MS, build, waiting_timeout
from clawperator.contract.execution import with_timeout
from clawperator.contract.limits import MAX_NAVIGATION_TIMEOUT_MS
from clawperator.errors import ClawError

_DIRECTIONS = ("down", "up", "left", "right")
_SCHEME_MARK = "://"
_SCHEME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")

Document = dict[str, Any]


def answer(call: Call) -> Any:
    return carry_out(execution(call), call)


def execution(call: Call) -> Document:
    """The execution that a command stands for."""
    document = _BUILDERS[call.name](call)
    if call.name not in _OWN_TIMEOUT:
        document = with_timeout(document, call.options.timeout_ms)
    return document


def missing(message: str, hint: str | None = None) -> ClawError:
    return ClawError("MISSING_ARGUMENT", message, hint=hint, operation="argparse")


def _snapshot(_: Call) -> Document:
    return build("snapshot")


def _screenshot(call: Call) -> Document:
    path = call.arguments.get("--path")
    return build("screenshot", {} if path is None else {"path": path})


def _click(call: Call) -> Document:
    a = call.arguments
    if a.has("--long") and a.has("--focus"):
        raise invalid("click takes --long or --focus, not both")
    matcher = selectors.element(a)
    params: Document
    if a.has("--coordinate"):
        if matcher is not None:
            raise invalid("click takes --coordinate or a selector, not both")
        if a.has("--focus"):
            raise invalid("a coordinate cannot be focused", "Use a selector with --focus.")
        x, y = (_pixel(text) for text in a.values["--coordinate"])
        params = {"coordinate": {"x": x, "y": y}}
    else:
        params = {"matcher": selectors.required(matcher, "click")}
    if a.has("--long"):
        params["clickType"] = "long_click"
    elif a.has("--focus"):
        params["clickType"] = "focus"
    return build("click", params)


def _pixel(text: str) -> int:
    number = read_number(text)
    if not isinstance(number, int) or number < 0:
        raise invalid(f"--coordinate takes two whole numbers from 0 up, not {text!r}")
    return number


def _open(call: Call) -> Document:
    target = _one_of(call.arguments, "--app", "open", "a package name or a URI")
    if is_uri(target):
        return build("open-uri", {"uri": target})
    return build("open-app", {"applicationId": target})


def is_uri(target: str) -> bool:
    """Whether a scheme and ``://`` stand anywhere in it: one letter at least, straight before the mark."""
    place = target.find(_SCHEME_MARK)
    while place > 0:
        start = place
        while start and target[start - 1].lower() in _SCHEME_CHARACTERS:
            start -= 1
        if any(c.isalpha() for c in target[start:place]):
            return True
        place = target.find(_SCHEME_MARK, place + 1)
    return False


def _type(call: Call) -> Document:
    a = call.arguments
    text = _one_of(a, "--text", "type", "the text to type")
    matcher = selectors.required(selectors.element(a, without=("--text",)), "type")
    params = {"matcher": matcher, "text": text, "submit": a.has("--submit"), "clear": a.has("--clear")}
    return build("type", params)


def _read(call: Call) -> Document:
    params: Document = {"matcher": selectors.required(selectors.element(call.arguments), "read")}
    if call.arguments.has("--all"):
        params["all"] = _all_with_json(call)
    return build("read", _with_container(params, call))


def _wait(call: Call) -> Document:
    params: Document = {"matcher": selectors.required(selectors.element(call.arguments), "wait")}
    timeout = call.options.timeout_ms
    if timeout is None:
        return build("wait", params)
    if not 0 < timeout <= LONGEST_WAIT_MS:
        raise invalid(f"--timeout must be more than 0 and at most {LONGEST_WAIT_MS}, not {timeout}")
    return build("wait", {**params, "timeoutMs": timeout}, timeout_ms=waiting_timeout(timeout))


def _wait_for_nav(call: Call) -> Document:
    app = call.arguments.get("--app")
    if app is not None and is_blank(app):
        raise invalid("--app must not be blank")
    timeout = call.options.timeout_ms
    if timeout is None:
        raise missing("wait-for-nav needs --timeout", "Add --timeout 5000.")
    if timeout <= 0:
        raise invalid("--timeout must be more than 0")
    if timeout > MAX_NAVIGATION_TIMEOUT_MS:
        raise invalid(f"--timeout must be at most {MAX_NAVIGATION_TIMEOUT_MS}, not {timeout}")
    node = selectors.element(call.arguments)
    if app is None and node is None:
        raise missing("wait-for-nav needs --app or a selector", "Add --app com.android.settings.")
    expected = {"expectedPackage": app, "expectedNode": node}
    params = {name: value for name, value in expected.items() if value is not None}
    return build("wait-for-nav", {**params, "timeoutMs": timeout}, timeout_ms=waiting_timeout(timeout))


def _press(call: Call) -> Document:
    return build("press", {"key": _one_of(call.arguments, "--key", "press", "back, home or recents")})


def _back(_: Call) -> Document:
    return build("press", {"key": "back"})


def _close(call: Call) -> Document:
    return build("close", {"applicationId": _one_of(call.arguments, "--app", "close", "a package name")})


def _sleep(call: Call) -> Document:
    words = call.arguments.words
    if not words:
        raise missing("sleep needs a duration in ms", "Try 'clawperator sleep 500'.")
    duration = read_number(words[0])
    if duration is None or not 0 <= duration <= LONGEST_WAIT_MS:
        raise invalid(f"the duration must be from 0 to {LONGEST_WAIT_MS} ms, not {words[0]!r}")
    timeout = max(waiting_timeout(duration), call.options.timeout_ms or 0)
    return build("sleep", {"durationMs": duration}, timeout_ms=timeout)


def _scroll(call: Call) -> Document:
    direction = _one_of(call.arguments, "--direction", "scroll", "down, up, left or right")
    return build("scroll", _with_container({"direction": _checked_direction(direction)}, call))


def _scroll_until(call: Call) -> Document:
    if call.arguments.has("--click"):
        return _scroll_to(call, "scroll-and-click")
    return _scroll_to(call, "scroll-until")


def _scroll_and_click(call: Call) -> Document:
    return _scroll_to(call, "scroll-and-click")


def _scroll_to(call: Call, builder: str) -> Document:
    matcher = selectors.required(selectors.element(call.arguments), call.name)
    direction = "down"
    if call.arguments.words or call.arguments.has("--direction"):
        direction = _one_of(call.arguments, "--direction", call.name, "down, up, left or right")
    params = _with_container({"direction": _checked_direction(direction), "matcher": matcher}, call)
    if builder == "scroll-and-click":
        params["clickAfter"] = True
    return build(builder, params)


def _checked_direction(direction: str) -> str:
    if direction not in _DIRECTIONS:
        raise missing(f"the direction must be one of {', '.join(_DIRECTIONS)}, not {direction!r}")
    return direction


def _read_value(call: Call) -> Document:
    a = call.arguments
    fields = {"--label": "textEquals", "--label-id": "resourceId", "--label-desc": "contentDescEquals"}
    matcher = {field: value for flag, field in fields.items() if (value := a.get(flag))}
    for flag in fields:
        if (value := a.get(flag)) and is_blank(value):
            raise invalid(f"{flag} must not be blank")
    if not matcher:
        raise missing("read-value needs a label", 'Add --label "Android version".')
    params: Document = {"labelMatcher": matcher}
    if a.has("--all"):
        params["all"] = _all_with_json(call)
    return build("read-value", params)


def _recording(call: Call) -> Document:
    session = call.arguments.get("--session-id")
    return build(call.name, {} if session is None else {"sessionId": session})


def _one_of(arguments: Arguments, flag: str, command: str, what: str) -> str:
    """The argument, or the flag that may stand for it; not both, not neither."""
    flagged = arguments.get(flag)
    if flagged is not None and arguments.words:
        raise invalid(f"{command} takes {what} once: as an argument or by {flag}")
    value = flagged if flagged is not None else (arguments.words or [""])[0]
    if not value or (is_blank(value) and command != "type"):
        raise missing(f"{command} needs {what}", f"Run 'clawperator {command} --help' for an example.")
    return value


def _all_with_json(call: Call) -> bool:
    if not call.options.json:
        raise invalid("--all needs --json: its answer is a list", "Add --json.")
    return True


def _with_container(params: Document, call: Call) -> Document:
    inside = selectors.container(call.arguments)
    return params if inside is None else {**params, "container": inside}


_BUILDERS: Mapping[str, Callable[[Call], Document]] = {
    "snapshot": _snapshot,
    "screenshot": _screenshot,
    "click": _click,
    "open": _open,
    "type": _type,
    "read": _read,
    "wait": _wait,
    "wait-for-nav": _wait_for_nav,
    "press": _press,
    "back": _back,
    "close": _close,
    "sleep": _sleep,
    "scroll": _scroll,
    "scroll-until": _scroll_until,
    "scroll-and-click": _scroll_and_click,
    "read-value": _read_value,
    "recording start": _recording,
    "recording stop": _recording,
}
# Here --timeout is part of the action, or a lower bound; elsewhere it is the execution's.
_OWN_TIMEOUT = ("wait", "wait-for-nav", "sleep")
