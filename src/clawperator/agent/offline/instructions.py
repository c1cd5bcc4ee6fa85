"""What a sentence can ask for: one Struct for each kind of instruction."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Direction = Literal["down", "up", "left", "right"]
Key = Literal["back", "home", "recents"]


class Target(Struct, frozen=True):
    """What somebody calls a thing on the screen.

    ``words`` is all that was said of it but the article; ``name`` is that without ordinal and role, or the role
    when there is nothing else. ``ordinal`` counts from 1, is -1 for the last, and 0 when none was given. What was
    quoted is ``exact``: it is taken letter by letter. ``beside`` names something in the same row.
    """

    words: str
    name: str
    ordinal: int = 0
    role: str = ""
    exact: bool = False
    beside: str = ""


class Open(Struct, frozen=True):
    """Bring an app to the front, by its name or package, or open a link."""

    name: str


class GoTo(Struct, frozen=True):
    """Open an app or a link when the name is known as one, else tap what has that name."""

    target: Target


class Close(Struct, frozen=True):
    """Stop an app; the one in front when ``name`` is empty."""

    name: str


class Tap(Struct, frozen=True):
    target: Target
    hold: bool = False


class TapAt(Struct, frozen=True):
    x: int
    y: int
    hold: bool = False


class Type(Struct, frozen=True):
    """Put a text into a field; into the one that has the focus when none is named."""

    text: str
    field: Target | None = None
    submit: bool = False


class Search(Struct, frozen=True):
    text: str
    app: str = ""


class Clear(Struct, frozen=True):
    field: Target


class Turn(Struct, frozen=True):
    """Turn something on or off; with None, to the other of the two."""

    target: Target
    on: bool | None


class Scroll(Struct, frozen=True):
    """Scroll some times, or ``0`` times: to the end."""

    direction: Direction
    times: int = 1


class Seek(Struct, frozen=True):
    """Scroll until something is on the screen."""

    target: Target


class Press(Struct, frozen=True):
    key: Key
    times: int = 1


class Settle(Struct, frozen=True):
    """Wait until the screen rests and shows nothing under way."""


class WaitFor(Struct, frozen=True):
    """Wait until something is so."""

    check: "Check"
    seconds: float = 10


class Pause(Struct, frozen=True):
    seconds: float


class Describe(Struct, frozen=True):
    pass


class Read(Struct, frozen=True):
    target: Target


class Check(Struct, frozen=True):
    """Whether something is on or off (``state``), has a ``value``, or, with neither, is on the screen.

    ``sense`` tells what on and off mean for a thing without a switch: whether it can be touched, or is selected.
    ``holds`` is false when it is asked whether it is not so. ``must`` is set for what has to be so: when it is
    not, the instruction failed. Else it is a question.
    """

    target: Target
    state: Literal["", "on", "off"] = ""
    value: str = ""
    holds: bool = True
    must: bool = False
    sense: Literal["", "enabled", "selected"] = ""


class Screenshot(Struct, frozen=True):
    path: str = ""


class Record(Struct, frozen=True):
    name: str = ""


class StopRecording(Struct, frozen=True):
    name: str = ""


class PullRecording(Struct, frozen=True):
    name: str = ""


class RunSkill(Struct, frozen=True):
    """Run the skill these words mean; ``values`` is what was said after "with"."""

    words: str
    values: str = ""


class ListSkills(Struct, frozen=True):
    pass


class ListPhones(Struct, frozen=True):
    pass


class CheckPhone(Struct, frozen=True):
    pass


class ListApps(Struct, frozen=True):
    pass


class FindApp(Struct, frozen=True):
    """Whether an app is installed."""

    name: str


class TellFront(Struct, frozen=True):
    """Which app is in front."""


class Use(Struct, frozen=True):
    """Call a tool just as it is said."""

    tool: str
    params: Mapping[str, Any]


class Help(Struct, frozen=True):
    pass


Instruction = (
    Open
    | GoTo
    | Close
    | Tap
    | TapAt
    | Type
    | Search
    | Clear
    | Turn
    | Scroll
    | Seek
    | Press
    | Settle
    | WaitFor
    | Pause
    | Describe
    | Read
    | Check
    | Screenshot
    | Record
    | StopRecording
    | PullRecording
    | RunSkill
    | ListSkills
    | ListPhones
    | CheckPhone
    | ListApps
    | FindApp
    | TellFront
    | Use
    | Help
)
