"""Commands that run one action on a device. ``execution`` names the function that reads their arguments."""

from msgspec.structs import replace

from clawperator.commands.model import ALLOW_SCHEME, ANY_USER, PLAN, USER, Command, Flag, Level, PathKind, switch
from clawperator.commands.selectors import CONTAINER, ELEMENT

_RUN = "clawperator.cli.handlers.execution:run_command"
_HANDLERS = "clawperator.cli.handlers."

_APP_ALIASES = ("--package", "--package-id", "--application-id", "--app-id")
_APP = Flag("--app", "package name of the app", "<package>", _APP_ALIASES, literal=True)
_TARGET = Flag("--app", "package or URI to open", "<package|uri>", (*_APP_ALIASES, "--uri", "--url"), literal=True)
DIRECTIONS = ("down", "up", "left", "right")
_DIRECTION = Flag(
    "--direction", "scroll direction: down, up, left or right", "<direction>", literal=True, choices=DIRECTIONS
)
_KEYS = (
    "back, home, recents, enter, tab, space, delete, forward_delete, escape, up, down, left,\n"
    "right, center, page_up, page_down, move_home, move_end, menu, search, volume_up, volume_down,\n"
    "volume_mute, power, wakeup, sleep, camera, media_play_pause, media_stop, media_next,\n"
    "media_previous, media_rewind, media_fast_forward"
)
_KEY_NAMES = tuple(_KEYS.replace(",", "").split())
EXPECT = (
    Flag("--expect-text", "fail unless this label is on the screen afterwards", "<text>", literal=True),
    Flag("--expect-gone", "fail unless this label is gone afterwards", "<text>", literal=True),
    Flag("--expect-app", "fail unless this app is in the foreground afterwards", "<package>", literal=True),
    Flag("--expect-timeout", "how long to wait for what is expected, in ms (default: 5000)", "<ms>", literal=True),
)
SETTLE = switch("--settle", "on plain adb: also capture before, and until two captures agree, to know the effect")
_ALL = switch("--all", "return every match; needs --json or --output text")


def action_command(  # noqa: PLR0913 - the columns of one row
    name: str,
    summary: str,
    usage: str = "",
    *,
    tools: tuple[str, ...],
    examples: tuple[str, ...],
    build: str = "",
    level: Level = "act",
    synonyms: tuple[str, ...] = (),
    flags: tuple[Flag, ...] = (),
    notes: str = "",
    replaces: tuple[str, ...] = (),
    takes_app_name: bool = False,
    acts: bool | None = None,
    word_path: PathKind = "",
    word_choices: tuple[str, ...] = (),
    module: str = "actions",
) -> Command:
    """A row whose argument reader is the function of the same name, unless ``build`` names another.

    ``module`` is the module of handlers that has the reader.

    A command that ``acts`` takes expectations; by default those that are not read-only do. Those of them that
    report their effect on the screen take ``--settle``.
    """
    expects = level != "read-only" if acts is None else acts
    raised_by: dict[str, Level] = {"--allow-scheme": "full"} if ALLOW_SCHEME in flags else {}
    if level == "read-only":
        raised_by["--evidence"] = "act"  # it writes files
    return Command(
        name=name,
        summary=summary,
        usage=usage,
        synonyms=synonyms,
        flags=(*flags, *(EXPECT if expects else ()), *((SETTLE,) if expects and level == "act" else ()), *PLAN),
        examples=examples,
        notes=notes,
        handler=_RUN,
        execution=f"{_HANDLERS}{module}:{build or name.replace('-', '_')}",
        level=level,
        raised_by=raised_by,
        tools=tools,
        replaces=replaces,
        takes_app_name=takes_app_name,
        word_path=word_path,
        word_choices=word_choices,
    )


def _query_command() -> Command:
    made = action_command(
        "query",
        "List the elements that match a selector, on the screen or in a saved snapshot.",
        "[<ref>]",
        flags=(
            *ELEMENT,
            switch("--suggest", "add unique selectors for each element, the most stable first"),
            Flag("--limit", "how many elements to list (default: 50)", "<n>"),
            Flag(
                "--file", "saved snapshot, XML or the result of 'snapshot'; needs no device", "<file>", path="in"
            ),
        ),
        examples=(
            "clawperator query --role switch",
            "clawperator query --text Display --suggest",
            "clawperator query --file snapshot.json --state checked",
        ),
        notes="Without a selector it lists every element that can be seen or touched.",
        build="query_execution",
        level="read-only",
        tools=("query",),
    )
    module = "clawperator.cli.handlers.query:"
    return replace(made, handler=f"{module}query", execution=f"{module}query_execution")


