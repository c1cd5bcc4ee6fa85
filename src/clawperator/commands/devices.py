"""Commands for devices, the Operator app, emulators and the host log."""

from clawperator.commands.actions import COMMANDS as ACTION_COMMANDS
from clawperator.commands.model import BACKEND, USER, Command, Flag, switch

_DEVICES = "clawperator.cli.handlers.devices:"

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

_DEVICE_COMMANDS = (
    _WATCH,
    Command(
        "devices",
        "List the connected devices.",
        examples=("clawperator devices",),
        handler=_DEVICES + "list_connected",
        level="read-only",
        tools=("list_devices",),
    ),
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
        "packages",
        "Inspect the packages on a device.",
        subcommands=(
            Command(
                "list",
                "List installed packages.",
                flags=(switch("--third-party", "only packages that the user installed"), USER),
                examples=("clawperator packages list --third-party", "clawperator packages list --user 0"),
                handler=_DEVICES + "list_installed",
                level="read-only",
                tools=("list_packages",),
            ),
        ),
    ),
    Command(
        "operator",
        "Install and inspect the Operator app.",
        subcommands=(
            Command(
                "setup",
                "Install the Operator and grant its permissions.",
                synonyms=("install",),
                flags=(Flag("--apk", "APK of the Operator", "<file>", path="in"),),
                handler=_DEVICES + "set_up",
            ),
        ),
    ),
    Command(
        "setup",
        "Print setup instructions.",
        synonyms=("install",),
        examples=("clawperator setup",),
        handler=_DEVICES + "print_setup",
        level="read-only",
    ),
    Command(
        "grant-device-permissions",
        "Grant the Operator its permissions.",
        examples=("clawperator grant-device-permissions",),
        handler=_DEVICES + "grant",
    ),
    Command(
        "doctor",
        "Check this computer, the device and the Operator.",
        flags=(
            switch("--fix", "fix what can be fixed, then check again"),
            switch("--full", "also run the slow checks: build, install, a smoke test on the device"),
            switch("--check-only", "exit 0 whatever the result"),
            Flag("--report", "also write a compatibility report to this file", "<file>", path="out"),
        ),
        examples=(
            "clawperator doctor",
            "clawperator doctor --check-only",
            "clawperator doctor --output text",
            "clawperator doctor --check-only --report compatibility.json",
        ),
        notes=(
            "With --output text or pretty it prints a readable report. The file of --report is JSON with listed\n"
            "facts only: no serial, no packages, no text of the screen. It can be published."
        ),
        handler="clawperator.cli.handlers.doctor:check",
        level="read-only",
        raised_by={"--fix": "full", "--full": "full", "--report": "act"},
        tools=("doctor",),
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
COMMANDS = (*_DEVICE_COMMANDS, VERSION)
