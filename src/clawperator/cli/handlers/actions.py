"""Argument readers of the action commands: each builds the execution of one action from flags and words."""

from typing import Any

from clawperator._base.text import is_blank, read_number
from clawperator.cli.command_line import Call
from clawperator.cli.handlers.arguments import (
    OPEN_WAIT_MS,
    build_execution,
    missing_argument,
    number_param,
    user_choice,
    word_or_flag,
)
from clawperator.cli.handlers.selectors import container, element, required, selector_json, selectors_json
from clawperator.cli.parsing import ParsedArguments, invalid
from clawperator.contract.action_params import DIRECTIONS
from clawperator.contract.actions import click_type
from clawperator.contract.execution import LONGEST_WAIT_MS, single_action, waiting_timeout, with_timeout
from clawperator.contract.limits import MAX_NAVIGATION_TIMEOUT_MS

_SCHEME_MARK = "://"
_SCHEME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")

Document = dict[str, Any]


def snapshot(call: Call) -> Document:
    arguments = call.arguments
    params: Document = {
        name: value for name in ("view", "since") if (value := arguments.get(f"--{name}")) is not None
    }
    if call.options.text and not params:
        params["view"] = "outline"
    if (limit := arguments.get("--max-tokens")) is not None:
        params["maxTokens"] = read_number(limit)
        if not isinstance(params["maxTokens"], int) or params["maxTokens"] < 1:
            raise invalid(f"--max-tokens must be a whole number from 1 up, not {limit!r}", "Add --max-tokens 500.")
    return build_execution(call, "snapshot_ui", params or None)


def screenshot(call: Call) -> Document:
    path = call.arguments.get("--path")
    params: Document = {} if path is None else {"path": path}
    if call.arguments.has("--marks"):
        params["marks"] = True
    return build_execution(call, "take_screenshot", params)


def click(call: Call) -> Document:
    arguments = call.arguments
    matcher = element(call)
    params: Document = {}
    params |= _point(call, "--coordinate", "coordinate")
    if matcher is not None or not params:
        params["matcher"] = required(matcher, "click")
    params |= click_type(long=arguments.has("--long"), focus=arguments.has("--focus"))
    return build_execution(call, "click", params | number_param(call, "--duration", "durationMs"))


def double_tap(call: Call) -> Document:
    matcher = element(call)
    params = _point(call, "--coordinate", "coordinate")
    if matcher is not None or not params:
        params["matcher"] = required(matcher, "double-tap")
    return build_execution(call, "double_tap", params)


def swipe(call: Call) -> Document:
    arguments = call.arguments
    params = _point(call, "--from", "start") | _point(call, "--to", "end")
    if arguments.words or arguments.has("--direction") or not params:
        params["direction"] = _direction(call)
    if (matcher := element(call)) is not None:
        params["matcher"] = matcher
    params |= number_param(call, "--distance", "distanceRatio") | number_param(call, "--duration", "durationMs")
    return build_execution(call, "swipe", params)


def drag(call: Call) -> Document:
    params = _point(call, "--from", "start") | _point(call, "--to", "end")
    matcher = element(call)
    if matcher is not None or "start" not in params:
        params["matcher"] = required(matcher, "drag")
    if (label := call.arguments.get("--to-text")) is not None:
        params["toMatcher"] = {"textEquals": label}
    if (json := call.arguments.get("--to-selector")) is not None:
        params["toMatcher"] = selector_json(json, "--to-selector")
    if "toMatcher" not in params and "end" not in params:
        raise missing_argument("drag needs a place to drag to", "Add --to-text, --to-selector or --to <x> <y>.")
    return build_execution(call, "drag", params | number_param(call, "--duration", "durationMs"))


def submit(call: Call) -> Document:
    matcher = element(call)
    return build_execution(call, "submit_text", {} if matcher is None else {"matcher": matcher})


def _point(call: Call, flag: str, param: str) -> Document:
    if not call.arguments.has(flag):
        return {}
    x, y = (_pixel(text, flag) for text in call.arguments.values[flag])
    return {param: {"x": x, "y": y}}


def _pixel(text: str, flag: str) -> int:
    number = read_number(text)
    if not isinstance(number, int) or number < 0:
        raise invalid(
            f"{flag} takes two whole numbers from 0 up, not {text!r}",
            f"Write for example {flag} 540 1200.",
        )
    return number


def open_target(call: Call) -> Document:
    target = word_or_flag(call.arguments, "--app", "open", "a package name or a URI")
    if is_uri(target):
        return build_execution(call, "open_uri", {"uri": target}, _idle(call))
    package = _package_of(call, target)
    return build_execution(call, "open_app", {"applicationId": package}, _idle(call, package))


def _package_of(call: Call, app: str) -> str:
    """The package of an app that is named by its package or by its label. Without a device it stays as it is."""
    if "." in app or call.arguments.has("--dry-run") or call.arguments.has("--validate-only"):
        return app
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import resolve_app_label
    from clawperator.device.users import require_user

    device, user = resolve_device(call.options.device), user_choice(call)
    require_user(device, user)
    return resolve_app_label(device, app, user)


