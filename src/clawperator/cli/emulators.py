"""``emulator``: Android's own emulators."""

from typing import Any

from clawperator.cli.arguments import usage
from clawperator.cli.call import Call
from clawperator.cli.phones import seconds_given
from clawperator.device import emulators
from clawperator.device.avds import DEFAULT_NAME


def answer(call: Call) -> Any:
    match call.name:
        case "emulator list":
            return {"avds": emulators.list_avds()}
        case "emulator status":
            return {"devices": emulators.running_emulators()}
        case "emulator inspect":
            return emulators.inspect_avd(_name(call))
        case "emulator create":
            return emulators.create_avd(_name(call))
        case "emulator start":
            return emulators.start_emulator(_name(call), _patience(call))
        case "emulator stop":
            return emulators.stop_emulator(_name(call))
        case "emulator delete":
            return emulators.delete_avd(_name(call))
        case _:
            return emulators.provision(_name(call), _patience(call))


def _name(call: Call) -> str:
    flagged, words = call.arguments.get("--name"), call.arguments.words
    if flagged is not None and words:
        raise usage(f"{call.name} takes a name once: as an argument or by --name")
    return flagged or (words[0] if words else DEFAULT_NAME)


def _patience(call: Call) -> emulators.Patience:
    """--timeout is how long the emulator may take to boot."""
    given = seconds_given(call)
    return emulators.Patience(boot=given["seconds"]) if given else emulators.Patience()
