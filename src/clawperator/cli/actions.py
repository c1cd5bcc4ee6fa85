"""Commands that run an action or an execution: flags and words into parameters, then into a plan that runs."""

import os
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from clawperator._base.files import path_spellings
from clawperator._base.text import Grammar, is_blank, read_number, trim
from clawperator._base.typed import decode
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.console import read_stdin
from clawperator.cli.parsing import ParsedArguments, chosen_backend, help_hint, invalid, usage
from clawperator.contract.action_params import Coordinate
from clawperator.contract.execution import (
    LONGEST_WAIT_MS,
    Plan,
    look_retry,
    looks_for_node,
    retry_within,
    single_action,
    validate,
    waiting_timeout,
    with_timeout,
)
from clawperator.contract.fields import ParamField, fields_of, read_field
from clawperator.contract.limits import MAX_NAVIGATION_TIMEOUT_MS, MAX_PAYLOAD_BYTES
from clawperator.contract.selectors import STATE, NodeSelector, selector_fields, states
from clawperator.errors import ClawError
from clawperator.operations.actions import ACTION_COMMANDS, ActionCommand

if TYPE_CHECKING:
    from clawperator.contract.fields import Level
    from clawperator.policy.gate import ApprovedPlan
    from clawperator.ui.node import Hierarchy

# A document may contain white space; anything longer cannot become a payload.
_MAX_DOCUMENT_BYTES = 16 * MAX_PAYLOAD_BYTES
_MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
_BEST_EFFORT = "best-effort"
# Parameters of commands that are not sent to a device, and texts that validation may accept when they are blank.
_NOT_OF_ACTIONS = ("allowScheme", "file")
_MAY_BE_BLANK = ("text", "fromText")
_TYPES = "Here --text is the text to type. Select the field with --id, --text-contains, --desc or --role."
_NUMBER = Grammar(r"-?[0-9]+(\.[0-9]+)?")
_JSON_EXAMPLES: Mapping[type, str] = {
    dict: '{"textEquals":"Wi-Fi"}',
    list: '[{"textEquals":"Wi-Fi"},{"textEquals":"Internet"}]',
}

T = TypeVar("T")
Document = dict[str, Any]


def run_action(call: Call) -> CommandResult:
    """Build the execution of a command, then run it or print it."""
    if call.plan is not None:
        return run_execution(call.plan.document, call)
    if call.options.timeout is None and call.name != "exec":
        from clawperator.device.settings import default_timeout_ms

        limit = default_timeout_ms()
        call = call if limit is None else replace(call, options=replace(call.options, timeout=f"{limit}"))
    return run_execution(build_execution(call), call)


def build_execution(call: Call) -> Any:
    """The execution that a command stands for. The document of ``exec`` may be any JSON value."""
    if call.name == "exec":
        return _read_execution(call)
    row = ACTION_COMMANDS[call.name]
    params = _read_params(row, call)
    if row.action == "snapshot_ui" and call.options.text and not params:
        params["view"] = "outline"
    if params.get("all") and not (call.options.json or call.options.text):
        raise invalid("--all prints a list and needs a stated format", "Add --json or --output text.")
    action, own = row.execution(params)
    own = _with_package(action, own, call)
    return _execution(action, own, call)


def _execution(action: str, params: Document, call: Call) -> Document:
    """The execution of one action. --timeout is its timeout, and bounds how long it waits or looks for a node."""
    timeout = call.options.timeout_ms
    if action == "sleep":
        duration = params["durationMs"]
        if not 0 <= duration <= LONGEST_WAIT_MS:
            raise invalid(f"the duration must be from 0 to {LONGEST_WAIT_MS} ms, not {duration}", _example(call))
        return with_timeout(single_action(action, params, timeout_ms=waiting_timeout(duration)), timeout)
    if action.startswith("wait_"):
        return _waiting_execution(action, params, timeout, call)
    if timeout is None or not {"matcher", "labelMatcher"} & params.keys() or not looks_for_node(action):
        return with_timeout(single_action(action, params or (None if action == "snapshot_ui" else {})), timeout)
    if timeout == 0:  # look once, as in Python
        return single_action(action, {**params, "retry": look_retry(0)})
    return with_timeout(single_action(action, {**params, "retry": retry_within(timeout)}), timeout)


