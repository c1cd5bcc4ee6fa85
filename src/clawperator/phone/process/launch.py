"""Start, stop and control simulated phones, each in a process of its own.

    with launch_phone("claw-1", seed=7) as phone:
        print(phone.serial, phone.adbd_port)

A phone keeps running after the process that started it ends, unless it is stopped. Its files survive a stop and a
crash; ``reset_phone`` removes them.
"""

import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Self

import msgspec
from msgspec import Struct

from clawperator._base.deadline import Deadline
from clawperator._base.files import why
from clawperator._base.home import PhoneFolder, PhoneRecord, phone_folders, product_home
from clawperator._base.notes import show_status
from clawperator._base.text import nearest
from clawperator.contract.action_params import PACKAGE_NAME
from clawperator.errors import ClawError
from clawperator.phone.core.faults import read_setting
from clawperator.phone.process.control import request
from clawperator.policy.gate import check_call

# The process: how it is started, its first line, and its log

_START_SECONDS = 30.0
_STATUS_SECONDS = 0.25
_LOG_TAIL = 2_000
_MAX_LOG = 1024 * 1024


def spawn(argv: list[str], log: str) -> tuple[int, int, int]:
    """Start a process in a session of its own, so that it outlives ours. Returns its id, stdin and stdout."""
    from clawperator._base.environment import own_environment

    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            own_environment(),
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


def _first_line(descriptor: int, title: str) -> bytes:
    """The first line that the new process prints, within the time to start. ``title`` is shown while it starts."""
    import select

    began, deadline = time.monotonic(), Deadline(_START_SECONDS)
    line = b""
    while not line.endswith(b"\n") and not deadline.is_over:
        show_status(title, began)
        if select.select([descriptor], [], [], deadline.within(_STATUS_SECONDS))[0]:
            part = os.read(descriptor, 65_536)
            if not part:
                break
            line += part
    return line


def _rotated_log(path: str) -> int:
    """The size of the log of earlier runs. One that has grown too large is emptied first."""
    try:
        if os.path.getsize(path) > _MAX_LOG:
            os.truncate(path, 0)
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def tail(path: str, start: int) -> str:
    with open(path, "rb") as file:
        file.seek(start)
        return file.read()[-_LOG_TAIL:].decode("utf-8", "replace").strip()


# Phones

DEFAULT_SERIAL = "claw-1"
_STOP_SECONDS = 5.0
_KILL_SECONDS = 3.0
_POLL_SECONDS = 0.02


class StoppedPhone(Struct, frozen=True):
    """The result of a stop. ``crashed`` is whether the phone had crashed, or had to be killed."""

    serial: str
    was_running: bool
    crashed: bool


class PhoneProcess:
    """A running simulated phone. A ``with`` block stops it at its end."""

    def __init__(self, record: PhoneRecord, *, recovered: bool = False) -> None:
        self.record = record
        self.recovered = recovered

    @property
    def serial(self) -> str:
        return self.record.serial

    @property
    def pid(self) -> int:
        return self.record.pid

    @property
    def adbd_port(self) -> int:
        """The port for ``adb connect``."""
        return self.record.adbd_port

    @property
    def server_port(self) -> int:
        """The port of its adb server, for clients of the adb server protocol."""
        return self.record.server_port

    def stop(self) -> StoppedPhone:
        check_call("stop_phone", "act", self.serial, command="phone stop")
        return stop_phone(self.serial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial} pid={self.pid}>"


