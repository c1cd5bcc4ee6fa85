"""Secret texts, read on the host when they are entered: from an environment variable or from a file.

The recordings that this host started are noted in the product home, because an active one would keep the text.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from msgspec.structs import replace

from clawperator._base.files import AtomicFile, make_private_folder
from clawperator._base.home import config_file, product_home
from clawperator._base.secrets import (
    MAX_SECRET_LENGTH,
    TOO_LONG,
    declared_files,
    declared_sources,
    read_secret_file,
    secret_error,
    unavailable,
)
from clawperator.contract.action_params import SESSION_ID, TextSource
from clawperator.contract.actions import ACTIONS
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.errors import ClawError
from clawperator.policy.gate import policy_in_force
from clawperator.ui.privacy import mask, mask_error

is_unmasked: ContextVar[bool] = ContextVar("unmasked", default=False)


class SecretReader:
    """Reads secrets for one device. Under a policy only those that the user's ``secrets`` setting names.

    What was read is masked in what the device reports, and so are the ``declared`` texts.
    """

    def __init__(self, serial: str, declared: Iterable[str] = ()) -> None:
        self._serial = serial
        self._texts = list(declared)

    def read(self, source: TextSource) -> str:
        """The text. ``SECRET_UNAVAILABLE`` when it cannot be read, ``PERMISSION_DENIED`` when it may not be."""
        name = source.env if isinstance(source.env, str) else source.file
        assert isinstance(name, str)
        _check_allowed(source)
        text = read_secret_file(name) if isinstance(source.file, str) else os.environ.get(name)
        if not text:
            what = "file is empty" if isinstance(source.file, str) else "environment variable is not set"
            raise unavailable(name, f"the {what}")
        if len(text) > MAX_SECRET_LENGTH:
            raise unavailable(name, TOO_LONG)
        self._texts.append(text)
        return text

    def mask(self, envelope: ResultEnvelope) -> ResultEnvelope:
        """The envelope with four dots for each secret. Ids and types of steps are kept."""
        return mask_envelope(envelope, self._texts)

    def mask_error(self, error: ClawError) -> ClawError:
        """The error with four dots for each secret: it may quote lines of the device's log."""
        return mask_error(error, self._texts)

    def active_recording(self) -> str | None:
        return active_recording(self._serial)


def mask_envelope(envelope: ResultEnvelope, secrets: Iterable[str]) -> ResultEnvelope:
    """The envelope with four dots for each secret in what its steps report, and in its error and hint."""
    known = tuple(secrets)
    if not known:
        return envelope
    steps = [replace(step, data=mask(step.data, known)) for step in envelope.stepResults]
    error, hint = mask((envelope.error, envelope.hint), known)
    return replace(envelope, stepResults=steps, error=error, hint=hint)


@contextmanager
def unmasked() -> Iterator[None]:
    """While the block runs, results keep declared secrets. For callers that compare screens and mask their own."""
    token = is_unmasked.set(True)
    try:
        yield
    finally:
        is_unmasked.reset(token)


def active_recording(serial: str) -> str | None:
    """The id of the recording that this host started on a device and has not stopped."""
    try:
        with open(_marker(serial), encoding="ascii") as file:
            session = file.read(256)
    except (OSError, ValueError):
        return None
    return session if SESSION_ID.fullmatch(session) else None


def note_recordings(serial: str, steps: Iterable[StepResult]) -> None:
    """Note which recording these steps started or stopped."""
    for step in steps:
        if ACTIONS[step.actionType].family != "recording":
            continue
        session, path = step.data.get("sessionId", ""), _marker(serial)
        is_start = step.actionType.startswith("start")
        if is_start and step.success and SESSION_ID.fullmatch(session):
            make_private_folder(os.path.dirname(path))
            with AtomicFile(path, private=True) as out:
                out.file.write(session.encode())
        elif not is_start and (step.success or step.data.get("error") == "RECORDING_NOT_IN_PROGRESS"):
            with suppress(FileNotFoundError):
                os.unlink(path)


def _marker(serial: str) -> str:
    """The file that holds the id of the active recording of a device."""
    import hashlib

    name = hashlib.sha256(serial.encode()).hexdigest()[:32]
    return os.path.join(product_home(), "active-recordings", name)


def _check_allowed(source: TextSource) -> None:
    if not policy_in_force() or is_declared(source):
        return
    name = source.env if isinstance(source.env, str) else os.path.abspath(str(source.file))
    hint = f'The user allows it with secrets = ["{name}"] in {config_file()}.'
    raise secret_error("PERMISSION_DENIED", name, f"agents may not read the secret {name}", hint)


def is_declared(source: TextSource) -> bool:
    """Whether the user's ``secrets`` setting names this variable, or this file by its absolute path."""
    if isinstance(source.env, str):
        return source.env in declared_sources()
    path = os.path.realpath(str(source.file))
    return any(path == os.path.realpath(file) for file in declared_files())
