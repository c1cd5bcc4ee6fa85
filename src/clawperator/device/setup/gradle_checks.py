"""Checks for building the Operator from source: build, install and launch it."""

import os

from clawperator._base.trust import folder_trust
from clawperator.device.adb.client import Device, run_shell
from clawperator.device.adb.quoting import command_line
from clawperator.device.setup.host_checks import Check, failed_check, passed
from clawperator.errors import ClawError

_ASSEMBLE = "build.android.assemble"
_GRADLE_SECONDS = 900.0
_LAUNCH_SECONDS = 30.0
_TASK = ":app:assembleDebug"
_APK = os.path.join("app", "build", "outputs", "apk", "debug", "app-debug.apk")


def find_project(folder: str) -> str | None:
    """The Android project in this folder: one with an executable gradlew and an app."""
    program = os.path.join(folder, "gradlew")
    is_project = (
        os.access(program, os.X_OK) and os.path.isfile(program) and os.path.isdir(os.path.join(folder, "app"))
    )
    return folder if is_project else None


def check_assembly(folder: str) -> Check:
    """Check that the project in this folder builds. Without a project it is a warning."""
    import subprocess

    project = find_project(folder)
    if project is None:
        error = ClawError(
            "HOST_DEPENDENCY_MISSING",
            "no Android project with a gradlew in this folder; nothing was built",
            hint="Run 'clawperator doctor --full' in the Operator's source folder to check the build.",
        )
        return failed_check(_ASSEMBLE, error, status="warn", title="Build the Operator")
    trust = folder_trust(project)
    if not trust.is_trusted:
        error = ClawError(
            "HOST_DEPENDENCY_MISSING",
            f"nothing was built: {trust.reason}",
            hint="Run 'claw trust' in this folder to let its gradlew run.",
        )
        return failed_check(_ASSEMBLE, error, status="warn", title="Build the Operator")
    try:
        ran = subprocess.run(  # noqa: S603 - the user asked to build this project
            [os.path.join(project, "gradlew"), _TASK],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_GRADLE_SECONDS,
            check=False,
        )
        output, code = ran.stdout.decode("utf-8", "replace"), ran.returncode
    except (OSError, subprocess.TimeoutExpired) as e:
        output, code = str(e), -1
    if code == 0:
        return passed(_ASSEMBLE, f"gradlew {_TASK} succeeded")
    error = ClawError(
        "ANDROID_BUILD_FAILED",
        f"gradlew {_TASK} failed",
        hint=f"Run './gradlew {_TASK}' and fix the reported errors.",
        details={"exitCode": code, "output": output[-1_000:]},
    )
    return failed_check(_ASSEMBLE, error)


def check_installation(device: Device, folder: str) -> Check:
    """Check that the built app installs."""
    from clawperator.device.adb.sync import install_apk

    id_ = "build.android.install"
    apk = os.path.join(folder, _APK)
    try:
        install_apk(device, apk)
    except ClawError as e:
        return failed_check(id_, e)
    return passed(id_, "the built app was installed", apk=apk)


def check_launch(device: Device, package: str) -> Check:
    """Check that the installed app starts."""
    id_ = "build.android.launch"
    launch = command_line("monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")
    try:
        answer = run_shell(device, launch, seconds=_LAUNCH_SECONDS)
    except ClawError as e:
        return failed_check(id_, e)
    if answer.code == 0 and "Events injected: 1" in answer.text:
        return passed(id_, f"{package} was started")
    error = ClawError(
        "ANDROID_APP_LAUNCH_FAILED",
        f"{package} did not start: {answer.complaint}",
        hint="Check that the project builds this package, or choose another with --operator-package.",
    )
    return failed_check(id_, error)
