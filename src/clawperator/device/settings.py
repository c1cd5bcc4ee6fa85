"""Settings that concern devices, each value checked: backend, timeout and Operator; and the Operator of a device.

It is the one that the user names, or the known variant that is enabled on the device. An accessibility service is
enabled only while its app is installed, so the list of enabled services shows both.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from clawperator._base.config import setting
from clawperator._base.text import read_number
from clawperator.contract.action_params import PACKAGE_NAME
from clawperator.contract.commands import BACKENDS, BackendName
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.device.adb.client import Device

_SECONDS = 15.0
_SERVICES = "settings get secure enabled_accessibility_services"


def default_backend() -> BackendName:
    """The backend without ``--backend``."""
    found = setting("backend")
    if found is None:
        return "auto"
    backend = next((backend for backend in BACKENDS if backend == found.value), None)
    if backend is None:
        raise found.invalid(f"must be one of {', '.join(BACKENDS)}")
    return backend


def default_timeout_ms() -> int | float | None:
    """The timeout of commands that run one action, without ``--timeout``."""
    found = setting("timeout_ms")
    if found is None:
        return None
    number = read_number(found.value) if isinstance(found.value, str) else found.value
    if number is None or not MIN_EXECUTION_TIMEOUT_MS <= number <= MAX_EXECUTION_TIMEOUT_MS:
        limits = f"{MIN_EXECUTION_TIMEOUT_MS} to {MAX_EXECUTION_TIMEOUT_MS}"
        raise found.invalid(f"must be a number of milliseconds from {limits}")
    return number


def named_operator(given: str | None) -> str | None:
    """The Operator that the caller or the user's settings name; None when neither does."""
    found = None if given else setting("operator_package")
    package = given or (str(found.value) if found else None)
    if package is None or PACKAGE_NAME.fullmatch(package):
        return package
    if found is not None:
        raise found.invalid("must be a package name")
    message = f"{package!r} is not a valid package name"
    hint = f"Choose for example {OPERATOR_PACKAGE}."
    raise ClawError("USAGE", message, hint=hint, operation="argparse", target=package)


class OperatorChoice(Struct):
    """The Operator of a run. ``package`` is None until the device has reported which one is enabled.

    With ``may_be_absent`` nothing is sent to a device that has none enabled: ``is_absent`` is then set.
    """

    package: str | None = None
    may_be_absent: bool = False
    is_absent: bool = False

    @property
    def name(self) -> str:
        """The package for messages: the chosen one, or else the released one."""
        return self.package or OPERATOR_PACKAGE

    @property
    def is_unusual(self) -> bool:
        """Whether the device chose another variant than the released one."""
        return self.package not in (None, OPERATOR_PACKAGE)


def choosing_script(otherwise: str) -> str:
    """A shell script that sets ``O`` to the enabled variant, the released one first, or runs ``otherwise``."""
    cases = " ".join(f"*:{name}/*) O={name};;" for name in OPERATOR_PACKAGES)
    return f'case ":$({_SERVICES})" in {cases} *) {otherwise};; esac'


def enabled_operator(device: "Device", *, seconds: float = _SECONDS) -> str | None:
    """The enabled variant, or None."""
    from clawperator.device.adb.client import run_shell  # the settings alone need no connection

    answer = run_shell(device, f"{choosing_script('exit 0')}; echo $O", seconds=seconds)
    found = answer.text.strip()
    return found if found in OPERATOR_PACKAGES else None


def find_operator(device: "Device", named: str | None) -> str:
    """The named Operator, or the enabled variant, or else the released one."""
    if named is not None:
        return named
    try:
        return enabled_operator(device) or OPERATOR_PACKAGE
    except ClawError:
        return OPERATOR_PACKAGE  # what the caller does next reports the error
