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
    a quoted name, which is matched literally. ``beside`` names an element in the same row. ``of_device`` is set
    for "my phone's battery": it is a value of the device, never one of the app on the screen.
    """

    phrase: str
    name: str
    ordinal: int = 0
    role: str = ""
    exact: bool = False
    beside: str = ""
    of_device: bool = False


class OpenInstruction(Struct, frozen=True):
    """Open an app by its name or package, or a link."""

    name: str


class GoToInstruction(Struct, frozen=True):
    """Open a known app or a link; tap the element of that name otherwise."""

    target: TargetPhrase


class OpenPageInstruction(Struct, frozen=True):
    """Open a page of Settings: the rows to tap from its first page, and its title."""

    rows: tuple[str, ...]
    title: str


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


class PressButtonInstruction(Struct, frozen=True):
    """Tap the button that has the first of these labels that is on the screen; "save the note" is the button Save.

    Unlike a tap it fails when the app rejects it with a message.
    """

    labels: tuple[str, ...]


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


class SetValueInstruction(Struct, frozen=True):
    """Set a value: choose an option, fill in a field, or run the skill that sets it."""

    target: TargetPhrase
    value: str


class CreateInstruction(Struct, frozen=True):
    """Create a note with a title and, if given, a text."""

    title: str
    body: str = ""


class DeleteInstruction(Struct, frozen=True):
    """Delete an entry of a list. ``is_note`` selects the notes app, from any screen."""

    target: TargetPhrase
    is_note: bool = False


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


class MentionsInstruction(Struct, frozen=True):
    """List the labels on the screen that mention a text.

    Without one, ``is_literal`` questions ("is X mentioned on the screen?") are answered No; others fail, as does a
    ``required`` check.
    """

    text: str
    is_literal: bool = False
    required: bool = False


class CheckInstruction(Struct, frozen=True):
    """Check whether an element is on or off (``state``), has a ``value``, or, with neither, is on the screen.

    ``state_kind`` is the meaning of on and off for an element without a switch: enabled or selected. ``holds`` is
    False for a negated check. A ``required`` check fails the instruction when it does not pass; otherwise the
    check is a question, answered Yes or No, or, with ``is_plain``, by the state alone. ``order`` compares the
    value as a number. ``is_literal`` is set for "is X on the screen": only that is answered No when nothing has
    the name.
    """

    target: TargetPhrase
    state: Literal["", "on", "off"] = ""
    value: str = ""
    holds: bool = True
    required: bool = False
    state_kind: Literal["", "enabled", "selected"] = ""
    order: Literal["", "above", "below", "at least", "at most"] = ""
    is_plain: bool = False
    is_literal: bool = False


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


class IsForegroundInstruction(Struct, frozen=True):
    """Answer whether an app is in the foreground. One that ``may_run_behind`` others is not answered No."""

    name: str
    may_run_behind: bool = False


class UseToolInstruction(Struct, frozen=True):
    """Call a tool with literal parameters."""

    tool: str
    params: Mapping[str, Any]


class HelpInstruction(Struct, frozen=True):
    pass


Instruction = (
    OpenInstruction
    | GoToInstruction
    | OpenPageInstruction
    | CloseInstruction
    | TapInstruction
    | TapAtInstruction
    | PressButtonInstruction
    | TypeInstruction
    | SearchInstruction
    | ClearInstruction
    | SetSwitchInstruction
    | SetValueInstruction
    | CreateInstruction
    | DeleteInstruction
    | ScrollInstruction
    | ScrollToInstruction
    | PressKeyInstruction
    | SettleInstruction
    | WaitForInstruction
    | PauseInstruction
    | DescribeScreenInstruction
    | ReadInstruction
    | MentionsInstruction
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
    | IsForegroundInstruction
    | UseToolInstruction
    | HelpInstruction
)
