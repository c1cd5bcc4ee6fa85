"""Commands that run one action, or an execution: their parameters are fields of actions, or stand for them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from clawperator.contract.action_params import APP_FLAGS, All, EffectParams, OptionalTarget, User
from clawperator.contract.actions import ACTIONS
from clawperator.contract.fields import LEVELS, Level, ParamField, about, fields_of
from clawperator.errors import ClawError
from clawperator.operations.model import EvidenceFolder

# The action and its parameters, from the parameters of the command.
Build = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]
Groups = tuple[tuple[str, ...], ...]

# How long 'open --wait' waits for the app.
OPEN_WAIT_MS = 15_000
_SCHEME_MARK = "://"
_SCHEME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")
_ANDROID_PERMISSION = "android.permission."

AllowScheme = Annotated[
    list[str], about("URI scheme to open besides http and https", raises="full", metavar="<scheme>")
]


class HowToRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a plan is run. The backend belongs to the caller."""

    evidence: EvidenceFolder = UNSET
    validate_only: Annotated[bool, about("validate and print the execution; needs no device")] = False
    dry_run: Annotated[bool, about("validate and print the plan; needs no device")] = False


class ActionCommand(Struct, frozen=True, kw_only=True):
    """A command that runs an ``action``, or one of ``others`` that ``build`` chooses.

    Its parameters are those of the action, or a ``shape`` of its own, and ``more``. It ``needs`` one field of each
    group; of each ``exclusive`` group it takes one at most, and a field of ``requires`` only with the other one.
    ``fixed`` are parameters that it sets. ``replaces`` are removed commands that this one replaces.
    """

    name: str
    action: str
    examples: tuple[str, ...]
    others: tuple[str, ...] = ()
    shape: Any = None
    more: Any = None
    build: Build | None = None
    needs: Groups = ()
    exclusive: Groups = ()
    requires: Mapping[str, str] = {}
    fixed: Mapping[str, Any] = {}
    purpose: str = ""
    notes: str = ""
    replaces: tuple[str, ...] = ()
    handler: str = "clawperator.cli.actions:run_action"

    @property
    def actions(self) -> tuple[str, ...]:
        return (self.action, *self.others) if self.action else ()

    @property
    def summary(self) -> str:
        return self.purpose or ACTIONS[self.action].summary

    @property
    def shapes(self) -> tuple[type[Struct], ...]:
        """The Structs whose fields are the parameters of the command."""
        own = self.shape or ACTIONS[self.action].params
        return (own, self.more) if self.more else (own,)

    @property
    def fields(self) -> tuple[ParamField, ...]:
        return tuple(field for shape in self.shapes for field in fields_of(shape) if not field.use.not_cli)

    @property
    def own_flags(self) -> tuple[str, ...]:
        """The flags of its fields, which no selector of it may use."""
        return tuple(field.flag for field in self.fields if field.has_flag and field.use.spread is None)

    @property
    def level(self) -> Level:
        rows = (ACTIONS[name] for name in self.actions)
        levels: list[Level] = ["read-only" if row.read_only else row.level for row in rows]
        return max(levels, key=LEVELS.index, default="act")

    def execution(self, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The action and its parameters."""
        return self.build(params) if self.build else (self.action, {**self.fixed, **params})


# Commands with parameters of their own


class OpenParams(EffectParams, frozen=True, kw_only=True):
    target: Annotated[
        str,
        about(
            "package, label or URI to open",
            word=1,
            flag="--app",
            aliases=(*APP_FLAGS, "--uri", "--url"),
            metavar="<package|label|uri>",
        ),
    ]
    wait: Annotated[bool, about("wait until the app is in the foreground and idle")] = False
    allowScheme: AllowScheme = []
    user: User = UNSET


def _open(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    target = params.pop("target")
    named = {"uri": target} if is_uri(target) else {"applicationId": target}
    if params.pop("wait", False):
        app = {} if "uri" in named else {"app": target}
        params["expect"] = {"idle": True, "timeoutMs": OPEN_WAIT_MS, **app, **params.get("expect", {})}
    return "open_uri" if "uri" in named else "open_app", {**named, **params}


def is_uri(target: str) -> bool:
    """Whether the target begins with a scheme and a colon, such as ``mailto:x``, or contains one with ``://``.

    A label such as ``Notes: all`` has a space after its colon.
    """
    scheme, _, rest = target.partition(":")
    if scheme[:1].isalpha() and _SCHEME_CHARACTERS.issuperset(scheme.lower()) and rest[:1].strip():
        return True
    place = target.find(_SCHEME_MARK)
    while place > 0:
        start = place
        while start and target[start - 1].lower() in _SCHEME_CHARACTERS:
            start -= 1
        if any(c.isalpha() for c in target[start:place]):
            return True
        place = target.find(_SCHEME_MARK, place + 1)
    return False


class WaitParams(Struct, frozen=True, kw_only=True):
    matcher: OptionalTarget = UNSET
    gone: Annotated[bool, about("wait until no node matches")] = False
    changed: Annotated[bool, about("wait until the label of the node changes")] = False
    fromText: Annotated[str | UnsetType, about("with --changed: the old label (default: the label now)")] = UNSET
    orText: Annotated[list[str], about("label of another node that may appear")] = []
    idle: Annotated[bool, about("wait until the screen stops changing")] = False
    quiet: Annotated[
        float | UnsetType, about("with --idle: how long without a change, in ms (default: 500)", metavar="<ms>")
    ] = UNSET


def _wait(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if "idle" in params:
        return "wait_until_idle", {"quietMs": params["quiet"]} if "quiet" in params else {}
    matcher = params["matcher"]
    if "orText" in params:
        return "wait_for_any", {"selectors": [matcher, *({"textEquals": text} for text in params["orText"])]}
    if "changed" in params:
        old = {"text": params["fromText"]} if "fromText" in params else {}
        return "wait_for_text_change", {"matcher": matcher, **old}
    if "gone" in params:
        return "wait_until_gone", {"matcher": matcher}
    if matcher.keys() == {"anyOf"}:
        return "wait_for_any", {"selectors": matcher["anyOf"]}
    return "wait_for_node", {"matcher": matcher}


class ReadValueParams(Struct, frozen=True, kw_only=True):
    textEquals: Annotated[
        str | UnsetType, about("exact label", flag="--label", aliases=("--text", "--label-text"))
    ] = UNSET
    resourceId: Annotated[
        str | UnsetType, about("resource id of the label", flag="--label-id", aliases=("--id", "--resource-id"))
    ] = UNSET
    contentDescEquals: Annotated[
        str | UnsetType,
        about("content description of the label", flag="--label-desc", aliases=("--desc", "--content-desc")),
    ] = UNSET
    all: All = False


def _read_value(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    every = {"all": True} if params.pop("all", False) else {}
    return "read_key_value_pair", {"labelMatcher": params, **every}


def _scroll_until(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    action = "scroll_and_click" if params.get("clickAfter") else "scroll_until"
    return action, {"direction": "down", **params}


def _scroll_and_click(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "scroll_and_click", {"direction": "down", **params, "clickAfter": True}


def _type(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if params.get("text") == "" and not params.get("clear"):
        hint = "Run 'clawperator type \"\" --clear' to clear."
        raise ClawError("MISSING_ARGUMENT", "type needs a text that is not empty", hint=hint, operation="argparse")
    return "enter_text", {"submit": False, "clear": False, **params}


class SavedSnapshot(Struct, frozen=True, kw_only=True):
    file: Annotated[
        str | UnsetType, about("saved snapshot, XML or the result of 'snapshot'; needs no device", path="in")
    ] = UNSET


class IntentOptions(Struct, frozen=True, kw_only=True):
    extraStrings: Annotated[
        dict[str, str],
        about("intent extras with string values, by name", flag="--extra-string", metavar="<name=value>"),
    ] = {}
    allowScheme: AllowScheme = []


class ExecParams(Struct, frozen=True, kw_only=True):
    payload: Annotated[
        str,
        about(
            "JSON, a file, or - for stdin",
            word=1,
            flag="--payload",
            aliases=("--execution", "--input", "--file"),
            path="payload",
            metavar="<json|file|->",
        ),
    ]
    goal: Annotated[str | UnsetType, about("reserved (best-effort is not implemented)", metavar="<text>")] = UNSET
    allowScheme: AllowScheme = []


def _start_activity(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    extras = {**params.pop("extras", {}), **params.pop("extraStrings", {})}
    return "start_activity", {**params, **({"extras": extras} if extras else {})}


def _permission(name: str, action: str) -> ActionCommand:
    def build(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        given = params["permission"]
        return action, {**params, "permission": given if "." in given else _ANDROID_PERMISSION + given}

    return ActionCommand(
        name=name,
        action=action,
        build=build,
        needs=(("applicationId",), ("permission",)),
        examples=(f"clawperator {name} com.clawperator.notes CAMERA",),
        notes="A name without a dot means a permission of Android: CAMERA is android.permission.CAMERA.",
    )


_LIST_FORMATS = "--all prints a list and needs a stated format: --json, --output json or --output text."
_NEEDS_REFERENCE = "e12 stands for a reference that 'clawperator snapshot --view outline' printed."
_NEEDS_FIELD = "The examples need a text field on the screen."
_MATCHER, _APP, _DIRECTION = ("matcher",), ("applicationId",), ("direction",)

_ROWS = (
    ActionCommand(
        name="snapshot",
        action="snapshot_ui",
        examples=("clawperator snapshot", "clawperator snapshot --view outline --max-tokens 500"),
        notes=(
            "The outline has one line for each element, with a reference such as e12.\n"
            "--max-tokens and --since show the outline unless --view is given."
        ),
        replaces=("observe snapshot", "inspect ui"),
    ),
    ActionCommand(
        name="screenshot",
        action="take_screenshot",
        examples=("clawperator screenshot --path screen.png", "clawperator screenshot --path marked.png --marks"),
        replaces=("observe screenshot",),
    ),
    ActionCommand(
        name="click",
        action="click",
        needs=(("matcher", "coordinate"),),
        examples=(
            'clawperator click --text "Connected devices"',
            "clawperator click e12",
            'clawperator click --role button --below "Connected devices"',
            "clawperator click --coordinate 540 1200 --long --duration 1500",
            'clawperator click --text Display --expect-text "Dark theme"',
            "clawperator click --text Display --evidence evidence",
        ),
        notes=_NEEDS_REFERENCE,
        replaces=("action click",),
    ),
    ActionCommand(
        name="open",
        action="open_app",
        others=("open_uri",),
        purpose="Open an app by package name or label, or a URI.",
        shape=OpenParams,
        build=_open,
        needs=(("target",),),
        examples=(
            "clawperator open com.android.settings",
            "clawperator open Settings --wait",
            "clawperator open https://clawperator.com",
            "clawperator open myapp://settings --allow-scheme myapp --dry-run",
        ),
        notes=(
            "A target with a scheme, such as https://a.b or geo:0,0, is a URI, one with a dot a package name,\n"
            "anything else the exact label of an app. Android prints few labels: other apps are known by a\n"
            "table of common ones. Schemes other than http and https need --allow-scheme. With --user the app is\n"
            "opened by adb, not by the Operator."
        ),
        replaces=("action open-app", "action open-uri"),
    ),
    ActionCommand(
        name="type",
        action="enter_text",
        build=_type,
        needs=(("text", "textFrom"),),
        exclusive=(("text", "textFrom"),),
        examples=(
            'clawperator type "linkin park" --role textfield --submit',
            'clawperator type "" --clear --role textfield',
            "clawperator type --secret SHOP_PASSWORD --role textfield --dry-run",
        ),
        notes=(
            "Select the field with any selector flag except --text. Without one it is the focused field.\n"
            "A secret is in no argument, plan, log or result of this computer.\n" + _NEEDS_FIELD
        ),
        replaces=("action type",),
    ),
    ActionCommand(
        name="read",
        action="read_text",
        needs=(_MATCHER,),
        examples=("clawperator read --id android:id/title", "clawperator read --role text --all --json"),
        notes=_LIST_FORMATS,
        replaces=("action read",),
    ),
    ActionCommand(
        name="wait",
        action="wait_for_node",
        others=("wait_until_gone", "wait_for_text_change", "wait_until_idle", "wait_for_any"),
        purpose="Wait until an element is on the screen, gone or changed, or until the screen is idle.",
        shape=WaitParams,
        build=_wait,
        needs=(("matcher", "idle"),),
        exclusive=(("gone", "changed", "idle", "orText"), ("idle", "matcher")),
        requires={"fromText": "changed", "quiet": "idle"},
        examples=(
            'clawperator wait --text "Connected devices" --timeout 10000',
            "clawperator wait --text Saving --gone",
            'clawperator wait --text Display --or-text "Search settings"',
            "clawperator wait --idle",
        ),
        notes=(
            "--timeout is how long it waits. Without it, a wait for one element looks five times within about\n"
            "6.5 seconds; every other wait lasts at most 10 seconds."
        ),
        replaces=("action wait",),
    ),
    ActionCommand(
        name="query",
        action="query",
        purpose="List the elements that match a selector, on the screen or in a saved snapshot.",
        more=SavedSnapshot,
        examples=(
            "clawperator query --role switch",
            "clawperator query --text Display --suggest",
            "clawperator query --file snapshot.json --state checked",
        ),
        notes=(
            "Without a selector it lists every element that can be seen or touched.\n"
            "'clawperator snapshot --json > snapshot.json' saves a snapshot."
        ),
        handler="clawperator.cli.actions:query",
    ),
    ActionCommand(
        name="press",
        action="press_key",
        purpose="Press a key by name.",
        needs=(("key",),),
        examples=("clawperator press home", "clawperator press enter", "clawperator press volume_up"),
        replaces=("action press-key",),
    ),
    ActionCommand(
        name="back",
        action="press_key",
        purpose="Press Back.",
        shape=EffectParams,
        fixed={"key": "back"},
        examples=("clawperator back",),
    ),
    ActionCommand(
        name="close", action="close_app", needs=(_APP,), examples=("clawperator close com.android.settings",)
    ),
    ActionCommand(name="sleep", action="sleep", needs=(("durationMs",),), examples=("clawperator sleep 500",)),
    ActionCommand(name="scroll", action="scroll", needs=(_DIRECTION,), examples=("clawperator scroll down",)),
    ActionCommand(
        name="scroll-until",
        action="scroll_until",
        others=("scroll_and_click",),
        purpose="Scroll until an element is on the screen.",
        build=_scroll_until,
        needs=(_MATCHER,),
        examples=('clawperator scroll-until --text "About phone" --click',),
    ),
    ActionCommand(
        name="scroll-and-click",
        action="scroll_and_click",
        build=_scroll_and_click,
        needs=(_MATCHER,),
        examples=('clawperator scroll-and-click --text "About phone"',),
    ),
    ActionCommand(
        name="wait-for-nav",
        action="wait_for_navigation",
        needs=(("expectedPackage", "expectedNode"),),
        examples=("clawperator wait-for-nav --app com.android.settings --timeout 5000",),
        notes="--timeout is required; at most 30000.",
    ),
    ActionCommand(
        name="read-value",
        action="read_key_value_pair",
        shape=ReadValueParams,
        build=_read_value,
        needs=(("textEquals", "resourceId", "contentDescEquals"),),
        examples=('clawperator read-value --label "Android version"',),
        notes=f"{_LIST_FORMATS}\nThe example is for the page 'About phone' of Settings.",
    ),
    ActionCommand(
        name="swipe",
        action="swipe",
        needs=(("direction", "start", "end"),),
        examples=("clawperator swipe up", "clawperator swipe --from 540 1600 --to 540 600 --duration 200"),
        notes=(
            "A direction is that of the finger: 'swipe up' shows what is below.\n"
            "Without an element it is a swipe over the screen."
        ),
    ),
    ActionCommand(
        name="drag",
        action="drag",
        needs=(("matcher", "start"), ("toMatcher", "end")),
        examples=(
            "clawperator drag --from 540 1600 --to 540 600",
            "clawperator drag --text Display --to 540 600",
        ),
    ),
    ActionCommand(
        name="double-tap",
        action="double_tap",
        needs=(("matcher", "coordinate"),),
        examples=("clawperator double-tap --coordinate 540 1200", "clawperator double-tap e12"),
        notes=_NEEDS_REFERENCE,
    ),
    ActionCommand(
        name="submit",
        action="submit_text",
        examples=("clawperator submit", "clawperator submit --role textfield"),
        notes=f"Without an element it submits the field that has the input focus.\n{_NEEDS_FIELD}",
    ),
    ActionCommand(
        name="rotate",
        action="rotate",
        needs=(("orientation",),),
        examples=("clawperator rotate landscape", "clawperator rotate auto"),
    ),
    ActionCommand(
        name="start-activity",
        action="start_activity",
        more=IntentOptions,
        build=_start_activity,
        needs=(("component", "action"),),
        examples=(
            "clawperator start-activity --action android.settings.DISPLAY_SETTINGS",
            "clawperator start-activity com.android.settings/.Settings --dry-run",
        ),
        notes="Schemes of a URI other than http and https need --allow-scheme.",
    ),
    ActionCommand(
        name="install-apk",
        action="install_app",
        needs=(("path",),),
        examples=("clawperator install-apk app.apk --dry-run",),
    ),
    ActionCommand(
        name="uninstall-app",
        action="uninstall_app",
        needs=(_APP,),
        examples=("clawperator uninstall-app com.example.app --dry-run",),
    ),
    ActionCommand(
        name="clear-data",
        action="clear_app_data",
        needs=(_APP,),
        examples=("clawperator clear-data com.clawperator.notes",),
    ),
    _permission("grant", "grant_permission"),
    _permission("revoke", "revoke_permission"),
    ActionCommand(
        name="logcat",
        action="read_logcat",
        needs=(_APP,),
        examples=("clawperator logcat --app com.android.settings --since 30s",),
    ),
    ActionCommand(
        name="recording start",
        action="start_recording",
        examples=("clawperator recording start --session-id demo",),
    ),
    ActionCommand(
        name="recording stop",
        action="stop_recording",
        examples=("clawperator recording stop --session-id demo",),
    ),
    ActionCommand(
        name="exec",
        action="",
        purpose="Run an execution: explicit actions as JSON.",
        shape=ExecParams,
        examples=(
            "clawperator exec plan.json",
            "clawperator exec plan.json --validate-only",
            "clawperator exec - --dry-run < plan.json",
        ),
        notes=(
            "An example of a plan.json; 'clawperator schema execution' describes every field:\n"
            '{"commandId": "first", "taskId": "first", "source": "me", "timeoutMs": 30000,\n'
            '"expectedFormat": "android-ui-automator", "actions": [\n'
            '{"id": "home", "type": "press_key", "params": {"key": "home"}}]}'
        ),
    ),
)
ACTION_COMMANDS: Mapping[str, ActionCommand] = {row.name: row for row in _ROWS}
