"""The secrets that the user's ``secrets`` setting declares, read from the environment and from files."""

import os
import stat
from collections.abc import Sequence

from clawperator._base.files import open_regular, why
from clawperator._base.home import has_config
from clawperator.errors import ClawError

MAX_SECRET_LENGTH = 512
# Four bytes per character, and the end of the line.
_MAX_FILE_BYTES = 4 * MAX_SECRET_LENGTH + 2
TOO_LONG = f"it is longer than {MAX_SECRET_LENGTH} characters"


def declared_texts() -> list[str]:
    """The texts of the ``secrets`` setting that can be read."""
    values = [value for name in declared_sources() if (value := os.environ.get(name))]
    for path in declared_files():
        try:
            values.append(read_secret_file(path))
        except ClawError:  # it cannot be entered either
            continue
    return values


def known_secrets() -> list[str]:
    """The declared texts; none when the setting is invalid, which the run reports if it needs it."""
    try:
        return declared_texts() if has_config() else []
    except ClawError:
        return []


def declared_sources() -> Sequence[str]:
    """The names of variables and paths of files in the ``secrets`` setting."""
    from clawperator._base.config import read_config  # reading TOML would cost every recording some milliseconds

    return read_config().secrets


def declared_files() -> list[str]:
    """A relative path does not count: the working folder of an agent would decide which file it is."""
    paths = (os.path.expanduser(name) for name in declared_sources())
    return [path for path in paths if os.path.isabs(path)]


def read_secret_file(path: str) -> str:
    try:
        with open_regular(path) as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                message, hint = f"other users may read {path}", f"Run 'chmod 600 {path}'."
                raise secret_error("SECRET_UNAVAILABLE", path, message, hint)
            data = file.read(_MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            raise unavailable(path, TOO_LONG)
        text = data.decode()
    except (OSError, ValueError) as e:
        raise unavailable(path, why(e) if isinstance(e, OSError) else "it is not UTF-8 text") from None
    line, _, rest = text.partition("\n")
    if rest.strip():
        raise unavailable(path, "it has more than one line")
    return line.removesuffix("\r")


def unavailable(name: str, reason: str) -> ClawError:
    hint = "Export the variable, or write the text into a file of one line that only you can read."
    return secret_error("SECRET_UNAVAILABLE", name, f"cannot read the secret {name}: {reason}", hint)


def secret_error(code: str, name: str, message: str, hint: str) -> ClawError:
    return ClawError(code, message, hint=hint, operation="secret", target=name)
