"""The instructions of the offline brain: one Struct per kind."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Direction = Literal["down", "up", "left", "right"]
Key = Literal["back", "home", "recents"]


class TargetPhrase(Struct, frozen=True):
    """A phrase that names an element on the screen.

    ``phrase`` is the text without its article; ``name`` is the phrase without ordinal and role, or the role when
    there is no name. ``ordinal`` counts from 1, is -1 for the last, and 0 when there is none. ``exact`` is set for
    a quoted name, which is matched literally. ``beside`` names an element in the same row.
    """

    phrase: str
    name: str
    ordinal: int = 0
    role: str = ""
    exact: bool = False
    beside: str = ""


class OpenInstruction(Struct, frozen=True):
    """Open an app by its name or package, or a link."""

    name: str


class GoToInstruction(Struct, frozen=True):
    """Open a known app or a link; tap the element of that name otherwise."""

    target: TargetPhrase


class CloseInstruction(Struct, frozen=True):
    """Close an app; the foreground app when ``name`` is empty."""

    name: str


class TapInstruction(Struct, frozen=True):
    target: TargetPhrase
    hold: bool = False


class TapAtInstruction(Struct, frozen=True):
    x: int
    y: int
    hold: bool = False


class TypeInstruction(Struct, frozen=True):
    """Type a text into a field; into the focused one when ``field`` is None."""

    text: str
    field: TargetPhrase | None = None
    submit: bool = False


class SearchInstruction(Struct, frozen=True):
    text: str
    app: str = ""


class ClearInstruction(Struct, frozen=True):
    field: TargetPhrase


class SetSwitchInstruction(Struct, frozen=True):
    """Turn a switch on or off; toggle it when ``on`` is None."""

    target: TargetPhrase
    on: bool | None


class ScrollInstruction(Struct, frozen=True):
    """Scroll a number of times; ``times`` is 0 to scroll to the end."""

    direction: Direction
    times: int = 1


class ScrollToInstruction(Struct, frozen=True):
    """Scroll until an element is on the screen."""

    target: TargetPhrase


class PressKeyInstruction(Struct, frozen=True):
    key: Key
    times: int = 1


class SettleInstruction(Struct, frozen=True):
    """Wait until the screen stops changing and shows no progress indicator."""


class WaitForInstruction(Struct, frozen=True):
    """Wait until a check passes."""

    check: "CheckInstruction"
    seconds: float = 10


class PauseInstruction(Struct, frozen=True):
    seconds: float


class DescribeScreenInstruction(Struct, frozen=True):
    pass


class ReadInstruction(Struct, frozen=True):
    target: TargetPhrase


class CheckInstruction(Struct, frozen=True):
    """Check whether an element is on or off (``state``), has a ``value``, or, with neither, is on the screen.

    ``state_kind`` is the meaning of on and off for an element without a switch: enabled or selected. ``holds`` is
    False for a negated check. A ``required`` check fails the instruction when it does not pass; otherwise the
    check is a question, answered Yes or No.
    """

    target: TargetPhrase
    state: Literal["", "on", "off"] = ""
    value: str = ""
    holds: bool = True
    required: bool = False
    state_kind: Literal["", "enabled", "selected"] = ""


class ScreenshotInstruction(Struct, frozen=True):
    path: str = ""


class StartRecordingInstruction(Struct, frozen=True):
    name: str = ""


class StopRecordingInstruction(Struct, frozen=True):
    name: str = ""


class PullRecordingInstruction(Struct, frozen=True):
    name: str = ""


class RunSkillInstruction(Struct, frozen=True):
    """Run the skill that matches ``phrase``; ``values`` is the text after "with"."""

    phrase: str
    values: str = ""


class ListSkillsInstruction(Struct, frozen=True):
    pass


class ListDevicesInstruction(Struct, frozen=True):
    pass


class CheckDeviceInstruction(Struct, frozen=True):
    pass


class ListAppsInstruction(Struct, frozen=True):
    pass


class FindAppInstruction(Struct, frozen=True):
    """Check whether an app is installed."""

    name: str


class ForegroundAppInstruction(Struct, frozen=True):
    """Report the foreground app."""


class UseToolInstruction(Struct, frozen=True):
    """Call a tool with literal parameters."""

    tool: str
    params: Mapping[str, Any]


class HelpInstruction(Struct, frozen=True):
    pass


Instruction = (
    OpenInstruction
    | GoToInstruction
    | CloseInstruction
    | TapInstruction
    | TapAtInstruction
    | TypeInstruction
    | SearchInstruction
    | ClearInstruction
    | SetSwitchInstruction
    | ScrollInstruction
    | ScrollToInstruction
    | PressKeyInstruction
    | SettleInstruction
    | WaitForInstruction
    | PauseInstruction
    | DescribeScreenInstruction
    | ReadInstruction
    | CheckInstruction
    | ScreenshotInstruction
    | StartRecordingInstruction
    | StopRecordingInstruction
    | PullRecordingInstruction
    | RunSkillInstruction
    | ListSkillsInstruction
    | ListDevicesInstruction
    | CheckDeviceInstruction
    | ListAppsInstruction
    | FindAppInstruction
    | ForegroundAppInstruction
    | UseToolInstruction
    | HelpInstruction
)
