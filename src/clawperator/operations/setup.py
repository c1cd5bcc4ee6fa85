"""Operations that check and set up a device, its Operator and this computer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Annotated

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.text import count
from clawperator.contract.fields import about
from clawperator.errors import ClawError
from clawperator.operations.model import FAMILIES, Family, FilePath, NoParams, Params, operation

if TYPE_CHECKING:
    from clawperator.device.setup.doctor import Report
    from clawperator.device.setup.install import Granted, OperatorSetup
    from clawperator.operations.call import Caller

FAMILIES["operator"] = Family("Install and inspect the Operator app.")
_SETUP = "clawperator.device.setup."
_LISTINGS = "clawperator.cli.text.listings:"
_REPORTS = "clawperator.cli.text.reports:"


class OperatorSetupParams(Params, frozen=True, kw_only=True):
    """Install the Operator and grant its permissions."""

    apk: Annotated[FilePath, about("APK of the Operator", path="in")]


@operation(
    "operator setup",
    _SETUP + "install:OperatorSetup",
    level="full",
    synonyms=("install",),
    subject="apk",
    performs=("install_app", "grant_permission", "grant-device-permissions"),
    text=_LISTINGS + "operator_setup_blocks",
    on_device=True,
    examples=("clawperator operator setup --apk operator.apk",),
)
def set_up(params: OperatorSetupParams, caller: "Caller") -> "OperatorSetup":
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.install import INSTALL_SECONDS, set_up_operator

    # Without a name, the package is read from the installed APK.
    package, seconds = named_operator(caller.operator_package), caller.seconds(INSTALL_SECONDS)
    return set_up_operator(caller.connected_device(), params.apk, package, seconds=seconds)


class SetupGuidance(Struct, frozen=True):
    """The answer of another implementation of this command: guidance with the code ``USAGE``, exit code 0."""

    code: str
    message: str
    canonical: str


@operation("setup", purpose="Print setup instructions.", level="read-only", synonyms=("install",))
def print_setup(_: NoParams, __: "Caller") -> SetupGuidance:
    message = "a device is set up by installing the Operator on it"
    return SetupGuidance("USAGE", message, "clawperator operator setup --apk <operator.apk>")


@operation(
    "grant-device-permissions",
    _SETUP + "install:Granted",
    purpose="Grant the Operator its permissions.",
    level="full",
    performs=("grant_permission",),
    text=_LISTINGS + "granted_blocks",
    on_device=True,
)
def grant(_: NoParams, caller: "Caller") -> "Granted":
    from clawperator.device.settings import find_operator, named_operator
    from clawperator.device.setup.install import grant_permissions

    device = caller.connected_device()
    return grant_permissions(device, find_operator(device, named_operator(caller.operator_package)))


class DoctorParams(Params, frozen=True, kw_only=True):
    """Check this computer, the device and the Operator."""

    fix: Annotated[
        bool,
        about(
            "fix what can be fixed, then check again",
            raises="full",
            performs=("grant-device-permissions", "grant_permission"),
            cli_only=True,
        ),
    ] = False
    full: Annotated[
        bool,
        about(
            "also run the slow checks: build, install, a smoke test on the device",
            raises="full",
            performs=("install_app",),
            cli_only=True,
        ),
    ] = False
    check_only: Annotated[bool, about("exit 0 whatever the result", cli_only=True)] = False
    report: Annotated[
        FilePath | UnsetType,
        about("also write a compatibility report to this file", path="out", raises="act", cli_only=True),
    ] = UNSET


def _verdict(report: "Report", _: "Caller") -> str:
    if report.ok:
        by_adb = " by plain adb" if report.backend == "adb" else ""
        return f"ready{by_adb}: {count(len(report.checks), 'check')} run"
    failed = next((check for check in report.checks if check.status == "fail"), None)
    return f"not ready: {failed.summary}" if failed else "not ready"


@operation(
    "doctor",
    _SETUP + "doctor:Report",
    level="read-only",
    message=_verdict,
    text=_REPORTS + "doctor_blocks",
    on_device=True,
    route="GET /doctor",
    answer_as="report",
    seconds=130.0,
    tool="phone",
    around="clawperator.cli.handlers.program:with_exit_code",
    examples=(
        "clawperator doctor",
        "clawperator doctor --check-only",
        "clawperator doctor --output text",
        "clawperator doctor --check-only --report compatibility.json",
    ),
    notes="With --output text or pretty it prints a readable report. The file of --report is JSON with listed\n"
    "facts only: no serial, no packages, no text of the screen. It can be published.",
)
def doctor(params: DoctorParams, caller: "Caller") -> "Report":
    """Run the checks, whose failures are in the result. The file of ``report`` is opened before they run."""
    from contextlib import ExitStack

    from clawperator.device.settings import named_operator
    from clawperator.device.setup.doctor import run_doctor

    limit_ms = _handshake_ms(caller)
    with ExitStack() as stack:
        file = None if params.report is UNSET else stack.enter_context(_open_report(params.report))
        package = named_operator(caller.operator_package)
        report = run_doctor(caller.device, package, full=params.full, fix=params.fix, timeout_ms=limit_ms)
        if file is not None:
            from msgspec import json

            from clawperator.device.setup.compatibility_report import make_report

            file.write(json.format(json.encode(make_report(report))) + b"\n")
    return report


def _handshake_ms(caller: "Caller") -> float:
    """The timeout of the Operator handshake."""
    from clawperator.contract.limits import MAX_EXECUTION_TIMEOUT_MS, MIN_EXECUTION_TIMEOUT_MS
    from clawperator.device.setup.device_checks import HANDSHAKE_MS

    least, most = MIN_EXECUTION_TIMEOUT_MS, MAX_EXECUTION_TIMEOUT_MS
    given = caller.seconds(HANDSHAKE_MS / 1000) * 1000
    if caller.timeout is not None and not least <= given <= most:
        message = f"the timeout must be from {least} to {most} ms, not {given:g}"
        raise ClawError("EXECUTION_VALIDATION_FAILED", message, hint="Choose for example 5000 ms.")
    return max(given, least)


@contextmanager
def _open_report(path: str) -> Iterator[IO[bytes]]:
    """The file of a compatibility report, which appears when it is complete."""
    from clawperator._base.files import AtomicFile, file_error

    try:
        with AtomicFile(path, follow_links=False) as target:
            yield target.file
    except (OSError, ValueError) as e:
        hint = "Give a file in an existing folder, not a link."
        raise file_error("FILESYSTEM_FAILED", "write", path, e, hint=hint) from e
