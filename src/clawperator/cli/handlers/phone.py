"""``clawperator phone``: starting, stopping and disturbing phones in the box."""

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from clawperator._files import AtomicFile, why
from clawperator._home import PhoneFolder, PhoneRecord, phone_folders
from clawperator._text import read_number, whole
from clawperator.cli.handler import Call
from clawperator.cli.parsing import usage
from clawperator.device.host_log import note
from clawperator.errors import ClawError
from clawperator.phone.core.faults import FAULTS, read_setting
from clawperator.phone.process.control import ask

if TYPE_CHECKING:
    from collections.abc import Callable
from contextlib import suppress

DEFAULT_SERIAL = "claw-1"
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0
_KILL_SECONDS = 3.0
_HIGHEST_PORT = 65_535
_LOG_TAIL = 2_000


def answer(call: Call) -> Any:
    verbs: dict[str, Callable[[Call], Any]] = {
        "phone start": _start,
        "phone stop": _stop,
        "phone list": _list,
        "phone reset": _reset,
        "phone fault": _fault,
        "phone screenshot": _screenshot,
    }
    return verbs[call.name](call)


def _start(call: Call) -> Any:
    folder = PhoneFolder(_named(call) or DEFAULT_SERIAL)
    plan = {
        "serial": folder.serial,
        "seed": _number(call, "--seed", 0, 2**63 - 1),
        "folder": folder.files,
        "apps": [_app_file(path) for path in call.arguments.all("--app")],
        "faults": [_fault_setting(word) for word in call.arguments.all("--fault")],
        "cassette": _cassette_file(call.arguments.get("--cassette")),
        "adbd_port": _number(call, "--adbd-port", 0, _HIGHEST_PORT),
        "server_port": _number(call, "--server-port", 0, _HIGHEST_PORT),
    }
    if call.options.operator_package:
        plan["operator_package"] = call.options.operator_package
    try:
        state = folder.state()
        folder.make()
        if state != "running":
            record = _launch(folder, plan)
            note("phone.started", deviceId=folder.serial, pid=record.pid)
            return {**_address(folder, record, "running"), "recovered": state == "crashed"}
    except OSError as e:
        raise _start_failed(folder, why(e)) from e
    raise ClawError(
        "PHONE_ALREADY_RUNNING",
        f"the phone {folder.serial} runs already",
        hint=f"Stop it with 'clawperator phone stop {folder.serial}', or start another under another name.",
        details=_address(folder, folder.read(), "running"),
        operation="start",
        target=folder.serial,
    )


def _launch(folder: PhoneFolder, plan: dict[str, Any]) -> PhoneRecord:
    """Start the process of a phone and wait until it says where it can be reached."""
    log_start = os.path.getsize(folder.log) if os.path.exists(folder.log) else 0
    pid, stdin, stdout = _spawn(
        [sys.executable, "-m", "clawperator.phone.process.main", folder.serial], folder.log
    )
    try:
        with suppress(BrokenPipeError), open(stdin, "wb") as pipe:  # one that ended at once says why in its log
            pipe.write(msgspec.json.encode(plan))
        said = _first_line(stdout)
    finally:
        os.close(stdout)
    try:
        message = msgspec.json.decode(said)
    except msgspec.DecodeError:
        message = {}
    record = folder.read()
    if message.get("ready") and record is not None:
        return record
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    if "error" in message:
        raise ClawError.from_document(message["error"])
    raise _start_failed(folder, _tail(folder.log, log_start) or "it ended without a word")


