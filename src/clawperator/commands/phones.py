"""``clawperator phone``: the simulated phone."""

from clawperator.commands.model import Command, Flag, switch

_SEED = Flag("--seed", "what chance is drawn from; the same seed fails the same way", "<number>")
_APP = Flag("--app", "an app of your own: a .py or .toml file", "<file>", repeats=True)
_FAULT = Flag("--fault", "a fault to start with, such as latency=200", "<name=setting>", repeats=True)
_CASSETTE = Flag("--cassette", "a recording, or an export with snapshots, that the phone shows again", "<file>")
_WHICH = "Without --device the one phone that runs is meant."

PHONE = Command(
    "phone",
    "Start and look after the simulated phone.",
    subcommands=(
        Command(
            "start",
            "Start a phone in the background and print how to reach it.",
            "[<serial>]",
            flags=(
                _SEED,
                _APP,
                _FAULT,
                _CASSETTE,
                Flag("--adbd-port", "port for 'adb connect'; any free one if absent", "<port>"),
                Flag("--server-port", "port that speaks the adb server protocol; likewise", "<port>"),
            ),
            examples=("clawperator phone start", "clawperator phone start shop --seed 7 --fault latency=50"),
            notes="The phone goes on when the shell that started it ends. A crashed phone starts with its files.",
        ),
        Command(
            "stop",
            "Stop a phone. Its files stay.",
            "[<serial>]",
            flags=(switch("--all", "every phone that runs"),),
            examples=("clawperator phone stop", "clawperator phone stop --all"),
        ),
        Command("list", "List the phones there are, running or not.", examples=("clawperator phone list",)),
        Command(
            "reset",
            "Make a phone as it was when it was new: files, apps, settings and faults.",
            "[<serial>]",
            examples=("clawperator phone reset",),
        ),
        Command(
            "fault",
            "Turn a fault on or off, or show them all.",
            "[<name>] [<setting>]",
            examples=(
                "clawperator phone fault",
                "clawperator phone fault latency 200",
                "clawperator phone fault offline on",
                "clawperator phone fault offline off",
            ),
            notes=f"A setting is on, off or a number. {_WHICH}",
        ),
        Command(
            "screenshot",
            "Save what the phone shows as a PNG file.",
            flags=(Flag("--path", "where to write it; <serial>.png if absent", "<file>", ("--file",)),),
            examples=("clawperator phone screenshot --path screen.png",),
            notes=_WHICH,
        ),
    ),
)
