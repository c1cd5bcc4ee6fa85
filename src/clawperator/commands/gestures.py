"""Commands for gestures and for submitting a field."""

from clawperator.commands.actions import DIRECTIONS, action_command
from clawperator.commands.model import Command, Flag
from clawperator.commands.selectors import ELEMENT

_DURATION = Flag("--duration", "duration of the movement in ms", "<ms>", literal=True)
_POINT = Flag("--coordinate", "point in pixels, instead of an element", "<x> <y>", values=2, literal=True)
_FROM = Flag("--from", "point where the gesture begins", "<x> <y>", values=2, literal=True)
_TO = Flag("--to", "point where the gesture ends", "<x> <y>", values=2, literal=True)

COMMANDS: tuple[Command, ...] = (
    action_command(
        "swipe",
        "Swipe from one point to another, or in a direction.",
        "[<direction>]",
        flags=(
            Flag(
                "--direction",
                "direction of the finger, instead of the argument",
                "<direction>",
                literal=True,
                choices=DIRECTIONS,
            ),
            _FROM,
            _TO,
            *ELEMENT,
            Flag(
                "--distance",
                "part of the element to swipe over (default: 0.6)",
                "<ratio>",
                literal=True,
            ),
            _DURATION,
        ),
        examples=("clawperator swipe up", "clawperator swipe --from 540 1600 --to 540 600 --duration 200"),
        notes=(
            "A direction is that of the finger: 'swipe up' shows what is below.\n"
            "Without an element it is a swipe over the screen."
        ),
        tools=("swipe",),
        word_choices=DIRECTIONS,
    ),
    action_command(
        "drag",
        "Press an element or a point long, drag it to another, and release it.",
        flags=(
            *ELEMENT,
            _FROM,
            Flag("--to-text", "exact label of the element to drag to", "<text>", literal=True),
            Flag("--to-selector", "selector JSON of the element to drag to", "<json>", literal=True),
            _TO,
            _DURATION,
        ),
        examples=(
            "clawperator drag --from 540 1600 --to 540 600",
            "clawperator drag --text Settings --to 540 600",
        ),
        tools=("drag",),
    ),
    action_command(
        "double-tap",
        "Tap an element or a point twice.",
        "[<ref>]",
        synonyms=("double_tap",),
        flags=(*ELEMENT, _POINT),
        examples=("clawperator double-tap e12", "clawperator double-tap --coordinate 540 1200"),
        tools=("double_tap",),
    ),
    action_command(
        "submit",
        "Submit a field with the keyboard's action: search, go, send or done.",
        "[<ref>]",
        synonyms=("submit-text", "submit_text"),
        flags=ELEMENT,
        examples=("clawperator submit", "clawperator submit --role textfield"),
        notes="Without an element it submits the field that has the input focus.",
        tools=("submit_text",),
    ),
)
