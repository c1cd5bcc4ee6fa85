"""Compatibility of this program and the Operator on a device."""

import re
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from clawperator import __version__
from clawperator.device.adb.client import Device, command_line, device_flag, run_shell
from clawperator.device.packages import list_packages, other_variants
from clawperator.errors import ClawError

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
# The suffix of development builds, which behave as the release.
_DEVELOPMENT = "-d"

Version = tuple[int, int, int]
_SECONDS = 15.0
_VERSION_NAME = re.compile(r"^[ \t]{0,64}versionName=(\S{1,128})", re.MULTILINE)
_VERSION_CODE = re.compile(r"^[ \t]{0,64}versionCode=(\d{1,18})", re.MULTILINE)


class SupportedVersions(Struct, frozen=True):
    """A range of versions with one contract, and whose they are."""

    first: Version
    # Up to this minor version, with all of its patches.
    last: tuple[int, int]
    origin: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.first))} to {'.'.join(map(str, self.last))}.x"


def read_version(name: str) -> Version | None:
    """The numbers of a version name such as 0.5.3 or 0.5.3-d; None for any other text."""
    found = _VERSION.fullmatch(name.removesuffix(_DEVELOPMENT))
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


_OWN = read_version(__version__)
assert _OWN is not None
SUPPORTED_OPERATORS = (
    SupportedVersions((0, 1, 0), _OWN[:2], "the simulated phone"),
    SupportedVersions((0, 5, 3), (0, 7), "the reference project"),
)


def is_supported(version: Version) -> bool:
    return any(row.first <= version and version[:2] <= row.last for row in SUPPORTED_OPERATORS)


def supported_text() -> str:
    return " and ".join(map(str, SUPPORTED_OPERATORS))


class Problem(Struct, frozen=True, omit_defaults=True):
    """Why they are not compatible."""

    code: str
    message: str
    hint: str | None = None
    details: dict[str, Any] | None = None


class Compatibility(Struct, frozen=True, kw_only=True):
    """The two versions, and whether they are compatible."""

    cliVersion: str
    apkVersion: str | UnsetType = UNSET
    apkVersionCode: int | UnsetType = UNSET
    operatorPackage: str
    compatible: bool
    error: Problem | UnsetType = UNSET
    remediation: list[str] | UnsetType = UNSET


def probe_compatibility(device: Device, package: str) -> Compatibility:
    """Look the version of the Operator up in the table of supported ones. Errors become its ``error``."""
    name: str | UnsetType = UNSET
    code: int | UnsetType = UNSET
    problem: Problem | UnsetType = UNSET
    steps: list[str] = []
    try:
        require_operator(device, package)
        name, code = _read_versions(device, package)
        _check_version(name, package)
    except ClawError as e:
        problem = Problem(e.code, e.message, e.hint, dict(e.details) if e.details is not None else None)
        steps = _remediation(e.code, package, device.serial)
    return Compatibility(
        cliVersion=__version__,
        apkVersion=name,
        apkVersionCode=code,
        operatorPackage=package,
        compatible=problem is UNSET,
        error=problem,
        remediation=steps or UNSET,
    )


def require_operator(device: Device, package: str) -> None:
    """``OPERATOR_NOT_INSTALLED``, or ``OPERATOR_VARIANT_MISMATCH`` when only another variant is installed."""
    installed = list_packages(device)
    if package in installed:
        return
    others = other_variants(package, installed)
    if others:
        message = f"Operator {package} is not installed on {device.serial}, but {others[0]} is"
        hint = f"Choose the Operator package {others[0]}, or set CLAWPERATOR_OPERATOR_PACKAGE={others[0]}."
        details = {"wanted": package, "installed": others}
        raise ClawError("OPERATOR_VARIANT_MISMATCH", message, hint=hint, details=details)
    message, command = f"Operator {package} is not installed on {device.serial}", install_command(device.serial)
    hint = f"Run '{command}' to install it, or use the backend adb."
    raise ClawError("OPERATOR_NOT_INSTALLED", message, hint=hint, details={"installCommand": command})


def install_command(serial: str) -> str:
    return f"clawperator operator setup --apk <operator.apk> {device_flag(serial)}"


def _read_versions(device: Device, package: str) -> tuple[str, int | UnsetType]:
    answer = run_shell(device, command_line("dumpsys", "package", package), seconds=_SECONDS)
    name = _VERSION_NAME.search(answer.text)
    if answer.code != 0 or name is None:
        message = f"device {device.serial} does not report the version of {package}"
        hint = f"Retry when the device has booted, or run '{install_command(device.serial)}'."
        raise ClawError("APK_VERSION_UNREADABLE", message, hint=hint)
    code = _VERSION_CODE.search(answer.text)
    return name[1], int(code[1]) if code is not None else UNSET


def _check_version(name: str, package: str) -> None:
    version = read_version(name)
    if version is None:
        hint = f"Install an Operator of version {supported_text()}."
        raise ClawError("APK_VERSION_INVALID", f"invalid version {name!r} of {package}", hint=hint)
    if not is_supported(version):
        message = f"Operator {package} has version {name}; supported are {supported_text()}"
        hint = "Install a supported Operator, or a version of this program that supports this one."
        details = {"cliVersion": __version__, "apkVersion": name, "supported": supported_text()}
        raise ClawError("VERSION_INCOMPATIBLE", message, hint=hint, details=details)


def _remediation(code: str, package: str, serial: str) -> list[str]:
    again = f"clawperator version --check-compat {device_flag(serial)} --operator-package {package}"
    get = f"Get the APK of an Operator of version {supported_text()}."
    match code:
        case "OPERATOR_NOT_INSTALLED" | "APK_VERSION_INVALID" | "APK_VERSION_UNREADABLE" | "VERSION_INCOMPATIBLE":
            return [get, install_command(serial), again]
        case "OPERATOR_VARIANT_MISMATCH":
            return ["Pass the installed Operator with --operator-package.", install_command(serial), again]
        case _:
            return []
