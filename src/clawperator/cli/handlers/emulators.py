"""``emulator``: Android's own emulators."""

from typing import Any

from clawperator.cli.handler import Call
from clawperator.cli.handlers.devices import seconds_given
from clawperator.cli.parsing import usage
from clawperator.device.emulators import emulator
from clawperator.device.emulators.avd import DEFAULT_NAME


def answer(call: Call) -> Any:
    match call.name:
        case "emulator list":
            return {"avds": emulator.list_avds()}
        case "emulator status":
            return {"devices": emulator.running_emulators()}
        case "emulator inspect":
            return emulator.inspect_avd(_name(call))
        case "emulator create":
            return emulator.create_avd(_name(call))
        case "emulator start":
            return emulator.start_emulator(_name(call), _patience(call))
        case "emulator stop":
            return emulator.stop_emulator(_name(call))
        case "emulator delete":
            return emulator.delete_avd(_name(call))
        case _:
            return emulator.provision(_name(call), _patience(call))


def _name(call: Call) -> str:
    flagged, words = call.arguments.get("--name"), call.arguments.words
    if flagged is not None and words:
        raise usage(f"{call.name} takes a name once: as an argument or by --name")
    return flagged or (words[0] if words else DEFAULT_NAME)


def _patience(call: Call) -> emulator.Patience:
    """--timeout is how long the emulator may take to boot."""
    given = seconds_given(call)
    return emulator.Patience(boot=given["seconds"]) if given else emulator.Patience()
