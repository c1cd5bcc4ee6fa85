"""A shell script as data: what the parser makes and the shell runs."""

from typing import Literal, TypeAlias

from msgspec import Struct


class Literally(Struct, frozen=True):
    """Characters of a word. Quoted ones are never split, matched or seen as a reserved word."""

    text: str
    quoted: bool


class Variable(Struct, frozen=True):
    """``$name``, or ``${name<operator>word}``. The operator ``length`` stands for ``${#name}``.

    ``${name/word/second}`` and ``${name:word:second}`` have two words; the second is None when it is not there.
    """

    name: str
    quoted: bool
    operator: str = ""
    word: "Word" = ()
    second: "Word | None" = None


class Substitution(Struct, frozen=True):
    """``$(body)``."""

    body: "Lines"
    quoted: bool


class Arithmetic(Struct, frozen=True):
    """``$((expression))``; variables in it with a ``$`` are replaced first."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = "Literally | Variable | Substitution | Arithmetic"
Word: TypeAlias = "tuple[Part, ...]"


class Redirection(Struct, frozen=True):
    """``2>word``. A here-document has the operator ``<<`` and its text as the word."""

    fd: int
    operator: Literal["<", ">", ">>", "<>", ">|", "<&", ">&", "&>", "<<"]
    word: Word


class Simple(Struct, frozen=True):
    """Assignments and words; at least one of all three."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


class Group(Struct, frozen=True):
    """``{ body; }``, or ``( body )`` in a shell of its own."""

    body: "Lines"
    subshell: bool
    redirections: tuple[Redirection, ...] = ()


class If(Struct, frozen=True):
    branches: "tuple[tuple[Lines, Lines], ...]"
    otherwise: "Lines"
    redirections: tuple[Redirection, ...] = ()


class While(Struct, frozen=True):
    condition: "Lines"
    body: "Lines"
    until: bool
    redirections: tuple[Redirection, ...] = ()


class For(Struct, frozen=True):
    """Over the words, or over the positional parameters when there is no ``in``."""

    name: str
    words: tuple[Word, ...] | None
    body: "Lines"
    redirections: tuple[Redirection, ...] = ()


class Case(Struct, frozen=True):
    word: Word
    branches: "tuple[tuple[tuple[Word, ...], Lines], ...]"
    redirections: tuple[Redirection, ...] = ()


class Function(Struct, frozen=True):
    name: str
    body: "Compound"


Compound: TypeAlias = "Group | If | While | For | Case"
Command: TypeAlias = "Simple | Compound | Function"


class Pipeline(Struct, frozen=True):
    stages: tuple[Command, ...]
    negated: bool = False


class Line(Struct, frozen=True):
    """Pipelines joined by ``&&`` and ``||``, each with the operator before it; the first has none."""

    pipelines: tuple[tuple[str, Pipeline], ...]
    background: bool = False


Lines: TypeAlias = "tuple[Line, ...]"
