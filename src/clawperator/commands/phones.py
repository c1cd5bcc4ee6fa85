"""``clawperator phone``: the simulated phone."""

from clawperator.commands.actions import COMMANDS as ACTION_COMMANDS
from clawperator.commands.model import Command, Flag, switch

_HANDLERS = "clawperator.cli.handlers.phone:"
_SEED = Flag("--seed", "random seed; the same seed reproduces the same faults", "<number>")
_APP = Flag("--app", "app to install: a .py or .toml file", "<file>", repeats=True, path="in")
_FAULT = Flag("--fault", "fault to start with, such as latency=200", "<name=setting>", repeats=True)
_CASSETTE = Flag(
    "--cassette", "recording, or export with snapshots, whose screens the phone shows", "<file>", path="in"
)
_SCREENSHOT = next(command for command in ACTION_COMMANDS if command.name == "screenshot")
_WHICH = "Without --device or CLAWPERATOR_DEVICE_ID the only running phone is used."

PHONE = Command(
    "phone",
    "Start and control simulated phones.",
    subcommands=(
        Command(
            "start",
            "Start a simulated phone in the background and print its address.",
            "[<serial>]",
            flags=(
                _SEED,
                _APP,
                _FAULT,
                _CASSETTE,
                Flag("--adbd-port", "port for 'adb connect' (default: any free port)", "<port>"),
                Flag("--server-port", "port of the adb server protocol (default: any free port)", "<port>"),
            ),
            examples=("clawperator phone start", "clawperator phone start shop --seed 7 --fault latency=50"),
            notes="The phone keeps running after the shell exits. After a crash it restarts with its files. "
            "The next start has the same apps and the Operator of --operator-package, unless others are given.",
            handler=_HANDLERS + "start",
            level="act",
            raised_by={"--app": "full"},
            tools=("start_phone",),
        ),
        Command(
            "stop",
            "Stop a simulated phone and keep its files.",
            "[<serial>]",
            flags=(switch("--all", "stop every running phone"),),
            examples=("clawperator phone stop", "clawperator phone stop --all"),
            handler=_HANDLERS + "stop",
            level="act",
            tools=("stop_phone",),
        ),
        Command(
            "list",
            "List the simulated phones, running or not.",
            examples=("clawperator phone list",),
            handler=_HANDLERS + "list_all",
            level="read-only",
        ),
        Command(
            "reset",
            "Restore a simulated phone to its initial state: files, apps, settings and faults.",
            "[<serial>]",
            examples=("clawperator phone reset",),
            handler=_HANDLERS + "reset",
        ),
        Command(
            "delete",
            "Delete a simulated phone with all its files.",
            "<serial>",
            flags=(switch("--force", "stop the phone first if it is running"),),
            examples=("clawperator phone delete shop", "clawperator phone delete shop --force"),
            handler=_HANDLERS + "delete",
        ),
        Command(
            "fault",
            "Inject a fault, remove it, or list all faults.",
            "[<name>] [<setting>]",
            examples=(
                "clawperator phone fault",
                "clawperator phone fault latency 200",
                "clawperator phone fault offline on",
                "clawperator phone fault offline off",
            ),
            notes=f"A setting is on, off or a number. {_WHICH}",
            handler=_HANDLERS + "fault",
            level="act",
        ),
        Command(
            "screenshot",
            "Save the screen of a simulated phone as a PNG file.",
            "[<serial>]",
            flags=(Flag("--path", "output file (default: <serial>.png)", "<file>", ("--file",), path="out"),),
            examples=("clawperator phone screenshot --path screen.png", "clawperator phone screenshot shop"),
            notes=_WHICH,
            handler=_HANDLERS + "screenshot",
            level="act",
            tools=_SCREENSHOT.tools,
            subject="--path",
        ),
    ),
)
COMMANDS = (PHONE,)
