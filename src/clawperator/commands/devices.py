"""Commands for devices, the Operator app, emulators and the host log."""

from clawperator.commands.actions import COMMANDS as ACTION_COMMANDS
from clawperator.commands.model import BACKEND, Command, Flag, switch

_SNAPSHOT = next(command for command in ACTION_COMMANDS if command.name == "snapshot")
_WATCH = Command(
    "watch",
    "Print the screen as an outline, and then its changes.",
    flags=(
        Flag("--for", "how long to watch, in ms (default: until Ctrl-C)", "<ms>"),
        Flag("--count", "end after this many documents", "<n>"),
        Flag("--interval", "pause between two looks, in ms (default: 500)", "<ms>"),
        BACKEND,
    ),
    examples=("clawperator watch --count 1", "clawperator watch --for 1000 --output text"),
    notes=(
        "Prints one JSON document per line: the screen first, then a document for each change. With\n"
        "--output text it prints the outline and the changed lines. --timeout limits it like --for.\n"
        "Between two looks other commands can use the device."
    ),
    handler="clawperator.cli.handlers.watch:watch_screen",
    level="read-only",
    tools=_SNAPSHOT.tools,
)

COMMANDS = (
    _WATCH,
    Command(
        "pair",
        "Pair with a device by wireless debugging.",
        "<host:port>",
        flags=(Flag("--connect", "also connect, at the address that Wireless debugging shows", "<host:port>"),),
        examples=(
            "clawperator pair phone.local:37123",
            "clawperator pair phone.local:37123 --connect phone.local:41235 < code.txt",
        ),
        notes=(
            "Asks for the pairing code on the terminal; without a terminal it reads the code from stdin.\n"
            "On the device: Settings, Developer options, Wireless debugging, 'Pair device with pairing code'\n"
            "shows the code and the address. Needs Android 11 and adb 30, or newer ones."
        ),
        handler="clawperator.cli.handlers.pairing:pair",
        level="full",
        for_users=True,
    ),
    Command(
        "logs",
        "Follow today's host log.",
        flags=(switch("--no-follow", "print the log and exit"),),
        examples=("clawperator logs --no-follow",),
        notes="One JSON event per line. The log is in CLAWPERATOR_LOG_DIR, or in logs in the product home; "
        "CLAWPERATOR_LOG_LEVEL is its minimum level.",
        handler="clawperator.cli.handlers.logs:print_log",
        level="read-only",
    ),
)

COMMANDS = (
    _WATCH,
    Command(
        "pair",
        "Pair with a device by wireless debugging.",
        "<host:port>",
        flags=(Flag("--connect", "also connect, at the address that Wireless debugging shows", "<host:port>"),),
        examples=(
            "clawperator pair phone.local:37123",
            "clawperator pair phone.local:37123 --connect phone.local:41235 < code.txt",
        ),
        notes=(
            "Asks for the pairing code on the terminal; without a terminal it reads the code from stdin.\n"
            "On the device: Settings, Developer options, Wireless debugging, 'Pair device with pairing code'\n"
            "shows the code and the address. Needs Android 11 and adb 30, or newer ones."
        ),
        handler="clawperator.cli.handlers.pairing:pair",
        level="full",
        for_users=True,
    ),
    Command(
        "logs",
        "Follow today's host log.",
        flags=(switch("--no-follow", "print the log and exit"),),
        examples=("clawperator logs --no-follow",),
        notes="One JSON event per line. The log is in CLAWPERATOR_LOG_DIR, or in logs in the product home; "
        "CLAWPERATOR_LOG_LEVEL is its minimum level.",
        handler="clawperator.cli.handlers.logs:print_log",
        level="read-only",
    ),
)

VERSION = Command(
    "version",
    "Print the version.",
    flags=(switch("--check-compat", "compare it with the Operator on the device"),),
    examples=("clawperator version", "clawperator version --check-compat"),
    handler="clawperator.cli.handlers.schema:print_version",
    level="read-only",
)