def _idle(call: Call, app: str | None = None) -> Document:
    """What --wait expects; empty without it."""
    if not call.arguments.has("--wait"):
        return {}
    return {"idle": True, "timeoutMs": OPEN_WAIT_MS, **({} if app is None else {"app": app})}


def is_uri(target: str) -> bool:
    """Whether the target begins with a scheme and a colon, such as ``mailto:x``, or contains one with ``://``.

    A label such as ``Notes: all`` has a space after its colon.
    """
    scheme, _, rest = target.partition(":")
    if scheme[:1].isalpha() and _SCHEME_CHARACTERS.issuperset(scheme.lower()) and rest[:1].strip():
        return True
    place = target.find(_SCHEME_MARK)
    while place > 0:
        start = place
        while start and target[start - 1].lower() in _SCHEME_CHARACTERS:
            start -= 1
        if any(c.isalpha() for c in target[start:place]):
            return True
        place = target.find(_SCHEME_MARK, place + 1)
    return False


def enter_text(call: Call) -> Document:
    arguments = call.arguments
    matcher = element(call, without=("--text",))
    params: Document = {} if matcher is None else {"matcher": matcher}
    params |= _typed_text(arguments)
    switches = {"submit": arguments.has("--submit"), "clear": arguments.has("--clear")}
    append = {"append": True} if arguments.has("--append") else {}
    return build_execution(call, "enter_text", params | switches | append)


def _typed_text(arguments: ParsedArguments) -> Document:
    """The text to type, or where the host reads it."""
    sources = {"env": arguments.get("--secret"), "file": arguments.get("--secret-file")}
    secret = {name: value for name, value in sources.items() if value is not None}
    if secret:
        if arguments.words or arguments.has("--text"):
            raise invalid("type takes a text or a secret, not both", "Leave the text out.")
        return {"textFrom": secret}
    if arguments.has("--clear") and arguments.words == ("",) and not arguments.has("--text"):
        return {"text": ""}
    if "" in (*arguments.words, arguments.get("--text")):
        raise missing_argument(
            "type needs a text that is not empty", "Run 'clawperator type \"\" --clear' to clear."
        )
    return {"text": word_or_flag(arguments, "--text", "type", "the text to type")}


def read(call: Call) -> Document:
    params: Document = {"matcher": required(element(call), "read")}
    return build_execution(call, "read_text", _with_container(params | _all(call), call))


def wait(call: Call) -> Document:
    action, params = _wait_action(call)
    timeout = call.options.timeout_ms
    if timeout is None:
        return single_action(action, params)
    if not 0 < timeout <= LONGEST_WAIT_MS:
        raise invalid(
            f"--timeout must be more than 0 and at most {LONGEST_WAIT_MS}, not {timeout}", "Write --timeout 10000."
        )
    params["timeoutMs"] = timeout
    return single_action(action, params, timeout_ms=waiting_timeout(timeout))


def _wait_action(call: Call) -> tuple[str, Document]:
    """The action of a wait, and its params except for the time."""
    arguments = call.arguments
    kind = _wait_kind(arguments)
    matcher = element(call, without=("--any-of",))
    if kind in ("--idle", "--any-of"):
        if matcher is not None:
            raise invalid(f"wait {kind} takes no selector flags", f"Leave {kind} or the selector out.")
        if kind == "--idle":
            return "wait_until_idle", number_param(call, "--quiet", "quietMs")
        return "wait_for_any", {"selectors": selectors_json(arguments.get(kind) or "", kind)}
    chosen = required(matcher, "wait")
    if kind == "--or-text":
        others = [{"textEquals": label} for label in arguments.all("--or-text")]
        return "wait_for_any", {"selectors": [chosen, *others]}
    if kind == "--changed":
        old = arguments.get("--from-text")
        return "wait_for_text_change", {"matcher": chosen, **({} if old is None else {"text": old})}
    return "wait_until_gone" if kind == "--gone" else "wait_for_node", {"matcher": chosen}


def _wait_kind(arguments: ParsedArguments) -> str:
    """The flag that names the kind of wait; empty for a wait for one element."""
    kinds = [flag for flag in ("--gone", "--changed", "--idle", "--any-of", "--or-text") if arguments.has(flag)]
    if len(kinds) > 1:
        raise invalid(f"wait takes one of {' and '.join(kinds)}", f"Leave {kinds[0]} out.")
    for flag, owner in (("--from-text", "--changed"), ("--quiet", "--idle")):
        if arguments.has(flag) and owner not in kinds:
            raise invalid(f"{flag} needs {owner}", f"Add {owner}.")
    return kinds[0] if kinds else ""