def _spawn(argv: list[str], log: str) -> tuple[int, int, int]:
    """A process in a session of its own, so that the end of ours does not end it. Its id, stdin and stdout."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, in_read, 0),
                (os.POSIX_SPAWN_DUP2, out_write, 1),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            ],
            setsid=True,
        )
    except BaseException:
        os.close(in_write)
        os.close(out_read)
        raise
    finally:
        os.close(in_read)
        os.close(out_write)
    return pid, in_write, out_read


def _first_line(descriptor: int) -> bytes:
    """What the new process says first, within its time."""
    import select

    deadline = time.monotonic() + _START_SECONDS
    said = b""
    while not said.endswith(b"\n") and (left := deadline - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            part = os.read(descriptor, 65_536)
            if not part:
                break
            said += part
    return said


def _stop(call: Call) -> Any:
    if call.arguments.has("--all"):
        running = [folder for folder in phone_folders() if folder.state() == "running"]
        return {"stopped": [_stop_one(folder)["serial"] for folder in running]}
    return _stop_one(_chosen(call, running=False))


def _stop_one(folder: PhoneFolder) -> dict[str, Any]:
    if folder.state() != "running":
        crashed = folder.state() == "crashed"
        folder.forget()
        return {"serial": folder.serial, "state": "stopped", "wasRunning": False, "crashed": crashed}
    record = folder.read()
    try:
        if record is None:  # it is only just starting, or its address is lost
            _signal(folder, signal.SIGTERM)
        else:
            ask(record, "stop", within=_STOP_SECONDS)
    except ClawError:
        _signal(folder, signal.SIGTERM)
    killed = not _ended(folder, _STOP_SECONDS)
    if killed:
        _signal(folder, signal.SIGKILL)
    if not _ended(folder, _KILL_SECONDS):
        raise ClawError(
            "PHONE_STOP_FAILED",
            f"the phone {folder.serial} did not stop",
            hint=f"Look into {folder.log}.",
            operation="stop",
            target=folder.serial,
        )
    folder.forget()
    note("phone.stopped", deviceId=folder.serial)
    return {"serial": folder.serial, "state": "stopped", "wasRunning": True, "crashed": killed}


def _signal(folder: PhoneFolder, number: signal.Signals) -> None:
    # Its lock is held, so the process that wrote its id there is still the phone.
    pid = folder.holder()
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _ended(folder: PhoneFolder, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while folder.state() == "running":
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _list(_: Call) -> Any:
    phones = []
    for folder in phone_folders():
        state = folder.state()
        facts = _address(folder, folder.read(), state)
        if state == "running":
            facts |= _status(folder)
        phones.append(facts)
    return {"phones": phones}


def _status(folder: PhoneFolder) -> dict[str, Any]:
    record = folder.read()
    try:
        status: dict[str, Any] = ask(record, "status") if record else {}
    except ClawError as e:
        return {"answering": False, "problem": e.message}
    return {"answering": True, **status}


def _reset(call: Call) -> Any:
    folder = _chosen(call, running=False)
    if folder.state() == "running":
        _ask(folder, "reset")
    else:
        folder.forget()
        folder.wipe()
    return {"serial": folder.serial, "state": folder.state(), "reset": True}


def _fault(call: Call) -> Any:
    words = call.arguments.words
    if len(words) == 1:
        raise usage(f"phone fault {words[0]} needs a setting", f"Write 'clawperator phone fault {words[0]} on'.")
    if words:
        read_setting(*words)
    folder = _chosen(call, running=True, named=False)
    arguments = dict(zip(("name", "setting"), words, strict=False))
    faults = {name: whole(value) for name, value in _ask(folder, "fault", **arguments)["faults"].items()}
    if words:
        return {"serial": folder.serial, "fault": words[0], "value": faults[words[0]]}
    told = {
        name: {"value": faults[name], "kind": fault.kind, "on": whole(fault.on), "meaning": fault.meaning}
        for name, fault in FAULTS.items()
    }
    return {"serial": folder.serial, "faults": told}


def _screenshot(call: Call) -> Any:
    import base64

    folder = _chosen(call, running=True, named=False)
    path = call.arguments.get("--path") or f"{folder.serial}.png"
    png = base64.b64decode(_ask(folder, "screenshot")["png"])
    try:
        with AtomicFile(path) as out:
            out.file.write(png)
    except OSError as e:
        raise usage(f"cannot write {path}: {why(e)}", "Give another place with --path.") from e
    return {"serial": folder.serial, "path": os.path.abspath(path), "bytes": len(png)}


def _ask(folder: PhoneFolder, command: str, **arguments: Any) -> Any:
    record = folder.read()
    if record is None:
        raise _not_running(folder)
    return ask(record, command, **arguments)


def _chosen(call: Call, *, running: bool, named: bool = True) -> PhoneFolder:
    """The phone that is meant: the one named, or the only one there is."""
    serial = _named(call) if named else call.options.device
    if serial is not None:
        folder = PhoneFolder(serial)
        if not folder.exists():
            raise ClawError("PHONE_NOT_FOUND", f"there is no phone {serial!r} in the box", target=serial)
        if running and folder.state() != "running":
            raise _not_running(folder)
        return folder
    every = phone_folders()
    alive = [folder for folder in every if folder.state() == "running"]
    found = alive or ([] if running else every)
    if len(found) == 1:
        return found[0]
    if not found:
        raise ClawError(
            "PHONE_NOT_RUNNING" if running else "PHONE_NOT_FOUND",
            "no phone in the box is running" if running else "there is no phone in the box",
            hint="Start one with 'clawperator phone start'.",
        )
    names = [folder.serial for folder in found]
    how = f"clawperator {call.name} {names[0]}" if named else f"clawperator {call.name} --device {names[0]}"
    raise ClawError(
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED",
        f"there are several phones in the box: {', '.join(names)}",
        hint=f"Name one, as in '{how}'.",
        details={"devices": names},
    )


def _named(call: Call) -> str | None:
    return call.arguments.words[0] if call.arguments.words else call.options.device


def _address(folder: PhoneFolder, record: PhoneRecord | None, state: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"serial": folder.serial, "state": state, "folder": folder.path}
    if record is None or state != "running":
        return facts
    return facts | {
        "pid": record.pid,
        "seed": record.seed,
        "adbd": {"host": record.host, "port": record.adbd_port},
        "server": {"host": record.host, "port": record.server_port},
        "connect": f"adb connect {record.host}:{record.adbd_port}",
        "operatorPackage": record.operator_package,
        "apps": record.apps,
        "startedAt": record.started_at,
    }


def _number(call: Call, flag: str, least: int, most: int) -> int:
    word = call.arguments.get(flag)
    if word is None:
        return 0
    number = read_number(word)
    if not isinstance(number, int) or not least <= number <= most:
        raise usage(f"{flag} must be a whole number from {least} to {most}, not {word!r}")
    return number


def _app_file(path: str) -> str:
    whole = os.path.abspath(path)
    if not os.path.isfile(whole):
        raise ClawError(
            "PHONE_APP_INVALID",
            f"there is no file {path}",
            hint="Give --app the path of a .py or .toml file.",
            target=path,
        )
    return whole


def _cassette_file(path: str | None) -> str | None:
    if path is None:
        return None
    whole = os.path.abspath(path)
    if not os.path.isfile(whole):
        raise ClawError(
            "PHONE_CASSETTE_INVALID",
            f"there is no file {path}",
            hint="Give --cassette a recording (.ndjson), or an export made with '--snapshots include'.",
            target=path,
        )
    return whole


def _fault_setting(word: str) -> tuple[str, str]:
    name, _, setting = word.partition("=")
    read_setting(name, setting or "on")
    return name, setting or "on"


def _not_running(folder: PhoneFolder) -> ClawError:
    state = folder.state()
    return ClawError(
        "PHONE_NOT_RUNNING",
        f"the phone {folder.serial} has {'crashed' if state == 'crashed' else 'been stopped'}",
        hint=f"Start it with 'clawperator phone start {folder.serial}'; its files are still there.",
        target=folder.serial,
    )


def _start_failed(folder: PhoneFolder, reason: str) -> ClawError:
    note("phone.failed", level="error", deviceId=folder.serial, code="PHONE_START_FAILED")
    return ClawError(
        "PHONE_START_FAILED",
        f"the phone {folder.serial} did not start: {reason}",
        hint=f"Look into {folder.log}.",
        operation="start",
        target=folder.serial,
    )


def _tail(path: str, start: int) -> str:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read()[-_LOG_TAIL:].decode("utf-8", "replace").strip()
