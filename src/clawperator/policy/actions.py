"""The actions of plans, as a policy sees them: names, levels, subjects, and what they perform."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from clawperator._base.files import path_spellings
from clawperator._base.text import trim
from clawperator.contract.action_params import ActionType
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, normalise_execution
from clawperator.contract.commands import OPEN_SUBJECT, own_name, synonyms_of
from clawperator.contract.fields import LEVELS, Level, fields_of
from clawperator.policy.rules import PolicyCall, PolicyEntry

_WEB = re.compile(r"(https?):[/\\]*(?:[^/\\?#]*@)?([^/\\?#:]*)(?::\d*)?(.*)", re.IGNORECASE | re.DOTALL)
# The subjects of an action: those of these params that it has, and what its selectors name between them.
_SUBJECTS = ("applicationId", "component", "uri", "key", "path", "sessionId", "expectedPackage")
_LESSER_SUBJECTS = ("direction", "action", "permission")
_MATCHERS = ("matcher", "labelMatcher", "expectedNode", "toMatcher")
_MATCHER_FIELDS = ("textEquals", "textContains", "contentDescEquals", "contentDescContains", "resourceId", "role")
_HOST_FIELDS = ("shortId", "ref", "textMatches", "contentDescMatches", "className")
_OPEN_URI = "open_uri"
# Keys that click what has the input focus.
_CLICKING_KEYS = ("enter", "space", "center")
# The commands of actions that are not synonyms of them.
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "install_app": ("install-apk",),
    "start_recording": ("recording-start", "record-start"),
    "stop_recording": ("recording-stop", "record-stop"),
    "scroll_and_click": ("scroll-until",),
    **dict.fromkeys(("wait_until_gone", "wait_for_text_change", "wait_until_idle", "wait_for_any"), ("wait",)),
}
# Keys that have a command of their own, by the same name.
_KEY_COMMANDS = ("back",)
_SUBMITTING_KEYS = ("enter",)
_PLAN_TOOL = "run_plan"
_EXECUTION = ("exec", "execute", "run_execution", "run-execution", _PLAN_TOOL)
_NESTED = ("ancestor", "descendant", "sibling", "below", "above", "leftOf", "rightOf", "anyOf")


@lru_cache(maxsize=64)
def action_entry(name: str) -> PolicyEntry:
    """The entry of an action type, by its canonical name."""
    row = ACTIONS[name]
    names = action_names(name)
    own = tuple(word for word in names if _type_of(word) in (name, None))
    # Rules about the tool of models that it belongs to apply. Plans are decided by their actions.
    group = (row.model_tool,) if row.model_tool not in ("", _PLAN_TOOL) else ()
    return PolicyEntry(
        name,
        "read-only" if row.read_only else row.level,
        own,
        lambda params: action_subjects(name, params),
        lambda params: (*names, *group, *_key_command(params), *all_names(performed_actions(row, params))),
        own,
    )


def plan_calls(
    actions: Iterable[Mapping[str, Any]], level: Level, whole: tuple[str, str] | None, files: tuple[str, ...] = ()
) -> list[PolicyCall]:
    """The calls of a plan: each action and, for a whole execution with this name and subject, itself.

    ``files`` are what the command around it also reads or writes. An allow rule about the target of an action that
    needs more than its own ``level`` does not cover it.
    """

    def within(entry: PolicyEntry) -> PolicyEntry:
        own = entry.subjects
        if own is None or not (files or level != LEVELS[0]):
            return entry
        first = () if level == LEVELS[0] else ("",)
        return replace(_at_least(entry, level), subjects=lambda params: (*first, *own(params), *files))

    actions = list(actions)
    calls = [(within(action_entry(action["type"])), action.get("params", {})) for action in actions]
    if whole is None:
        return calls
    execution = execution_entry(*whole, actions=(entry.name for entry, _ in calls))
    return [*calls, (within(execution), {"actions": actions})]


def execution_entry(name: str = "run_execution", subject: str = "", actions: Iterable[str] = ()) -> PolicyEntry:
    """The entry of a whole execution of these actions, by one of its names. Its subject may be a path."""
    performed = (*_EXECUTION, *all_names(actions))
    is_inline = subject.lstrip()[:1] in ("{", "[", "-")
    subjects = (subject,) if is_inline else path_spellings(subject)
    return PolicyEntry(name, "act", _EXECUTION, lambda _: subjects, lambda _: performed, _EXECUTION, is_whole=True)


def _at_least(entry: PolicyEntry, level: Level) -> PolicyEntry:
    return replace(entry, level=level) if LEVELS.index(level) > LEVELS.index(entry.level) else entry


def action_names(name: str) -> tuple[str, ...]:
    """Every other name of an action that a rule may use: its aliases, and its command with its synonyms.

    The command may be an alias of another action: a rule that denies 'press' denies both click and press_key.
    """
    spelled = (name, *ACTIONS[name].aliases)
    commands = _COMMANDS.get(name) or (own_name(name) or name,)
    synonyms = (word for command in commands for word in synonyms_of(command))
    words = [word for word in synonyms if _type_of(word) in (name, None)]
    marks = (text.replace(*pair) for text in (*spelled, *words) for pair in (("_", "-"), ("-", "_")))
    return tuple(dict.fromkeys(word for word in (*spelled, *commands, *words, *marks) if word != name))


def all_names(actions: Iterable[str]) -> tuple[str, ...]:
    """These actions by each of their names."""
    return tuple(name for action in actions for name in (action, *action_names(action)))


def _type_of(word: str) -> str | None:
    """The action type of a name; None for a name that is not one of an action."""
    type_ = word.replace("-", "_")
    type_ = ACTION_ALIASES.get(type_, type_)
    return type_ if type_ in ACTIONS else None


def action_subjects(name: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    """The targets of an action: an app, a URI, a key, labels and ids of its node. Empty for a point.

    Allow rules match the first one. It names both targets of an action that has two.
    """
    kind = ACTION_ALIASES.get(name, name)
    action = {"type": kind, "params": dict(params)}
    own = normalise_execution({"actions": [action]})["actions"][0]["params"]
    values = [spelling for field in _SUBJECTS for spelling in _spellings(field, own.get(field))]
    nested: list[object] = []
    several = own.get("selectors")
    targets = [own.get("component"), own.get("uri")]
    for matcher in [*(own.get(field) for field in _MATCHERS), *(several if isinstance(several, list) else ())]:
        if isinstance(matcher, dict):
            marks = [matcher.get(mark) for mark in (*_MATCHER_FIELDS, *_HOST_FIELDS)]
            values += marks
            nested += _nested_values(matcher)
            if matcher in (own.get("matcher"), own.get("toMatcher")):
                targets += _texts(marks)[:1]
    values += [own.get(field) for field in _LESSER_SUBJECTS]
    if kind in ACTIONS and (param := ACTIONS[kind].uri_param):
        values.append(_web_address(own.get(param)))
    if isinstance(component := own.get("component"), str):
        values.append(component.partition("/")[0])
    source = own.get("textFrom")
    if isinstance(source, dict):
        values += [source.get("env"), *_spellings("path", source.get("file"))]
    if kind == "stop_recording" and "sessionId" not in own:
        values.append(OPEN_SUBJECT)
    both = _texts(targets)
    subjects = (*([" ".join(both)] if len(both) > 1 else ()), *_texts(values))
    inner = _texts(nested)
    # Allow rules match the first subject: what a node is near to never grants an action on it.
    return (*(subjects or (("",) if inner else ())), *inner)


def _spellings(field: str, value: object) -> tuple[object, ...]:
    return path_spellings(value) if field == "path" and isinstance(value, str) else (value,)


def _texts(values: list[object]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)


def _nested_values(selector: Mapping[str, Any]) -> list[object]:
    """The texts of the selectors inside a selector, except of those that the node must not match."""
    values: list[object] = []
    for name in _NESTED:
        inner = selector.get(name)
        for one in inner if isinstance(inner, list) else [inner]:
            if isinstance(one, dict):
                values += [one.get(mark) for mark in (*_MATCHER_FIELDS, *_HOST_FIELDS)]
                values += _nested_values(one)
    return values


def _web_address(uri: object) -> str:
    """A web address as browsers read it: without user, port, escapes in the host, and extra slashes."""
    found = _WEB.fullmatch(uri.strip()) if isinstance(uri, str) else None
    if found is None:
        return ""
    from urllib.parse import unquote

    return f"{found[1].lower()}://{unquote(found[2]).rstrip('.').casefold()}{found[3]}"


def _key_of(params: Mapping[str, Any]) -> str:
    key = params.get("key")
    return trim(key).lower() if isinstance(key, str) else ""


def _key_command(params: Mapping[str, Any]) -> tuple[str, ...]:
    """The command that presses the key of an action."""
    return (key,) if (key := _key_of(params)) in _KEY_COMMANDS else ()


def performed_actions(row: ActionType, params: Mapping[str, Any]) -> tuple[str, ...]:
    """The other actions that an action performs: a scroll may click, an intent may open a URI, Enter submits."""
    fields = row.params.__struct_fields__
    clicks = "clickAfter" in fields and row.params.__struct_defaults__[fields.index("clickAfter") - len(fields)]
    given = [params[name] for name in ("clickAfter", "click_after") if name in params]
    clicks = clicks or any(value is not False for value in given)
    clicks = clicks or _key_of(params) in _CLICKING_KEYS
    text = params.get(row.typed_param) if row.typed_param else None
    types_enter = isinstance(text, str) and any(end in text for end in "\n\r")
    submits = row.name == "submit_text" or params.get("submit", False) is not False or types_enter
    submits = submits or _key_of(params) in _SUBMITTING_KEYS
    clicks = clicks or submits
    opens = row.name != _OPEN_URI and row.uri_param and any(name in params for name in (row.uri_param, "url"))
    performed = (
        *row.performs,
        *(name for field in fields_of(row.params) if params.get(field.name) for name in field.use.performs),
        *(("submit_text", "press_key") if submits else ()),
        *(("click",) if clicks else ()),
        *((_OPEN_URI,) if opens else ()),
    )
    return tuple(dict.fromkeys(performed))
