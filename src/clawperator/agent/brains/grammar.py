"""The grammar: from a prompt to the instructions in it, all or none."""

from msgspec import Struct

from clawperator.agent.brains.instructions import Instruction, Type
from clawperator.agent.brains.said import Submit
from clawperator.agent.brains.sayings import read_sentence
from clawperator.agent.brains.sentences import sentences
from clawperator.agent.brains.targets import RefusedError

MOST_CHARACTERS = 4_000
MOST_INSTRUCTIONS = 50


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
            _add(parts, sentence, read_sentence(sentence))
        except RefusedError as e:
            refused.append(NotUnderstood(sentence, str(e)))
    return Reading(tuple(parts), tuple(refused))


def _refuse(said: str, reason: str) -> Reading:
    return Reading((), (NotUnderstood(said, reason),))


def _add(parts: list[Part], sentence: str, made: Instruction | Submit) -> None:
    if not isinstance(made, Submit):
        parts.append(Part(sentence, made))
        return
    last = parts[-1] if parts else None
    if last is None or not isinstance(last.instruction, Type):
        raise RefusedError("it is understood only right after something was typed")
    typed = last.instruction
    parts[-1] = Part(f"{last.said} and {sentence}", Type(typed.text, typed.field, submit=True))
