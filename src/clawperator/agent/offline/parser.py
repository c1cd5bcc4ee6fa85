"""Parse a prompt into instructions, all or none.

Rules see a sentence masked, so nothing inside a quotation is taken for a word of the grammar. The first rule that
matches the whole sentence applies.
"""

import re

from msgspec import Struct

from clawperator.agent.offline.grammar import Meaning, RefusedError, Said, Several, Submit, mask, sentences
from clawperator.agent.offline.instructions import Instruction, Type
from clawperator.agent.offline.rules_apps import APP_RULES, JOB_RULES
from clawperator.agent.offline.rules_screen import ACT_RULES, QUESTION_RULES

_RULES = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), make)
    for pattern, make in (*JOB_RULES, *ACT_RULES, *APP_RULES, *QUESTION_RULES)
]


NO_RULE = "no rule fits it"
_NEGATION = re.compile(r"(?:do not|don't|dont|never|avoid)(?:\s.*)?", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(r"(?:if|unless)\s.+", re.IGNORECASE | re.DOTALL)


def read_sentence(sentence: str) -> Meaning:
    """What a sentence asks for. ``RefusedError`` when no rule fits it, or what it names cannot be meant."""
    masked = mask(sentence)
    if _NEGATION.fullmatch(masked):
        raise RefusedError("only what is to be done is understood, not what is not")
    if _CONDITION.fullmatch(masked):
        raise RefusedError("conditions are not understood")
    for pattern, make in _RULES:
        found = pattern.fullmatch(masked)
        if found:
            return make(Said(sentence, found))
    raise RefusedError(NO_RULE)


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
