"""The syntax tree of a shell script: built by the parser, run by the interpreter."""

from typing import Literal, TypeAlias

from msgspec import Struct


class LiteralText(Struct, frozen=True):
    """Characters of a word. Quoted ones are never split, globbed or taken for a reserved word."""

    text: str
    quoted: bool


class Variable(Struct, frozen=True):
    """``$name``, or ``${name<operator>word}``. The operator ``length`` stands for ``${#name}``.

    ``${name/word/second}`` and ``${name:word:second}`` have two words; ``second`` is None when it is missing.
    """

    name: str
    quoted: bool
    operator: str = ""
    word: "Word" = ()
    second: "Word | None" = None


class CommandSubstitution(Struct, frozen=True):
    """``$(body)``."""

    body: "CommandList"
    quoted: bool


class ArithmeticExpansion(Struct, frozen=True):
    """``$((expression))``; variables in it with a ``$`` are expanded first."""

    expression: "Word"
    quoted: bool


Part: TypeAlias = "LiteralText | Variable | CommandSubstitution | ArithmeticExpansion"
Word: TypeAlias = "tuple[Part, ...]"


class Redirection(Struct, frozen=True):
    """``2>word``. A here-document has the operator ``<<`` and its text as the word."""

    fd: int
    operator: Literal["<", ">", ">>", "<>", ">|", "<&", ">&", "&>", "<<"]
    word: Word


class SimpleCommand(Struct, frozen=True):
    """Assignments, words and redirections; at least one of the three is not empty."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


class CommandGroup(Struct, frozen=True):
    """``{ body; }``, or ``( body )`` in a subshell."""

    body: "CommandList"
    subshell: bool
    redirections: tuple[Redirection, ...] = ()


class IfCommand(Struct, frozen=True):
    branches: "tuple[tuple[CommandList, CommandList], ...]"
    otherwise: "CommandList"
    redirections: tuple[Redirection, ...] = ()


class WhileLoop(Struct, frozen=True):
    condition: "CommandList"
    body: "CommandList"
    until: bool
    redirections: tuple[Redirection, ...] = ()


class ForLoop(Struct, frozen=True):
    """Over the words, or over the positional parameters when there is no ``in``."""

    name: str
    words: tuple[Word, ...] | None
    body: "CommandList"
    redirections: tuple[Redirection, ...] = ()


class CaseCommand(Struct, frozen=True):
    word: Word
    branches: "tuple[tuple[tuple[Word, ...], CommandList], ...]"
    redirections: tuple[Redirection, ...] = ()


class FunctionDefinition(Struct, frozen=True):
    name: str
    body: "CompoundCommand"


CompoundCommand: TypeAlias = "CommandGroup | IfCommand | WhileLoop | ForLoop | CaseCommand"
CommandNode: TypeAlias = "SimpleCommand | CompoundCommand | FunctionDefinition"


class Pipeline(Struct, frozen=True):
    stages: tuple[CommandNode, ...]
    negated: bool = False


class AndOrList(Struct, frozen=True):
    """Pipelines joined by ``&&`` and ``||``, each with the operator before it; the first has none."""

    pipelines: tuple[tuple[str, Pipeline], ...]
    background: bool = False


CommandList: TypeAlias = "tuple[AndOrList, ...]"
