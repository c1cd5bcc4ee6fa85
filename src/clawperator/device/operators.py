"""Which Operator a device uses: the one that the user names, or the known variant that is enabled on the device.

An accessibility service is enabled only while its app is installed, so the list of enabled services shows both.
"""

from msgspec import Struct

from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.adb.quoting import quote
from clawperator.errors import ClawError

_SECONDS = 15.0
_SERVICES = "settings get secure enabled_accessibility_services"


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
    cases = " ".join(f"*:{quote(name)}/*) O={quote(name)};;" for name in OPERATOR_PACKAGES)
    return f'case ":$({_SERVICES})" in {cases} *) {otherwise};; esac'


def enabled_operator(device: Device, *, seconds: float = _SECONDS) -> str | None:
    """The enabled variant, or None."""
    answer = run_shell(device, f"{choosing_script('exit 0')}; echo $O", seconds=seconds)
    found = answer.text.strip()
    return found if found in OPERATOR_PACKAGES else None


def find_operator(device: Device, named: str | None) -> str:
    """The named Operator, or the enabled variant, or else the released one."""
    if named is not None:
        return named
    try:
        return enabled_operator(device) or OPERATOR_PACKAGE
    except ClawError:
        return OPERATOR_PACKAGE  # what the caller does next reports the error
