"""The fields of parameters as entry points see them: description, choices, spelling, and kind of path."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from clawperator._base.text import read_number

# ``read-only`` observes. ``act`` acts on a device, starts and stops what can be started again, and writes the
# files it is given. ``full`` deletes, resets, installs, provisions, grants, or runs a program that a flag names.
Level = Literal["read-only", "act", "full"]
LEVELS: tuple[Level, ...] = ("read-only", "act", "full")  # from the least to the most

# A path that a command reads (a file, a file or JSON, a session folder) or writes (a file or folder, a registry).
PathKind = Literal["", "in", "payload", "sessions", "out", "registry"]


class FieldUse(Struct, frozen=True, kw_only=True):
    """How entry points use a field of parameters.

    ``flag`` is its spelling on command lines, by default that of its name, and ``aliases`` are others; a ``word``
    has none, but its position, from 1, among the words of the line. A list takes all further words. Where it
    ``names_device``, a command line may also give it by ``--device``; without a word it has no flag of its own.
    The fields of a Struct that is ``spread`` are flags themselves, each with this prefix. A choice among
    ``switches`` has one flag for each of these values: flag, value and description.
    ``path`` is the kind of path that it is, except for the values ``not_paths``.
    Without a value an output is beside the file of another field, with an ending: ``beside``. A call in which the
    field is given needs the level ``raises``, and also does what it ``performs``: actions, or operations. Models
    do not see a ``rare`` field; their calls may have it. A ``cli_only`` field exists on command lines only; a
    ``not_cli`` field does not, as the caller has its value.
    """

    flag: str = ""
    aliases: tuple[str, ...] = ()
    word: int = 0
    names_device: bool = False
    spread: str | None = None
    switches: tuple[tuple[str, str, str], ...] = ()
    metavar: str = ""
    path: PathKind = ""
    not_paths: tuple[str, ...] = ()
    beside: tuple[str, str] | None = None
    raises: Level | None = None
    performs: tuple[str, ...] = ()
    rare: bool = False
    cli_only: bool = False
    not_cli: bool = False


def about(description: str, **use: Any) -> Meta:
    """The description and the ``FieldUse`` of a field. Limits are in its type."""
    return Meta(description=description, extra={"use": FieldUse(**use)})


class ParamField(Struct, frozen=True):
    """A field of parameters, as entry points see it. ``name`` is that in JSON, ``attribute`` that in Python."""

    name: str
    attribute: str
    flag: str
    description: str
    type: Any
    choices: tuple[str, ...]
    default: Any  # UNSET where there is none
    required: bool
    use: FieldUse
    least: float | None  # the limit of a number

    @property
    def is_switch(self) -> bool:
        return self.type is bool

    @property
    def takes_number(self) -> bool:
        return not {int, float}.isdisjoint((self.type, *get_args(self.type)))

    @property
    def is_list(self) -> bool:
        return get_origin(self.type) in (list, tuple)

    @property
    def is_mapping(self) -> bool:
        """Whether a command line has the field as ``name=value``, any number of times."""
        return get_origin(self.type) is dict

    @property
    def has_flag(self) -> bool:
        """Whether command lines have a flag for it. A word has one if it is named."""
        return bool(self.use.flag) or not (self.use.word or self.use.names_device or self.use.not_cli)

    @property
    def metavar(self) -> str:
        is_file = self.use.path and self.attribute != "folder"
        return self.use.metavar or ("<file>" if is_file else f"<{self.flag.rpartition('-')[2]}>")

    def text_of(self, value: Any) -> str:
        """A value as a command line has it."""
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def read_field(field: ParamField, texts: Sequence[str] | None, words: list[str]) -> Any:
    """The value of a field on a command line; ``UNSET`` when it is not given.

    ``texts`` are those of its flag, None without the flag: then a word is taken out of ``words``. A text stays one
    where a number is expected and it is none.
    """
    if field.is_switch:
        return UNSET if texts is None else True
    if not texts and field.use.word:
        count = len(words) if field.is_list else 1
        texts = words[:count]
        del words[:count]
    if not texts:
        return UNSET
    if field.is_mapping:
        return {name: setting or "on" for name, _, setting in (text.partition("=") for text in texts)}
    number = read_number(texts[-1]) if field.takes_number else None
    return list(texts) if field.is_list else texts[-1] if number is None else number


@cache
def fields_of(shape: type[Struct]) -> tuple[ParamField, ...]:
    """The fields of a Struct of parameters, in their order. Command lines and models see those with a use."""
    return tuple(_field(info) for info in fields(shape))


def default_of(info: FieldInfo) -> Any:
    """The default of a field that has one."""
    return info.default if info.default is not NODEFAULT else info.default_factory()


def _field(info: FieldInfo) -> ParamField:
    type_, metas = _plain_type(info.type)
    description = next((meta.description for meta in metas if meta.description), "")
    use = next((meta.extra["use"] for meta in metas if meta.extra), _HIDDEN)
    spelled = "".join(f"-{c.lower()}" if c.isupper() else c for c in info.encode_name)
    return ParamField(
        info.encode_name,
        info.name,
        use.flag or f"--{spelled}",
        description,
        type_,
        tuple(map(str, get_args(type_))) if get_origin(type_) is Literal else (),
        UNSET if info.required else default_of(info),
        info.required,
        use,
        next((meta.ge for meta in metas if meta.ge is not None), None),
    )


_HIDDEN = FieldUse(not_cli=True, rare=True)


def _plain_type(type_: Any) -> tuple[Any, list[Meta]]:
    """The type without annotations and without ``UnsetType``, and its annotations, the outermost first.

    Of a list and other forms the first one counts, which is that of command lines.
    """
    if get_origin(type_) is Annotated:
        inner, *metas = get_args(type_)
        plain, more = _plain_type(inner)
        return plain, [*(meta for meta in reversed(metas) if isinstance(meta, Meta)), *more]
    if get_origin(type_) in _UNIONS:
        forms = [_plain_type(one) for one in get_args(type_) if one is not UnsetType]
        if len(forms) == 1 or get_origin(forms[0][0]) is not None:
            return forms[0]
        joined: Any = Union[tuple(form for form, _ in forms)]  # noqa: UP007
        return joined, []
    return type_, []


_UNIONS = (Union, type(int | str))