def launch_phone(  # noqa: PLR0913 - the options of a phone
    serial: str = DEFAULT_SERIAL,
    *,
    seed: int = 0,
    apps: Iterable[str] = (),
    faults: Mapping[str, str] | None = None,
    cassette: str | None = None,
    operator_package: str | None = None,
    adbd_port: int = 0,
    server_port: int = 0,
) -> PhoneProcess:
    """Start a simulated phone and wait until it accepts connections.

    ``apps`` are the paths of app files, ``cassette`` is the path of a recording to show instead of apps. A port of
    0 means any free one. The next start of the phone has the same ``apps`` and ``operator_package``, unless others
    are given. ``PHONE_ALREADY_RUNNING`` when a phone with this name runs.
    """
    folder = PhoneFolder(serial)
    for name, setting in (faults or {}).items():
        read_setting(name, setting)
    config = {
        "serial": serial,
        "seed": seed,
        "folder": folder.files,
        "setup": folder.setup,
        "apps": [_app_file(path) for path in apps],
        "faults": list((faults or {}).items()),
        "cassette": None if cassette is None else _cassette_file(cassette),
        "operator_package": None if operator_package is None else _package_name(operator_package),
        "adbd_port": adbd_port,
        "server_port": server_port,
    }
    is_new = not folder.exists()
    try:
        state = folder.state()
        folder.make()
        if state != "running":
            return PhoneProcess(_launch(folder, config), recovered=state == "crashed")
    except OSError as e:
        raise _start_error(folder, why(e)) from e
    except ClawError as e:
        if e.code != "PHONE_ALREADY_RUNNING":  # another start was faster
            raise
    finally:
        if is_new and folder.read() is None:  # it did not start
            folder.discard()
    hint = f"Run 'clawperator phone stop {serial}' to stop it, or run 'clawperator phone start <name>'."
    raise _error("PHONE_ALREADY_RUNNING", "start", serial, "is already running", hint, describe_phone(folder))


def stop_phone(serial: str) -> StoppedPhone:
    """Stop a phone: ask it, then terminate, then kill its process. A stopped phone is no error."""
    folder = existing_folder(serial)
    state = folder.state()
    if state != "running":
        folder.forget()
        return StoppedPhone(serial, was_running=False, crashed=state == "crashed")
    record = folder.read()
    try:
        if record is None:  # it is still starting, or its record is lost
            _signal(folder, signal.SIGTERM)
        else:
            request(record, "stop", seconds=_STOP_SECONDS)
    except ClawError:
        _signal(folder, signal.SIGTERM)
    killed = not _has_ended(folder, _STOP_SECONDS)
    if killed:
        _signal(folder, signal.SIGKILL)
    if not _has_ended(folder, _KILL_SECONDS):
        hint = f"Run 'tail {folder.log}' to see its log."
        raise _error("PHONE_STOP_FAILED", "stop", serial, "did not stop", hint)
    folder.forget()
    if record is not None:
        with suppress(ChildProcessError):  # the child of another process
            os.waitpid(record.pid, 0)
    return StoppedPhone(serial, was_running=True, crashed=killed)


def list_phones() -> list[dict[str, Any]]:
    """Every simulated phone with its state, address, and, when it runs, its status."""
    phones = []
    for folder in phone_folders():
        facts = describe_phone(folder)
        if facts["state"] == "running":
            facts |= _status(folder)
        phones.append(facts)
    return phones


def reset_phone(serial: str) -> None:
    """Remove the phone's files, apps, settings and faults. A running phone restarts without them."""
    folder = existing_folder(serial)
    if folder.state() == "running":
        control_phone(serial, "reset")
    else:
        folder.forget()
        folder.wipe()


def delete_phone(serial: str, *, force: bool = False) -> bool:
    """Remove a phone and all its files. Returns whether it was running, which needs ``force``."""
    folder = existing_folder(serial)
    was_running = folder.state() == "running"
    if was_running and force:
        stop_phone(serial)
    try:
        deleted = folder.delete()
    except OSError as e:
        hint = f"Run 'ls -l {shlex.quote(folder.path)}' to check its permissions."
        message = f"cannot delete {folder.path}: {why(e)}"
        raise ClawError("PHONE_DELETE_FAILED", message, hint=hint, operation="delete", target=serial) from e
    if not deleted:
        hint = f"Stop it first, or run 'clawperator phone delete {serial} --force'."
        raise _error("PHONE_ALREADY_RUNNING", "delete", serial, "is running", hint)
    return was_running


