"""Argument readers of the commands for apps and for the device as a whole."""

import re
from typing import Any

from clawperator._base.text import read_number
from clawperator.cli.command_line import Call
from clawperator.cli.handlers.arguments import (
    Document,
    build_execution,
    missing_argument,
    number_param,
    word_or_flag,
)
from clawperator.cli.parsing import invalid

_ANDROID_PERMISSION = "android.permission."
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def rotate(call: Call) -> Document:
    if not call.arguments.words:
        raise missing_argument("rotate needs an orientation", "Run 'clawperator rotate landscape'.")
    return build_execution(call, "rotate", {"orientation": call.arguments.words[0]})


def start_activity(call: Call) -> Document:
    arguments = call.arguments
    component = arguments.get("--component")
    given = {
        "component": call.word if component is None else component,
        "action": arguments.get("--action"),
        "uri": arguments.get("--uri"),
    }
    params: Document = {name: value for name, value in given.items() if value is not None}
    if "component" not in params and "action" not in params:
        hint = "Run 'clawperator start-activity --action android.settings.SETTINGS'."
        raise missing_argument("start-activity needs a component or --action", hint)
    extras = {name: _typed(value) for name, value in _pairs(call, "--extra")}
    extras |= dict(_pairs(call, "--extra-string"))
    return build_execution(call, "start_activity", {**params, **({"extras": extras} if extras else {})})


def _pairs(call: Call, flag: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in call.arguments.all(flag)]
    for name, mark, _ in pairs:
        if not name or not mark:
            raise invalid(f"{flag} takes name=value, not {name!r}", f"Write {flag} volume=3.")
    return [(name, value) for name, _, value in pairs]


def _typed(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    return read_number(value) if _NUMBER.fullmatch(value) else value


def install_apk(call: Call) -> Document:
    if not call.arguments.words:
        raise missing_argument("install-apk needs an APK file", "Run 'clawperator install-apk app.apk'.")
    return build_execution(call, "install_app", {"path": call.arguments.words[0]})


def uninstall_app(call: Call) -> Document:
    return build_execution(call, "uninstall_app", {"applicationId": _package(call)})


def clear_data(call: Call) -> Document:
    return build_execution(call, "clear_app_data", {"applicationId": _package(call)})


def grant(call: Call) -> Document:
    return build_execution(call, "grant_permission", _permission(call))


def revoke(call: Call) -> Document:
    return build_execution(call, "revoke_permission", _permission(call))


def logcat(call: Call) -> Document:
    app = call.arguments.get("--app")
    if app is None:
        raise missing_argument("logcat needs --app", "Run 'clawperator logcat --app com.android.settings'.")
    since = call.arguments.get("--since")
    params: Document = {"applicationId": app, **({} if since is None else {"since": since})}
    return build_execution(call, "read_logcat", params | number_param(call, "--lines", "maxLines"))


def _package(call: Call) -> str:
    return word_or_flag(call.arguments, "--app", call.name, "a package name")


def _permission(call: Call) -> Document:
    words = list(call.arguments.words)
    given = (call.arguments.get("--app"), call.arguments.get("--permission"))
    package, permission = (words.pop(0) if value is None and words else value for value in given)
    if not package or not permission or words:
        hint = f"Run 'clawperator {call.name} com.example.app CAMERA'."
        raise missing_argument(f"{call.name} needs a package and a permission", hint)
    full = permission if "." in permission else _ANDROID_PERMISSION + permission
    return {"applicationId": package, "permission": full}
