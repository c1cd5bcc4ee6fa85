"""``emulator``: Android emulators of the SDK."""

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.devices import seconds_given
from clawperator.cli.parsing import usage
from clawperator.device.emulators import emulator
from clawperator.device.emulators.avd import DEFAULT_NAME


def list_all(_: Call) -> CommandResult:
    return CommandResult({"avds": emulator.list_avds()})


def list_running(_: Call) -> CommandResult:
    return CommandResult({"devices": emulator.running_emulators()})


def inspect(call: Call) -> CommandResult:
    return CommandResult(emulator.inspect_avd(_name(call)))


def create(call: Call) -> CommandResult:
    return CommandResult(emulator.create_avd(_name(call)))


def start(call: Call) -> CommandResult:
    return CommandResult(emulator.start_emulator(_name(call), _boot_timeouts(call)))


def stop(call: Call) -> CommandResult:
    return CommandResult(emulator.stop_emulator(_name(call)))


def delete(call: Call) -> CommandResult:
    return CommandResult(emulator.delete_avd(_name(call)))


def provision(call: Call) -> CommandResult:
    return CommandResult(emulator.provision(_name(call), _boot_timeouts(call)))


def _name(call: Call) -> str:
    given, words = call.arguments.get("--name"), call.arguments.words
    if given is not None and words:
        raise usage(f"{call.name} takes a name once: as an argument or with --name", "Leave --name out.")
    return given or (words[0] if words else DEFAULT_NAME)


def _boot_timeouts(call: Call) -> emulator.EmulatorTimeouts:
    """--timeout limits how long the emulator may take to boot."""
    given = seconds_given(call)
    return emulator.EmulatorTimeouts(boot=given["seconds"]) if given else emulator.EmulatorTimeouts()
