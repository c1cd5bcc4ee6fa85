"""The gate: the only way to run an operation, from any entry point.

In this order: rules between parameters; the policy, on every name of the operation, so that a denial touches
nothing; every given path inside the caller's folder; files and phones that the parameters leave open; derived
outputs; all paths again; the policy again, on what was found; the time limit; the operation itself; declared
secrets masked in what it returns.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from clawperator._base.deadline import Deadline, limited
from clawperator._base.files import SPELLINGS, path_spellings
from clawperator._base.secrets import known_secrets
from clawperator.contract.commands import OPEN_SUBJECT, BackendName
from clawperator.contract.fields import ParamField
from clawperator.errors import ClawError
from clawperator.operations.model import Operation, Params, Rule, find_operation, given_fields
from clawperator.policy.gate import check_calls, policy_in_force

if TYPE_CHECKING:
    from clawperator.device.adb.client import Device
    from clawperator.policy.rules import PolicyEntry

# An allow rule about the subject of a call covers no path of these kinds.
_OWN_RULE = ("out", "registry")


class EntryPoint(Struct, frozen=True):
    """Where calls come from: how it spells fields, and the code of its errors about them."""

    name: Literal["cli", "tool", "http"]
    invalid: str

    def spell(self, field: ParamField) -> str:
        if self.name != "cli":
            return field.name
        return field.flag if field.has_flag else field.metavar


CLI = EntryPoint("cli", "USAGE")
TOOL = EntryPoint("tool", "TOOL_PAYLOAD_INVALID")
HTTP = EntryPoint("http", "INVALID_BODY")


# Receives how much of a long work is done, of how much.
ProgressListener = Callable[[int, int], None]
# Returns the absolute path with links resolved, for an operation that reads or writes it; ``PERMISSION_DENIED``
# for one that the caller may not use.
Confine = Callable[[str, str, Literal["read", "write"]], str]


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls an operation: the entry point, the device and settings in force, and what it wants to know.

    Without ``confine`` any path may be named: a user on a command line. ``folder`` is where relative paths begin.
    ``timeout_ms`` is the time that the user asked for: an operation applies it to its longest step.
    ``is_terminal`` means that a user at a terminal reads the lines.
    ``lines`` receives lines for people, which may hold anything: the entry point escapes them; ``warn`` receives
    warnings. ``meter`` shows the progress of long work. ``on_step`` receives the outcome of each step of a replay;
    it may raise to stop it. ``on_device`` receives the serial of the device that was found.
    A skill receives the variables ``pass_env``, and
    may open URIs of ``allow_schemes``; ``on_output`` receives what it writes, and it ends when the caller
    ``is_stopping``.
    """

    entry: EntryPoint
    device: str | None = None
    operator_package: str | None = None
    backend: BackendName | None = None
    timeout_ms: int | float | None = None
    pass_env: tuple[str, ...] = ()
    allow_schemes: tuple[str, ...] = ()
    deadline: Deadline = msgspec.field(default_factory=lambda: Deadline(None))
    folder: str = "."
    is_terminal: bool = False
    confine: Confine | None = None
    lines: Callable[[Iterable[str]], None] = lambda _: None
    warn: Callable[[str], None] = lambda _: None
    meter: Callable[[], AbstractContextManager[ProgressListener | None]] = nullcontext
    on_step: Callable[[Any], None] = lambda _: None
    on_device: Callable[[str], None] = lambda _: None
    on_output: Callable[[Literal["stdout", "stderr"], bytes], None] = lambda _, __: None
    is_stopping: Callable[[], bool] = lambda: False

    @property
    def timeout(self) -> float | None:
        """The time that the user asked for, in seconds."""
        return None if self.timeout_ms is None else self.timeout_ms / 1000

    def connected_device(self) -> "Device":
        """The caller's device, or the only one."""
        from clawperator.device.discovery import resolve_device

        device = resolve_device(self.device)
        self.on_device(device.serial)
        return device

    def seconds(self, usual: float) -> float:
        """How long a step may take: as long as the user asked for, or else ``usual`` within the deadline."""
        return self.deadline.within(usual) if self.timeout is None else self.timeout

    def shown(self, path: str) -> str:
        """A path for messages: relative to the caller's folder."""
        return os.path.relpath(path, os.path.realpath(self.folder))


class ApprovedCall(Struct, frozen=True):
    """A call that may run: its rules and the policy were checked, and its paths are those that it may use."""

    operation: Operation
    params: Any

    def run(self, caller: Caller) -> Any:
        """Run the operation, within the time of the caller. Declared secrets are masked in its result or error."""
        secrets = known_secrets()
        if not secrets:
            return self._run(caller)
        from clawperator.ui.privacy import mask, mask_error

        try:
            return mask(self._run(caller), secrets)
        except ClawError as e:
            raise mask_error(e, secrets) from e.__cause__

    def _run(self, caller: Caller) -> Any:
        remaining = caller.deadline.remaining
        with nullcontext() if remaining is None else limited(remaining):
            return self.operation.run(self.params, caller)


