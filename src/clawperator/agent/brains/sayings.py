"""The rules of the grammar, one after the other: the first that fits the whole of a sentence counts.

Rules see a sentence masked, so that nothing inside a quotation is taken for a word of the grammar.
"""

import re

from clawperator.agent.brains.instructions import Instruction
from clawperator.agent.brains.rules_acts import ACT_RULES
from clawperator.agent.brains.rules_jobs import JOB_RULES
from clawperator.agent.brains.rules_questions import QUESTION_RULES
from clawperator.agent.brains.said import Said, Submit
from clawperator.agent.brains.sentences import mask
from clawperator.agent.brains.targets import RefusedError

_RULES = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), make)
    for pattern, make in (*JOB_RULES, *ACT_RULES, *QUESTION_RULES)
]


def read_sentence(sentence: str) -> Instruction | Submit:
    """What a sentence asks for. ``RefusedError`` when no rule fits it, or what it names cannot be meant."""
    masked = mask(sentence)
    for pattern, make in _RULES:
        found = pattern.fullmatch(masked)
        if found:
            return make(Said(sentence, found))
    raise RefusedError("no rule fits it")
