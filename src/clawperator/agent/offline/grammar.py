"""The grammar: from a prompt to the instructions in it, all or none."""

import re

from msgspec import Struct

from clawperator.agent.offline.instructions import Instruction, Type
from clawperator.agent.offline.rule_match import Meaning, Several, Submit
from clawperator.agent.offline.rules import read_sentence
from clawperator.agent.offline.sentences import mask, sentences
from clawperator.agent.offline.targets import RefusedError

MOST_CHARACTERS = 4_000
MOST_INSTRUCTIONS = 50
_REST_OF_TEXT = re.compile(
    r"(?!(?:type|enter|write|input|put|insert)\s)(?:.*\s)?in ?to\s.+", re.IGNORECASE | re.DOTALL
)


class Part(Struct, frozen=True):
    """A sentence, and what it asks for."""

    said: str
    instruction: Instruction


class NotUnderstood(Struct, frozen=True):
    said: str
    reason: str


class Reading(Struct, frozen=True):
    """What a prompt asks for. When anything is not understood, nothing of it may be done."""

    parts: tuple[Part, ...]
    not_understood: tuple[NotUnderstood, ...]


def read_prompt(prompt: str) -> Reading:
    """Every instruction of a prompt, and every part that is none."""
    if len(prompt) > MOST_CHARACTERS:
        return _refuse(prompt[:60] + "…", f"a prompt may have {MOST_CHARACTERS} characters")
    said = sentences(prompt)
    if not said:
        return _refuse(prompt.strip(), "it asks for nothing")
    if len(said) > MOST_INSTRUCTIONS:
        return _refuse(said[MOST_INSTRUCTIONS], f"a prompt may have {MOST_INSTRUCTIONS} instructions")
    parts: list[Part] = []
    refused: list[NotUnderstood] = []
    for sentence in said:
        try:
            _refuse_half_a_text(parts, sentence)
            _add(parts, sentence, read_sentence(sentence))
        except RefusedError as e:
            refused.append(NotUnderstood(sentence, str(e)))
    return Reading(tuple(parts), tuple(refused))


def _refuse(said: str, reason: str) -> Reading:
    return Reading((), (NotUnderstood(said, reason),))


def _refuse_half_a_text(parts: list[Part], sentence: str) -> None:
    """In "type tea and tap water into Title" the text was cut in two, and its first half must not be typed."""
    last = parts[-1].instruction if parts else None
    if isinstance(last, Type) and last.field is None and _REST_OF_TEXT.fullmatch(mask(sentence)):
        raise RefusedError("quote a text with a full stop in it, or one that goes on like an instruction")


def _add(parts: list[Part], sentence: str, made: Meaning) -> None:
    if isinstance(made, Several):
        parts += [Part(sentence, instruction) for instruction in made.instructions]
    elif not isinstance(made, Submit):
        parts.append(Part(sentence, made))
    elif parts and isinstance(typed := parts[-1].instruction, Type):
        said = f"{parts[-1].said} and {sentence}"
        parts[-1] = Part(said, Type(typed.text, typed.field, submit=True))
    elif made.otherwise is not None:
        parts.append(Part(sentence, made.otherwise))
    else:
        raise RefusedError("it is understood only right after something was typed")
