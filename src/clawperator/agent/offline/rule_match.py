"""What the rules of the grammar share: how they see a sentence, and what they make of the words they catch."""

import re
from collections.abc import Callable

from msgspec import Struct

from clawperator.agent.offline.instructions import Instruction
from clawperator.agent.offline.sentences import unquote
from clawperator.agent.offline.targets import RefusedError


class Submit(Struct, frozen=True):
    """Belongs to the text typed before it; ``otherwise`` is what the words mean where nothing was typed."""

    otherwise: Instruction | None = None


class Several(Struct, frozen=True):
    """Instructions that one sentence asks for, one after the other."""

    instructions: tuple[Instruction, ...]


Meaning = Instruction | Submit | Several


class Said:
    """The words that the groups of a rule caught, by their place; nothing for a group that caught none."""

    def __init__(self, sentence: str, found: re.Match[str]) -> None:
        spans = (found.span(group) for group in range(1, found.re.groups + 1))
        self._words = [sentence[start:end] if start >= 0 else "" for start, end in spans]

    def __getitem__(self, place: int) -> str:
        return self._words[place]

    def text(self, place: int) -> str:
        """A text that is taken as it is. What only stands for another is refused, unless it is quoted."""
        text, exact = unquote(self._words[place])
        if not exact and text.casefold() in ("it", "that", "this", "them"):
            raise RefusedError(f"what {text!r} means here is not known")
        return text

    def name(self, place: int) -> str:
        """A name, without quotes around it."""
        return unquote(self._words[place])[0]


Maker = Callable[[Said], Meaning]
Rule = tuple[str, Maker]