COMMANDS: tuple[Command, ...] = (
    action_command(
        "snapshot",
        "Capture the screen as XML, or as a compact outline.",
        synonyms=("snapshot-ui", "snapshot_ui"),
        flags=(
            Flag("--view", "xml, outline or json (default: xml)", "<view>", choices=("xml", "outline", "json")),
            Flag("--max-tokens", "cut the outline to this size; a token is four bytes", "<number>"),
            Flag("--since", "show only what changed since the snapshot with this id", "<snapshot-id>"),
            switch("--settle", "wait until two captures agree"),
        ),
        examples=("clawperator snapshot", "clawperator snapshot --view outline --max-tokens 500"),
        notes=(
            "The outline has one line for each element, with a reference such as e12.\n"
            "--max-tokens and --since show the outline unless --view is given."
        ),
        level="read-only",
        tools=("snapshot_ui",),
        replaces=("observe snapshot", "inspect ui"),
    ),
    action_command(
        "screenshot",
        "Capture the screen as a PNG file.",
        synonyms=("take-screenshot", "take_screenshot", "capture-screenshot"),
        flags=(
            Flag("--path", "output file", "<file>", ("--file",), path="out"),
            switch("--marks", "draw the references of the outline on the picture"),
        ),
        examples=("clawperator screenshot --path screen.png", "clawperator screenshot --path marked.png --marks"),
        tools=("take_screenshot",),
        acts=False,
        replaces=("observe screenshot",),
    ),
    action_command(
        "click",
        "Click an element or a point.",
        "[<ref>]",
        synonyms=("tap",),
        flags=(
            *ELEMENT,
            Flag("--coordinate", "point in pixels, instead of an element", "<x> <y>", values=2, literal=True),
            switch("--long", "long press"),
            Flag("--duration", "duration of the long press in ms; needs --long", "<ms>", literal=True),
            switch("--focus", "set the input focus instead of clicking"),
        ),
        examples=(
            'clawperator click --text "Connected devices"',
            "clawperator click e12",
            'clawperator click --class Switch --right-of "Wi-Fi"',
            "clawperator click --coordinate 540 1200 --long --duration 1500",
            'clawperator click --text Display --expect-text "Dark theme"',
            "clawperator click --text Display --evidence evidence",
        ),
        tools=("click",),
        replaces=("action click",),
    ),
    action_command(
        "open",
        "Open an app by package name or label, or a URI.",
        "<package|label|uri>",
        synonyms=("open-uri", "open-url", "open-app", "open_app", "open_uri", "open_url"),
        flags=(_TARGET, ALLOW_SCHEME, USER, switch("--wait", "wait until the app is in the foreground and idle")),
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
        build="open_target",
        tools=("open_app", "open_uri"),
        replaces=("action open-app", "action open-uri"),
        takes_app_name=True,
    ),
    action_command(
        "type",
        "Enter text into a field.",
        "<text>",
        synonyms=("fill", "enter-text", "enter_text"),
        flags=(
            Flag("--text", "text to enter, instead of the argument", "<text>", literal=True),
            *(flag for flag in ELEMENT if flag.name != "--text"),
            switch("--submit", "submit after entering"),
            switch("--clear", "clear the field first; with an empty text it only clears"),
            switch("--append", "keep what the field has, and add the text at its end"),
            Flag("--secret", "read the text from this environment variable", "<name>"),
            Flag("--secret-file", "read the text from this file of one line", "<file>", path="in"),
        ),
        examples=(
            'clawperator type "linkin park" --role textfield --submit',
            'clawperator type "" --clear --role textfield',
            "clawperator type --secret SHOP_PASSWORD --role textfield --dry-run",
        ),
        notes=(
            "Select the field with any selector flag except --text. Without one it is the focused field.\n"
            "A secret is in no argument, plan, log or result of this computer."
        ),
        build="enter_text",
        tools=("enter_text",),
        replaces=("action type",),
    ),
    action_command(
        "read",
        "Read the label of an element.",
        "[<ref>]",
        synonyms=("read-text", "read_text"),
        flags=(*ELEMENT, _ALL, *CONTAINER),
        examples=("clawperator read --id android:id/title", "clawperator read --role text --all --json"),
        level="read-only",
        tools=("read_text",),
        replaces=("action read",),
    ),
    action_command(
        "wait",
        "Wait until an element is on the screen, gone or changed, or until the screen is idle.",
        "[<ref>]",
        synonyms=("wait-for", "wait_for", "wait-for-node", "wait_for_node", "find", "find-node", "find_node"),
        flags=(
            *(flag for flag in ELEMENT if flag.name != "--any-of"),
            switch("--gone", "wait until no element matches"),
            switch("--changed", "wait until the label of the element changes"),
            Flag("--from-text", "with --changed: the old label (default: the label now)", "<text>", literal=True),
            Flag(
                "--or-text",
                "label of another element that may appear; may be repeated",
                "<text>",
                literal=True,
                repeats=True,
            ),
            Flag("--any-of", "JSON list of selectors: wait until one of them matches", "<json>", literal=True),
            switch("--idle", "wait until the screen stops changing"),
            Flag("--quiet", "with --idle: how long without a change, in ms (default: 500)", "<ms>", literal=True),
        ),
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
        level="read-only",
        tools=("wait_for_node", "wait_until_gone", "wait_for_text_change", "wait_until_idle", "wait_for_any"),
        replaces=("action wait",),
    ),
    _query_command(),
    action_command(
        "press",
        "Press a key by name.",
        "<key>",
        synonyms=("press-key", "press_key"),
        flags=(
            Flag(
                "--key",
                "name of the key, instead of the argument",
                "<key>",
                ("--button",),
                literal=True,
                choices=_KEY_NAMES,
            ),
        ),
        examples=("clawperator press home", "clawperator press enter", "clawperator press volume_up"),
        notes=f"Keys: {_KEYS}.",
        tools=("press_key",),
        word_choices=_KEY_NAMES,
        replaces=("action press-key",),
    ),
    action_command("back", "Press Back.", examples=("clawperator back",), tools=("press_key",)),
    action_command(
        "close",
        "Force-stop an app.",
        "<package|label>",
        synonyms=("close-app", "close_app"),
        flags=(_APP, ANY_USER),
        examples=("clawperator close com.android.settings",),
        tools=("close_app",),
    ),
    action_command(
        "sleep",
        "Wait for a number of milliseconds.",
        "<ms>",
        examples=("clawperator sleep 500",),
        level="read-only",
        tools=("sleep",),
    ),
    action_command(
        "scroll",
        "Scroll once.",
        "<direction>",
        flags=(_DIRECTION, *CONTAINER),
        examples=("clawperator scroll down",),
        tools=("scroll",),
        word_choices=DIRECTIONS,
    ),
    action_command(
        "scroll-until",
        "Scroll until an element is on the screen.",
        "[<direction>]",
        synonyms=("scroll_until",),
        flags=(switch("--click", "then click it"), _DIRECTION, *ELEMENT, *CONTAINER),
        examples=('clawperator scroll-until --text "About phone" --click',),
        tools=("scroll_until", "scroll_and_click"),
        word_choices=DIRECTIONS,
    ),
    action_command(
        "scroll-and-click",
        "Scroll until an element is on the screen, then click it.",
        "[<direction>]",
        synonyms=("scroll_and_click",),
        flags=(_DIRECTION, *ELEMENT, *CONTAINER),
        examples=('clawperator scroll-and-click --text "About phone"',),
        tools=("scroll_and_click",),
        word_choices=DIRECTIONS,
    ),
    action_command(
        "wait-for-nav",
        "Wait until an app or an element is in the foreground.",
        synonyms=("wait-for-navigation", "wait_for_navigation"),
        flags=(_APP, *ELEMENT),
        examples=("clawperator wait-for-nav --app com.android.settings --timeout 5000",),
        notes="--timeout is required; at most 30000.",
        level="read-only",
        tools=("wait_for_navigation",),
    ),
    action_command(
        "read-value",
        "Read the value next to a label.",
        synonyms=("read-kv", "read-key-value-pair", "read_key_value_pair"),
        flags=(
            Flag("--label", "exact label", "<text>", ("--text", "--label-text"), literal=True),
            Flag("--label-id", "resource id of the label", "<id>", ("--id", "--resource-id"), literal=True),
            Flag(
                "--label-desc",
                "content description of the label",
                "<text>",
                ("--desc", "--content-desc"),
                literal=True,
            ),
            _ALL,
        ),
        examples=('clawperator read-value --label "Android version"',),
        level="read-only",
        tools=("read_key_value_pair",),
    ),
)

_SESSION = Flag("--session-id", "recording id: letters, digits, _ and -", "<id>")
RECORDING_ACTIONS: tuple[Command, ...] = (
    action_command(
        "start",
        "Start recording on the device.",
        flags=(_SESSION,),
        examples=("clawperator recording start --session-id demo",),
        build="start_recording",
        tools=("start_recording",),
        acts=False,
    ),
    action_command(
        "stop",
        "Stop the running recording.",
        flags=(_SESSION,),
        examples=("clawperator recording stop --session-id demo",),
        build="stop_recording",
        tools=("stop_recording",),
        acts=False,
    ),
)
