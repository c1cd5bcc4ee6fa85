"""Indirect sentences: rewrite them as the direct instruction or question that the rules know.

A rewrite keeps the meaning: "would you mind turning on Bluetooth" is "turn on Bluetooth", and "I'd like to know
whether Wi-Fi is on" is "is Wi-Fi on". Quotations are never changed.
"""

import re

from clawperator.agent.offline.quoting import mask
from clawperator.agent.offline.verbs import GERUNDS

_MAX_REWRITES = 4
_WANT = r"(?:i|we)(?: want| need|(?: would|'d) (?:like|love|prefer))(?: to have)?"
_TELL = (
    r"(?:tell me|let me know|do you know|can you say|any idea|i wonder|i was wondering|find out|inform me|know|"
    r"remind me|say)"
)
_STATE = r"(?:turned |switched |to be )*(on|off|enabled|disabled|active|activated|deactivated)"
_PHONE = r"(?:the|my|this|your) (?:phone|device|tablet)"
_DO = "|".join(sorted(GERUNDS, key=len, reverse=True))

# Each row is a pattern and the sentence that replaces it; ``{1}`` is the first group.
_REWRITES: tuple[tuple[str, str], ...] = (
    # wishes
    (rf"{_WANT}\s+(?!to\b|you\b)(.+?)\s+{_STATE}", "turn {2} {1}"),
    (rf"(?:can|could|may) (?:i|we) (?:have|get)\s+(.+?)\s+{_STATE}", "turn {2} {1}"),
    (rf"have\s+(.+?)\s+{_STATE}", "turn {2} {1}"),
    (
        r"(?:make sure|ensure)(?: that)?\s+(.+?)\s+(?:is|are|stays)\s+(?:turned |switched )?(on|off)",
        "turn {2} {1}",
    ),
    (rf"{_WANT}\s+(?!to\b|you\b)(.+?)\s+(?:to be|to be set to|set to)\s+(.+)", "set {1} to {2}"),
    (r"have\s+(.+?)\s+set to\s+(.+)", "set {1} to {2}"),
    (rf"{_WANT}\s+(?!to\b|you\b)(.+)", "want {1}"),
    (r"(?:can|could|may) (?:i|we) (?:have|get|see)\s+(.+)", "show me {1}"),
    (r"(?:let me )?see\s+((?:the|my)\s.+)", "show me {1}"),
    (rf"(?:put|set|switch)\s+{_PHONE}\s+(?:in|into|in to|to|on)\s+(.+)", "turn on {1}"),
    # questions in a sentence
    (rf"{_TELL}\s+(?:whether|if)\s+(.+)", "check whether {1}"),
    (rf"{_TELL}\s+(?:what|which)\s+(.+?)\s+(?:is|are)(?: set to)?", "what is {1}"),
    (rf"{_TELL}\s+((?:what|which|how|who|where|when)\b.+)", "{1}"),
    (r"(?:know|find out)\s+(.+)", "what is {1}"),
    (r"(?:give|show) me\s+((?:what|which|how)\b.+)", "{1}"),
    (r"what(?:'s| is)\s+(.+?)\s+(?:set to|at|like)", "what is {1}"),
    (r"what(?:'s| is) the (?:current|present)\s+(.+)", "what is {1}"),
    (r"(?:what|which)\s+(.+?)\s+is (?:set|selected|chosen|used|active|in use|configured)", "what is {1}"),
    (rf"(?:what|which)\s+(.+?)\s+is {_PHONE} set to", "what is {1}"),
    (r"(?:what|which)\s+(?!apps\b)(.+?)\s+(?:do )?(?:i|we) have", "what is {1}"),
    (r"(?:what|which)\s+(.+?)\s+is installed", "what is {1}"),
    (r"(?:what|which) version of android\b.*", "what is the Android version"),
    (rf"how bright is (?:the screen|the display|{_PHONE})", "what is the brightness"),
    (rf"how (?:full|charged) is (?:the|my) battery(?: of {_PHONE})?", "what is the battery"),
    (r"how much is\s+(.+)", "what is {1}"),
    (r"how (?:long|big|large|high) is\s+(.+)", "what is {1}"),
    (
        rf"(?:what|which)(?: wi-?fi)? network (?:am i|is {_PHONE}|are we)(?: connected to| on| using)?",
        "what is the network",
    ),
    # states of the phone
    (rf"(?:do (?:i|we|you) have|does {_PHONE} have)\s+(.+?)\s+{_STATE}", "is {1} {2}"),
    (r"is\s+(.+?)\s+(?:currently|still|already|really|now)\s+(.+)", "is {1} {2}"),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), direct) for pattern, direct in _REWRITES]
_GERUND = re.compile(
    r"(?:(?:would|do|will) you mind|mind|how about|what about|try|consider|i(?: would|'d) appreciate you)\s+"
    rf"(?:you\s+)?({_DO})\b(.*)",
    re.IGNORECASE | re.DOTALL,
)


def direct_form(sentence: str) -> str:
    """The direct form of a sentence; the sentence itself when it is direct."""
    for _ in range(_MAX_REWRITES):
        rewritten = _rewrite(sentence)
        if rewritten == sentence:
            break
        sentence = rewritten
    return sentence


def _rewrite(sentence: str) -> str:
    masked = mask(sentence)
    found = _GERUND.fullmatch(masked)
    if found:
        return f"{GERUNDS[found[1].lower()]}{sentence[found.start(2) :]}"
    for pattern, direct in _COMPILED:
        found = pattern.fullmatch(masked)
        if found:
            spans = [found.span(group) for group in range(pattern.groups + 1)]
            return direct.format(*(_state(sentence[start:end]) for start, end in spans))
    return sentence


def _state(text: str) -> str:
    """The word for a switch state: "on" for "enabled"."""
    word = text.casefold()
    if word in ("enabled", "active", "activated"):
        return "on"
    return "off" if word in ("disabled", "deactivated") else text
