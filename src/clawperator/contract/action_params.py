"""What the params of actions share: types of single params, keys, rules of texts, and templates of executions."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._base.text import is_blank, utf16_length
from clawperator.contract import limits
from clawperator.contract.action_types import Params, Retry, Template
from clawperator.contract.selectors import NodeSelector, Problem

PACKAGE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
SNAPSHOT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SESSION_ID = re.compile(r"[A-Za-z0-9_-]+")

DirectionName = Literal["down", "up", "left", "right"]
DIRECTIONS: tuple[DirectionName, ...] = get_args(DirectionName)

Ratio = Annotated[float, Meta(ge=0, le=1, description="part of the container that one swipe covers")]
SettleMs = Annotated[float, Meta(ge=0, le=limits.MAX_SETTLE_DELAY_MS, description="pause after a swipe, in ms")]
WaitMs = Annotated[float, Meta(gt=0, le=limits.MAX_EXECUTION_TIMEOUT_MS, description="timeout in ms")]
NavigationMs = Annotated[float, Meta(gt=0, le=limits.MAX_NAVIGATION_TIMEOUT_MS, description="timeout in ms")]
Text = Annotated[
    str,
    Meta(
        max_length=limits.MAX_MATCHER_VALUE_LENGTH,
        description="text to enter, not blank; with clear also an empty text",
    ),
]
Direction = Annotated[DirectionName, Meta(description="scroll direction")]
ClickType = Annotated[
    Literal["default", "click", "long_click", "longclick", "focus"],
    Meta(description="kind of click; default is click"),
]
Container = Annotated[NodeSelector, Meta(description="search or scroll only inside this node")]
Target = Annotated[NodeSelector, Meta(description="target node")]
ClickAfter = Annotated[bool, Meta(description="click the node when it is found")]
Settle = Annotated[
    bool,
    Meta(description="on plain adb: also capture before, and until two captures agree, to know the effect"),
]
All = Annotated[bool, Meta(description="return every match, not only the first")]
OperatorKey = Literal["back", "home", "recents"]
KeyName = Literal[
    OperatorKey,
    "enter",
    "tab",
    "space",
    "delete",
    "forward_delete",
    "escape",
    "up",
    "down",
    "left",
    "right",
    "center",
    "page_up",
    "page_down",
    "move_home",
    "move_end",
    "menu",
    "search",
    "volume_up",
    "volume_down",
    "volume_mute",
    "power",
    "wakeup",
    "sleep",
    "camera",
    "media_play_pause",
    "media_stop",
    "media_next",
    "media_previous",
    "media_rewind",
    "media_fast_forward",
]

KEY_CODES: Mapping[KeyName, int] = {
    "back": 4,
    "home": 3,
    "recents": 187,
    "enter": 66,
    "tab": 61,
    "space": 62,
    "delete": 67,
    "forward_delete": 112,
    "escape": 111,
    "up": 19,
    "down": 20,
    "left": 21,
    "right": 22,
    "center": 23,
    "page_up": 92,
    "page_down": 93,
    "move_home": 122,
    "move_end": 123,
    "menu": 82,
    "search": 84,
    "volume_up": 24,
    "volume_down": 25,
    "volume_mute": 164,
    "power": 26,
    "wakeup": 224,
    "sleep": 223,
    "camera": 27,
    "media_play_pause": 85,
    "media_stop": 86,
    "media_next": 87,
    "media_previous": 88,
    "media_rewind": 89,
    "media_fast_forward": 90,
}
OPERATOR_KEYS: frozenset[KeyName] = frozenset({"back", "home", "recents"})


class Coordinate(Struct, frozen=True, forbid_unknown_fields=True):
    """A point on the screen, in pixels from the top left."""

    x: Annotated[int, Meta(ge=0)]
    y: Annotated[int, Meta(ge=0)]


ViewName = Literal["xml", "outline", "json"]


class ViewParams(Params, frozen=True):
    """How a snapshot is shown. Without ``view``, a limit or an earlier snapshot means the outline."""

    view: Annotated[ViewName, Meta(description="xml, outline or json (the outline as objects)")] | UnsetType = (
        UNSET
    )
    maxTokens: (
        Annotated[int, Meta(ge=1, le=1_000_000, description="cut the view to this size; a token is four bytes")]
        | UnsetType
    ) = UNSET
    since: Annotated[str, Meta(description="snapshot id: show only what changed since then")] | UnsetType = UNSET
    settle: Annotated[bool, Meta(description="wait until two captures agree")] = False

    @property
    def shown_view(self) -> ViewName:
        if self.view is not UNSET:
            return self.view
        return "xml" if self.maxTokens is UNSET and self.since is UNSET else "outline"

    def rules(self) -> Iterator[Problem]:
        if self.view == "xml" and self.maxTokens is not UNSET:
            yield "maxTokens", "needs the view outline or json"
        if self.since is not UNSET:
            if self.shown_view != "outline":
                yield "since", "needs the view outline"
            if not SNAPSHOT_ID.fullmatch(self.since):
                yield "since", "must be the snapshot_id of an earlier snapshot, such as s1a2b3c4d"


DEFAULT_WAIT_MS = 10_000
DEFAULT_EXPECT_MS = 5_000
MAX_GESTURE_MS = 30_000
UI_READINESS = Retry(5, 500, 3_000, 2, 0.15)
APP_LAUNCH = Retry(4, 750, 4_000, 2, 0.15)
APP_CLOSE = UI_SCROLL = Retry(4, 400, 2_000, 2, 0.15)
ONCE = Retry()
Again = Annotated[Retry, Meta(description="retry policy")]


def direct_template(prefix: str, action_id: str = "", source: str = "clawperator-action") -> Template:
    return Template(prefix, source, 30_000, action_id or prefix.removesuffix("-"), mode="direct")


def cli_template(prefix: str, timeout_ms: int = 30_000, action_id: str = "a1", task_id: str = "") -> Template:
    return Template(prefix, "clawperator-cli", timeout_ms, action_id, task_id)


def text_rules(
    name: str, value: str | UnsetType, most: int, grammar: re.Pattern[str] | None = None, message: str = ""
) -> Iterator[Problem]:
    """The rules of a text, if it is given: not blank, not too long, and of its grammar."""
    if not isinstance(value, str):
        return
    if is_blank(value):
        yield name, "must not be blank"
    elif utf16_length(value) > most:
        yield name, f"is longer than {most} characters"
    elif grammar and not grammar.fullmatch(value):
        yield name, message


def package_rules(name: str, value: str | UnsetType) -> Iterator[Problem]:
    message = "is not a package name such as com.android.settings"
    return text_rules(name, value, limits.MAX_MATCHER_VALUE_LENGTH, PACKAGE_NAME, message)


class TextSource(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the host reads a secret text, at the last moment: an environment variable, or a file."""

    env: Annotated[str, Meta(max_length=256, description="name of an environment variable")] | UnsetType = UNSET
    file: Annotated[str, Meta(max_length=4_096, description="file whose first line is the text")] | UnsetType = (
        UNSET
    )

    def problems(self) -> Iterator[Problem]:
        if (self.env is UNSET) == (self.file is UNSET):
            yield "", "needs exactly one of env and file"
        yield from text_rules("env", self.env, 256, _VARIABLE, "is not the name of an environment variable")
        yield from text_rules("file", self.file, 4_096)


