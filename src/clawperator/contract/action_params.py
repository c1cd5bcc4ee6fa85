"""What the params of actions share: types of single params, keys, rules of texts, and templates of executions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Literal, ParamSpec, TypeVar, get_args

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.text import Grammar, is_blank, utf16_length
from clawperator.contract import limits
from clawperator.contract.fields import about
from clawperator.contract.selectors import NodeSelector, Problem, problems_below


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    """Retry policy. An absent field takes the default here, not that of the action."""

    maxAttempts: Annotated[int, Meta(ge=1, le=10, description="attempts, including the first")] = 1
    initialDelayMs: Annotated[float, Meta(ge=0, le=30_000, description="pause before the second attempt")] = 0
    maxDelayMs: (
        Annotated[float, Meta(ge=0, le=60_000, description="longest pause (default: initialDelayMs)")] | UnsetType
    ) = UNSET
    backoffMultiplier: Annotated[float, Meta(ge=1, le=5, description="factor between two pauses")] = 1
    jitterRatio: Annotated[float, Meta(ge=0, le=1, description="random part of a pause")] = 0

    def problems(self) -> Iterator[Problem]:
        if isinstance(self.maxDelayMs, float | int) and self.maxDelayMs < self.initialDelayMs:
            yield "maxDelayMs", "must not be less than initialDelayMs"


class Params(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of one action."""

    def problems(self) -> Iterator[Problem]:
        """Violations that a type cannot express: rules over several fields, blank texts, grammars."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Struct) and hasattr(value, "problems"):
                yield from problems_below(name, value.problems())
        yield from self.rules()

    def rules(self) -> Iterator[Problem]:
        """The rules of this action. They are also checked when a required param is missing; it is then UNSET."""
        return iter(())

    @property
    def only_for_host(self) -> bool:
        """Whether these values are beyond what an Operator accepts."""
        return False


def one_of(action: str, first: str, second: str) -> Problem:
    """The problem of an action that takes exactly one of two parameters."""
    names = f"{{{first}}} and {{{second}}}"
    return "", f"{action} needs exactly one of {names}", f"Give one of {names}."


class Template(Struct, frozen=True):
    """The fixed fields of an execution with only this action.

    The command id is ``<prefix>_<ms>``, or ``<prefix><ms>-<random>`` where the prefix ends in a dash. An empty
    ``task_id`` means the command id.
    """

    prefix: str
    source: str
    timeout_ms: int
    action_id: str
    task_id: str = ""
    mode: str | None = None


class ActionType(Struct, frozen=True):
    """The row of an action type.

    A ``read_only`` action leaves the device and the host unchanged; ``level`` is the permission level of the
    others. ``runs_on_host`` marks actions that the host runs instead of the Operator, ``without_screen`` those of
    them that need no capture, ``unsettles`` actions after which the screen may still be moving. With one of
    ``host_params`` the host runs an action that the Operator knows; ``result_params`` are what the host does with
    the result of a step. An Operator receives none of them.
    ``typed_param`` is the param whose text may be a secret, ``path_param`` the one that names a file to write,
    ``input_path_param`` a file to read, ``uri_param`` a URI to open; ``evidence`` is the kind of evidence that the
    result is.
    ``removed_params`` hold hints for params of old versions. App names lead to actions that ``takes_app_name``;
    tools accept the label of an app for actions that ``resolves_label``.
    Simple agents get only actions ``in_simple_mode``. ``model_tool`` is the tool through which models use it.
    ``performs`` are other actions that it performs as well: rules that deny them apply to it.
    ``params`` and ``uri_param`` are set by ``register``.
    """

    name: str
    summary: str
    template: Template
    aliases: tuple[str, ...] = ()
    family: Literal["action", "observation", "recording"] = "action"
    read_only: bool = False
    level: Literal["act", "full"] = "act"
    runs_on_host: bool = False
    without_screen: bool = False
    host_params: tuple[str, ...] = ()
    result_params: tuple[str, ...] = ()
    unsettles: bool = False
    typed_param: str = ""
    path_param: str = ""
    input_path_param: str = ""
    uri_param: str = ""
    evidence: Literal["execution", "snapshot", "screenshot"] = "execution"
    removed_params: Mapping[str, str] = {}
    takes_app_name: bool = False
    resolves_label: bool = False
    in_simple_mode: bool = False
    model_tool: str = ""
    performs: tuple[str, ...] = ()
    params: type[Params] = Params


REGISTERED: dict[str, ActionType] = {}


class ActionRegistry(Mapping[str, ActionType]):
    """Every action type by name. ``load_rest`` registers the rows that are not there yet, when they are needed.

    Most commands run an action of the Operator's contract, and need no other row.
    """

    def __init__(self, load_rest: Callable[[], object]) -> None:
        self._load_rest = load_rest
        self._is_complete = False

    def _complete(self) -> dict[str, ActionType]:
        if not self._is_complete:
            self._load_rest()
            self._is_complete = True
        return REGISTERED

    def __getitem__(self, name: str) -> ActionType:
        return REGISTERED[name] if name in REGISTERED else self._complete()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())


P = TypeVar("P", bound=Params)
Row = ParamSpec("Row")


def registers(make: Callable[Row, ActionType]) -> Callable[Row, Callable[[type[P]], type[P]]]:
    """A decorator that registers a Struct as the params of the action type that ``make`` returns."""

    def decorator(*args: Row.args, **kwargs: Row.kwargs) -> Callable[[type[P]], type[P]]:
        row = make(*args, **kwargs)

        def add(params: type[P]) -> type[P]:
            fields = params.__struct_fields__
            more = (name for name in ("expect", "settle") if name in fields and name not in row.host_params)
            results = (*row.result_params, *more)
            uri = "uri" if "uri" in fields else ""
            REGISTERED[row.name] = replace(row, params=params, result_params=results, uri_param=uri)
            return params

        return add

    return decorator


register = registers(ActionType)


def is_snapshot(action_type: str | None) -> bool:
    """Whether the result of an action is a hierarchy."""
    return action_type is not None and action_type in REGISTERED and REGISTERED[action_type].evidence == "snapshot"


UNSETTLED = (
    "snapshot captured without a preceding sleep step; UI may not have settled - consider adding a sleep step "
    "between click and snapshot_ui"
)


def unsettles(action_type: str | None) -> bool:
    """Whether the screen may still be moving after an action."""
    return action_type is not None and action_type in REGISTERED and REGISTERED[action_type].unsettles


def changes_device(action_type: str) -> bool:
    """Whether an action may change something on the device. A screenshot only writes a file on the host."""
    row = REGISTERED.get(action_type)
    return row is None or not (row.read_only or row.family == "observation")


PACKAGE_NAME = Grammar(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
SNAPSHOT_ID = Grammar(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE = Grammar(r"[A-Za-z_][A-Za-z0-9_]*")
SESSION_ID = Grammar(r"[A-Za-z0-9_-]+")

DirectionName = Literal["down", "up", "left", "right"]

Label = Annotated[str, Meta(max_length=512)]
Ratio = Annotated[float, Meta(ge=0, le=1, description="part of the container that one swipe covers")]
SettleMs = Annotated[float, Meta(ge=0, le=limits.MAX_SETTLE_DELAY_MS, description="pause after a swipe, in ms")]
WaitMs = Annotated[
    Annotated[float, Meta(gt=0, le=limits.MAX_EXECUTION_TIMEOUT_MS)], about("timeout in ms", not_cli=True)
]
NavigationMs = Annotated[
    Annotated[float, Meta(gt=0, le=limits.MAX_NAVIGATION_TIMEOUT_MS)], about("timeout in ms", not_cli=True)
]
_TEXT = "text to enter, not blank; with clear also an empty text"
Text = Annotated[
    Annotated[str, Meta(max_length=limits.MAX_MATCHER_VALUE_LENGTH)] | UnsetType,
    about(_TEXT, word=1, flag="--text"),
]
Direction = Annotated[DirectionName, about("scroll direction", word=1, flag="--direction")]
ClickName = Literal["default", "click", "long_click", "longclick", "focus"]


def _click_type(*, rare: bool) -> Meta:
    long, focus = "long press", "set the input focus instead of clicking"
    switches = (("--long", "long_click", long), ("--focus", "focus", focus))
    return about("kind of click; default is click", switches=switches, rare=rare)


ClickType = Annotated[ClickName, _click_type(rare=False)]
ClickTypeAfter = Annotated[ClickName, _click_type(rare=True)]
Container = Annotated[NodeSelector | UnsetType, about("only inside this node", spread="container-")]
Target = Annotated[NodeSelector, about("target node", spread="")]
OptionalTarget = Annotated[NodeSelector | UnsetType, about("target node", spread="")]
Field = Annotated[NodeSelector | UnsetType, about("field (default: the focused field)", spread="")]
ClickAfter = Annotated[bool, about("click the node when it is found", flag="--click", rare=True)]
Settle = Annotated[
    bool, about("on plain adb: also capture before, and until two captures agree, to know the effect", rare=True)
]
All = Annotated[bool, about("return every match, not only the first")]
APP_FLAGS = ("--package", "--package-id", "--application-id", "--app-id")
OperatorKey = Literal["back", "home", "recents"]
EditingKey = Literal["enter", "tab", "space", "delete", "forward_delete", "escape"]
CursorKey = Literal["up", "down", "left", "right", "center", "page_up", "page_down", "move_home", "move_end"]
DeviceKey = Literal[
    "menu", "search", "volume_up", "volume_down", "volume_mute", "power", "wakeup", "sleep", "camera"
]
MediaKey = Literal[
    "media_play_pause", "media_stop", "media_next", "media_previous", "media_rewind", "media_fast_forward"
]
KeyName = Literal[OperatorKey, EditingKey, CursorKey, DeviceKey, MediaKey]

# Android's key codes, in the order of the names.
_CODES = (
    *(4, 3, 187),
    *(66, 61, 62, 67, 112, 111),
    *(19, 20, 21, 22, 23, 92, 93, 122, 123),
    *(82, 84, 24, 25, 164, 26, 224, 223, 27),
    *(85, 86, 87, 88, 89, 90),
)
KEY_CODES: Mapping[KeyName, int] = dict(zip(get_args(KeyName), _CODES, strict=True))
OPERATOR_KEYS: frozenset[KeyName] = frozenset(get_args(OperatorKey))


class Coordinate(Struct, frozen=True, forbid_unknown_fields=True):
    """A point on the screen, in pixels from the top left."""

    x: Annotated[int, Meta(ge=0)]
    y: Annotated[int, Meta(ge=0)]


ViewName = Literal["xml", "outline", "json"]


class ViewParams(Params, frozen=True):
    """How a snapshot is shown. Without ``view``, a limit or an earlier snapshot means the outline."""

    view: Annotated[
        ViewName | UnsetType, about("how the screen is shown; json is the outline as objects", rare=True)
    ] = UNSET
    maxTokens: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType,
        about("cut the outline to this size; a token is four bytes"),
    ] = UNSET
    since: Annotated[
        str | UnsetType,
        about("snapshot id: show only what changed since then", metavar="<snapshot-id>", rare=True),
    ] = UNSET
    settle: Annotated[bool, about("wait until two captures agree", rare=True)] = False

    @property
    def shown_view(self) -> ViewName:
        if self.view is not UNSET:
            return self.view
        return "xml" if self.maxTokens is UNSET and self.since is UNSET else "outline"

    def rules(self) -> Iterator[Problem]:
        other_view = "Set {view} to outline, or leave it out."
        if self.view == "xml" and self.maxTokens is not UNSET:
            yield "maxTokens", "needs the view outline or json", other_view
        if self.since is not UNSET:
            if self.shown_view != "outline":
                yield "since", "needs the view outline", other_view
            if not SNAPSHOT_ID.fullmatch(self.since):
                message = "must be the snapshot_id of an earlier snapshot, such as s1a2b3c4d"
                yield "since", message, "Set {since} to s1a2b3c4d, for example."


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
    name: str, value: str | UnsetType, most: int, grammar: Grammar | None = None, message: str = ""
) -> Iterator[Problem]:
    """The rules of a text, if it is given: not blank, not too long, and of its grammar.

    A message may have an example: "is not a duration such as 30s".
    """
    if not isinstance(value, str):
        return
    if is_blank(value):
        yield name, "must not be blank"
    elif utf16_length(value) > most:
        yield name, f"is longer than {most} characters"
    elif grammar and not grammar.fullmatch(value):
        example = message.partition(" such as ")[2].partition(",")[0]
        yield name, message, f"Set {{{name}}} to {example}, for example." if example else ""


def package_rules(name: str, value: str | UnsetType) -> Iterator[Problem]:
    message = "is not a package name such as com.android.settings"
    rules = text_rules(name, value, limits.MAX_MATCHER_VALUE_LENGTH, PACKAGE_NAME, message)
    return (rule[:2] for rule in rules)  # the hint of the field lists packages


class TextSource(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the host reads a secret text, at the last moment: an environment variable, or a file."""

    env: Annotated[
        Annotated[str, Meta(max_length=256)] | UnsetType,
        about("read the text from this environment variable", flag="--secret", metavar="<name>"),
    ] = UNSET
    file: Annotated[
        Annotated[str, Meta(max_length=4_096)] | UnsetType,
        about("read the text from this file of one line", flag="--secret-file", path="in"),
    ] = UNSET

    def problems(self) -> Iterator[Problem]:
        if (self.env is UNSET) == (self.file is UNSET):
            yield "", "needs exactly one of {env} and {file}"
        yield from text_rules("env", self.env, 256, _VARIABLE, "is not the name of an environment variable")
        yield from text_rules("file", self.file, 4_096)


