"""pm: list packages, and install APKs in every way."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android import pm
from tests.phone.core.apks import make_apk
from tests.phone.shell.scripts import output, run

OPERATOR = "com.clawperator.operator"
APP = "com.example.app"


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    yield phone
    phone.close()


def install(phone: Phone, data: bytes, options: str = "") -> tuple[int, str]:
    result = run(phone, f"cmd package install {options} -S {len(data)}", data)
    assert result.err == ""
    return result.code, result.out


# Lists


def test_packages_are_listed_one_to_a_line(phone: Phone) -> None:
    lines = output(phone, "pm list packages").splitlines()
    assert f"package:{OPERATOR}" in lines
    assert lines == sorted(lines)


def test_a_filter_is_a_part_of_the_name(phone: Phone) -> None:
    assert output(phone, f"pm list packages {OPERATOR}") == f"package:{OPERATOR}\n"
    assert output(phone, "pm list packages nobody") == ""


def test_system_and_third_party_packages_are_all_packages(phone: Phone) -> None:
    third, system = (
        output(phone, "pm list packages -3").splitlines(),
        output(phone, "pm list packages -s").splitlines(),
    )
    assert f"package:{OPERATOR}" in third
    assert "package:com.android.settings" in system
    assert sorted(third + system) == output(phone, "pm list packages -e").splitlines()
    assert output(phone, "pm list packages -d") == ""


def test_options_add_to_each_line(phone: Phone) -> None:
    line = output(phone, "cmd package list packages -f -U -i --show-versioncode com.android.settings").strip()
    assert re.fullmatch(r"package:/\S+\.apk=com\.android\.settings versionCode:\d+  installer=null uid:\d+", line)


def test_an_unknown_option_is_an_error(phone: Phone) -> None:
    assert run(phone, "pm list packages --disabled") == (255, "", "Error: Unknown option: --disabled\n")
    assert run(phone, "pm list nonsense").code == 255


def test_features_and_permissions_are_listed(phone: Phone) -> None:
    assert "feature:android.hardware.touchscreen\n" in output(phone, "pm list features")
    assert "permission:android.permission.CAMERA\n" in output(phone, "pm list permissions")
    assert run(phone, "pm has-feature android.hardware.wifi") == (0, "true\n", "")
    assert run(phone, "pm has-feature android.hardware.teleporter") == (1, "false\n", "")
    assert output(phone, "pm get-install-location") == "0[auto]\n"


def test_the_path_of_an_installed_package_is_printed(phone: Phone) -> None:
    assert output(phone, f"pm path {OPERATOR}").startswith("package:/")
    assert run(phone, "pm path com.nobody") == (1, "", "")


def test_an_activity_is_resolved_from_a_package(phone: Phone) -> None:
    lines = output(phone, "cmd package resolve-activity --brief com.android.settings").splitlines()
    assert lines[0].startswith("priority=0 ")
    assert lines[1] == "com.android.settings/.Settings"
    wanted = "cmd package resolve-activity --brief -c android.intent.category.LAUNCHER"
    assert output(phone, f"{wanted} com.android.settings").splitlines()[-1] == "com.android.settings/.Settings"
    assert output(phone, "cmd package resolve-activity --brief com.nobody") == "No activity found\n"


def test_all_launchable_activities_can_be_queried(phone: Phone) -> None:
    wanted = "-a android.intent.action.MAIN -c android.intent.category.LAUNCHER"
    found = output(phone, f"cmd package query-activities --components {wanted}").splitlines()
    assert "com.android.settings/.Settings" in found
    assert output(phone, f"cmd package query-activities --brief {wanted}").startswith(
        f"{len(found)} activities found:\n"
    )


# Installing


def test_a_streamed_apk_is_installed(phone: Phone) -> None:
    data = make_apk(APP, 7, "1.7", "Example", filler=700_000)
    assert install(phone, data, "-r -t") == (0, "Success\n")
    assert output(phone, f"pm path {APP}") == f"package:/data/app/{APP}/base.apk\n"
    assert phone.storage.read(f"/data/app/{APP}/base.apk") == data
    assert phone.packages[APP].version_code == 7
    assert output(phone, f"am start -W {APP}").count("Status: ok") == 1


def test_exactly_the_announced_bytes_are_read(phone: Phone) -> None:
    data = make_apk(APP)
    result = run(phone, f"cmd package install -S {len(data)}; cat", data + b"the rest")
    assert result.out == "Success\nthe rest"


def test_a_pushed_apk_is_installed(phone: Phone) -> None:
    phone.storage.write("/data/local/tmp/a.apk", make_apk(APP))
    assert output(phone, "pm install -r -t /data/local/tmp/a.apk") == "Success\n"
    assert APP in phone.packages


def test_an_installed_app_is_there_at_the_next_start(tmp_path: Path) -> None:
    first = Phone(folder=str(tmp_path))
    assert install(first, make_apk(APP, 3, label="Kept")) == (0, "Success\n")
    first.close()
    second = Phone(folder=str(tmp_path))
    assert (second.packages[APP].version_code, second.packages.app(APP).label) == (3, "Kept")
    second.close()


def test_a_session_installs_a_base_and_its_splits(phone: Phone) -> None:
    base, split = make_apk(APP, 2), make_apk(APP, 2, split="config.en")
    created = output(phone, f"cmd package install-create -r -S {len(base) + len(split)}")
    match = re.fullmatch(r"Success: created install session \[(\d+)\]\n", created)
    assert match is not None
    number = match[1]
    for name, data in (("split.apk", split), ("base.apk", base)):
        result = run(phone, f"cmd package install-write -S {len(data)} {number} {name} -", data)
        assert result == (0, f"Success: streamed {len(data)} bytes\n", "")
    assert output(phone, f"cmd package install-commit {number}") == "Success\n"
    assert phone.packages[APP].version_code == 2
    assert run(phone, f"cmd package install-commit {number}").code == 255


def test_a_session_with_one_bad_file_installs_nothing(phone: Phone) -> None:
    number = output(phone, "pm install-create").split("[")[1].split("]")[0]
    for name, data in (("base.apk", make_apk(APP)), ("bad.apk", b"bad")):
        run(phone, f"pm install-write {number} {name} -", data)
    assert run(phone, f"pm install-commit {number}").out.startswith("Failure [INSTALL_PARSE_FAILED_NOT_APK")
    assert APP not in phone.packages


def test_an_abandoned_session_leaves_nothing(phone: Phone) -> None:
    number = output(phone, "pm install-create").split("[")[1].split("]")[0]
    run(phone, f"pm install-write {number} base.apk", make_apk(APP))
    assert output(phone, f"pm install-abandon {number}") == "Success\n"
    assert phone.storage.system.list("/data/app/vmdl.tmp") == []
    result = run(phone, f"pm install-commit {number}")
    assert result.code == 255
    assert f"Caller has no access to session {number}" in result.err


def test_sessions_are_limited_in_number(phone: Phone) -> None:
    codes = [run(phone, "pm install-create").code for _ in range(20)]
    assert codes.count(0) == 16


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not an apk", "INSTALL_PARSE_FAILED_NOT_APK"),
        (make_apk("nodots"), "INSTALL_PARSE_FAILED_BAD_PACKAGE_NAME"),
        (make_apk(APP, split="x"), "INSTALL_FAILED_MISSING_SPLIT"),
        (make_apk("com.android.settings", 10**9), "INSTALL_FAILED_UPDATE_INCOMPATIBLE"),
        (make_apk(OPERATOR, 0), "INSTALL_FAILED_VERSION_DOWNGRADE"),
    ],
)
def test_an_invalid_apk_fails_with_its_reason(phone: Phone, data: bytes, reason: str) -> None:
    before = output(phone, "pm list packages")
    code, result = install(phone, data)
    assert code == 1
    assert result.startswith(f"Failure [{reason}: ")
    assert result.endswith("]\n")
    assert output(phone, "pm list packages") == before


def test_a_downgrade_and_a_second_install_depend_on_options(phone: Phone) -> None:
    assert install(phone, make_apk(APP, 5))[0] == 0
    assert install(phone, make_apk(APP, 4), "-d") == (0, "Success\n")
    assert install(phone, make_apk(APP, 6), "-R")[1].startswith("Failure [INSTALL_FAILED_ALREADY_EXISTS")


def test_a_stream_that_ends_early_installs_nothing(phone: Phone) -> None:
    data = make_apk(APP)
    result = run(phone, f"cmd package install -S {len(data) + 1}", data)
    assert result.out.startswith("Failure [INSTALL_FAILED_INVALID_APK")
    assert APP not in phone.packages


def test_a_size_beyond_the_free_space_is_refused_before_reading(phone: Phone) -> None:
    result = run(phone, "cmd package install -S 2000000000; cat", b"unread")
    assert result.out == "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\nunread"


def test_a_stream_without_a_size_is_cut_off_at_the_limit(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pm, "MAX_APK", 1_000)
    number = output(phone, "pm install-create").split("[")[1].split("]")[0]
    result = run(phone, f"pm install-write {number} base.apk -", bytes(5_000))
    assert result.out == "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n"


def test_a_full_phone_installs_nothing(phone: Phone) -> None:
    phone.set_fault("storage_full", "on")
    assert install(phone, make_apk(APP)) == (1, "Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n")


def test_an_install_needs_a_file_or_a_size(phone: Phone) -> None:
    assert run(phone, "pm install").err == "Error: must either specify a package size or an APK file\n"
    result = run(phone, "pm install /data/local/tmp/none.apk")
    assert result.code == 255
    assert "Error: Unable to open file: /data/local/tmp/none.apk\n" in result.err
    assert "Can't open file: /data/local/tmp/none.apk" in result.err


def test_an_app_is_uninstalled(phone: Phone) -> None:
    install(phone, make_apk(APP))
    assert output(phone, f"cmd package uninstall {APP}") == "Success\n"
    assert APP not in phone.packages


def test_an_uninstalled_operator_has_no_enabled_services_left(phone: Phone) -> None:
    install(phone, make_apk(f"{OPERATOR}.dev"))
    for key in ("enabled_accessibility_services", "enabled_notification_listeners"):
        old = output(phone, f"settings get secure {key}").strip()
        run(phone, f"settings put secure {key} {old}:{OPERATOR}.dev/a.Service:com.example/b.Service")
    for package, left in ((f"{OPERATOR}.dev", OPERATOR), (OPERATOR, None)):
        assert output(phone, f"pm uninstall {package}") == "Success\n"
        for key in ("enabled_accessibility_services", "enabled_notification_listeners"):
            names = output(phone, f"settings get secure {key}").strip().split(":")
            assert [name.split("/")[0] for name in names] == [left, "com.example"][left is None :]


@pytest.mark.parametrize("name", ["com.nobody", "com.android.settings"])
def test_unknown_and_system_packages_are_not_uninstalled(phone: Phone, name: str) -> None:
    assert run(phone, f"pm uninstall {name}") == (1, "Failure [DELETE_FAILED_INTERNAL_ERROR]\n", "")


# Changing


def test_clearing_an_app_deletes_its_data_and_permissions(phone: Phone) -> None:
    install(phone, make_apk(APP))
    phone.launch(APP)
    phone.packages.grant(APP, "android.permission.CAMERA")
    assert output(phone, f"pm clear {APP}") == "Success\n"
    assert phone.process_of(APP) is None
    assert phone.packages.granted(APP) == []
    assert run(phone, "pm clear com.nobody") == (1, "", "Failed\n")


def test_permissions_are_granted_and_revoked(phone: Phone) -> None:
    camera = "android.permission.CAMERA"
    assert output(phone, f"pm grant {OPERATOR} {camera}") == ""
    assert f"{camera}: granted=true" in output(phone, f"dumpsys package {OPERATOR}")
    assert output(phone, f"pm revoke {OPERATOR} {camera}") == ""
    assert camera not in phone.packages.granted(OPERATOR)


def test_everything_is_granted_at_install_when_asked(phone: Phone) -> None:
    install(phone, make_apk(APP), "-g")
    assert "android.permission.CAMERA" in phone.packages.granted(APP)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("com.nobody android.permission.CAMERA", "IllegalArgumentException: Unknown package: com.nobody"),
        (f"{OPERATOR} android.permission.NONSENSE", "Unknown permission: android.permission.NONSENSE"),
        (f"{OPERATOR} android.permission.INTERNET", "SecurityException: Permission android.permission.INTERNET"),
        (OPERATOR, "Argument expected after"),
    ],
)
def test_a_permission_that_cannot_be_granted_is_an_exception(phone: Phone, arguments: str, words: str) -> None:
    result = run(phone, f"pm grant {arguments}")
    assert result.code == 255
    assert words in result.err


def test_nothing_can_be_disabled(phone: Phone) -> None:
    assert output(phone, f"pm enable {OPERATOR}") == f"Package {OPERATOR} new state: enabled\n"
    assert "Cannot disable a protected package" in run(phone, f"pm disable-user --user 0 {OPERATOR}").err


def test_a_package_is_dumped_in_the_lines_clients_parse(phone: Phone) -> None:
    install(phone, make_apk(APP, 7, "1.7-beta"))
    result = output(phone, f"dumpsys package {APP}")
    assert re.search(r"^    versionCode=7 minSdk=\d+ targetSdk=\d+$", result, re.MULTILINE)
    assert re.search(r"^    versionName=1\.7-beta$", result, re.MULTILINE)
    assert re.search(r"firstInstallTime=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", result)
    assert re.search(r"userId=\d+", result)
    assert re.search(r"pkgFlags=\[ HAS_CODE ", result)
    assert f"{APP}/.MainActivity filter" in result
    assert output(phone, f"pm dump {APP}") == result
    assert output(phone, "dumpsys package com.nobody") == "Unable to find package: com.nobody\n"