def _waiting_execution(action: str, params: Document, timeout: float | None, call: Call) -> Document:
    is_navigation = action == "wait_for_navigation"
    if timeout is None:
        if is_navigation:
            raise missing_argument(f"{call.name} needs --timeout", "Add --timeout 5000.")
        return single_action(action, params)
    longest = MAX_NAVIGATION_TIMEOUT_MS if is_navigation else LONGEST_WAIT_MS
    if not 0 < timeout <= longest:
        message = f"--timeout must be more than 0 and at most {longest}, not {timeout}"
        raise invalid(message, "Write --timeout 5000.")
    return single_action(action, {**params, "timeoutMs": timeout}, timeout_ms=waiting_timeout(timeout))


def _with_package(action: str, params: Document, call: Call) -> Document:
    """The parameters with the package of an app that is named by its label. Without a device it stays as it is."""
    from clawperator.contract.actions import ACTIONS

    app = params.get("applicationId", ".")
    only_prints = call.arguments.has("--dry-run") or call.arguments.has("--validate-only")
    if not ACTIONS[action].resolves_label or "." in app or only_prints:
        return params
    from clawperator.device.discovery import resolve_device
    from clawperator.device.packages import resolve_app_label
    from clawperator.device.users import require_user
    from clawperator.policy.gate import check_possible

    check_possible({"type": action, "params": params})  # a denied action asks no device
    device, user = resolve_device(call.options.device), params.get("user")
    require_user(device, user)
    package = resolve_app_label(device, app, user)
    if params.get("expect", {}).get("app") == app:
        params = {**params, "expect": {**params["expect"], "app": package}}
    return {**params, "applicationId": package}


# Parameters


def _read_params(row: ActionCommand, call: Call) -> Document:
    """The parameters that a command line gives, and no defaults."""
    words = list(call.arguments.words)
    fields = {field.name: field for field in row.fields}
    own = row.own_flags
    params: Document = {}
    for name, field in fields.items():
        value = _read_field(field, call, words, own)
        if value is not None and name not in _NOT_OF_ACTIONS:
            params[name] = value
    if words:
        twice = next(field for field in fields.values() if field.use.word and field.has_flag)
        message = f"{call.name} takes {twice.metavar} once: as an argument or with {twice.flag}"
        # In every other command --text selects a node.
        raise invalid(message, _TYPES if call.name == "type" else f"Leave {twice.flag} out.")
    for flag, needed in row.requires.items():
        if flag in params and needed not in params:
            raise invalid(f"{fields[flag].flag} needs {fields[needed].flag}", f"Add {fields[needed].flag}.")
    for group in row.exclusive:
        given = [_spelled(fields[name]) for name in group if name in params]
        if len(given) > 1:
            raise invalid(f"{call.name} takes one of {' and '.join(given)}", f"Leave {given[0]} out.")
    for group in row.needs:
        if params.keys().isdisjoint(group):
            raise _missing(group, fields, call)
    return params


def _missing(group: tuple[str, ...], fields: Mapping[str, ParamField], call: Call) -> ClawError:
    if "matcher" in group:
        hint = "Add --text with the label, --ref with a reference of the outline, or another selector flag."
        return ClawError("MISSING_SELECTOR", f"{call.name} needs a selector", hint=hint, operation="argparse")
    wanted = " or ".join(_spelled(fields[name]) for name in group)
    return missing_argument(f"{call.name} needs {wanted}", _example(call))


def _spelled(field: ParamField) -> str:
    if field.type is NodeSelector:
        return f"--{field.use.spread}text" if field.use.spread else "a selector"
    if field.use.spread is not None:
        return " or ".join(one.flag for one in fields_of(field.type) if one.has_flag)
    return field.metavar if field.use.word else f"{field.flag} {field.metavar}" if field.required else field.flag


def _example(call: Call) -> str:
    return f"Run '{ACTION_COMMANDS[call.name].examples[0]}'."


def _read_field(field: ParamField, call: Call, words: list[str], own: tuple[str, ...], prefix: str = "") -> Any:
    """The value of a field; None when it is not given. ``own`` are flags that no selector may use."""
    arguments = call.arguments
    if field.type is NodeSelector and field.use.spread is not None:
        return _read_selector(call, field.use.spread, own, words if field.name == "matcher" else [])
    if field.use.spread is not None:
        inner = [one for one in fields_of(field.type) if not one.use.not_cli]
        given = {one.name: _read_field(one, call, [], own, field.use.spread) for one in inner}
        given = {name: value for name, value in given.items() if value is not None}
        if given.keys() == {"timeoutMs"}:
            hint = "Add --expect-text, --expect-gone or --expect-app."
            raise invalid("--expect-timeout needs something to expect", hint)
        return given or None
    if field.use.switches:
        chosen = [(flag, value) for flag, value, _ in field.use.switches if arguments.has(flag)]
        if len(chosen) > 1:
            message = f"{call.name} takes {chosen[0][0]} or {chosen[1][0]}, not both"
            raise invalid(message, "Leave one of them out.")
        return chosen[0][1] if chosen else None
    flag = f"--{prefix}{field.flag[2:]}"
    if field.is_switch:
        return True if arguments.has(flag) else None
    texts = arguments.all(flag) if field.has_flag else ()
    if field.use.word and words and not texts:
        texts = (_checked_word(field, words.pop(0), call),)
    if texts and field.type is str and is_blank(texts[-1]) and field.name not in _MAY_BE_BLANK:
        if field.use.word:
            return None
        raise invalid(f"{flag} must not be blank", f"Give a value, or leave {flag} out.")
    return _value(field, flag, texts) if texts else None