class Expectation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the screen must show after an action. The step fails when it does not within ``timeoutMs``."""

    text: Annotated[Label | UnsetType, about("label that must be on the screen afterwards")] = UNSET
    gone: Annotated[Label | UnsetType, about("label that must be gone afterwards", metavar="<text>")] = UNSET
    app: Annotated[
        Label | UnsetType, about("package that must be in the foreground afterwards", metavar="<package>")
    ] = UNSET
    idle: Annotated[bool, Meta(description="the screen must have stopped changing")] = False
    timeoutMs: Annotated[
        WaitMs, about("how long to wait for what is expected, in ms", flag="--timeout", metavar="<ms>")
    ] = DEFAULT_EXPECT_MS

    def problems(self) -> Iterator[Problem]:
        given = (self.text, self.gone, self.app)
        if not self.idle and all(value is UNSET for value in given):
            yield "", "an expectation needs text, gone, app or idle"
        yield from text_rules("text", self.text, limits.MAX_MATCHER_VALUE_LENGTH)
        yield from text_rules("gone", self.gone, limits.MAX_MATCHER_VALUE_LENGTH)
        yield from package_rules("app", self.app)


class ActingParams(Params, frozen=True, kw_only=True):
    """The params of an action that changes something on the device."""

    expect: Annotated[Expectation | UnsetType, about("what the screen must show afterwards", spread="expect-")] = (
        UNSET
    )


class EffectParams(ActingParams, frozen=True, kw_only=True):
    """The params of an action that reports its effect on the screen."""

    settle: Settle = False


UserChoice = int | Literal["current"]
UserNumber = Annotated[int, Meta(ge=0, le=limits.MAX_USER)]
User = Annotated[
    UserNumber | Literal["current"] | UnsetType, about("Android user or profile: a number, or current", rare=True)
]


class UserParams(ActingParams, frozen=True, kw_only=True):
    """The params of an action for one user or profile of the device."""

    user: User = UNSET


class AppParams(UserParams, frozen=True):
    applicationId: Annotated[
        Label, about("package name of the app", word=1, flag="--app", aliases=APP_FLAGS, metavar="<package>")
    ]

    def rules(self) -> Iterator[Problem]:
        return package_rules("applicationId", self.applicationId)
