"""Every command of ``clawperator``: names, flags, words of help and examples.

Parsing, suggestions, ``--help`` and the command reference in the docs come from this one table. What a
command does lives in ``cli``; what its action means lives in ``actions``.
"""

from collections.abc import Iterator, Mapping

from clawperator.commands.devices import DEVICE_COMMANDS, VERSION
from clawperator.commands.model import PLAN, Command, Flag, switch
from clawperator.commands.phones import PHONE
from clawperator.commands.recording import RECORDING
from clawperator.commands.skills import SKILLS


def _selectors(prefix: str, whose: str) -> tuple[Flag, ...]:
    def flag(name: str, help_: str, metavar: str, *aliases: str) -> Flag:
        return Flag(
            f"--{prefix}{name}",
            f"{whose} {help_}",
            metavar,
            tuple(f"--{prefix}{a}" for a in aliases),
            literal=True,
        )

    return (
        flag("selector", "as a NodeMatcher in JSON; excludes the flags below", "<json>", "matcher-json"),
        flag("text", "label, exact", "<text>"),
        flag("text-contains", "label, part of it in any case", "<text>"),
        flag("id", "resource id, package:id/name", "<id>", "resource-id"),
        flag("desc", "content description, exact", "<text>", "content-desc"),
        flag("desc-contains", "content description, part of it", "<text>", "content-desc-contains"),
        flag("role", "role, such as button or textfield", "<role>"),
    )


ELEMENT = _selectors("", "the element's")
CONTAINER = _selectors("container-", "the container's")
_APP_ALIASES = ("--package", "--package-id", "--application-id", "--app-id")
_APP = Flag("--app", "package name of the app", "<package>", _APP_ALIASES, literal=True)
_TARGET = Flag("--app", "what to open", "<package|uri>", (*_APP_ALIASES, "--uri", "--url"), literal=True)
_DIRECTION = Flag("--direction", "down, up, left or right: where the content goes", "<direction>", literal=True)