def call(operation: Operation, params: Params, caller: Caller) -> Any:
    """Run an operation for a caller. ``ClawError`` when it may not run, or fails."""
    return approve(operation, params, caller).run(caller)


def approve(operation: Operation, params: Params, caller: Caller) -> ApprovedCall:
    """Everything that comes before an operation runs. ``ClawError`` when it may not run."""
    for rule in operation.rules:
        _check_rule(rule, operation, params, caller.entry)
    _decide(operation, params, caller)
    found = _confined(operation, params, caller)
    if operation.resolve is not None:
        found = operation.resolve(found, caller)
    found = _confined(operation, _with_outputs(operation, found), caller)
    _decide(operation, params, caller, found)
    return ApprovedCall(operation, found)


def check_operation(name: str, entry: EntryPoint, /, **params: Any) -> None:
    """``PERMISSION_DENIED`` when the policy in force does not allow an operation that an entry point answers."""
    operation = find_operation(name)
    approve(operation, operation.params(**params), Caller(entry=entry))


def invalid(operation: Operation, entry: EntryPoint, message: str) -> ClawError:
    """The error of parameters that the operation does not take."""
    hint = f"Run 'clawperator {operation.name} --help'." if entry.name == "cli" else None
    return ClawError(entry.invalid, message, hint=hint, operation=operation.name, target=operation.name)


def _check_rule(rule: Rule, operation: Operation, params: Params, entry: EntryPoint) -> None:
    fields = {field.attribute: field for field in operation.fields}
    field, needed = fields[rule.field], fields[rule.needs]
    found = getattr(params, rule.needs)
    if getattr(params, rule.field) == field.default or found in rule.values:
        return
    if needed.is_switch:
        raise invalid(operation, entry, f"{entry.spell(field)} cannot be combined with {entry.spell(needed)}")
    wanted = " or ".join(needed.text_of(value) for value in rule.values if value is not UNSET)
    given = "" if found is UNSET else f", not {needed.text_of(found)}"
    raise invalid(operation, entry, f"{entry.spell(field)} needs {entry.spell(needed)} {wanted}{given}")


# The policy


def _decide(operation: Operation, params: Params, caller: Caller, found: Params | None = None) -> None:
    """Check the call as it was given and, once known, also by the files and the phone that were found for it."""
    if not policy_in_force():
        return
    entry = policy_entry(operation, params, caller.entry, caller.folder)
    if found is not None:
        phones = [getattr(found, field.attribute) for field in given_fields(found) if field.use.names_device]
        given, looked_up = (subjects_of(operation, one, caller.folder) for one in (params, found))
        # An output that a link leads elsewhere is not covered by a rule about the input.
        every = (*looked_up, *given) if _leads_elsewhere(operation, params, found) else (*given, *looked_up)
        entry = replace(entry, subjects=lambda _: (*every, *phones))
    check_calls([(entry, msgspec.to_builtins(params))])


def _leads_elsewhere(operation: Operation, params: Params, found: Params) -> bool:
    """Whether a derived output is, with links resolved, not beside its input."""
    from clawperator.recording.writing import derived_path

    for field in operation.fields:
        if field.use.beside and getattr(params, field.attribute) is UNSET:
            source, ending = field.use.beside
            beside = derived_path(os.path.realpath(getattr(found, source)), ending)
            if os.path.realpath(getattr(found, field.attribute)) != beside:
                return True
    return False


def policy_entry(operation: Operation, params: Params, entry: EntryPoint, folder: str = ".") -> "PolicyEntry":
    """The call of an operation as a policy sees it: by each of its names, with its subjects."""
    subjects = subjects_of(operation, params, folder)
    listed = listed_entry(operation)
    own = listed.aliases[0] if entry.name in ("cli", "http") else listed.name
    more = (_names_of(other) for field in given_fields(params) for other in field.use.performs)
    performed = (*_performed(operation), *chain.from_iterable(more))
    level = operation.level_of(params)
    return replace(listed, name=own, level=level, subjects=lambda _: subjects, performs=lambda _: performed)


def listed_entry(operation: Operation) -> "PolicyEntry":
    """The operation as a policy sees it, whatever its parameters are."""
    from clawperator.policy.rules import PolicyEntry

    names, performed = operation_names(operation), _performed(operation)
    return PolicyEntry(
        operation.tool_name, operation.level, names, None, lambda _: performed, names, is_whole=True
    )


def _performed(operation: Operation) -> tuple[str, ...]:
    """The names that deny and ask rules may use: its own, its family, its tool of models, and what it performs."""
    groups = (*(name.split()[0] for name in (operation.name, *operation.aliases)), operation.tool)
    others = (_names_of(other) for other in operation.performs)
    return (*operation_names(operation), *filter(None, groups), *chain.from_iterable(others))


