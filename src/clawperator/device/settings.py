"""Settings that concern devices, each value checked: device, backend, timeout and Operator package."""

from clawperator._base.settings import setting
from clawperator._base.text import read_number
from clawperator.commands.model import BACKENDS, BackendName
from clawperator.contract.action_params import PACKAGE_NAME
from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.errors import ClawError


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
        raise found.invalid(
            f"must be a number of milliseconds from {MIN_EXECUTION_TIMEOUT_MS} to {MAX_EXECUTION_TIMEOUT_MS}"
        )
    return number


def named_operator(given: str | None) -> str | None:
    """The Operator that the caller or the user's settings name; None when neither does."""
    found = None if given else setting("operator_package")
    package = given or (str(found.value) if found else None)
    if package is None or PACKAGE_NAME.fullmatch(package):
        return package
    if found is not None:
        raise found.invalid("must be a package name")
    raise ClawError(
        "USAGE",
        f"{package!r} is not a valid package name",
        hint=f"Pass --operator-package {OPERATOR_PACKAGE}.",
        operation="argparse",
        target=package,
    )
