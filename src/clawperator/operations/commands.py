"""The commands of operations: flags, words and help from the fields of their parameters."""

from msgspec import UNSET

from clawperator.commands.model import BACKEND, OPERATION, Command, Flag, resolve_handler
from clawperator.operations.model import FAMILIES, Operation, ParamField, load_family


def top_command(name: str) -> Command:
    """The command of the top level with this name: one operation, or the family of several."""
    rows = load_family(name)
    if [row.name for row in rows] == [name]:
        return _command(rows[0])
    family = FAMILIES[name]
    first: tuple[Command, ...] = resolve_handler(family.first) if family.first else ()
    derived = tuple(_command(row) for row in rows)
    return Command(name, family.summary, synonyms=family.synonyms, subcommands=(*first, *derived))


def _command(row: Operation) -> Command:
    words = sorted((field for field in row.fields if field.use.word), key=lambda field: field.use.word)
    flags = {field.attribute: _flag(field) for field in row.fields if field.has_flag}
    subject = flags.get(row.subject)
    return Command(
        row.name.rpartition(" ")[2],
        row.summary,
        " ".join(map(_word, words)),
        row.synonyms,
        flags=(*flags.values(), *((BACKEND,) if row.runs_plans else ())),
        examples=row.examples,
        notes=row.notes,
        handler=OPERATION,
        level=row.level,
        raised_by={field.flag: field.use.raises for field in row.fields if field.use.raises and field.has_flag},
        tools=() if row.is_cli_only else (row.tool_name,),
        subject=subject.name if subject else "",
        word_path=words[0].use.path if words else "",
        word_choices=words[0].choices if words else (),
        source=row.module,
    )


def _word(field: ParamField) -> str:
    if field.is_list:
        return f"[{field.metavar}...]"
    return field.metavar if field.required else f"[{field.metavar}]"


def _flag(field: ParamField) -> Flag:
    return Flag(
        field.flag,
        help_of(field),
        "" if field.is_switch else field.metavar,
        field.use.aliases,
        values=0 if field.is_switch else 1,
        repeats=field.is_list or field.is_mapping,
        path=field.use.path,
        not_paths=field.use.not_paths,
        choices=field.choices,
    )


def help_of(field: ParamField) -> str:
    """The description of a field, with its choices and its default."""
    text = field.description
    if field.choices:
        text += f": {', '.join(field.choices[:-1])} or {field.choices[-1]}"
    if field.default is not UNSET and field.default is not False and field.default != {} and not field.is_list:
        text += f" (default: {field.text_of(field.default)})"
    elif field.use.beside is not None:
        text += f" (default: beside the {field.use.beside[0]})"
    return text
