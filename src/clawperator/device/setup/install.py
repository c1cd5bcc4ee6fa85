"""Install the Operator and grant its permissions."""

import os
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple

from clawperator.contract.wire import OPERATOR_PACKAGES, accessibility_service, notification_listener
from clawperator.device.adb.client import Device, command_line, run_shell, shell_error
from clawperator.device.adb.sync import install_apk
from clawperator.device.packages import list_packages
from clawperator.device.setup.version_check import require_operator
from clawperator.device.users import user_line
from clawperator.device.vendors import vendor_hint
from clawperator.errors import ClawError

_SECONDS = 15.0
INSTALL_SECONDS = 120.0
_NOTIFICATIONS = "android.permission.POST_NOTIFICATIONS"
# Old devices do not have the permission, and some grant it permanently: nothing to do.
_NOTHING_TO_GRANT = ("unknown permission", "not a changeable permission", "already granted")
_SERVICES = "enabled_accessibility_services"
_LISTENERS = "enabled_notification_listeners"
_GRANT_BY_HAND = (
    "Turn the service on in the device's Settings, Accessibility, Clawperator. Some vendors need a switch in the "
    "developer options: 'USB debugging (Security settings)' or 'Disable permission monitoring'."
)


class Grant(Struct, frozen=True):
    """The result of one grant. ``skipped`` means that the device has no such permission."""

    ok: bool
    alreadyEnabled: bool | UnsetType = UNSET
    skipped: bool | UnsetType = UNSET
    error: str | UnsetType = UNSET


class Grants(Struct, frozen=True):
    accessibility: Grant
    notification: Grant
    notificationListener: Grant

    def errors(self) -> list[str]:
        return [grant.error for grant in astuple(self) if isinstance(grant.error, str)]


class Granted(Struct, frozen=True):
    """The result of ``grant-device-permissions``."""

    ok: bool
    deviceId: str
    operatorPackage: str
    accessibility: Grant
    notification: Grant
    notificationListener: Grant
    message: str


class Installation(Struct, frozen=True):
    ok: bool


class Verification(Struct, frozen=True):
    ok: bool
    packageInstalled: bool


class OperatorSetup(Struct, frozen=True):
    """The result of ``operator setup``."""

    operatorPackage: str
    install: Installation
    permissions: Grants
    verification: Verification
    message: str


def grant_permissions(device: Device, package: str) -> Granted:
    """Grant the Operator's permissions. ``GRANT_DEVICE_PERMISSIONS_FAILED`` when one was not granted."""
    require_operator(device, package)
    grants = _grant_all(device, package)
    _require_all(grants, "GRANT_DEVICE_PERMISSIONS_FAILED", device, package, msgspec.to_builtins(grants))
    message = f"Operator {package} has its permissions on {device.serial}."
    accessibility, notification, listener = astuple(grants)
    return Granted(True, device.serial, package, accessibility, notification, listener, message)


def enabled_services(device: Device) -> list[str]:
    """The enabled accessibility services of the current user."""
    return _read_list(device, _SERVICES)


def restart_service(device: Device, package: str) -> None:
    """Turn the accessibility service off and on: Android then restarts a crashed one that is still listed."""
    service = accessibility_service(package)
    listed = _read_list(device, _SERVICES)
    if service in listed:
        write_setting(device, "secure", _SERVICES, ":".join(name for name in listed if name != service))
    grant_permissions(device, package)


def set_up_operator(
    device: Device, apk: str, package: str | None, *, seconds: float = INSTALL_SECONDS
) -> OperatorSetup:
    """Install the Operator from an APK file, grant its permissions, and verify the installation.

    ``seconds`` limits the installation. Without a ``package`` it is the only Operator on the device.
    """
    if not os.path.isfile(apk):
        hint = "Give the path of the Operator's APK."
        raise ClawError("OPERATOR_APK_NOT_FOUND", f"no such file: {apk}", hint=hint, operation="setup", target=apk)
    named = {} if package is None else {"operatorPackage": package}
    try:
        install_apk(device, apk, seconds=seconds)
    except ClawError as e:
        if e.code != "ANDROID_INSTALL_FAILED":
            raise
        raise ClawError(
            "OPERATOR_INSTALL_FAILED",
            e.message,
            hint=e.hint,
            details=e.details,
            operation="setup",
            target=apk,
            extra={**named, "install": {"ok": False, "error": e.message}},
        ) from e
    installed = list_packages(device)
    chosen = package or _only_variant(device, installed)
    if chosen not in installed:
        raise _missing(device, chosen)
    grants = _grant_all(device, chosen)
    done = {"install": {"ok": True}, "permissions": msgspec.to_builtins(grants)}
    _require_all(grants, "OPERATOR_GRANT_FAILED", device, chosen, done)
    message = f"Operator {chosen} is installed on {device.serial} and has its permissions."
    return OperatorSetup(chosen, Installation(True), grants, Verification(True, True), message)