def _names_of(performed: str) -> tuple[str, ...]:
    """Every name of an action, or of another operation."""
    from clawperator.contract.actions import ACTIONS
    from clawperator.policy.actions import all_names

    return all_names((performed,)) if performed in ACTIONS else operation_names(find_operation(performed))


def operation_names(operation: Operation) -> tuple[str, ...]:
    """Every name of an operation that a rule may use: of the command with its synonyms, and of the tool."""
    from clawperator.contract.commands import command_names

    dashed = operation.name.replace(" ", "-")
    full = (operation.name, *operation.aliases)
    others = (*(name for one in full for name in command_names(one)), operation.tool_name)
    spelled = (*full, *others)
    marks = (text.replace(" ", mark).replace("-", mark) for text in spelled for mark in ("_", "-", " "))
    return tuple(dict.fromkeys((dashed, *others, *marks)))


def subjects_of(operation: Operation, params: Params, folder: str = ".") -> tuple[str, ...]:
    """The value that the call is about, the call as a canonical line, and the words of that line.

    An allow rule matches the first one, in which each path is the place of its file. A call that names a file to
    write, or has a field that raises its level, is about its whole line: a rule about the input must not cover any
    output.
    """
    spelled = (_with_paths(params, folder, number) for number in range(SPELLINGS))
    found = [subject for one in spelled for subject in _subjects(operation, one)]
    is_open = operation.subject and operation.resolve is None and getattr(params, operation.subject) is UNSET
    return tuple(dict.fromkeys((*found, *([OPEN_SUBJECT] if is_open else ()))))


def _with_paths(params: Params, folder: str, number: int) -> Params:
    """The parameters with each path in the spelling of this number."""
    paths: dict[str, Any] = {}
    for field in given_fields(params):
        value = getattr(params, field.attribute)
        if field.use.path and isinstance(value, list):
            paths[field.attribute] = [path_spellings(path, folder)[number] for path in value]
        elif field.use.path and value not in field.use.not_paths:
            paths[field.attribute] = path_spellings(value, folder)[number]
    return replace(params, **paths) if paths else params


def _subjects(operation: Operation, params: Params) -> tuple[str, ...]:
    import shlex

    given = list(given_fields(params))
    fields = sorted((field for field in given if field.use.word), key=lambda field: field.use.word)
    words = [text for field in fields for text in _texts(params, field)]
    flags = [
        field.flag if field.is_switch else f"{field.flag}={text}"
        for field in given
        if field.has_flag and not field.use.word
        for text in _texts(params, field)
    ]
    line = shlex.join([*words, *flags])
    about = getattr(params, operation.subject, UNSET) if operation.subject else UNSET
    is_more = any(field.use.path in _OWN_RULE or field.use.raises for field in given)
    subject = () if about is UNSET else (str(about),)
    first = (line, *subject) if is_more else (*subject, line)
    files = [text for field in given if field.use.path for text in _texts(params, field)]
    return (*first, shlex.join(words), " ".join(words), *words[:1], *files)


def _texts(params: Params, field: ParamField) -> list[str]:
    value = getattr(params, field.attribute)
    if isinstance(value, dict):
        return [f"{name}={setting}" for name, setting in value.items()]
    return [field.text_of(one) for one in value] if isinstance(value, list) else [field.text_of(value)]


# Paths


def _confined(operation: Operation, params: Params, caller: Caller) -> Params:
    if caller.confine is None:
        return params
    resolved: dict[str, str | list[str]] = {}
    for field in operation.fields:
        value = getattr(params, field.attribute)
        if value in field.use.not_paths:
            continue
        if field.use.path and isinstance(value, str):
            resolved[field.attribute] = _confined_path(value, field, operation, caller)
        elif field.use.path and isinstance(value, list):
            resolved[field.attribute] = [_confined_path(path, field, operation, caller) for path in value]
    return replace(params, **resolved) if resolved else params


def _confined_path(path: str, field: ParamField, operation: Operation, caller: Caller) -> str:
    assert caller.confine is not None
    whole = caller.confine(path, operation.tool_name, "write" if field.use.path == "out" else "read")
    # Reading a pipe or a device could block forever. A folder is refused by what needs a file.
    if os.path.exists(whole) and not os.path.isfile(whole) and not os.path.isdir(whole):
        raise invalid(operation, caller.entry, f"{path!r} is not a file")
    return whole


def _with_outputs(operation: Operation, params: Params) -> Params:
    """The parameters with the outputs that are beside their inputs."""
    derived: dict[str, str] = {}
    for field in operation.fields:
        if field.use.beside is None or getattr(params, field.attribute) is not UNSET:
            continue
        from clawperator.recording.writing import derived_path

        source, ending = field.use.beside
        derived[field.attribute] = derived_path(getattr(params, source), ending)
    return replace(params, **derived) if derived else params
