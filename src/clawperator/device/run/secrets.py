"""Secret texts, read on the host when they are entered: from an environment variable or from a file.

The recordings that this host started are noted in the product home, because an active one would keep the text.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from msgspec.structs import replace

from clawperator._base.files import AtomicFile, make_private_folder, open_regular, why
from clawperator._base.home import config_file, has_config, product_home
from clawperator.contract.action_params import SESSION_ID, TextSource
from clawperator.contract.actions import ACTIONS
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.errors import ClawError
from clawperator.policy.gate import policy_in_force
from clawperator.ui.privacy import mask

# Four bytes per character, and the end of the line.
_MAX_FILE_BYTES = 4 * MAX_MATCHER_VALUE_LENGTH + 2
_TOO_LONG = f"it is longer than {MAX_MATCHER_VALUE_LENGTH} characters"
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
        text = _read_file(name) if isinstance(source.file, str) else os.environ.get(name)
        if not text:
            what = "file is empty" if isinstance(source.file, str) else "environment variable is not set"
            raise _unavailable(name, f"the {what}")
        if len(text) > MAX_MATCHER_VALUE_LENGTH:
            raise _unavailable(name, _TOO_LONG)
        self._texts.append(text)
        return text

    def mask(self, envelope: ResultEnvelope) -> ResultEnvelope:
        """The envelope with four dots for each secret. Ids and types of steps are kept."""
        return mask_envelope(envelope, self._texts)

    def mask_error(self, error: ClawError) -> ClawError:
        """The error with four dots for each secret: it may quote lines of the device's log."""
        if not self._texts:
            return error
        shown = (error.message, error.own_hint, error.details, error.extra)
        message, hint, details, extra = mask(shown, self._texts)
        return error.with_(message=message, hint=hint, details=details, extra=extra)

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
    raise _error("PERMISSION_DENIED", name, f"agents may not read the secret {name}", hint)


def is_declared(source: TextSource) -> bool:
    """Whether the user's ``secrets`` setting names this variable, or this file by its absolute path."""
    if isinstance(source.env, str):
        return source.env in _declared()
    path = os.path.realpath(str(source.file))
    return any(path == os.path.realpath(file) for file in _declared_files())


def declared_texts() -> list[str]:
    """The texts of the ``secrets`` setting that can be read."""
    values = [value for name in _declared() if (value := os.environ.get(name))]
    for path in _declared_files():
        try:
            values.append(_read_file(path))
        except ClawError:  # it cannot be entered either
            continue
    return values


def known_secrets() -> list[str]:
    """The declared texts; none when the setting is invalid, which the run reports if it needs it."""
    try:
        return declared_texts() if has_config() else []
    except ClawError:
        return []


def _declared() -> Sequence[str]:
    """The names and paths of the ``secrets`` setting."""
    from clawperator._base.config import read_config  # reading TOML would cost every recording some milliseconds

    return read_config().secrets


def _declared_files() -> list[str]:
    """A relative path does not count: the working folder of an agent would decide which file it is."""
    paths = (os.path.expanduser(name) for name in _declared())
    return [path for path in paths if os.path.isabs(path)]


def _read_file(path: str) -> str:
    try:
        with open_regular(path) as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                message, hint = f"other users may read {path}", f"Run 'chmod 600 {path}'."
                raise _error("SECRET_UNAVAILABLE", path, message, hint)
            data = file.read(_MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            raise _unavailable(path, _TOO_LONG)
        text = data.decode()
    except (OSError, ValueError) as e:
        raise _unavailable(path, why(e) if isinstance(e, OSError) else "it is not UTF-8 text") from None
    line, _, rest = text.partition("\n")
    if rest.strip():
        raise _unavailable(path, "it has more than one line")
    return line.removesuffix("\r")


def _unavailable(name: str, reason: str) -> ClawError:
    hint = "Export the variable, or write the text into a file of one line that only you can read."
    return _error("SECRET_UNAVAILABLE", name, f"cannot read the secret {name}: {reason}", hint)


def _error(code: str, name: str, message: str, hint: str) -> ClawError:
    return ClawError(code, message, hint=hint, operation="secret", target=name)
