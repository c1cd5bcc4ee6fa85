"""``clawperator phone``: start, stop and control simulated phones."""

import os
from typing import Any

from clawperator._base.files import AtomicFile, file_error
from clawperator._base.home import phone_folders
from clawperator._base.text import read_number
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.parsing import usage
from clawperator.commands.servers import OPEN_PAGE
from clawperator.device.run.host_log import log_event
from clawperator.device.simulated_phones import (
    list_faults,
    reset_simulated,
    set_fault,
    start_simulated,
    stop_simulated,
)
from clawperator.errors import ClawError
from clawperator.phone.core.faults import read_setting
from clawperator.phone.process.launch import (
    DEFAULT_SERIAL,
    control_phone,
    delete_phone,
    existing_folder,
    list_phones,
)

_MAX_SEED = 2**63 - 1
_MAX_PORT = 65_535


def start(call: Call) -> CommandResult:
    serial = _named(call) or DEFAULT_SERIAL
    options: dict[str, Any] = {
        "seed": _number(call, "--seed", _MAX_SEED),
        "apps": call.arguments.all("--app"),
        "faults": dict(_fault_words(word) for word in call.arguments.all("--fault")),
        "cassette": call.arguments.get("--cassette"),
        "adbd_port": _number(call, "--adbd-port", _MAX_PORT),
        "server_port": _number(call, "--server-port", _MAX_PORT),
    }
    if call.options.operator_package:
        options["operator_package"] = call.options.operator_package
    started = start_simulated(serial, **options)
    if not call.options.text and call.console.is_terminal:
        call.console.note(f"use it in a browser: {OPEN_PAGE}")
    return CommandResult(started)


def stop(call: Call) -> CommandResult:
    if call.arguments.has("--all"):
        running = [folder.serial for folder in phone_folders() if folder.state() == "running"]
        return CommandResult({"stopped": [stop_simulated(serial)["serial"] for serial in running]})
    return CommandResult(stop_simulated(_chosen(call, running=False)))


def list_all(_: Call) -> CommandResult:
    return CommandResult({"phones": list_phones()})


def reset(call: Call) -> CommandResult:
    return CommandResult(reset_simulated(_chosen(call, running=False)))


def delete(call: Call) -> CommandResult:
    serial = _named(call)
    if serial is None:
        raise usage("phone delete needs the name of a phone", "Run 'clawperator phone list' to list them.")
    was_running = delete_phone(serial, force=call.arguments.has("--force"))
    log_event("phone.deleted", deviceId=serial)
    return CommandResult({"serial": serial, "deleted": True, "wasRunning": was_running})


def fault(call: Call) -> CommandResult:
    words = call.arguments.words
    if len(words) == 1:
        raise usage(f"phone fault {words[0]} needs a setting", f"Run 'clawperator phone fault {words[0]} on'.")
    if words:
        read_setting(*words)
    serial = _chosen(call, running=True, positional=False)
    return CommandResult(set_fault(serial, *words) if words else list_faults(serial))


def screenshot(call: Call) -> CommandResult:
    import base64

    serial = _chosen(call, running=True)
    path = call.arguments.get("--path") or f"{serial}.png"
    png = base64.b64decode(control_phone(serial, "screenshot")["png"])
    try:
        with AtomicFile(path, private=True, follow_links=False) as out:
            out.file.write(png)
    except (OSError, ValueError) as e:
        raise file_error("SCREENSHOT_NOT_SAVED", "write", path, e, hint="Choose another file with --path.") from e
    return CommandResult({"serial": serial, "path": os.path.abspath(path), "bytes": len(png)})


def _chosen(call: Call, *, running: bool, positional: bool = True) -> str:
    """The phone to use: the named one, or the only one."""
    serial = _named(call) if positional else call.options.device
    if serial is not None:
        return existing_folder(serial).serial
    every = phone_folders()
    found = [folder for folder in every if folder.state() == "running"] or ([] if running else every)
    if len(found) == 1:
        return found[0].serial
    if not found:
        raise ClawError(
            "PHONE_NOT_RUNNING" if running else "PHONE_NOT_FOUND",
            "no simulated phone is running" if running else "there is no simulated phone",
            hint="Start one with 'clawperator phone start'.",
        )
    names = [folder.serial for folder in found]
    option = "" if positional else "--device "
    raise ClawError(
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED",
        f"there are several simulated phones: {', '.join(names)}",
        hint=f"Name one: 'clawperator {call.name} {option}{names[0]}'.",
        details={"devices": names},
    )


def _named(call: Call) -> str | None:
    return call.arguments.words[0] if call.arguments.words else call.options.device


def _number(call: Call, flag: str, most: int) -> int:
    word = call.arguments.get(flag)
    if word is None:
        return 0
    number = read_number(word)
    if not isinstance(number, int) or not 0 <= number <= most:
        raise usage(
            f"{flag} must be a whole number from 0 to {most}, not {word!r}", f"Write for example {flag} 1."
        )
    return number


def _fault_words(word: str) -> tuple[str, str]:
    name, _, setting = word.partition("=")
    return name, setting or "on"
