"""The rules of the grammar, one after the other: the first that fits the whole of a sentence counts.

Rules see a sentence masked, so that nothing inside a quotation is taken for a word of the grammar.
"""

import re

from clawperator.agent.offline.rule_match import Meaning, Said
from clawperator.agent.offline.rules_acts import ACT_RULES
from clawperator.agent.offline.rules_apps import APP_RULES
from clawperator.agent.offline.rules_jobs import JOB_RULES
from clawperator.agent.offline.rules_questions import QUESTION_RULES
from clawperator.agent.offline.sentences import mask
from clawperator.agent.offline.targets import RefusedError

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