def _only_variant(device: Device, installed: list[str]) -> str:
    found = [name for name in OPERATOR_PACKAGES if name in installed]
    if len(found) == 1:
        return found[0]
    if not found:
        raise _missing(device, OPERATOR_PACKAGES[0])
    message = f"several Operators are installed on {device.serial}: {', '.join(found)}"
    hint = f"Choose one of the packages, for example {found[0]}."
    result = {"packageInstalled": True, "error": f"several Operators are installed: {', '.join(found)}"}
    raise _not_verified(device, message, hint, result, {"installed": found})


def _missing(device: Device, package: str) -> ClawError:
    message = f"the APK was installed, but {package} is not on {device.serial}"
    hint, named = "Check that the APK is the Operator's, or choose its package.", {"operatorPackage": package}
    result = {"packageInstalled": False, "error": f"{package} is not installed after the APK was"}
    error = _not_verified(device, message, hint, result, named)
    return error.with_(extra={**named, **error.extra})


def _not_verified(
    device: Device, message: str, hint: str, result: dict[str, Any], details: dict[str, Any]
) -> ClawError:
    """The error of a verification with this result, after the APK was installed."""
    code, extra = "OPERATOR_VERIFY_FAILED", {"install": {"ok": True}, "verification": {"ok": False, **result}}
    serial = device.serial
    return ClawError(code, message, hint=hint, details=details, operation="setup", target=serial, extra=extra)


def _require_all(grants: Grants, code: str, device: Device, package: str, members: dict[str, Any]) -> None:
    """``code`` with these ``members`` when a permission was not granted."""
    errors = grants.errors()
    if not errors:
        return
    raise ClawError(
        code,
        f"device {device.serial} did not grant {package} all permissions: {errors[0]}",
        hint=vendor_hint(device, "grant", otherwise=_GRANT_BY_HAND),
        details={"operatorPackage": package, "permissions": msgspec.to_builtins(grants)},
        operation="grant",
        target=device.serial,
        extra={"operatorPackage": package, **members},
    )


def _grant_all(device: Device, package: str) -> Grants:
    return Grants(
        _attempt(lambda: _enable_service(device, package)),
        _attempt(lambda: _grant_notifications(device, package)),
        _attempt(lambda: _add_to_list(device, _LISTENERS, notification_listener(package))),
    )


def _attempt(grant: Callable[[], Grant]) -> Grant:
    """A failed grant does not prevent the others."""
    try:
        return grant()
    except ClawError as e:
        return Grant(False, error=e.message)


def _enable_service(device: Device, package: str) -> Grant:
    grant = _add_to_list(device, _SERVICES, accessibility_service(package))
    if grant.ok and read_setting(device, "secure", "accessibility_enabled") != "1":
        write_setting(device, "secure", "accessibility_enabled", "1")
        return Grant(True, alreadyEnabled=False)
    return grant


def _grant_notifications(device: Device, package: str) -> Grant:
    answer = run_shell(device, user_line("pm", "grant", rest=(package, _NOTIFICATIONS)), seconds=_SECONDS)
    if answer.code == 0:
        return Grant(True, skipped=False)
    if any(words in answer.complaint.lower() for words in _NOTHING_TO_GRANT):
        return Grant(True, skipped=True)
    return Grant(False, error=f"pm grant {_NOTIFICATIONS}: {answer.complaint}")


def _add_to_list(device: Device, setting: str, component: str) -> Grant:
    """Add a component to a list setting."""
    listed = _read_list(device, setting)
    if component in listed:
        return Grant(True, alreadyEnabled=True)
    write_setting(device, "secure", setting, ":".join([*listed, component]))
    if component not in _read_list(device, setting):
        return Grant(False, alreadyEnabled=False, error=f"the device did not keep the setting {setting}")
    return Grant(True, alreadyEnabled=False)


def _read_list(device: Device, setting: str) -> list[str]:
    return [name for name in read_setting(device, "secure", setting).split(":") if name and name != "null"]


def read_setting(device: Device, table: str, name: str) -> str:
    """A setting of the current user, or of the device; ``null`` when it is not set."""
    return _settings(device, "get", table, name).strip()


def write_setting(device: Device, table: str, name: str, value: str) -> None:
    """Change a setting of the current user, or of the device; an empty value deletes it."""
    _settings(device, *(("put", table, name, value) if value else ("delete", table, name)))


def _settings(device: Device, verb: str, table: str, *rest: str) -> str:
    # Global settings have no user.
    script = command_line("settings", verb, table, *rest)
    if table != "global":
        script = user_line("settings", verb, rest=(table, *rest), or_plain=verb == "get")
    answer = run_shell(device, script, seconds=_SECONDS)
    if answer.code != 0:
        command = " ".join(("settings", verb, table, *rest[:1]))
        message = f"'{command}' failed on {device.serial}: {answer.complaint}"
        hint = "Turn on 'USB debugging (Security settings)' in the developer options, if the device has it."
        raise shell_error(device, message, hint=hint, operation="settings")
    return answer.text