def _checked_word(field: ParamField, word: str, call: Call) -> str:
    """A word of the line. For one that is not a direction, the hint is what was probably meant."""
    if field.name != "direction" or word in field.choices:
        return word  # validation lists the choices of others
    from shlex import quote

    meant = next((name for name in field.choices if word.casefold().startswith(name)), None)
    takes_label = any(one.name == "matcher" for one in ACTION_COMMANDS[call.name].fields)
    label = f" --text {quote(word)}" if takes_label and not meant and not call.arguments.has("--text") else ""
    message = f"the direction must be one of {', '.join(field.choices)}, not {word!r}"
    raise missing_argument(message, f"Run 'clawperator {call.name} {meant or 'down'}{label}'.")


def _value(field: ParamField, flag: str, texts: tuple[str, ...]) -> Any:
    if field.type is Coordinate:
        x, y = (_pixel(text, flag) for text in texts)
        return {"x": x, "y": y}
    if field.type is NodeSelector:
        return _nested(texts[-1], flag)
    if field.is_mapping:
        return dict(_pair(text, flag, typed=flag == "--extra") for text in texts)
    value = read_field(field, texts, [])
    if isinstance(value, str) and field.type in (int, float):
        name = flag if field.has_flag else field.metavar
        raise invalid(f"{name} must be a number, not {value!r}", f"Write {name} as a number.")
    return value


def _pixel(text: str, flag: str) -> int:
    number = read_number(text)
    if not isinstance(number, int) or number < 0:
        message = f"{flag} takes two whole numbers from 0 up, not {text!r}"
        raise invalid(message, f"Write for example {flag} 540 1200.")
    return number


def _pair(text: str, flag: str, *, typed: bool) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not name or not mark:
        raise invalid(f"{flag} takes name=value, not {name!r}", f"Write {flag} volume=3.")
    if not typed:
        return name, value
    if value in ("true", "false"):
        return name, value == "true"
    return name, read_number(value) if _NUMBER.fullmatch(value) else value


def missing_argument(message: str, hint: str) -> ClawError:
    return ClawError("MISSING_ARGUMENT", message, hint=hint, operation="argparse")


# Selectors


def _read_selector(call: Call, prefix: str, own: tuple[str, ...], words: list[str]) -> Document | None:
    """The selector of the flags with a prefix, or of the reference that the command takes as its only word."""
    arguments = call.arguments
    given = _selector(arguments, prefix, own)
    if arguments.command is None or arguments.command.usage != "[<ref>]" or not words:
        return given
    if given is not None:
        message = f"{call.name} takes a reference or selector flags, not both"
        raise invalid(message, f"Run 'clawperator {call.name} e12'.")
    return {"ref": words.pop(0)}


def _selector(arguments: ParsedArguments, prefix: str, own: tuple[str, ...]) -> Document | None:
    fields: Document = {}
    for field in selector_fields(prefix):
        flag = f"--{prefix}{field.flag[2:]}"
        if flag in own or not arguments.has(flag):
            continue
        if field.is_switch:
            fields[field.name] = True
        elif field.is_list:
            fields[field.name] = [one for text in arguments.all(flag) for one in _alternatives(text, flag)]
        else:
            text = arguments.get(flag) or ""
            if is_blank(text):
                raise invalid(f"{flag} must not be blank", f"Give a value, or leave {flag} out.")
            fields[field.name] = _value(field, flag, (text,))
    for state in arguments.all(STATE) if not prefix else ():
        name, wanted = states()[state]
        fields[name] = wanted
    flag = f"--{prefix}selector"
    json = arguments.get(flag)
    if json is None:
        return fields or None
    if fields:
        message = f"{flag} cannot be combined with other selector flags"
        raise invalid(message, f"Put all fields into the JSON of {flag}, or leave it out.")
    return _json(json, flag, dict)


