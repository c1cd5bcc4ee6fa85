"""Parse a prompt into instructions, all or none.

Rules see a sentence masked, so nothing inside a quotation is taken for a word of the grammar. The first rule that
matches the whole sentence applies.
"""

import re

from msgspec import Struct

from clawperator.agent.offline.grammar import (
    InstructionSequence,
    Meaning,
    RuleMatch,
    SentenceError,
    Submit,
    mask,
    split_sentences,
)
from clawperator.agent.offline.instructions import Instruction, TypeInstruction
from clawperator.agent.offline.rules_apps import APP_RULES, TOOL_RULES
from clawperator.agent.offline.rules_actions import ACTION_RULES, QUESTION_RULES

_RULES = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), build)
    for pattern, build in (*TOOL_RULES, *ACTION_RULES, *APP_RULES, *QUESTION_RULES)
]


NO_RULE = "unknown instruction"
_NEGATION = re.compile(r"(?:do not|don't|dont|never|avoid)(?:\s.*)?", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(r"(?:if|unless)\s.+", re.IGNORECASE | re.DOTALL)
MAX_CHARACTERS = 4_000
MAX_INSTRUCTIONS = 50
_REMAINING_TEXT = re.compile(
    r"(?!(?:type|enter|write|input|put|insert)\s)(?:.*\s)?in ?to\s.+", re.IGNORECASE | re.DOTALL
)


def parse_sentence(sentence: str) -> Meaning:
    """Parse one sentence. ``SentenceError`` when no rule matches, or when its target is unclear."""
    masked = mask(sentence)
    if _NEGATION.fullmatch(masked):
        raise SentenceError("negative instructions are not supported")
    if _CONDITION.fullmatch(masked):
        raise SentenceError("conditions are not supported")
    for pattern, build in _RULES:
        found = pattern.fullmatch(masked)
        if found:
            return build(RuleMatch(sentence, found))
    raise SentenceError(NO_RULE)


class ParsedInstruction(Struct, frozen=True):
    """A sentence and the instruction parsed from it."""

    text: str
    instruction: Instruction


class NotUnderstood(Struct, frozen=True):
    """A sentence that cannot be parsed, and why."""

    text: str
    reason: str


class ParsedPrompt(Struct, frozen=True):
    """The instructions of a prompt. Run none of them when ``not_understood`` is not empty."""

    parts: tuple[ParsedInstruction, ...]
    not_understood: tuple[NotUnderstood, ...]


def parse_prompt(prompt: str) -> ParsedPrompt:
    """Parse every sentence of a prompt."""
    if len(prompt) > MAX_CHARACTERS:
        return _rejected_prompt(prompt[:60] + "…", f"the prompt has more than {MAX_CHARACTERS} characters")
    texts = split_sentences(prompt)
    if not texts:
        return _rejected_prompt(prompt.strip(), "the prompt is empty")
    if len(texts) > MAX_INSTRUCTIONS:
        return _rejected_prompt(
            texts[MAX_INSTRUCTIONS], f"the prompt has more than {MAX_INSTRUCTIONS} instructions"
        )
    parts: list[ParsedInstruction] = []
    rejected: list[NotUnderstood] = []
    for sentence in texts:
        try:
            _reject_split_text(parts, sentence)
            _add_instructions(parts, sentence, parse_sentence(sentence))
        except SentenceError as e:
            rejected.append(NotUnderstood(sentence, str(e)))
    return ParsedPrompt(tuple(parts), tuple(rejected))


def _rejected_prompt(text: str, reason: str) -> ParsedPrompt:
    return ParsedPrompt((), (NotUnderstood(text, reason),))


def _reject_split_text(parts: list[ParsedInstruction], sentence: str) -> None:
    """Reject "type tea and tap water into Title": its text was split, and half of it must not be typed."""
    last = parts[-1].instruction if parts else None
    if isinstance(last, TypeInstruction) and last.field is None and _REMAINING_TEXT.fullmatch(mask(sentence)):
        raise SentenceError("quote a text that contains a full stop or words of an instruction")


def _add_instructions(parts: list[ParsedInstruction], sentence: str, meaning: Meaning) -> None:
    if isinstance(meaning, InstructionSequence):
        parts += [ParsedInstruction(sentence, instruction) for instruction in meaning.instructions]
    elif not isinstance(meaning, Submit):
        parts.append(ParsedInstruction(sentence, meaning))
    elif parts and isinstance(typed := parts[-1].instruction, TypeInstruction):
        text = f"{parts[-1].text} and {sentence}"
        parts[-1] = ParsedInstruction(text, TypeInstruction(typed.text, typed.field, submit=True))
    elif meaning.otherwise is not None:
        parts.append(ParsedInstruction(sentence, meaning.otherwise))
    else:
        raise SentenceError("it must follow a 'type' instruction")
