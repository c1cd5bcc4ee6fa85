"""A regular expression as a tree: how Python writes it, and how long Python might take for it."""

from typing import TypeAlias

from msgspec import Struct

MUCH = 1e9  # more steps than anybody would wait for


class One(Struct, frozen=True):
    """A single character, as Python writes what it may be. ``literal`` is the only one, if there is only one."""

    pattern: str
    literal: str = ""


class Look(Struct, frozen=True):
    """Something that holds between two characters."""

    pattern: str


class Again(Struct, frozen=True):
    """What a group has matched before."""

    group: int


class Group(Struct, frozen=True):
    """Alternatives. ``number`` is 0 when nobody asks what matched."""

    number: int
    alternatives: "list[list[Node]]"


class Repeat(Struct, frozen=True):
    """``most`` is None when there is no end."""

    body: "Node"
    least: int
    most: int | None


Node: TypeAlias = One | Look | Again | Group | Repeat


def write(node: Node) -> str:
    """A tree as Python writes it."""
    match node:
        case One(pattern) | Look(pattern):
            return pattern
        case Again(group):
            return f"(?:\\{group})"
        case Group(number, alternatives):
            inner = "|".join("".join(map(write, alternative)) for alternative in alternatives)
            return f"({inner})" if number else f"(?:{inner})"
        case Repeat(body, least, most):
            return f"(?:{write(body)}){{{least},{'' if most is None else most}}}"


def cost(node: Node, size: int) -> float:
    """How many steps it takes, at most, to find no match in a text of this size from one place on."""
    match node:
        case One() | Look():
            return 1
        case Again():
            return size
        case Group(_, alternatives):
            total = 0.0
            for alternative in alternatives:
                ways = 1.0
                for part in alternative:
                    ways = min(ways * cost(part, size), MUCH)
                total += ways
            return min(total, MUCH)
        case Repeat(body, least, most):
            top = size if most is None else min(most, size)
            ways = cost(body, size)
            return min(max(top, least) + 1 if ways <= 1 else ways ** min(top, 30), MUCH)