def wait_for_nav(call: Call) -> Document:
    app = call.arguments.get("--app")
    if app is not None and is_blank(app):
        raise invalid("--app must not be blank", "Give a package name such as --app com.android.settings.")
    timeout = call.options.timeout_ms
    if timeout is None:
        raise missing_argument("wait-for-nav needs --timeout", "Add --timeout 5000.")
    if timeout <= 0:
        raise invalid("--timeout must be more than 0", "Write --timeout 5000.")
    if timeout > MAX_NAVIGATION_TIMEOUT_MS:
        raise invalid(
            f"--timeout must be at most {MAX_NAVIGATION_TIMEOUT_MS}, not {timeout}", "Write --timeout 5000."
        )
    node = element(call)
    if app is None and node is None:
        raise missing_argument("wait-for-nav needs --app or a selector", "Add --app com.android.settings.")
    expected = {"expectedPackage": app, "expectedNode": node, "timeoutMs": timeout}
    params = {name: value for name, value in expected.items() if value is not None}
    return single_action("wait_for_navigation", params, timeout_ms=waiting_timeout(timeout))


def press(call: Call) -> Document:
    key = word_or_flag(call.arguments, "--key", "press", "the name of a key")
    return build_execution(call, "press_key", {"key": key})


def back(call: Call) -> Document:
    return build_execution(call, "press_key", {"key": "back"})


def close(call: Call) -> Document:
    package = word_or_flag(call.arguments, "--app", "close", "a package name")
    return build_execution(call, "close_app", {"applicationId": _package_of(call, package)})


def sleep(call: Call) -> Document:
    words = call.arguments.words
    if not words:
        raise missing_argument("sleep needs a duration in ms", "Run 'clawperator sleep 500'.")
    duration = read_number(words[0])
    if duration is None or not 0 <= duration <= LONGEST_WAIT_MS:
        raise invalid(
            f"the duration must be from 0 to {LONGEST_WAIT_MS} ms, not {words[0]!r}",
            "Run 'clawperator sleep 500'.",
        )
    document = single_action("sleep", {"durationMs": duration}, timeout_ms=waiting_timeout(duration))
    return with_timeout(document, call.options.timeout_ms)


def scroll(call: Call) -> Document:
    return build_execution(call, "scroll", _with_container({"direction": _direction(call)}, call))


def scroll_until(call: Call) -> Document:
    if call.arguments.has("--click"):
        return scroll_and_click(call)
    return build_execution(call, "scroll_until", _scroll_params(call))


def scroll_and_click(call: Call) -> Document:
    return build_execution(call, "scroll_and_click", {**_scroll_params(call), "clickAfter": True})


def _scroll_params(call: Call) -> Document:
    is_given = call.arguments.words or call.arguments.has("--direction")
    direction = _direction(call) if is_given else "down"
    matcher = required(element(call), call.name)
    return _with_container({"direction": direction, "matcher": matcher}, call)


def _direction(call: Call) -> str:
    direction = word_or_flag(call.arguments, "--direction", call.name, "down, up, left or right")
    if direction not in DIRECTIONS:
        raise missing_argument(
            f"the direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}",
            _direction_hint(call, direction),
        )
    return direction


def _direction_hint(call: Call, word: str) -> str:
    from shlex import quote

    assert call.arguments.command is not None
    meant = next((name for name in DIRECTIONS if word.casefold().startswith(name)), None)
    if meant is not None:
        return f"Run 'clawperator {call.name} {meant}'."
    takes_label = any(flag.name == "--text" for flag in call.arguments.command.flags)
    if takes_label and call.arguments.words and not call.arguments.has("--text"):
        return f"Run 'clawperator {call.name} down --text {quote(word)}'."
    return f"Run 'clawperator {call.name} down'."


def read_value(call: Call) -> Document:
    fields = {"--label": "textEquals", "--label-id": "resourceId", "--label-desc": "contentDescEquals"}
    matcher = {field: value for flag, field in fields.items() if (value := call.arguments.get(flag)) is not None}
    if not any(matcher.values()):
        raise missing_argument("read-value needs a label", 'Add --label "Android version".')
    for flag, field in fields.items():
        if field in matcher and is_blank(matcher[field]):
            raise invalid(f"{flag} must not be blank", f"Give the whole label, such as {flag} 'Android version'.")
    return build_execution(call, "read_key_value_pair", {"labelMatcher": matcher, **_all(call)})


def start_recording(call: Call) -> Document:
    return build_execution(call, "start_recording", _session(call))


def stop_recording(call: Call) -> Document:
    return build_execution(call, "stop_recording", _session(call))


def _session(call: Call) -> Document:
    session = call.arguments.get("--session-id")
    return {} if session is None else {"sessionId": session}


def _all(call: Call) -> Document:
    if not call.arguments.has("--all"):
        return {}
    if not (call.options.json or call.options.text):
        raise invalid("--all needs --json: its result is a list", "Add --json.")
    return {"all": True}


def _with_container(params: Document, call: Call) -> Document:
    inside = container(call.arguments)
    return params if inside is None else {**params, "container": inside}
