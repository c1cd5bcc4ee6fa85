"""Icons: shapes on a grid of 24 by 24, drawn as masks of any size, and found by the words of a label or an id."""

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

# Phrases come before words.
_PHRASES = {"edit suggestion": "north_west", "navigate up": "back", "add to cart": "cart", "more options": "more"}
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


# Shapes

_GRID = 24
_SMOOTH = 4

# An icon is a name, a colon, and its shapes, which are separated by semicolons. A shape is a word and numbers:
#   line W x y x y ...   a line of the width W through points, with round ends
#   poly x y x y ...     a filled polygon
#   disc x y R           a filled circle
#   ring x y R W         a circle of the outer radius R and the width W
#   arc x y R W A B      a part of a ring, from the angle A to B, clockwise from the right
#   box l t r b R        a filled rectangle with corners of the radius R
# A shape that begins with "-" is cut out of those before it.
_SHAPES = """
account: disc 12 8 4.2; box 4 14 20 27 7; -box 0 20 24 28 0
add: line 2.2 12 5 12 19; line 2.2 5 12 19 12
airplane:
    poly 10.6 2.5 13.4 2.5 13.6 9 22 14 22 16 13.6 13.6 13.4 18.6 16 20.4 16 22 12 21 8 22 8 20.4 10.6 18.6
    10.4 13.6 2 16 2 14 10.4 9
back: line 2.2 5 12 20 12; line 2.2 12 5 5 12 12 19
backspace: poly 2 12 8 4.5 22 4.5 22 19.5 8 19.5; -line 2 11 9 17 15; -line 2 17 9 11 15
bell: arc 12 11 6.4 2 180 360; box 5.6 10.5 18.4 17 0; disc 12 10.5 6; poly 3.5 18.5 5.6 16 18.4 16 20.5 18.5;
    disc 12 20 2; disc 12 4 1.6
bolt: poly 13.5 1.5 4 13.5 11 13.5 9.5 22.5 20 9.5 12.5 9.5
bulb: disc 12 9.5 6.8; box 9 14 15 18.5 1; box 9.5 19.6 14.5 21.6 1
calendar: box 3.5 4.5 20.5 21 2; -box 5.5 10 18.5 19 0.5; line 2 8 2.5 8 6; line 2 16 2.5 16 6
call: poly 3.5 4 8.5 3 10.5 8.5 8 10.5 10 14 13.5 16 15.5 13.5 21 15.5 20 20.5 17 21 10 18 6 14 3 7
camera: box 2.5 6 21.5 20 2.5; poly 8 6.5 10 3.5 14 3.5 16 6.5; -disc 12 13 4.6; disc 12 13 2.8
cart: line 2 2 3.5 5.5 3.5 8.5 15 18.5 15 21 7 6.5 7; disc 10 19.5 2; disc 17.5 19.5 2
check: line 2.4 4.5 12.5 9.5 17.5 19.5 6.5
close: line 2.2 6 6 18 18; line 2.2 18 6 6 18
delete: box 6 8 18 21.5 2; line 2 4.5 5.5 19.5 5.5; box 9 2.8 15 6 1; -line 1.6 10 11 10 18.5;
    -line 1.6 14 11 14 18.5
devices: box 2 4 18 16 1.5; -box 4 6 16 14 0.5; line 2 1.5 19 11 19; box 14.5 9 22.5 21.5 1.5;
    -box 16.2 11 20.8 18.5 0.5
dot: disc 12 12 5
download: line 2.2 12 3.5 12 15; line 2.2 6.5 10 12 15.5 17.5 10; line 2.2 5 20 19 20
edit: poly 3 21 3 16.8 14.4 5.4 18.6 9.6 7.2 21; poly 15.6 4.2 18 1.8 22.2 6 19.8 8.4
enter: line 2.2 20 6 20 13 5 13; line 2.2 10 8 5 13 10 18
forward: line 2.2 4 12 19 12; line 2.2 12 5 19 12 12 19
globe: ring 12 12 10 1.9; line 1.7 2.6 12 21.4 12; arc 6.6 12 10.9 1.8 300 60; arc 17.4 12 10.9 1.8 120 240;
    line 1.7 12 2.5 12 21.5
hand: box 5 10 19 22 5; box 5 5 7.6 16 1.3; box 8.8 2 11.4 16 1.3; box 12.6 2 15.2 16 1.3; box 16.4 5 19 16 1.3;
    -disc 12 16 2.4
heart: disc 7.6 8.8 5.2; disc 16.4 8.8 5.2; poly 3.6 12 12 21.3 20.4 12 16 9 8 9
help: ring 12 12 10 2; arc 12 9.8 3.6 2 180 30; line 2 14.4 11 12 13.2 12 14.6; disc 12 17.6 1.4
history: ring 12 12 9.5 2; line 2 12 6.5 12 12.4 16 14.8
home: poly 12 2.5 1.8 11.8 4.6 11.8 4.6 21 10 21 10 14.5 14 14.5 14 21 19.4 21 19.4 11.8 22.2 11.8
info: ring 12 12 10 2; line 2.2 12 11 12 16.8; disc 12 7.6 1.4
like: box 2 10 6 21 1; poly 7.5 10.5 12.5 2 14.5 3.5 13.6 9 21 9 21.6 11.5 18.6 20.4 17.4 21 9.4 21 7.5 19.6
location: disc 12 9 7; poly 5.4 11.4 12 22.5 18.6 11.4; -disc 12 9 2.8
lock: box 4.5 10 19.5 21.5 2; arc 12 8.4 5.4 2.2 180 360; line 2.2 7.7 8 7.7 11; line 2.2 16.3 8 16.3 11;
    -disc 12 15.6 2
mail: box 2 4.5 22 19.5 2; -line 1.8 3 7 12 13.4 21 7
menu: line 2.2 4 6 20 6; line 2.2 4 12 20 12; line 2.2 4 18 20 18
mic: box 8.6 2 15.4 14 3.4; arc 12 11 7.2 2 0 180; line 2 12 18 12 21.5
more: disc 12 5.2 2.1; disc 12 12 2.1; disc 12 18.8 2.1
music: disc 7.4 18 3.6; disc 17.4 16 3.6; line 2 10 18 10 5 20 3 20 16
nav_back: poly 17.5 3.5 17.5 20.5 3.5 12
nav_home: disc 12 12 8.5
nav_recents: box 4 4 20 20 2
north_west: line 2.2 6 6 18.5 18.5; line 2.2 5.5 15 5.5 5.5 15 5.5
note: box 4 2.5 20 21.5 2.5; -line 1.8 7.5 8 16.5 8; -line 1.8 7.5 12 16.5 12; -line 1.8 7.5 16 13 16
pause: box 5.5 4 10 20 1; box 14 4 18.5 20 1
picture: box 2.5 4 21.5 20 2; -poly 5 17.5 9.5 11.5 12.5 15 15.5 10.5 19.2 17.5; -disc 8.2 8.6 1.7
pin: poly 8 2.5 16 2.5 15 11 18 14.6 18 16.2 6 16.2 6 14.6 9 11; line 1.8 12 16 12 22
play: poly 6 3.5 20.5 12 6 20.5
refresh: arc 12 12 8.8 2.2 20 320; poly 21.6 2.6 21.6 10.6 13.6 10.6
search: ring 10 10 7 2.2; line 2.4 15.2 15.2 20.8 20.8
send: poly 2 3.5 22.5 12 2 20.5 2 13.8 15 12 2 10.2
settings: disc 12 12 7.4; line 4.4 12 3.4 12 20.6; line 4.4 4.55 7.7 19.45 16.3; line 4.4 19.45 7.7 4.55 16.3;
    -disc 12 12 3.5
share: line 1.8 6 12 18 5.5; line 1.8 6 12 18 18.5; disc 6 12 3; disc 18 5.2 3; disc 18 18.8 3
shift: poly 12 3 21 12.4 16 12.4 16 20 8 20 8 12.4 3 12.4
signal: poly 2.5 21.5 21.5 21.5 21.5 2.5
star: poly 12 1.8 15.1 8.6 22.5 9.4 17 14.4 18.6 21.7 12 18 5.4 21.7 7 14.4 1.5 9.4 8.9 8.6
stop: box 5 5 19 19 1
sun: disc 12 12 5; line 1.9 12 1.6 12 4; line 1.9 12 20 12 22.4; line 1.9 1.6 12 4 12; line 1.9 20 12 22.4 12;
    line 1.9 4.6 4.6 6.3 6.3; line 1.9 17.7 17.7 19.4 19.4; line 1.9 4.6 19.4 6.3 17.7;
    line 1.9 17.7 6.3 19.4 4.6
tool: line 4.4 5.5 18.5 14 10; disc 16 8 5.6; -poly 15.2 7 18.5 0 25 4 18 9.2
upload: line 2.2 12 5 12 16; line 2.2 6.5 10 12 4.5 17.5 10; line 2.2 5 20 19 20
volume: poly 3 9 7.5 9 13 4 13 20 7.5 15 3 15; arc 13 12 5 2 300 60; arc 13 12 9 2 300 60
wifi: poly 12 21 0.8 8.2 2.4 6.8 5 5.2 8.4 4.1 12 3.7 15.6 4.1 19 5.2 21.6 6.8 23.2 8.2
"""

