"""Parse a prompt into instructions, all or none.

Rules see a sentence masked, so nothing inside a quotation is taken for a word of the grammar. The first rule that
matches the whole sentence applies.
"""

import re

from msgspec import Struct

from clawperator.agent.offline.grammar import (
    BUTTON_VERBS,
    InstructionSequence,
    Meaning,
    RuleMatch,
    SentenceError,
    Submit,
    mask,
    parse_target,
    strip_article,
)
from clawperator.agent.offline.instructions import (
    CheckInstruction,
    CreateInstruction,
    DeleteInstruction,
    GoToInstruction,
    Instruction,
    OpenInstruction,
    OpenPageInstruction,
    PauseInstruction,
    ScrollToInstruction,
    SearchInstruction,
    SetSwitchInstruction,
    SetValueInstruction,
    TapInstruction,
    TypeInstruction,
    WaitForInstruction,
)
from clawperator.agent.offline.known_places import find_place
from clawperator.agent.offline.rules_actions import ACTION_RULES, bare_switch
from clawperator.agent.offline.rules_apps import APP_RULES, TOOL_RULES
from clawperator.agent.offline.rules_questions import QUESTION_RULES, bare_state_check
from clawperator.agent.offline.rules_tasks import TASK_RULES
from clawperator.agent.offline.sentences import Sentence, direct_form, split_sentences

_RULES = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), build)
    for pattern, build in (*TOOL_RULES, *TASK_RULES, *ACTION_RULES, *APP_RULES, *QUESTION_RULES)
]


NO_RULE = "unknown instruction"
_NEGATION = re.compile(r"(?:do not|don't|dont|never|avoid)(?:\s.*)?", re.IGNORECASE | re.DOTALL)
_CONDITION = re.compile(
    r"(?:.*(?<!check )(?<!see )(?<!look )(?<!tell me ))?(?<!\w)(?:if|unless|otherwise|or else|in case)(?:\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
MAX_CHARACTERS = 4_000
MAX_INSTRUCTIONS = 50
_REMAINING_TEXT = re.compile(
    r"(?!(?:type|enter|write|input|put|insert)\s)(?:.*\s)?in ?to\s.+", re.IGNORECASE | re.DOTALL
)


_BARE_STATE = re.compile(r"(?:and\s+)?(.+?)[:,]? (on|off)", re.IGNORECASE | re.DOTALL)
_PRONOUN = re.compile(rf"(delete|remove|{BUTTON_VERBS})\s+(?:it|that|this)", re.IGNORECASE)
_IT = re.compile(r"(?<!\w)(?<!for )it(?!\w)", re.IGNORECASE)
_ORDINAL_ONE = re.compile(r"(?!play\b).+ the \S+ one", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"(?:the\s+)?[A-Z][\w&'-]*(?: [\w&'-]+){0,3}")


def parse_sentence(sentence: str, *, is_question: bool = False) -> Meaning:
    """Parse one sentence. ``SentenceError`` when no rule matches, or when its target is unclear."""
    sentence = direct_form(sentence)
    masked = mask(sentence)
    if _NEGATION.fullmatch(masked):
        raise SentenceError("negative instructions are not supported")
    if _CONDITION.fullmatch(masked):
        raise SentenceError("conditions are not supported; quote a name that contains 'if' or 'unless'")
    for pattern, build in _RULES:
        found = pattern.fullmatch(masked)
        meaning = build(RuleMatch(sentence, found)) if found else None
        if meaning is not None:
            return meaning
    bare = _BARE_STATE.fullmatch(masked)
    if bare and find_place(name := strip_article(sentence[bare.start(1) : bare.end(1)])):
        return bare_state_check(name, bare[2]) if is_question else bare_switch(name, on=bare[2].lower() == "on")
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
            texts[MAX_INSTRUCTIONS].text, f"the prompt has more than {MAX_INSTRUCTIONS} instructions"
        )
    parts: list[ParsedInstruction] = []
    rejected: list[NotUnderstood] = []
    for sentence in texts:
        try:
            _reject_split_text(parts, sentence.text)
            if not _add_reference(parts, sentence.text):
                _add_instructions(parts, sentence.text, _parse_after(parts, sentence))
        except SentenceError as e:
            rejected.append(NotUnderstood(sentence.text, str(e)))
    return ParsedPrompt(tuple(parts), tuple(rejected))


def _rejected_prompt(text: str, reason: str) -> ParsedPrompt:
    return ParsedPrompt((), (NotUnderstood(text, reason),))


def _parse_after(parts: list[ParsedInstruction], sentence: Sentence) -> Meaning:
    """Parse a sentence. After a page was opened, the name of an element alone means to tap it."""
    text = _with_antecedent(parts, sentence.text)
    try:
        return parse_sentence(text, is_question=sentence.is_question)
    except SentenceError as e:
        last = parts[-1].instruction if parts else None
        opens = isinstance(last, OpenInstruction | OpenPageInstruction | GoToInstruction | TapInstruction)
        if str(e) != NO_RULE or not opens or not _LABEL.fullmatch(sentence.text):
            raise
        return TapInstruction(parse_target(sentence.text))


def _with_antecedent(parts: list[ParsedInstruction], sentence: str) -> str:
    """The sentence with the name that "it" stands for: that of the switch, value or element right before it."""
    acting = [part.instruction for part in parts if not isinstance(part.instruction, PauseInstruction)]
    last = acting[-1] if acting else None
    if isinstance(last, WaitForInstruction):
        last = last.check
    if not isinstance(last, SetSwitchInstruction | SetValueInstruction | ScrollToInstruction | CheckInstruction):
        return sentence
    found = None if _PRONOUN.fullmatch(mask(sentence)) else _IT.search(mask(sentence))
    return (
        sentence if found is None else f"{sentence[: found.start()]}{last.target.phrase}{sentence[found.end() :]}"
    )


def _add_reference(parts: list[ParsedInstruction], sentence: str) -> bool:
    """Resolve "it" in "tap Milk and delete it" and the like. False when the sentence is not of that kind."""
    masked = mask(sentence)
    found = _PRONOUN.fullmatch(masked)
    last = parts[-1].instruction if parts else None
    if _ORDINAL_ONE.fullmatch(masked) and (last is None or isinstance(last, ScrollToInstruction)):
        raise SentenceError("'one' does not name an element")
    if not found:
        return False
    if isinstance(last, SearchInstruction | ScrollToInstruction):
        raise SentenceError("'it' does not name an element")
    if found[1].lower() in ("delete", "remove"):
        if not isinstance(last, TapInstruction | GoToInstruction | OpenInstruction):
            raise SentenceError("'it' does not name an element")
        target = parse_target(last.name) if isinstance(last, OpenInstruction) else last.target
        parts[-1] = ParsedInstruction(f"{parts[-1].text} and {sentence}", DeleteInstruction(target))
        return True
    return isinstance(last, CreateInstruction) and found[1].lower() == "save"  # creating includes saving


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