def control_phone(serial: str, command: str, **arguments: Any) -> Any:
    """Send a command to a running phone: ``status``, ``fault``, ``reset``, ``screenshot``, or of live control."""
    folder = existing_folder(serial)
    state = folder.state()
    record = folder.read()
    if state != "running" or record is None:
        problem = "has crashed" if state == "crashed" else "is stopped"
        hint = f"Run 'clawperator phone start {serial}' to start it; its files are kept."
        raise _error("PHONE_NOT_RUNNING", "", serial, problem, hint)
    return request(record, command, **arguments)


def existing_folder(serial: str) -> PhoneFolder:
    """The folder of a phone that was started before; ``PHONE_NOT_FOUND`` when there is none."""
    folder = PhoneFolder(serial)
    if not folder.exists():
        near = nearest(serial, [one.serial for one in phone_folders()], 2)
        hint = f"Did you mean {near}?" if near else None
        raise ClawError("PHONE_NOT_FOUND", f"no simulated phone is named {serial!r}", hint=hint, target=serial)
    return folder


def describe_phone(folder: PhoneFolder) -> dict[str, Any]:
    """Serial, state and folder of a phone, and its address when it runs."""
    state, record = folder.state(), folder.read()
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


def _status(folder: PhoneFolder) -> dict[str, Any]:
    record = folder.read()
    try:
        status: dict[str, Any] = request(record, "status") if record else {}
    except ClawError as e:
        return {"answering": False, "problem": e.message}
    return {"answering": True, **status}


def _launch(folder: PhoneFolder, config: dict[str, Any]) -> PhoneRecord:
    """Start the process of a phone and wait for its record."""
    log_start = _rotated_log(folder.log)
    argv = [sys.executable, "-P", "-m", "clawperator.phone.process.main", folder.serial]
    pid, stdin, stdout = spawn(argv, folder.log)
    try:
        with suppress(BrokenPipeError), open(stdin, "wb") as pipe:  # it ended early: see its log
            pipe.write(msgspec.json.encode(config))
        line = _first_line(stdout, f"starting simulated phone {folder.serial}")
    finally:
        os.close(stdout)
    try:
        message = msgspec.json.decode(line)
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
    log = tail(folder.log, log_start)
    raise _start_error(folder, log.splitlines()[-1] if log else "exited without output", log)


def _signal(folder: PhoneFolder, number: signal.Signals) -> None:
    # The phone holds its lock, so the id in the lock file is still that of its process.
    pid = folder.holder()
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _has_ended(folder: PhoneFolder, seconds: float) -> bool:
    deadline = Deadline(seconds)
    while folder.state() == "running":
        if deadline.is_over:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _app_file(path: str) -> str:
    return _existing_file(path, "PHONE_APP_INVALID", "Give the path of a .py or .toml file.")


def _cassette_file(path: str) -> str:
    hint = "Give a recording (.ndjson), or an export that includes its snapshots."
    return _existing_file(path, "PHONE_CASSETTE_INVALID", hint)


def _package_name(package: str) -> str:
    if not PACKAGE_NAME.fullmatch(package):
        hint = "Use a package name, such as com.clawperator.operator.dev."
        raise ClawError("USAGE", f"invalid package name {package!r}", hint=hint, target=package)
    return package


def _existing_file(path: str, code: str, hint: str) -> str:
    absolute = os.path.abspath(path)
    if not os.path.isfile(absolute):
        raise ClawError(code, f"no such file: {path}", hint=hint, target=path)
    return absolute


def _start_error(folder: PhoneFolder, reason: str, log: str = "") -> ClawError:
    hint = f"Run 'df {shlex.quote(product_home())}' to check disk space, then start it again."
    details = {"log": log} if log else None
    return _error("PHONE_START_FAILED", "start", folder.serial, f"did not start: {reason}", hint, details)


def _error(  # noqa: PLR0913, PLR0917 - the fields of one error
    code: str, operation: str, serial: str, problem: str, hint: str, details: Mapping[str, Any] | None = None
) -> ClawError:
    message = f"simulated phone {serial} {problem}"
    return ClawError(code, message, hint=hint, details=details, operation=operation, target=serial)
