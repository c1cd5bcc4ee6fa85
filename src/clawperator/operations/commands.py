"""The commands of operations and actions: flags, words and help from the fields of their parameters."""

from collections.abc import Container, Iterable, Iterator
from functools import cache

from msgspec import UNSET

from clawperator.contract.commands import ACTIONS as ACTION_MODULE
from clawperator.contract.commands import BACKEND, MODULES, OPERATION, Command, Flag, synonyms_of
from clawperator.contract.fields import ParamField
from clawperator.operations.model import FAMILIES, Operation, load_family


def top_command(name: str) -> Command:
    """The command of the top level with this name: one action or operation, or the family of several."""
    if MODULES[name] == ACTION_MODULE:
        return _action_command(name)
    rows = load_family(name)
    if [row.name for row in rows] == [name]:
        return command_of(rows[0])
    return Command(name, FAMILIES[name].summary, synonyms=FAMILIES[name].synonyms, family=name)


@cache
def subcommands(family: str) -> tuple[Command, ...]:
    """Every command of a family."""
    derived = (command_of(row) for row in load_family(family))
    return (*(_action_command(name) for name in FAMILIES[family].actions), *derived)


@cache
def subcommand(family: str, word: str) -> Command | None:
    """The command of a family with this name or synonym. Derives no other one."""
    word = word.replace("_", "-")
    rows, name = load_family(family), f"{family} {word}"
    if name in FAMILIES[family].actions:
        return _action_command(name)
    found = (row for row in rows if row.name == name)
    row = next(found, None) or next((row for row in rows if word in row.synonyms), None)
    return command_of(row) if row else None


def command_of(row: Operation) -> Command:
    """The command of a row."""
    words = sorted((field for field in row.fields if field.use.word), key=lambda field: field.use.word)
    flagged = [field for field in row.fields if field.has_flag]
    backend = (BACKEND,) if row.runs_plans else ()
    return Command(
        row.name.rpartition(" ")[2],
        row.summary,
        " ".join(word_of(field, is_required=field.required) for field in words),
        row.synonyms,
        derive_flags=cache(lambda: (*map(flag_of, flagged), *backend)),
        examples=row.examples,
        notes=row.notes,
        handler=OPERATION,
        level=row.level,
        raised_by={field.flag: field.use.raises for field in flagged if field.use.raises},
        tools=() if row.is_cli_only else (row.tool_name,),
        word_path=words[0].use.path if words else "",
        word_choices=words[0].choices if words else (),
        source=row.module,
    )


def _action_command(name: str) -> Command:
    from clawperator.contract.actions import ACTIONS
    from clawperator.contract.fields import fields_of
    from clawperator.operations.actions import ACTION_COMMANDS, HowToRun

    row = ACTION_COMMANDS[name]
    fields, shared = row.fields, fields_of(HowToRun)
    words = sorted((field for field in fields if field.use.word), key=lambda field: field.use.word)
    needed = {group[0] for group in row.needs if len(group) == 1}
    usage = " ".join(word_of(field, is_required=field.name in needed) for field in words)
    return Command(
        name.rpartition(" ")[2],
        row.summary,
        usage or ("[<ref>]" if any(field.name == "matcher" for field in fields) else ""),
        synonyms_of(name),
        derive_flags=cache(lambda: (*_action_flags(fields, row.own_flags), BACKEND, *map(flag_of, shared))),
        examples=row.examples,
        notes=row.notes,
        handler=row.handler,
        level=row.level,
        raised_by={field.flag: field.use.raises for field in (*fields, *shared) if field.use.raises},
        tools=row.actions or ("run_execution",),
        word_path=words[0].use.path if words else "",
        word_choices=words[0].choices if words else (),
        replaces=row.replaces,
        takes_app_name=any(ACTIONS[action].takes_app_name for action in row.actions),
        source=ACTION_MODULE,
    )


def _action_flags(fields: Iterable[ParamField], taken: Container[str], prefix: str = "") -> Iterator[Flag]:
    """The flags of an action. Those that it has itself take precedence over those of a selector."""
    from clawperator.contract.action_params import Coordinate
    from clawperator.contract.fields import fields_of
    from clawperator.contract.selectors import NodeSelector

    last = ("user", "expect", "settle")  # every action may have them
    for field in sorted(fields, key=lambda one: last.index(one.name) if one.name in last else -1):
        if field.use.spread is not None and field.type is NodeSelector:
            yield from (flag for flag in _selector_flags(field.use.spread) if flag.name not in taken)
        elif field.use.spread is not None:
            inner = (one for one in fields_of(field.type) if not one.use.not_cli)
            yield from _action_flags(inner, (), field.use.spread)
        elif field.use.switches:
            yield from (Flag(flag, help_, "", values=0) for flag, _, help_ in field.use.switches)
        elif field.type is Coordinate:
            yield Flag(field.flag, field.description, "<x> <y>", values=2, literal=True)
        elif field.has_flag:
            is_name = field.use.path or field.type in (int, list[str]) or (field.choices and not field.use.word)
            yield flag_of(field, prefix, literal=not is_name)


def _selector_flags(prefix: str) -> Iterator[Flag]:
    from clawperator.contract.selectors import STATE, selector_fields, states

    node = prefix.removesuffix("-") or "element"
    help_ = "selector JSON; cannot be combined with the flags below"
    yield Flag(f"--{prefix}selector", f"{node}: {help_}", "<json>", (f"--{prefix}matcher-json",), literal=True)
    for field in selector_fields(prefix):
        yield flag_of(field, prefix, f"{node}: ", literal=True)
    if not prefix:
        help_ = f"element: {', '.join(states())}"
        yield Flag(STATE, help_, "<state>", literal=True, repeats=True, choices=tuple(states()))


def word_of(field: ParamField, *, is_required: bool) -> str:
    """A word in the usage of a command."""
    if field.is_list:
        return f"[{field.metavar}...]"
    return field.metavar if is_required else f"[{field.metavar}]"


def flag_of(field: ParamField, prefix: str = "", subject: str = "", *, literal: bool = False) -> Flag:
    """The flag of a field, with a prefix for its name and one for its description."""
    return Flag(
        f"--{prefix}{field.flag[2:]}",
        subject + help_of(field),
        "" if field.is_switch else field.metavar,
        tuple(f"--{prefix}{alias[2:]}" if prefix else alias for alias in field.use.aliases),
        values=0 if field.is_switch else 1,
        literal=literal,
        repeats=field.is_list or field.is_mapping,
        path=field.use.path,
        not_paths=field.use.not_paths,
        choices=field.choices,
    )


def help_of(field: ParamField) -> str:
    """The description of a field, with its choices, unless it describes each of them, and its default."""
    text = field.description
    if not all(choice in text for choice in field.choices):
        text += f": {', '.join(field.choices[:-1])} or {field.choices[-1]}"
    if field.default is not UNSET and field.default is not False and field.default != {} and not field.is_list:
        text += f" (default: {field.text_of(field.default)})"
    elif field.use.beside is not None:
        text += f" (default: beside the {field.use.beside[0]})"
    return text