# For buttons without a name.
UNNAMED = (
    *("star", "heart", "bell", "camera", "mail", "calendar"),
    *("call", "music", "location", "cart", "share", "mic"),
)


@cache
def icon_shapes() -> dict[str, list[str]]:
    """The shapes of each icon, by its name."""
    entries = re.split(r"\n(?=\w)", _SHAPES.strip())
    named = (entry.split(":", 1) for entry in entries)
    return {name: [" ".join(shape.split()) for shape in shapes.split(";")] for name, shapes in named}


@lru_cache(maxsize=96)
def icon_mask(name: str, side: int) -> "Image":
    """An icon as a square mask, 255 where it is drawn."""
    from PIL import Image, ImageDraw

    large = Image.new("L", (side * _SMOOTH, side * _SMOOTH))
    draw = ImageDraw.Draw(large)
    for shape in icon_shapes()[name]:
        word, *numbers = shape.split(" ")
        _draw(draw, word, [float(number) * side * _SMOOTH / _GRID for number in numbers], numbers)
    return large.reduce(_SMOOTH)


def _draw(draw: "ImageDraw", word: str, scaled: list[float], numbers: list[str]) -> None:
    ink = 0 if word.startswith("-") else 255
    match word.removeprefix("-"), scaled:
        case "line", [width, *points]:
            draw.line(points, fill=ink, width=max(1, round(width)), joint="curve")
            for x, y in zip(points[::2], points[1::2], strict=True):
                draw.ellipse(_circle(x, y, max(1, round(width)) / 2), fill=ink)
        case "poly", points:
            draw.polygon(points, fill=ink)
        case "disc", [x, y, radius]:
            draw.ellipse(_circle(x, y, radius), fill=ink)
        case "ring", [x, y, radius, width]:
            draw.ellipse(_circle(x, y, radius), outline=ink, width=max(1, round(width)))
        case "arc", [x, y, radius, width, _, _]:
            first, last = float(numbers[4]), float(numbers[5])
            draw.arc(_circle(x, y, radius), first, last, fill=ink, width=max(1, round(width)))
        case "box", [left, top, right, bottom, radius]:
            draw.rounded_rectangle((left, top, right, bottom), radius, fill=ink)
        case _:
            raise ValueError(f"unknown shape {word} with {len(scaled)} numbers")


def _circle(x: float, y: float, radius: float) -> tuple[float, float, float, float]:
    return x - radius, y - radius, x + radius, y + radius
