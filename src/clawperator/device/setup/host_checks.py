"""The document of a doctor check, the checks of this computer, and those of building the Operator from source."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from clawperator._base.trust import folder_trust
from clawperator.device.adb.binary import find_adb, is_program, require_adb, run_adb, run_tool, start_server
from clawperator.device.adb.client import Device, command_line, run_shell
from clawperator.device.adb.server import NoServerError, adb_endpoint, ask_server, can_start
from clawperator.device.adb.sync import install_apk
from clawperator.errors import ClawError

Status = Literal["pass", "warn", "fail"]

_PYTHON = (3, 11)
_JAVAS = ("17", "21")
_VERSION_SECONDS = 5.0
_JAVA_SECONDS = 10.0
_MISSING = "HOST_DEPENDENCY_MISSING"
_ASSEMBLE = "build.android.assemble"
_GRADLE_SECONDS = 900.0
_LAUNCH_SECONDS = 30.0
_TASK = ":app:assembleDebug"
_APK = os.path.join("app", "build", "outputs", "apk", "debug", "app-debug.apk")


class Step(Struct, frozen=True):
    """A step of a fix: a shell command, or an instruction for the user."""

    kind: Literal["shell", "manual"]
    value: str


class Fix(Struct, frozen=True):
    title: str
    steps: list[Step]
    platform: str = "any"


class Guidance(Struct, frozen=True):
    """Instructions for the device itself."""

    screen: str
    steps: list[str]


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check."""

    id: str
    status: Status
    code: str | None = None
    summary: str
    detail: str | None = None
    fix: Fix | None = None
    deviceGuidance: Guidance | None = None
    evidence: dict[str, Any] | None = None


def passed(id_: str, summary: str, **evidence: object) -> Check:
    return Check(id=id_, status="pass", summary=summary, evidence=evidence or None)


def problem(  # noqa: PLR0913 - the parts of a check
    id_: str,
    status: Status,
    code: str,
    summary: str,
    *steps: Step | str,
    title: str = "",
    detail: str | None = None,
    guidance: Guidance | None = None,
    evidence: Mapping[str, object] | None = None,
) -> Check:
    """A check that did not pass. A step that is a text is an instruction for the user."""
    fix_steps = [step if isinstance(step, Step) else Step("manual", step) for step in steps]
    return Check(
        id=id_,
        status=status,
        code=code,
        summary=summary,
        detail=detail,
        fix=Fix(title or f"Resolve {code}", fix_steps) if fix_steps else None,
        deviceGuidance=guidance,
        evidence=dict(evidence) if evidence else None,
    )


