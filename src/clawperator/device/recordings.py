"""Pulling recordings of the Operator from a device."""

import os

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.deadline import Deadline
from clawperator._base.files import make_folder, why
from clawperator.contract.action_params import PACKAGE_NAME, SESSION_ID
from clawperator.contract.limits import MAX_ID_LENGTH
from clawperator.device.adb.client import Device
from clawperator.device.adb.sync import NoSuchFileError, TransferError, pull_file, read_file
from clawperator.errors import ClawError
from clawperator.recording.reader import recording_warnings

_MAX_POINTER = 1024
PULL_SECONDS = 300.0
_CHECK_SECONDS = 2.0
_OTHER_FOLDER = "Choose a writable folder."


class PulledRecording(Struct, frozen=True):
    """The result of ``recording pull``. ``warnings`` names missing events and passwords that are not masked."""

    ok: bool
    localPath: str
    sessionId: str
    warnings: list[str] | UnsetType = UNSET


def pull_recording(
    device: Device, package: str, session_id: str | None, folder: str, *, seconds: float = PULL_SECONDS
) -> PulledRecording:
    """Copy a recording into a local folder: the one with this id, or the one finished last.

    An older copy of the same session is replaced atomically. Nothing outside the folder is written.
    """
    if not PACKAGE_NAME.fullmatch(package):
        hint = "Give a name such as com.clawperator.operator."
        raise ClawError("USAGE", f"invalid Operator package name {package!r}", hint=hint)
    remote_folder = f"/sdcard/Android/data/{package}/files/recordings"
    if session_id is None:
        session_id = _latest(device, remote_folder)
    check_session_id(session_id)
    deadline = Deadline(seconds)
    remote = f"{remote_folder}/{session_id}.ndjson"
    local = local_recording_path(folder, session_id)
    which = {"deviceId": device.serial, "sessionId": session_id}
    try:
        pull_file(device, remote, local, seconds=seconds)
    except NoSuchFileError as e:
        hint = f"If it is still active, run 'clawperator recording stop --session-id {session_id}'. "
        hint += "Without a session id the recording that was finished last is pulled."
        raise _failed(f"{remote}: {e}", device.serial, hint, **which) from e
    except TransferError as e:
        raise _failed(f"{remote}: {e}", device.serial, **which) from e
    except OSError as e:
        error = _failed(f"cannot write {local}: {why(e)}", local, _OTHER_FOLDER, **which)
        raise error.with_(operation="write", retryable=True) from e
    # Some time is left for the check in any case: most recordings need less.
    left = max(deadline.within(seconds), _CHECK_SECONDS)
    return PulledRecording(True, local, session_id, recording_warnings(local, Deadline(left)) or UNSET)


def check_session_id(session_id: str) -> str:
    """The id itself; ``RECORDING_SESSION_NOT_FOUND`` when it is malformed, whatever its source."""
    if len(session_id) > MAX_ID_LENGTH or not SESSION_ID.fullmatch(session_id):
        message = f"Invalid session id: {session_id[: MAX_ID_LENGTH + 1]!r}"
        hint = "A session id has only letters, digits, _ and -."
        raise _error("RECORDING_SESSION_NOT_FOUND", message, session_id, hint)
    return session_id


def _latest(device: Device, remote_folder: str) -> str:
    """The id of the recording that was finished last."""
    try:
        pointer = read_file(device, f"{remote_folder}/latest", _MAX_POINTER)
    except NoSuchFileError as e:
        raise _none_found(device) from e
    except TransferError as e:
        raise _failed(f"{remote_folder}/latest: {e}", device.serial, deviceId=device.serial) from e
    session_id = pointer.decode("utf-8", "replace").strip()
    if not session_id:
        raise _none_found(device)
    return session_id


def local_recording_path(folder: str, session_id: str) -> str:
    """The local path of a recording. The folder is created; a symbolic link at the path is refused."""
    local = os.path.normpath(os.path.join(folder, f"{session_id}.ndjson"))
    try:
        make_folder(os.path.dirname(local) or ".")
    except (OSError, ValueError) as e:
        raise _failed(f"cannot create the folder {folder}: {why(e)}", folder, _OTHER_FOLDER) from e
    if os.path.islink(local):
        raise _failed(f"{local} is a symbolic link", local, "Remove the link, or choose another folder.")
    return local


def _none_found(device: Device) -> ClawError:
    message = "No recording session found on device. Start a recording first."
    hint = "Run 'clawperator recording start', run 'clawperator recording stop', then pull; or name a session."
    return _error("RECORDING_SESSION_NOT_FOUND", message, device.serial, hint, deviceId=device.serial)


def _failed(reason: str, target: str, hint: str = "", **details: str) -> ClawError:
    hint = hint or "Run 'clawperator devices' to check the connection, then pull again."
    message = f"Failed to pull recording from device: {reason}"
    return _error("RECORDING_PULL_FAILED", message, target, hint, **details)


def _error(code: str, message: str, target: str, hint: str, **details: str) -> ClawError:
    return ClawError(code, message, hint=hint, details=details or None, operation="pull", target=target)
