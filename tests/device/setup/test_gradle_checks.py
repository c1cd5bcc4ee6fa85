"""Building the Operator from source: which folder is a project, and what a failure reports."""

from pathlib import Path

import pytest

from clawperator._base.trust import trust_folder
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.setup.host_checks import check_assembly, check_installation, check_launch, find_project
from tests.support.command_doubles import CommandDoubles, Reply, double_server

GONE = Device("gone", Endpoint("127.0.0.1", 1))


def make_project(folder: Path, script: str = "#!/bin/sh\n") -> str:
    (folder / "app").mkdir()
    (folder / "gradlew").write_text(script)
    (folder / "gradlew").chmod(0o755)
    trust_folder(str(folder))
    return str(folder)


def test_a_project_has_an_app_and_a_gradlew_that_can_be_run(tmp_path: Path) -> None:
    assert find_project(str(tmp_path)) is None
    make_project(tmp_path)
    assert find_project(str(tmp_path)) == str(tmp_path)
    (tmp_path / "gradlew").chmod(0o644)
    assert find_project(str(tmp_path)) is None
    (tmp_path / "gradlew").unlink()
    (tmp_path / "gradlew").mkdir()
    assert find_project(str(tmp_path)) is None


def test_a_gradlew_without_an_app_is_no_project(tmp_path: Path) -> None:
    make_project(tmp_path)
    (tmp_path / "app").rmdir()
    assert find_project(str(tmp_path)) is None


def test_a_folder_without_a_project_is_a_warning_with_a_title(tmp_path: Path) -> None:
    check = check_assembly(str(tmp_path))
    assert (check.status, check.code) == ("warn", "HOST_DEPENDENCY_MISSING")
    assert check.fix is not None
    assert check.fix.title == "Build the Operator"


def test_a_project_that_builds_passes(tmp_path: Path) -> None:
    check = check_assembly(make_project(tmp_path))
    assert (check.status, check.summary) == ("pass", "gradlew :app:assembleDebug succeeded")


def test_a_failed_build_has_its_exit_code_and_the_end_of_its_output(tmp_path: Path) -> None:
    project = make_project(tmp_path, "#!/bin/sh\nprintf '%01200d' 0\necho 'e: boom' >&2\nexit 3\n")
    check = check_assembly(project)
    assert (check.status, check.code) == ("fail", "ANDROID_BUILD_FAILED")
    output = f"{'0' * 1_200}e: boom\n"[-1_000:]
    assert check.evidence == {"exitCode": 3, "output": output}


def test_a_gradlew_that_cannot_be_started_is_a_failed_build(tmp_path: Path) -> None:
    check = check_assembly(make_project(tmp_path, "#!/nowhere/sh\n"))
    assert (check.status, check.code) == ("fail", "ANDROID_BUILD_FAILED")
    assert check.evidence is not None
    assert check.evidence["exitCode"] == -1
    assert "No such file" in check.evidence["output"]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("Events injected: 1\n"), "pass"),
        (Reply("Events injected: 1\n", "", 251), "fail"),
        (Reply("** No activities found to run, monkey aborted.\n"), "fail"),
    ],
)
def test_an_app_was_started_when_an_event_reached_it(tmp_path: Path, reply: Reply, status: str) -> None:
    doubles = CommandDoubles(tmp_path / "d")
    doubles.answer("monkey", reply)
    with double_server(doubles) as device:
        check = check_launch(device, OPERATOR_PACKAGE)
    assert check.status == status
    assert check.code == (None if status == "pass" else "ANDROID_APP_LAUNCH_FAILED")
    launcher = "android.intent.category.LAUNCHER"
    assert doubles.calls() == [["monkey", "-p", OPERATOR_PACKAGE, "-c", launcher, "1"]]


def test_the_app_that_was_built_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[tuple[Device, str]] = []
    monkeypatch.setattr("clawperator.device.setup.host_checks.install_apk", lambda *given: installed.append(given))
    check = check_installation(GONE, "project")
    apk = "project/app/build/outputs/apk/debug/app-debug.apk"
    assert (check.status, check.evidence) == ("pass", {"apk": apk})
    assert installed == [(GONE, apk)]


def test_a_device_that_went_away_fails_both_checks(tmp_path: Path) -> None:
    apk = tmp_path / "app/build/outputs/apk/debug/app-debug.apk"
    apk.parent.mkdir(parents=True)
    apk.write_bytes(b"an app")
    for check in (check_launch(GONE, OPERATOR_PACKAGE), check_installation(GONE, str(tmp_path))):
        assert check.status == "fail"