class Expectation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the screen must show after an action. The step fails when it does not within ``timeoutMs``."""

    text: Annotated[str, Meta(max_length=512, description="label that must be on the screen")] | UnsetType = UNSET
    gone: Annotated[str, Meta(max_length=512, description="label that must not be on the screen")] | UnsetType = (
        UNSET
    )
    app: Annotated[str, Meta(max_length=512, description="package that must be in the foreground")] | UnsetType = (
        UNSET
    )
    idle: Annotated[bool, Meta(description="the screen must have stopped changing")] = False
    timeoutMs: WaitMs = DEFAULT_EXPECT_MS

    def problems(self) -> Iterator[Problem]:
        given = (self.text, self.gone, self.app)
        if not self.idle and all(value is UNSET for value in given):
            yield "", "an expectation needs text, gone, app or idle"
        yield from text_rules("text", self.text, limits.MAX_MATCHER_VALUE_LENGTH)
        yield from text_rules("gone", self.gone, limits.MAX_MATCHER_VALUE_LENGTH)
        yield from package_rules("app", self.app)


class ActingParams(Params, frozen=True, kw_only=True):
    """The params of an action that changes something on the device."""

    expect: Annotated[Expectation, Meta(description="what the screen must show afterwards")] | UnsetType = UNSET


class EffectParams(ActingParams, frozen=True, kw_only=True):
    """The params of an action that reports its effect on the screen."""

    settle: Settle = False


UserChoice = int | Literal["current"]
UserNumber = Annotated[int, Meta(ge=0, le=limits.MAX_USER)]
User = Annotated[
    UserNumber | Literal["current"] | UnsetType, Meta(description="Android user or profile: a number, or current")
]


class UserParams(ActingParams, frozen=True, kw_only=True):
    """The params of an action for one user or profile of the device."""

    user: User = UNSET


class AppParams(UserParams, frozen=True):
    applicationId: Annotated[str, Meta(max_length=512, description="package name of the app")]

    def rules(self) -> Iterator[Problem]:
        return package_rules("applicationId", self.applicationId)
