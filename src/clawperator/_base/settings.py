"""The user's settings: defaults of command-line flags, from environment variables and ``clawperator.toml``.

A flag comes first, then the variables of a setting in their order, then the file. An empty variable is unset.
"""

import os
from collections.abc import Mapping

from msgspec import Struct

from clawperator._base.home import config_file
from clawperator._base.text import is_blank
from clawperator.errors import ClawError

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
            from clawperator._base.config import config_error

            return config_error(self.origin, f"{self.name} {reason}, not {self.value!r}").with_(
                hint=f"Correct {self.origin}. Run 'clawperator config' for the settings."
            )
        return ClawError(
            "CONFIG_INVALID",
            f"{self.origin} {reason}, not {self.value!r}",
            hint=f"Correct it, or run 'unset {self.origin}'.",
            operation="read",
            target=self.origin,
        )


def setting(name: str) -> Setting | None:
    """The value of a setting that no flag gives; None when it is not set. The caller checks the value."""
    for variable in VARIABLES[name]:
        if not is_blank(value := os.environ.get(variable, "")):
            return Setting(name, value, variable)
    path = config_file()
    if not os.path.lexists(path):  # parsing TOML would cost every command some milliseconds
        return None
    from clawperator._base.config import read_config

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