def _nested(value: str, flag: str) -> Document:
    """A label, or the JSON of a selector."""
    return _json(value, flag, dict) if value.lstrip().startswith("{") else {"textEquals": value}


def _alternatives(value: str, flag: str) -> list[Any]:
    if is_blank(value):
        raise invalid(f"{flag} must not be blank", f"Give a label, or leave {flag} out.")
    if not value.lstrip().startswith("["):
        return [_nested(value, flag)]
    return _json(value, flag, list)


def _json(text: str, flag: str, kind: type[T]) -> T:
    hint = f"Write {flag} '{_JSON_EXAMPLES[kind]}'."
    if is_blank(text):
        raise invalid(f"{flag} must not be blank", hint)
    try:
        value = decode(text)
    except ValueError as e:
        raise invalid(f"{flag} is not valid JSON: {e}", hint) from None
    if not isinstance(value, kind):
        raise invalid(f"{flag} must be a JSON {'object' if kind is dict else 'list'}", hint)
    return value


# Running


def run_execution(document: Any, call: Call) -> CommandResult:
    """Validate an execution, then run it on the device, or print it for --dry-run and --validate-only."""
    plan = valid_plan(document, call)
    approved = approve_line(plan, call)
    folder = call.arguments.get("--evidence")
    if folder is not None:
        from clawperator.cli.evidence import describe_run, refuse_without_run, with_evidence

        refuse_without_run(call.arguments, "--dry-run", "--validate-only")
        about = describe_run(call, plan.document["commandId"], chosen_backend(call.arguments), plan)
        return with_evidence(call, about, lambda: _run(approved, call), folder)
    if call.arguments.has("--dry-run"):
        document, actions = plan.document, plan.document["actions"]
        shown = {"commandId": document["commandId"], "timeoutMs": document["timeoutMs"]}
        shown |= {"actionCount": len(actions), "actions": actions}
        return CommandResult({"ok": True, "dryRun": True, "plan": shown})
    if call.arguments.has("--validate-only"):
        return CommandResult({"ok": True, "validated": True, "execution": plan.document})
    return _run(approved, call)


def approve_line(plan: Plan, call: Call) -> "ApprovedPlan":
    """The plan of a command line, if the policy allows it. Some flags need more than its actions do."""
    from clawperator.policy.gate import approve

    arguments = call.arguments
    level: Level = (
        "full" if arguments.has("--allow-scheme") else "act" if arguments.has("--evidence") else "read-only"
    )
    payload = arguments.get("--payload") or call.word or ""
    named = (arguments.get(flag) for flag in ("--evidence", "--file"))
    files = tuple(spelling for path in named if path for spelling in path_spellings(path))
    return approve(plan, level=level, whole=("exec", payload) if call.name == "exec" else None, files=files)


def valid_plan(document: Any, call: Call) -> Plan:
    """The plan of a document. Errors about the parameters of a command name its flags."""
    try:
        return validate(document)
    except ClawError:
        if call.name == "exec":
            raise
    from clawperator.cli.spelling import Flags

    return validate(document, Flags(call.arguments, ACTION_COMMANDS[call.name]))


def _run(approved: "ApprovedPlan", call: Call) -> CommandResult:
    from clawperator.device.discovery import resolve_device
    from clawperator.device.run.run import run_plan
    from clawperator.device.settings import named_operator

    backend = chosen_backend(call.arguments)
    package = named_operator(call.options.operator_package)
    schemes = call.arguments.all("--allow-scheme")
    warn_of_config(call)
    result = run_plan(
        approved,
        resolve_device(call.options.device),
        package=package,
        backend=backend,
        allow_schemes=schemes,
        timeout_ms=call.options.timeout_ms,
    )
    failed = result.envelope.status == "failed" or any(not step.success for step in result.envelope.stepResults)
    return CommandResult(result, int(failed), approved.plan)


def warn_of_config(call: Call) -> None:
    """Print the warnings about the user's configuration, for a command that reads it."""
    from clawperator._base.home import has_config

    if not has_config():
        return
    from clawperator._base.config import read_config

    for text in read_config().warnings:
        call.console.warn(text)


# exec


