"""Words that begin instructions, and gerunds of verbs."""

import re

# Verbs that begin an instruction when another word follows.
_VERBS = (
    "open|launch|start|begin|run|use|close|kill|quit|exit|force[- ]stop|tap|click|press|select|choose|touch|hit|"
    "pick|push|long[- ]?(?:press|tap|click)|hold|type|enter|write|input|insert|put|fill|search|look|clear|empty|"
    "erase|turn|switch|toggle|flip|set|change|adjust|update|enable|disable|activate|deactivate|tick|untick|uncheck|"
    "scroll|swipe|find|locate|go|navigate|browse|visit|return|jump|head|wait|what|what's|whats|which|how|describe|"
    "read|tell|give|is|are|isn't|do you|does|see|let|check|verify|confirm|make|take|bring|capture|record|stop|"
    r"finish|end|pull|fetch|list|show|play|watch|pause|resume|like|unlike|delete|remove|create|add|"
    r"save(?! it (?:as|to|in)\b)|send|share|"
    "subscribe|submit|cancel|refresh|reload|discard|shut|keep"
)
# Verbs of instructions that no rule understands. A name with one after "and" has swallowed an instruction.
_OTHER_VERBS = (
    "sign|log|download|install|uninstall|rename|edit|copy|paste|post|call|mute|unmute|skip|rewind|book|order|buy|"
    "pay|remind|translate|reply|comment|rate|follow|upload|move|drag|reboot|restart|lock|unlock|increase|decrease|"
    "raise|lower|dim|repeat|undo|redo"
)
# Words that are an instruction of their own.
_ALONE = "go back|go home|back|home|submit|search|screenshot|help|scroll"
# Verbs that name a button: after a text to type they tap it, otherwise they may be part of a label.
BUTTON_VERBS = (
    "confirm|save|cancel|continue|go on|ok|okay|done|next|send|share|subscribe|like|unlike|post|discard|refresh|"
    "reload|sign in|sign out|log in|log out|skip|pause|play|resume|reply|download|edit|add|apply|finish|delete|"
    "connect|disconnect"
)
INSTRUCTION_START = re.compile(rf"(?:(?:{_VERBS})\s+(?!and\b|&)\S|(?:{_ALONE})\s*(?:$|,|\sand\s))", re.IGNORECASE)
BUTTON_START = re.compile(rf"(?:{BUTTON_VERBS})\s*(?:$|,|\sand\s)", re.IGNORECASE)
OTHER_INSTRUCTION = re.compile(
    rf"(?:\s+and|,)\s+(?:{_OTHER_VERBS})\s+(?:it|the|a|an|this|that|to|my)\b", re.IGNORECASE
)
# The first words of "tap Save and continue": a label that consists of two verbs.
JOINED_LABEL = re.compile(
    rf"(?:tap|click|press|select|choose|hit|push|find|read|wait for|is|check that)(?: on)?\s+(?:the )?[\"']?"
    rf"(?:{BUTTON_VERBS}|accept|agree|close|copy|cut|drag|exit|install|log|open|search|sign|stop|submit|terms)\b",
    re.IGNORECASE,
)

# Verbs that occur as gerunds in "would you mind turning on …".
_BASES = (
    *("turn", "switch", "open", "launch", "start", "close", "tap", "click", "press", "type", "search", "scroll"),
    *("go", "show", "tell", "check", "take", "read", "set", "put", "create", "delete", "play", "pause", "look"),
    *("find", "change", "make", "write", "enter", "add", "bring", "enable", "disable", "activate", "deactivate"),
    *("give", "select", "choose", "wait", "save", "remove", "list", "describe", "navigate", "resume", "let"),
)


def _gerund(verb: str) -> str:
    if verb in ("tap", "put", "set", "let"):
        return f"{verb}{verb[-1]}ing"
    return f"{verb.removesuffix('e')}ing"


GERUNDS = {_gerund(verb): verb for verb in _BASES}