def failed_check(
    id_: str,
    error: ClawError,
    *steps: Step | str,
    status: Status = "fail",
    title: str = "",
    guidance: Guidance | None = None,
) -> Check:
    """A check that failed with an error. Without steps its hint is the step, unless it is to run the doctor."""
    if not steps and "clawperator doctor" in error.hint and "--fix" not in error.hint:
        unlock = "Unlock the device, and wait until it has started."
        steps = (unlock, "Run 'adb reconnect', or unplug and reconnect the device.")
    elif not steps and error.own_hint:
        steps = (error.hint,)
    code, message, details = error.code, error.message, error.details
    return problem(id_, status, code, message, *steps, title=title, guidance=guidance, evidence=details)


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Check that the interpreter is new enough."""
    found = ".".join(map(str, version))
    if version >= _PYTHON:
        return passed("host.python.version", f"Python {found}", version=found)
    least = ".".join(map(str, _PYTHON))
    summary, step = f"Python {found} is too old; {least} or newer is required", f"Install Python {least} or newer."
    return problem("host.python.version", "fail", _MISSING, summary, step, evidence={"version": found})


def check_adb(simulated: str | None) -> Check:
    """Check that adb is installed. A simulated phone does not need it."""
    id_ = "host.adb.presence"
    if simulated is not None and find_adb() is None:
        return passed(id_, f"adb is not installed; the simulated phone {simulated} does not need it", needed=False)
    try:
        program = require_adb()
        ran = run_adb("version", seconds=_VERSION_SECONDS, asks_server=False)
        lines = ran.stdout.decode("utf-8", "replace").splitlines()
    except ClawError as e:
        install = "Install Android's platform-tools, or set ADB_PATH."
        phone = "Or start a simulated phone, which needs no adb: clawperator phone start"
        return failed_check(id_, e, install, phone, title="Install adb")
    version = lines[0].strip() if lines else "unknown adb version"
    return passed(id_, version, version=version, path=program)


def check_server(simulated: str | None) -> Check:
    """Check that the adb server runs; it is started if needed. A simulated phone does not need it."""
    id_ = "host.adb.server"
    try:
        endpoint = adb_endpoint()
        try:
            ask_server(endpoint, "host:version")
        except NoServerError:
            if simulated is not None:
                summary = f"no adb server is running; the simulated phone {simulated} does not need it"
                return passed(id_, summary, needed=False)
            start_server()
            return passed(id_, f"the adb server was started at {endpoint.address}")
    except ClawError as e:
        # Devices other than the simulated phone cannot be reached.
        return _server_failed(id_, e, status="fail" if simulated is None else "warn")
    return passed(id_, f"the adb server is running at {endpoint.address}")


def _server_failed(id_: str, error: ClawError, *, status: Status) -> Check:
    if error.code != "ADB_SERVER_FAILED":
        return failed_check(id_, error, status=status, title="Correct the address of the adb server")
    if not can_start(adb_endpoint()):
        return failed_check(id_, error, status=status, title="Start the adb server")
    steps = (Step("shell", "adb kill-server"), Step("shell", "adb start-server"))
    return failed_check(id_, error, *steps, status=status, title="Restart the adb server")


def check_java() -> Check:
    """Check for the Java that builds the Operator. Only a warning: running it needs none."""
    id_ = "host.java.version"
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    program = program or shutil.which("java")
    hint = f"Install Java {' or '.join(_JAVAS)}; only building the Operator needs it."
    if program is None:
        return problem(id_, "warn", _MISSING, "Java is not installed", hint, title="Install Java")
    output = run_tool(program, "-version", seconds=_JAVA_SECONDS).output
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    if found is not None and found[1] in _JAVAS:
        return passed(id_, f"Java {found[1]}", version=found[1], path=program)
    version = f"Java {found[1]}" if found else "an unknown Java version"
    summary = f"found {version}; {' or '.join(_JAVAS)} is required"
    return problem(id_, "warn", _MISSING, summary, hint, title="Install Java")


def find_project(folder: str) -> str | None:
    """The Android project in this folder: one with an executable gradlew and an app."""
    is_project = is_program(os.path.join(folder, "gradlew")) and os.path.isdir(os.path.join(folder, "app"))
    return folder if is_project else None


def check_assembly(folder: str) -> Check:
    """Check that the project in this folder builds. Without a project it is a warning."""
    project = find_project(folder)
    if project is None:
        summary = "no Android project with a gradlew in this folder; nothing was built"
        step = "Run 'clawperator doctor --full' in the Operator's source folder to check the build."
        return problem(_ASSEMBLE, "warn", _MISSING, summary, step, title="Build the Operator")
    trust = folder_trust(project)
    if not trust.is_trusted:
        summary = f"nothing was built: {trust.reason}"
        step = "Run 'claw trust' in this folder to let its gradlew run."
        return problem(_ASSEMBLE, "warn", _MISSING, summary, step, title="Build the Operator")
    ran = run_tool(os.path.join(project, "gradlew"), _TASK, seconds=_GRADLE_SECONDS, folder=project)
    if ran.code == 0:
        return passed(_ASSEMBLE, f"gradlew {_TASK} succeeded")
    step = f"Run './gradlew {_TASK}' and fix the reported errors."
    evidence = {"exitCode": ran.code, "output": ran.output[-1_000:]}
    return problem(_ASSEMBLE, "fail", "ANDROID_BUILD_FAILED", f"gradlew {_TASK} failed", step, evidence=evidence)


def check_installation(device: Device, folder: str) -> Check:
    """Check that the built app installs."""
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
    step = "Check that the project builds this package, or choose another Operator package."
    summary = f"{package} did not start: {answer.complaint}"
    return problem(id_, "fail", "ANDROID_APP_LAUNCH_FAILED", summary, step)
