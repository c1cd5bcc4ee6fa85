"""``clawperator phone``: start, stop and control simulated phones."""

import os
from typing import Any

from clawperator._files import AtomicFile, why
from clawperator._home import PhoneFolder, phone_folders
from clawperator._text import read_number, whole
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.parsing import usage
from clawperator.device import log_event
from clawperator.errors import ClawError
from clawperator.phone import (
    DEFAULT_SERIAL,
    FAULTS,
    control_phone,
    delete_phone,
    describe_phone,
    existing_folder,
    list_phones,
    read_setting,
    reset_phone,
    start_phone,
    stop_phone,
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
    try:
        phone = start_phone(serial, **options)
    except ClawError as e:
        if e.code == "PHONE_START_FAILED":
            log_event("phone.failed", level="error", deviceId=serial, code=e.code)
        raise
    log_event("phone.started", deviceId=serial, pid=phone.pid)
    return CommandResult({**describe_phone(PhoneFolder(serial)), "recovered": phone.recovered})


def stop(call: Call) -> CommandResult:
    if call.arguments.has("--all"):
        running = [folder.serial for folder in phone_folders() if folder.state() == "running"]
        return CommandResult({"stopped": [_stop_one(serial)["serial"] for serial in running]})
    return CommandResult(_stop_one(_chosen(call, running=False)))


def _stop_one(serial: str) -> dict[str, Any]:
    stopped = stop_phone(serial)
    if stopped.was_running:
        log_event("phone.stopped", deviceId=serial)
    return {"serial": serial, "state": "stopped", "wasRunning": stopped.was_running, "crashed": stopped.crashed}


def list_all(_: Call) -> CommandResult:
    return CommandResult({"phones": list_phones()})


def reset(call: Call) -> CommandResult:
    serial = _chosen(call, running=False)
    reset_phone(serial)
    return CommandResult({"serial": serial, "state": PhoneFolder(serial).state(), "reset": True})


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
    arguments = dict(zip(("name", "setting"), words, strict=False))
    faults = {name: whole(value) for name, value in control_phone(serial, "fault", **arguments)["faults"].items()}
    if words:
        return CommandResult({"serial": serial, "fault": words[0], "value": faults[words[0]]})
    rows = {
        name: {"value": faults[name], "kind": fault.kind, "on": whole(fault.on), "description": fault.description}
        for name, fault in FAULTS.items()
    }
    return CommandResult({"serial": serial, "faults": rows})


def screenshot(call: Call) -> CommandResult:
    import base64

    serial = _chosen(call, running=True, positional=False)
    path = call.arguments.get("--path") or f"{serial}.png"
    png = base64.b64decode(control_phone(serial, "screenshot")["png"])
    try:
        with AtomicFile(path, private=True, follow_links=False) as out:
            out.file.write(png)
    except (OSError, ValueError) as e:
        raise ClawError(
            "SCREENSHOT_NOT_SAVED",
            f"cannot write {path}: {why(e)}",
            hint="Choose another file with --path.",
            operation="write",
            target=path,
        ) from e
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
