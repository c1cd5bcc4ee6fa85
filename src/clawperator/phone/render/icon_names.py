"""The icon of a view, found by the words of its label or of its id."""

import re
from functools import lru_cache

# Phrases come before words.
_PHRASES = {
    "edit suggestion": "north_west",
    "navigate up": "back",
    "add to cart": "cart",
    "more options": "more",
}
_WORDS = {
    name: icon
    for icon, names in {
        "account": "account avatar me mine person profile user",
        "add": "add compose create new plus",
        "back": "back up",
        "backspace": "backspace del",
        "bell": "alarm alert bell notification notifications",
        "bulb": "idea intelligence intelligent smart",
        "calendar": "calendar date event",
        "call": "call dial phone",
        "camera": "camera",
        "cart": "basket cart shop",
        "check": "accept apply check confirm done ok save",
        "close": "cancel clear close dismiss exit leave",
        "delete": "bin delete discard remove trash",
        "devices": "device devices",
        "download": "download",
        "edit": "edit pencil rename write",
        "enter": "enter",
        "forward": "forward next",
        "heart": "favorite favorites favourite heart love",
        "help": "help question",
        "history": "clock history recent recents time timer",
        "home": "home house",
        "info": "about details info information",
        "like": "like liked thumb unlike",
        "location": "location map place",
        "lock": "lock password security",
        "mail": "email inbox mail message messages",
        "menu": "drawer menu",
        "mic": "mic microphone voice",
        "more": "more options overflow",
        "music": "audio music song sound",
        "note": "document file note notes page",
        "pause": "pause",
        "picture": "gallery image photo photos picture",
        "pin": "pin pinned unpin",
        "play": "play start video watch",
        "refresh": "refresh reload rotate sync update",
        "search": "find lookup search",
        "send": "send",
        "settings": "configure preferences settings setup",
        "share": "share",
        "shift": "shift",
        "star": "bookmark rate rating star",
        "stop": "stop",
        "sun": "brightness day solar sun weather",
        "tool": "repair service support tool tools",
        "upload": "upload",
        "volume": "speaker volume",
    }.items()
    for name in names.split()
}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_LENGTH = 200


@lru_cache(maxsize=512)
def icon_name(label: str) -> str:
    """The icon for a label such as "Search settings" or an id such as "search_button"; empty without one."""
    words = [word.lower() for word in _WORD.findall(label[:_MAX_LENGTH])]
    phrase = " ".join(words)
    found = next((icon for start, icon in _PHRASES.items() if phrase.startswith(start)), "")
    return found or next((_WORDS[word] for word in words if word in _WORDS), "")


# The symbols of the built-in apps on the launcher, and their colours.
_APPS = {
    "Chrome": ("globe", 0x1A73E8),
    "Clawperator Operator": ("hand", 0x00796B),
    "Hard Mode": ("bolt", 0x6A1B9A),
    "Notes": ("note", 0xE37400),
    "Settings": ("settings", 0x5F6368),
    "SolaXCloud": ("sun", 0x2E7D32),
    "YouTube": ("play", 0xD93025),
}


def app_symbol(label: str) -> tuple[str, int] | None:
    """The symbol and the colour of a built-in app; None for any other."""
    return _APPS.get(label)