GLOBALS = (
    Flag("--device", "serial of the phone", "<serial>", ("--device-id",)),
    Flag("--operator-package", "package of the Operator app", "<package>", ("--receiver-package",)),
    switch("--json", "JSON output (the default), asked for explicitly"),
    Flag("--output", "json (one line) or pretty (indented)", "<json|pretty>", ("--format",)),
    Flag("--timeout", "how long it may take, in ms", "<ms>", ("--timeout-ms",)),
    Flag("--log-level", "what to tell on stderr: debug, info, warn or error", "<level>"),
    switch("--verbose", "the same as --log-level debug"),
    switch("--help", "this text", "-h"),
    switch("--version", "the version"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "snapshot",
        "Capture the screen's hierarchy as XML.",
        synonyms=("snapshot-ui", "snapshot_ui"),
        flags=PLAN,
        examples=("clawperator snapshot --dry-run",),
    ),
    Command(
        "screenshot",
        "Capture the screen as a PNG file.",
        synonyms=("take-screenshot", "take_screenshot", "capture-screenshot"),
        flags=(Flag("--path", "where to write the PNG", "<file>", ("--file",)), *PLAN),
        examples=("clawperator screenshot --path screen.png --dry-run",),
    ),
    Command(
        "click",
        "Click an element or a point.",
        synonyms=("tap",),
        flags=(
            *ELEMENT,
            Flag("--coordinate", "a point in pixels instead of an element", "<x> <y>", values=2, literal=True),
            switch("--long", "press long"),
            switch("--focus", "focus instead of clicking"),
            *PLAN,
        ),
        examples=(
            'clawperator click --text "Connected devices" --dry-run',
            "clawperator click --coordinate 540 1200 --long --dry-run",
        ),
    ),
    Command(
        "open",
        "Open an app by its package name, or a URI.",
        "<package|uri>",
        ("open-uri", "open-url", "open-app", "open_app", "open_uri", "open_url"),
        (_TARGET, *PLAN),
        (
            "clawperator open com.android.settings --dry-run",
            "clawperator open https://clawperator.com --dry-run",
        ),
        notes="A target with a scheme and :// is a URI, anything else a package name.",
    ),
    Command(
        "type",
        "Put text into a field.",
        "<text>",
        ("fill", "enter-text", "enter_text"),
        (
            Flag("--text", "the text to type, instead of the argument", "<text>", literal=True),
            *(flag for flag in ELEMENT if flag.name != "--text"),
            switch("--submit", "submit afterwards"),
            switch("--clear", "empty the field first"),
            *PLAN,
        ),
        ('clawperator type "linkin park" --role textfield --submit --dry-run',),
        notes="The field is chosen by any selector flag but --text.",
    ),
    Command(
        "read",
        "Read the label of an element.",
        synonyms=("read-text", "read_text"),
        flags=(*ELEMENT, switch("--all", "of all that match; needs --json"), *CONTAINER, *PLAN),
        examples=(
            "clawperator read --id android:id/summary --dry-run",
            "clawperator read --role text --all --json --dry-run",
        ),
    ),
    Command(
        "wait",
        "Wait until an element is on the screen.",
        synonyms=("wait-for", "wait_for", "wait-for-node", "wait_for_node", "find", "find-node", "find_node"),
        flags=(*ELEMENT, *PLAN),
        examples=("clawperator wait --text Bluetooth --timeout 10000 --dry-run",),
    ),
    Command(
        "press",
        "Press back, home or recents.",
        "<key>",
        ("press-key", "press_key"),
        (Flag("--key", "the key, instead of the argument", "<key>", ("--button",), literal=True), *PLAN),
        ("clawperator press home --dry-run",),
    ),
    Command("back", "Press Back.", flags=PLAN, examples=("clawperator back --dry-run",)),
    Command(
        "close",
        "Force-stop an app.",
        "<package>",
        ("close-app", "close_app"),
        (_APP, *PLAN),
        ("clawperator close com.android.settings --dry-run",),
    ),
    Command("sleep", "Do nothing for a while.", "<ms>", (), PLAN, ("clawperator sleep 500 --dry-run",)),
    Command(
        "scroll",
        "Scroll once.",
        "<direction>",
        (),
        (_DIRECTION, *CONTAINER, *PLAN),
        ("clawperator scroll down --dry-run",),
    ),
    Command(
        "scroll-until",
        "Scroll until an element is there.",
        "[<direction>]",
        ("scroll_until",),
        (switch("--click", "then click it"), _DIRECTION, *ELEMENT, *CONTAINER, *PLAN),
        ('clawperator scroll-until --text "About phone" --click --dry-run',),
    ),
    Command(
        "scroll-and-click",
        "Scroll until an element is there, then click it.",
        "[<direction>]",
        ("scroll_and_click",),
        (_DIRECTION, *ELEMENT, *CONTAINER, *PLAN),
        ('clawperator scroll-and-click --text "About phone" --dry-run',),
    ),
    Command(
        "wait-for-nav",
        "Wait until an app or an element is in front.",
        synonyms=("wait-for-navigation", "wait_for_navigation"),
        flags=(_APP, *ELEMENT, *PLAN),
        examples=("clawperator wait-for-nav --app com.android.settings --timeout 5000 --validate-only",),
        notes="--timeout is required, 30000 at most.",
    ),
    Command(
        "read-value",
        "Read the value that stands beside a label.",
        synonyms=("read-kv", "read-key-value-pair", "read_key_value_pair"),
        flags=(
            Flag("--label", "the label, exact", "<text>", ("--text", "--label-text"), literal=True),
            Flag("--label-id", "the label's resource id", "<id>", ("--id", "--resource-id"), literal=True),
            Flag(
                "--label-desc",
                "the label's description",
                "<text>",
                ("--desc", "--content-desc"),
                literal=True,
            ),
            switch("--all", "of all that match; needs --json"),
            *PLAN,
        ),
        examples=('clawperator read-value --label "Android version" --dry-run',),
    ),
    Command(
        "exec",
        "Run an execution: explicit actions as JSON.",
        "<json|file|->",
        ("execute",),
        (
            Flag(
                "--payload",
                "the JSON, or a file, or - for stdin",
                "<json|file|->",
                ("--execution", "--input", "--file"),
            ),
            Flag("--goal", "only with best-effort, which nobody has built", "<text>"),
            *PLAN,
        ),
        ("clawperator exec plan.json --validate-only", "clawperator exec - --dry-run < plan.json"),
    ),
    RECORDING,
    SKILLS,
    PHONE,
    *DEVICE_COMMANDS,
    Command(
        "schema",
        "Print the JSON Schema of a document.",
        "[<name>]",
        examples=("clawperator schema", "clawperator schema execution"),
    ),
    VERSION,
    Command("help", "Print this text, or that of a command.", "[<command>]", examples=("clawperator help click",)),
)

# Flags some command of the family takes a value with: elsewhere they are passed over with a warning.
_OTHERS_VALUES = (
    "--name",
    "--port",
    "--host",
)

# Nested forms that were removed, and what replaced them.
REMOVED: Mapping[str, Mapping[str, str]] = {
    "action": {
        "click": "click",
        "open-app": "open",
        "open-uri": "open",
        "type": "type",
        "read": "read",
        "wait": "wait",
        "press-key": "press",
    },
    "observe": {"snapshot": "snapshot", "screenshot": "screenshot"},
    "inspect": {"ui": "snapshot"},
}


def find(name: str, among: tuple[Command, ...] = COMMANDS) -> Command | None:
    """The command of that name or synonym; names come first."""
    for command in among:
        if command.name == name:
            return command
    return next((command for command in among if name in command.synonyms), None)


def all_flags(commands: tuple[Command, ...] = COMMANDS) -> Iterator[Flag]:
    for command in commands:
        yield from command.flags
        yield from all_flags(command.subcommands)


def value_flags() -> dict[str, int]:
    """Every flag anywhere that takes values, with how many."""
    known = dict.fromkeys(_OTHERS_VALUES, 1)
    for flag in all_flags():
        if flag.values:
            known.update(dict.fromkeys((flag.name, *flag.aliases), flag.values))
    return known
