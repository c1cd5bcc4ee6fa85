"""The commands that look after phones, emulators and the host's log."""

from clawperator.commands.model import Command, Flag, switch

_NAME = Flag("--name", "its name, instead of the argument; clawperator-pixel if absent", "<name>")
_NAMED = "Without a name clawperator-pixel is meant."

_EMULATOR = Command(
    "emulator",
    "Make and run Android's own emulators, with the tools of its SDK.",
    subcommands=(
        Command("list", "List the virtual devices of this computer.", examples=("clawperator emulator list",)),
        Command("inspect", "Tell what a virtual device is made of.", "[<name>]", flags=(_NAME,), notes=_NAMED),
        Command(
            "create",
            "Make a virtual device, with its system image.",
            "[<name>]",
            flags=(_NAME,),
            notes=f"{_NAMED} One that exists is not overwritten. The SDK's licences are accepted.",
        ),
        Command(
            "start",
            "Start a virtual device and wait until it has booted.",
            "[<name>]",
            flags=(_NAME,),
            notes=_NAMED,
        ),
        Command("stop", "Stop a running emulator.", "[<name>]", flags=(_NAME,), notes=_NAMED),
        Command("delete", "Delete a virtual device that does not run.", "[<name>]", flags=(_NAME,), notes=_NAMED),
        Command("status", "List the emulators that run."),
        Command(
            "provision",
            "Have an emulator ready: one that runs, one that can be started, or a new one.",
            "[<name>]",
            flags=(_NAME,),
            notes=f"{_NAMED} Also written 'clawperator provision emulator'.",
        ),
    ),
)

DEVICE_COMMANDS = (
    Command("devices", "List the connected phones."),
    Command(
        "packages",
        "Ask a phone for its apps.",
        subcommands=(
            Command(
                "list",
                "List the installed packages.",
                flags=(switch("--third-party", "only those that did not come with the phone"),),
            ),
        ),
    ),
    Command(
        "operator",
        "Look after the Operator app on a phone.",
        subcommands=(
            Command(
                "setup",
                "Install the Operator and grant what it needs.",
                synonyms=("install",),
                flags=(Flag("--apk", "the Operator's APK", "<file>"),),
            ),
        ),
    ),
    Command(
        "setup",
        "Tell how a phone is set up.",
        synonyms=("install",),
        examples=("clawperator setup",),
    ),
    Command("grant-device-permissions", "Grant the Operator what it needs."),
    Command(
        "doctor",
        "Check this computer, the phone and the Operator.",
        flags=(
            switch("--fix", "put right what can be, then look again"),
            switch("--full", "make the long checks too: build, install, a small job on the phone"),
            switch("--check-only", "exit 0 whatever is found"),
        ),
        examples=("clawperator doctor --check-only", "clawperator doctor --check-only --output pretty"),
        notes="With --output pretty it prints a report for people.",
    ),
    _EMULATOR,
    Command(
        "provision",
        "Have an emulator ready.",
        subcommands=(
            Command(
                "emulator",
                "The same as 'clawperator emulator provision'.",
                "[<name>]",
                flags=(_NAME,),
                notes=_NAMED,
            ),
        ),
    ),
    Command(
        "logs",
        "Print today's log of this computer, and go on until Ctrl-C.",
        flags=(switch("--no-follow", "end when all there is was printed"),),
        examples=("clawperator logs --no-follow",),
        notes="Lines of JSON, one per event. The log lies in CLAWPERATOR_LOG_DIR, or logs in the product's home; "
        "CLAWPERATOR_LOG_LEVEL is the least level it keeps.",
    ),
)

VERSION = Command(
    "version",
    "Print the version.",
    flags=(switch("--check-compat", "compare it with the Operator's on the phone"),),
    examples=("clawperator version",),
)
