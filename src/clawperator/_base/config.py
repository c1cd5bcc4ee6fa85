"""The user's settings: ``clawperator.toml`` in the product home, and environment variables.

    device = "emulator-5554"            # defaults of command-line flags; see ``setting``
    backend = "adb"
    timeout_ms = 15000
    operator_package = "com.clawperator.operator.dev"
    output = "pretty"
    allow_schemes = ["myapp"]           # URI schemes that open_uri may open besides http and https
    pass_env = ["OPENAI_API_KEY"]       # variables that skills and MCP servers also receive
    secrets = ["SHOP_PASSWORD"]         # variables and files (absolute paths) that agents may enter with textFrom

A file of that name in a working folder is never read.
"""

import os
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.files import read_limited, why
from clawperator._base.home import config_file
from clawperator._base.text import is_blank, nearest, printable
from clawperator.errors import ClawError

_MOST_BYTES = 256 * 1024
_LONGEST_SHOWN = 80


class UserConfig(Struct, frozen=True):
    """The values of the file, or the defaults without one. ``lines`` holds the line of each known key."""

    allow_schemes: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    device: str | None = None
    backend: str | None = None
    timeout_ms: int | float | None = None
    operator_package: str | None = None
    output: str | None = None
    warnings: tuple[str, ...] = ()
    lines: Mapping[str, int] = {}


_KEYS = ("allow_schemes", "pass_env", "secrets", "device", "backend", "timeout_ms", "operator_package", "output")
# The last file that was read, with what identifies its content.
_last: tuple[tuple[str, int, int, int], UserConfig] | None = None


def read_config() -> UserConfig:
    """Read the file, if it has changed. Unknown keys become warnings; ``CONFIG_INVALID`` when it is invalid."""
    global _last  # noqa: PLW0603 - a command asks for several settings and reads the file once
    path = config_file()
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return UserConfig()
    except (OSError, ValueError) as e:
        raise config_error(path, why(e)) from e
    key = (path, found.st_mtime_ns, found.st_size, found.st_ino)
    if _last is None or _last[0] != key:
        _last = key, _read(path)
    return _last[1]


def _read(path: str) -> UserConfig:
    try:
        data = read_limited(path, _MOST_BYTES).removeprefix(BOM_UTF8)
    except OSError as e:
        raise config_error(path, why(e)) from e
    document = _document(path, data)
    lines = {key: line for key in document if key in _KEYS and (line := _line_of(data, key))}
    known = {}
    for key in _KEYS:
        if key in document:
            known[key] = _value(path, key, document[key], lines.get(key))
    warnings = tuple(_unknown(path, key) for key in document if key not in _KEYS)
    return UserConfig(**known, warnings=warnings, lines=lines)


def _value(path: str, key: str, value: object, line: int | None) -> Any:
    try:
        return getattr(msgspec.convert({key: value}, UserConfig), key)
    except msgspec.ValidationError as e:
        place = f" (at line {line})" if line else ""
        raise config_error(path, str(e).replace("`", "") + place) from None


def _document(path: str, data: bytes) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise config_error(path, f"not UTF-8 (at line {line})") from None
    except ValueError as e:  # that of tomllib ends with the line and column
        raise config_error(path, str(e)) from None
    except RecursionError:
        raise config_error(path, "nested too deeply") from None


def _line_of(data: bytes, key: str) -> int | None:
    """The line that assigns a key; None when it is written in an unusual way."""
    found = re.search(rb"""^[ \t]*["']?%b["']?[ \t]*=""" % key.encode(), data, re.MULTILINE)
    return None if found is None else data.count(b"\n", 0, found.start()) + 1


def _unknown(path: str, key: str) -> str:
    near = nearest(key, _KEYS, max(2, len(key) // 3)) if len(key) <= _LONGEST_SHOWN else None
    shown = printable(key)[:_LONGEST_SHOWN]
    return f"{path}: unknown key {shown!r} ignored" + (f"; did you mean {near!r}?" if near else "")


def config_error(path: str, reason: str) -> ClawError:
    message = f"cannot use {path}: {reason}"
    hint = f"Correct the file, or run 'mv {path} {path}.bak' to continue without it."
    return ClawError("CONFIG_INVALID", message, hint=hint, operation="read", target=path)


# Defaults of command-line flags
#
# A flag comes first, then the variables of a setting in their order, then the file. An empty variable is unset.

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "device": ("CLAWPERATOR_DEVICE_ID", "ANDROID_SERIAL"),
    "backend": ("CLAWPERATOR_BACKEND",),
    "timeout_ms": ("CLAWPERATOR_TIMEOUT_MS",),
    "operator_package": ("CLAWPERATOR_OPERATOR_PACKAGE",),
    "output": ("CLAWPERATOR_OUTPUT",),
}
OUTPUTS = ("json", "pretty", "text")


class Setting(Struct, frozen=True):
    """A value and its origin: a variable, or the file with the line."""

    name: str
    value: str | int | float
    origin: str
    is_file: bool = False

    def invalid(self, reason: str) -> ClawError:
        """``CONFIG_INVALID`` with the origin of the value."""
        if self.is_file:
            return config_error(self.origin, f"{self.name} {reason}, not {self.value!r}").with_(
                hint=f"Correct {self.origin}. Run 'clawperator config' for the settings."
            )
        message = f"{self.origin} {reason}, not {self.value!r}"
        hint = f"Correct it, or run 'unset {self.origin}'."
        return ClawError("CONFIG_INVALID", message, hint=hint, operation="read", target=self.origin)


def setting(name: str) -> Setting | None:
    """The value of a setting that no flag gives; None when it is not set. The caller checks the value."""
    for variable in VARIABLES[name]:
        if not is_blank(value := os.environ.get(variable, "")):
            return Setting(name, value, variable)
    path = config_file()
    if not os.path.lexists(path):  # parsing TOML would cost every command some milliseconds
        return None
    config = read_config()
    found: str | int | float | None = getattr(config, name)
    if found is None:
        return None
    line = config.lines.get(name)
    return Setting(name, found, f"{path}:{line}" if line else path, is_file=True)


def default_output() -> str:
    """The output format without ``--output`` and ``--json``."""
    found = setting("output")
    if found is None:
        return OUTPUTS[0]
    if found.value not in OUTPUTS:
        raise found.invalid(f"must be one of {', '.join(OUTPUTS)}")
    return str(found.value)