def _read_execution(call: Call) -> Any:
    """The document given to ``exec``."""
    words = call.arguments.words
    if words == (_BEST_EFFORT,):
        message = "best-effort execution is not implemented: give the actions explicitly"
        goal = {"goal": call.arguments.get("--goal")}
        raise ClawError("NOT_IMPLEMENTED", message, hint=help_hint(call.name), extra=goal)
    if call.arguments.has("--goal"):
        raise usage("--goal is only for 'exec best-effort'", "Run 'clawperator exec --help' for its flags.")
    given = call.arguments.get("--payload")
    if given is not None and words:
        raise invalid("exec takes its payload once: as an argument or with --payload", "Leave --payload out.")
    text = given if given is not None else next(iter(words), "")
    if not text:
        message = "exec needs an execution: JSON, a file, or - for stdin"
        raise missing_argument(message, "Run 'clawperator exec --help' for an example.")
    document = _document(text)
    return with_timeout(document, call.options.timeout_ms) if isinstance(document, dict) else document


def is_payload_file(text: str) -> bool:
    """Whether the argument of ``exec`` names a file: it is neither JSON, nor ``-`` for stdin, nor best-effort."""
    inline = trim(text)
    return (
        text not in ("-", _BEST_EFFORT)
        and not inline.startswith("{")
        and (not inline.startswith("[") or os.path.isfile(text))
    )


def _document(text: str) -> Any:
    """JSON from the argument itself, from stdin, or from the file it names."""
    if not is_payload_file(text) and text != "-":
        return _decode(trim(text), "the payload")
    from clawperator._base.files import read_input, why

    if text == "-":
        return _decode(_within_limit(read_stdin(_MAX_DOCUMENT_BYTES + 1)), "stdin")
    try:
        data = read_input(text, _MAX_DOCUMENT_BYTES + 1)
    except (OSError, ValueError) as e:
        hint = "Pass an existing file, JSON that begins with {, or - for stdin."
        raise invalid(f"cannot read {text}: {why(e)}", hint) from e
    return _decode(_within_limit(data), text)


def _within_limit(data: bytes) -> bytes:
    if len(data) > _MAX_DOCUMENT_BYTES:
        message, limit = f"the execution is longer than {_MAX_DOCUMENT_BYTES} bytes", {"limit": MAX_PAYLOAD_BYTES}
        raise ClawError("PAYLOAD_TOO_LARGE", message, details=limit, operation="read")
    return data


def _decode(data: bytes | str, origin: str) -> Any:
    try:
        return decode(data if isinstance(data, str) else data.removeprefix(BOM_UTF8))
    except ValueError as e:
        raise invalid(f"{origin} is not valid JSON: {e}", "An execution is a JSON object.") from None


# query


def query(call: Call) -> CommandResult:
    """List elements of the screen, or of a saved snapshot, which needs no device."""
    path = call.arguments.get("--file")
    if path is None:
        return run_action(call)
    if call.arguments.has("--evidence"):
        from clawperator.cli.evidence import refuse_without_run

        refuse_without_run(call.arguments, "--file")
    plan = validate(build_execution(call))
    approve_line(plan, call)
    params: Any = plan.execution.actions[0].params
    selector = params.matcher if isinstance(params.matcher, NodeSelector) else None
    if selector is not None and isinstance(selector.ref, str):
        raise invalid("--file cannot be queried for a reference", "Use --text or another selector flag.")
    from clawperator.ui.outline import screen_frame
    from clawperator.ui.suggest import describe_matches, query_nodes

    screen = _read_snapshot(path)
    frame = screen_frame(screen)
    nodes = query_nodes(screen, selector, frame)
    matches = describe_matches(screen, nodes[: params.limit], frame, suggest=params.suggest)
    return CommandResult({"file": path, "count": len(nodes), "matches": matches})


def _read_snapshot(path: str) -> "Hierarchy":
    """The screen in a file: hierarchy XML, or the result of a command with a snapshot."""
    from clawperator._base.files import file_error, read_limited
    from clawperator.ui.parse import parse_hierarchy

    try:
        data = read_limited(path, _MAX_SNAPSHOT_BYTES)
    except (OSError, ValueError) as e:
        hint = "Run 'clawperator snapshot > snapshot.json' to save a snapshot."
        raise file_error("FILESYSTEM_FAILED", "read", path, e, hint=hint) from e
    if data.lstrip().startswith(b"{"):
        return parse_hierarchy(_text_of_result(data, path))
    return parse_hierarchy(data)


def _text_of_result(data: bytes, path: str) -> str:
    """The XML of the last snapshot in a result document."""
    try:
        steps = decode(data)["envelope"]["stepResults"]
        texts = [step["data"]["text"] for step in steps if step["data"].get("actual_format") == "hierarchy_xml"]
        return str(texts[-1])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        hint = "Run 'clawperator snapshot > snapshot.json' without --view."
        raise invalid(f"{path} has no snapshot as XML", hint) from None
