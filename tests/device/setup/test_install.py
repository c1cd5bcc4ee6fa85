"""Setting up a device: grants, existing grants, and reported failures."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.contract.wire import (
    OPERATOR_PACKAGE,
    OPERATOR_PACKAGES,
    accessibility_service,
    notification_listener,
)
from clawperator.device.adb.client import Device, ShellAnswer, run_shell
from clawperator.device.setup import install
from clawperator.device.setup.install import (
    Grant,
    grant_permissions,
    read_setting,
    restart_service,
    set_up_operator,
    write_setting,
)
from clawperator.errors import ClawError
from tests.phone.core.apks import make_apk
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.operator_state import NOTIFICATIONS, is_granted, secure, take_away
from tests.support.ordinary_phone import ordinary_phone
from tests.support.routes import Route

DEV = OPERATOR_PACKAGES[1]


def test_what_is_granted_already_stays_so(route: Route) -> None:
    granted = grant_permissions(route.device, OPERATOR_PACKAGE)
    assert msgspec.to_builtins(granted) == {
        "ok": True,
        "deviceId": "claw-1",
        "operatorPackage": OPERATOR_PACKAGE,
        "accessibility": {"ok": True, "alreadyEnabled": True},
        "notification": {"ok": True, "skipped": False},
        "notificationListener": {"ok": True, "alreadyEnabled": True},
        "message": f"Operator {OPERATOR_PACKAGE} has its permissions on claw-1.",
    }


def test_what_is_missing_is_granted_beside_what_others_have(route: Route) -> None:
    take_away(route)
    route.phone_server.phone.settings.put("secure", "enabled_accessibility_services", "com.other/.Reader")
    granted = grant_permissions(route.device, OPERATOR_PACKAGE)
    assert granted.accessibility.alreadyEnabled is False
    assert is_granted(route)
    assert secure(route, "enabled_accessibility_services")[0] == "com.other/.Reader"
    assert route.phone_server.phone.operator.is_bound()


def test_a_listed_service_is_not_enough_when_accessibility_as_a_whole_is_off(route: Route) -> None:
    route.phone_server.phone.settings.put("secure", "accessibility_enabled", "0")
    granted = grant_permissions(route.device, OPERATOR_PACKAGE)
    assert granted.accessibility == Grant(True, alreadyEnabled=False)
    assert is_granted(route)


@pytest.mark.parametrize(
    "message",
    [
        "java.lang.IllegalArgumentException: Unknown permission: android.permission.POST_NOTIFICATIONS",
        "Permission android.permission.POST_NOTIFICATIONS is not a changeable permission type",
        "Permission is ALREADY GRANTED",
    ],
)
def test_a_device_without_the_permission_is_not_a_failure(
    route: Route, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_grant(monkeypatch, ShellAnswer(255, b"", message.encode()))
    granted = grant_permissions(route.device, OPERATOR_PACKAGE)
    assert granted.notification == Grant(True, skipped=True)


def test_a_failed_grant_is_reported_and_the_others_are_still_made(
    route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_away(route)
    answer_grant(monkeypatch, ShellAnswer(255, b"", b"SecurityException: not allowed"))
    with pytest.raises(ClawError) as caught:
        grant_permissions(route.device, OPERATOR_PACKAGE)
    assert caught.value.code == "GRANT_DEVICE_PERMISSIONS_FAILED"
    assert "not allowed" in caught.value.message
    details = caught.value.details
    assert details is not None
    assert details["permissions"]["accessibility"]["ok"] is True
    assert details["permissions"]["notification"]["ok"] is False
    assert details["permissions"]["notificationListener"]["ok"] is True


def answer_grant(monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer) -> None:
    """Let the phone answer ``pm grant`` in another way."""

    def answered(device: Device, script: str, *, seconds: float) -> ShellAnswer:
        return answer if "pm grant" in script else run_shell(device, script, seconds=seconds)

    monkeypatch.setattr(install, "run_shell", answered)


def test_nothing_is_granted_to_an_operator_that_is_not_there(route: Route) -> None:
    with pytest.raises(ClawError) as caught:
        grant_permissions(route.device, DEV)
    assert caught.value.code == "OPERATOR_VARIANT_MISMATCH"


def test_a_setting_that_does_not_persist_is_reported(route: Route, monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(route)
    monkeypatch.setattr(install, "write_setting", lambda *_: None)
    with pytest.raises(ClawError) as caught:
        grant_permissions(route.device, OPERATOR_PACKAGE)
    assert "did not keep the setting enabled_accessibility_services" in caught.value.message
    assert caught.value.details is not None
    assert caught.value.details["permissions"] == {
        "accessibility": {
            "ok": False,
            "alreadyEnabled": False,
            "error": "the device did not keep the setting enabled_accessibility_services",
        },
        "notification": {"ok": True, "skipped": False},
        "notificationListener": {
            "ok": False,
            "alreadyEnabled": False,
            "error": "the device did not keep the setting enabled_notification_listeners",
        },
    }


def test_settings_that_were_empty_have_only_the_operator_afterwards(route: Route) -> None:
    take_away(route)
    grant_permissions(route.device, OPERATOR_PACKAGE)
    assert secure(route, "enabled_accessibility_services") == [accessibility_service(OPERATOR_PACKAGE)]
    assert secure(route, "enabled_notification_listeners") == [notification_listener(OPERATOR_PACKAGE)]


def test_restarting_keeps_the_services_of_others(route: Route) -> None:
    service = accessibility_service(OPERATOR_PACKAGE)
    route.phone_server.phone.settings.put(
        "secure", "enabled_accessibility_services", f"com.a/.A:{service}::com.b/.B"
    )
    restart_service(route.device, OPERATOR_PACKAGE)
    assert secure(route, "enabled_accessibility_services") == ["com.a/.A", "com.b/.B", service]


def test_restarting_turns_the_service_off_and_on(route: Route) -> None:
    seen: list[bool] = []
    settings = route.phone_server.phone.settings
    real = settings.put, settings.delete

    def put(namespace: str, key: str, value: str) -> None:
        real[0](namespace, key, value)
        seen.append(accessibility_service(OPERATOR_PACKAGE) in secure(route, "enabled_accessibility_services"))

    def delete(namespace: str, key: str) -> bool:
        done = real[1](namespace, key)
        seen.append(accessibility_service(OPERATOR_PACKAGE) in secure(route, "enabled_accessibility_services"))
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "put", put)
        patch.setattr(settings, "delete", delete)
        restart_service(route.device, OPERATOR_PACKAGE)
    assert seen == [False, True]
    assert route.phone_server.phone.operator.is_bound()


def test_a_setting_is_written_as_it_is_and_an_empty_one_taken_away(route: Route) -> None:
    hostile = 'a b\'; reboot; "$(id)" *'
    write_setting(route.device, "global", "claw_test", hostile)
    assert route.phone_server.phone.settings.get("global", "claw_test") == hostile
    write_setting(route.device, "global", "claw_test", "")
    assert route.phone_server.phone.settings.get("global", "claw_test") is None


def test_an_apk_is_installed_and_its_operator_set_up(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "the operator's.apk"
    apk.write_bytes(make_apk(DEV, version_name="0.1.0-d", filler=300_000))
    try:
        done = set_up_operator(route.device, str(apk), DEV)
        assert is_granted(route, DEV)
    finally:
        route.phone_server.phone.packages.remove(DEV)
    assert msgspec.to_builtins(done) == {
        "operatorPackage": DEV,
        "install": {"ok": True},
        "permissions": {
            "accessibility": {"ok": True, "alreadyEnabled": False},
            "notification": {"ok": True, "skipped": False},
            "notificationListener": {"ok": True, "alreadyEnabled": False},
        },
        "verification": {"ok": True, "packageInstalled": True},
        "message": f"Operator {DEV} is installed on claw-1 and has its permissions.",
    }


def test_without_a_name_the_only_operator_on_the_phone_is_meant(route: Route, tmp_path: Path) -> None:
    other = tmp_path / "other.apk"
    other.write_bytes(make_apk("com.example.other"))
    done = set_up_operator(route.device, str(other), None)
    assert done.operatorPackage == OPERATOR_PACKAGE
    route.phone_server.phone.packages.remove("com.example.other")


def test_with_two_operators_one_must_be_named(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "dev.apk"
    apk.write_bytes(make_apk(DEV))
    try:
        with pytest.raises(ClawError) as caught:
            set_up_operator(route.device, str(apk), None)
    finally:
        route.phone_server.phone.packages.remove(DEV)
    assert caught.value.code == "OPERATOR_VERIFY_FAILED"
    assert caught.value.details == {"installed": list(OPERATOR_PACKAGES)}
    assert caught.value.hint == f"Choose one of the packages, for example {OPERATOR_PACKAGES[0]}."
    document = caught.value.document()
    assert document["install"] == {"ok": True}
    assert (document["verification"]["ok"], document["verification"]["packageInstalled"]) == (False, True)


def test_without_any_operator_after_the_installation_the_released_one_is_missed(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apk = tmp_path / "game.apk"
    apk.write_bytes(make_apk("com.example.game"))
    monkeypatch.setattr(install, "list_packages", lambda _: ["com.example.game"])
    with pytest.raises(ClawError) as caught:
        set_up_operator(route.device, str(apk), None)
    route.phone_server.phone.packages.remove("com.example.game")
    assert caught.value.code == "OPERATOR_VERIFY_FAILED"
    assert caught.value.details == {"operatorPackage": OPERATOR_PACKAGES[0]}


def test_an_apk_of_something_else_is_noticed(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "game.apk"
    apk.write_bytes(make_apk("com.example.game"))
    with pytest.raises(ClawError) as caught:
        set_up_operator(route.device, str(apk), DEV)
    route.phone_server.phone.packages.remove("com.example.game")
    assert caught.value.code == "OPERATOR_VERIFY_FAILED"


@pytest.mark.parametrize(
    ("content", "code"), [(b"no apk", "OPERATOR_INSTALL_FAILED"), (None, "OPERATOR_APK_NOT_FOUND")]
)
def test_a_file_that_is_not_an_apk_is_rejected(
    route: Route, tmp_path: Path, content: bytes | None, code: str
) -> None:
    apk = tmp_path / "x.apk"
    if content is not None:
        apk.write_bytes(content)
    with pytest.raises(ClawError) as caught:
        set_up_operator(route.device, str(apk), None)
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize("fault", ["offline", "unauthorized"])
def test_an_unreachable_device_is_reported(route: Route, tmp_path: Path, fault: str) -> None:
    apk = tmp_path / "x.apk"
    apk.write_bytes(make_apk(DEV))
    route.phone_server.phone.set_fault(fault, "on")
    for attempt in (
        lambda: set_up_operator(route.device, str(apk), None),
        lambda: grant_permissions(route.device, OPERATOR_PACKAGE),
    ):
        with pytest.raises(ClawError) as caught:
            attempt()
        assert caught.value.code == f"DEVICE_{fault.upper()}"


def test_a_full_phone_installs_nothing(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "x.apk"
    apk.write_bytes(make_apk(DEV))
    route.phone_server.phone.set_fault("storage_full", "on")
    with pytest.raises(ClawError) as caught:
        set_up_operator(route.device, str(apk), DEV)
    assert caught.value.code == "OPERATOR_INSTALL_FAILED"
    assert NOTIFICATIONS not in route.phone_server.phone.packages.granted(DEV)


# Failures as the contract has them


def failed_setup(route: Route, apk: Path, package: str | None) -> dict[str, Any]:
    with pytest.raises(ClawError) as caught:
        set_up_operator(route.device, str(apk), package)
    return caught.value.document()


def test_a_failed_installation_says_so_beside_its_code(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "x.apk"
    apk.write_bytes(b"no apk")
    document = failed_setup(route, apk, DEV)
    assert document["operatorPackage"] == DEV
    assert document["install"] == {"ok": False, "error": document["message"]}
    assert "operatorPackage" not in failed_setup(route, apk, None)


def test_a_missing_package_is_a_failed_verification(route: Route, tmp_path: Path) -> None:
    apk = tmp_path / "game.apk"
    apk.write_bytes(make_apk("com.example.game"))
    document = failed_setup(route, apk, DEV)
    route.phone_server.phone.packages.remove("com.example.game")
    assert document["operatorPackage"] == DEV
    assert document["install"] == {"ok": True}
    verification = document["verification"]
    assert (verification["ok"], verification["packageInstalled"]) == (False, False)
    assert DEV in verification["error"]


def test_a_refused_permission_has_the_grants(
    route: Route, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apk = tmp_path / "operator.apk"
    apk.write_bytes(make_apk(DEV))
    answer_grant(monkeypatch, ShellAnswer(255, b"", b"SecurityException: not allowed"))
    document = failed_setup(route, apk, DEV)
    route.phone_server.phone.packages.remove(DEV)
    assert document["code"] == "OPERATOR_GRANT_FAILED"
    assert (document["operatorPackage"], document["install"]) == (DEV, {"ok": True})
    assert document["permissions"]["notification"]["ok"] is False
    assert document["permissions"]["accessibility"]["ok"] is True


# Users and vendors


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    """A phone with an Operator, whose current user is 10; without a user pm and settings act for user 0."""
    doubles = ordinary_phone(tmp_path / "d")
    doubles.answer("am", "10\n", when="get-current-user")
    doubles.answer("pm", Reply(stderr="Shell does not have permission to access user 150\n", code=255))
    doubles.answer("pm", f"package:{OPERATOR_PACKAGE}\n", when="list packages --user 10")
    doubles.answer("pm", "", when="grant --user 10 *")
    for setting, component in (
        ("enabled_accessibility_services", accessibility_service(OPERATOR_PACKAGE)),
        ("enabled_notification_listeners", notification_listener(OPERATOR_PACKAGE)),
    ):
        doubles.answer("settings", "null\n", f"{component}\n", when=f"get --user 10 secure {setting}")
    doubles.answer("settings", "1\n", when="get --user 10 secure accessibility_enabled")
    doubles.answer("settings", "", when="put --user 10 *")
    return doubles


def test_permissions_are_granted_to_the_current_user(doubles: CommandDoubles) -> None:
    with double_server(doubles) as device:
        assert grant_permissions(device, OPERATOR_PACKAGE).ok
    assert doubles.unexpected() == []
    changes = [call for call in doubles.calls() if {"put", "grant"} & set(call)]
    assert [call[2:4] for call in changes] == [["--user", "10"]] * 3


@pytest.mark.parametrize(
    ("property_", "expected"),
    [
        ("[ro.miui.ui.version.name]: [V14]", "USB debugging (Security settings)"),
        ("[ro.build.version.oplusrom]: [V14.0.0]", "Disable permission monitoring"),
        ("[ro.product.manufacturer]: [Google]", "Settings, Accessibility, Clawperator"),
    ],
)
def test_a_refused_permission_names_the_switch_of_the_vendor(
    doubles: CommandDoubles, property_: str, expected: str
) -> None:
    refusal = "java.lang.SecurityException: Neither user 2000 nor current process has GRANT_RUNTIME_PERMISSIONS.\n"
    doubles.answer("pm", Reply(stderr=refusal, code=255), when="grant *")
    doubles.answer("getprop", f"{property_}\n", when="")
    with double_server(doubles) as device, pytest.raises(ClawError) as caught:
        grant_permissions(device, OPERATOR_PACKAGE)
    assert expected in caught.value.hint


def test_a_refused_setting_is_a_failed_grant_beside_the_others(doubles: CommandDoubles) -> None:
    doubles.answer("settings", Reply("", "SecurityException\n", 255), when="put --user 10 *listeners*")
    with double_server(doubles) as device, pytest.raises(ClawError) as caught:
        grant_permissions(device, OPERATOR_PACKAGE)
    assert caught.value.details is not None
    error = f"'settings put secure enabled_notification_listeners' failed on {device.serial}: SecurityException"  # no value
    assert caught.value.details["permissions"] == {
        "accessibility": {"ok": True, "alreadyEnabled": False},
        "notification": {"ok": True, "skipped": False},
        "notificationListener": {"ok": False, "error": error},
    }
    assert error in caught.value.message


def test_a_setting_is_read_without_a_user_when_the_device_refuses_users_and_written_for_one(
    doubles: CommandDoubles,
) -> None:
    doubles.answer("settings", Reply("", "Error: Unknown option: --user\n", 255), when="* --user *")
    doubles.answer("settings", "on\n", when="get secure name")
    doubles.answer("settings", "", when="put secure *")
    with double_server(doubles) as device:
        assert read_setting(device, "secure", "name") == "on"
        with pytest.raises(ClawError) as caught:
            write_setting(device, "secure", "name", "off")
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"
    assert ["settings", "put", "secure", "name", "off"] not in doubles.calls()
