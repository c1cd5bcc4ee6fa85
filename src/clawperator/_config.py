"""The user's configuration: ``clawperator.toml`` in the product home.

    allow_schemes = ["myapp"]           # URI schemes that open_uri may open besides http and https
    pass_env = ["OPENAI_API_KEY"]       # variables that skills and MCP servers also receive

A file of that name in a working folder is never read.
"""

import os
from codecs import BOM_UTF8
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._files import read_limited, why
from clawperator._home import product_home
from clawperator._text import nearest, printable
from clawperator.errors import ClawError

FILE = "clawperator.toml"
_MOST_BYTES = 256 * 1024
_LONGEST_SHOWN = 80


class UserConfig(Struct, frozen=True):
    """The values of the file, or the defaults without one."""

    allow_schemes: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


_KEYS = ("allow_schemes", "pass_env")


def config_file() -> str:
    return os.path.join(product_home(), FILE)


def read_config() -> UserConfig:
    """Read the file. Unknown keys become warnings; ``CONFIG_INVALID`` when the file is invalid."""
    path = config_file()
    document = _document(path)
    if document is None:
        return UserConfig()
    warnings = tuple(_unknown(path, key) for key in document if key not in _KEYS)
    try:
        known = msgspec.convert({key: document[key] for key in _KEYS if key in document}, UserConfig)
    except msgspec.ValidationError as e:
        raise _invalid(path, str(e).replace("`", "")) from None
    return msgspec.structs.replace(known, warnings=warnings)


def _document(path: str) -> dict[str, Any] | None:
    try:
        data = read_limited(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise _invalid(path, why(e)) from e
    import tomllib

    try:
        return tomllib.loads(data.removeprefix(BOM_UTF8).decode())
    except tomllib.TOMLDecodeError as e:
        raise _invalid(path, str(e)) from None  # its message ends with the line and column
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise _invalid(path, f"not UTF-8 (at line {line})") from None
    except ValueError as e:  # a number of thousands of digits
        raise _invalid(path, str(e)) from None
    except RecursionError:
        raise _invalid(path, "nested too deeply") from None


def _unknown(path: str, key: str) -> str:
    near = nearest(key, _KEYS, max(2, len(key) // 3)) if len(key) <= _LONGEST_SHOWN else None
    shown = printable(key)[:_LONGEST_SHOWN]
    return f"{path}: unknown key {shown!r} ignored" + (f"; did you mean {near!r}?" if near else "")


def _invalid(path: str, reason: str) -> ClawError:
    return ClawError(
        "CONFIG_INVALID",
        f"cannot use {path}: {reason}",
        hint=f"Correct the file, or run 'mv {path} {path}.bak' to continue without it.",
        operation="read",
        target=path,
    )
