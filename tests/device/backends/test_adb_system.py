"""Rotation, activities, packages and the log over plain adb: the commands sent, and what their answers mean."""

from typing import Any

import pytest

from clawperator.device import vendors
from clawperator.device.adb import sync
from clawperator.device.adb.client import ShellAnswer
from clawperator.errors import ClawError
from tests.device.backends.scripted_shell import ScriptedShell, StillClock, connect, reply

CAMERA = "android.permission.CAMERA"
FORBIDDEN_USER = "java.lang.SecurityException: Shell does not have permission to access user 150\n"


def size(text: str) -> ShellAnswer:
    return reply(f"Physical size: {text}\n")


# Rotation


@pytest.mark.parametrize(
    ("display", "orientation", "turns"),
    [
        ("100x200", "0", "0"),
        ("100x200", "90", "1"),
        ("100x200", "180", "2"),
        ("100x200", "270", "3"),
        ("100x200", "portrait", "0"),
        ("100x200", "landscape", "1"),
        ("200x100", "portrait", "1"),
        ("200x100", "landscape", "0"),
        ("100x100", "portrait", "0"),
        ("100x100", "landscape", "1"),
    ],
)
def test_an_orientation_is_a_number_of_quarter_turns(
    monkeypatch: pytest.MonkeyPatch, display: str, orientation: str, turns: str
) -> None:
    phone = ScriptedShell(wm=size(display))
    assert connect(monkeypatch, phone).rotate(orientation) is True
    put = [script.rpartition("system ")[2] for script in phone.named("settings put")]
    assert put == ["accelerometer_rotation 0", f"user_rotation {turns}"]


def test_automatic_rotation_needs_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell()
    assert connect(monkeypatch, phone).rotate("auto") is True
    (script,) = phone.asked
    assert script.endswith("system accelerometer_rotation 1")


@pytest.mark.parametrize(
    "answer", [reply(code=1), reply("Error: no such setting\n"), reply(err="java.lang.SecurityException: no\n")]
)
def test_a_setting_that_is_refused_is_the_end_of_a_rotation(
    monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer
) -> None:
    phone = ScriptedShell(wm=size("100x200"), settings=answer)
    driver = connect(monkeypatch, phone)
    assert driver.rotate("90") is False
    assert len(phone.named("settings")) == 1
    assert driver.rotate("auto") is False


# Activities


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "--ez n true"),
        (False, "--ez n false"),
        (1, "--ei n 1"),
        (2**31 - 1, "--ei n 2147483647"),
        (2**31, "--el n 2147483648"),
        (-(2**31), "--ei n -2147483648"),
        (-(2**31) - 1, "--el n -2147483649"),
        (1.5, "--ef n 1.5"),
        ("TRUE", "--es n TRUE"),
    ],
)
def test_an_extra_has_the_flag_of_its_type(monkeypatch: pytest.MonkeyPatch, value: Any, words: str) -> None:
    phone = ScriptedShell()
    assert connect(monkeypatch, phone).start_activity({"action": "a.B"}, {"n": value}) is True
    assert phone.asked == [f"am start --user current -a a.B {words}"]


def test_an_activity_is_named_by_component_action_and_link(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell()
    named = {"uri": "https://a.example/", "action": "a.B", "component": "com.a/.C"}
    connect(monkeypatch, phone).start_activity(named, {})
    assert phone.asked == ["am start --user current -n com.a/.C -a a.B -d https://a.example/"]


@pytest.mark.parametrize(
    ("answer", "started"),
    [
        (reply("Starting: Intent { }\n"), True),
        (reply("Starting: Intent { dat=error:exception }\n"), True),
        (reply("Starting: Intent { }\n", code=1), False),
        (reply("Starting: Intent { }\nError type 3\n"), False),
        (reply("Starting: Intent { }\nKilled\n", code=137), False),
    ],
)
def test_an_activity_is_started_unless_am_complains(
    monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer, *, started: bool
) -> None:
    driver = connect(monkeypatch, ScriptedShell(am=answer))
    assert driver.start_activity({"action": "a.B"}, {}) is started


def test_a_user_that_adb_may_not_access_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = reply("Starting: Intent { }\n", FORBIDDEN_USER, 255)
    driver = connect(monkeypatch, ScriptedShell(am=refused, pm=reply(err=FORBIDDEN_USER, code=255)))
    with pytest.raises(ClawError) as start:
        driver.start_activity({"action": "a.B"}, {})
    with pytest.raises(ClawError) as change:
        driver.clear_data("com.a")
    assert [error.value.code for error in (start, change)] == ["DEVICE_USER_FORBIDDEN"] * 2


# Packages


@pytest.mark.parametrize(
    ("user", "scripts"),
    [
        (
            None,
            [
                "pm uninstall com.a",
                'pm clear --user "$U" com.a',
                f'pm grant --user "$U" com.a {CAMERA}',
                f'pm revoke --user "$U" com.a {CAMERA}',
            ],
        ),
        (
            10,
            [
                "pm uninstall --user 10 com.a",
                "pm clear --user 10 com.a",
                f"pm grant --user 10 com.a {CAMERA}",
                f"pm revoke --user 10 com.a {CAMERA}",
            ],
        ),
    ],
)
def test_an_app_is_changed_for_its_user(
    monkeypatch: pytest.MonkeyPatch, user: int | None, scripts: list[str]
) -> None:
    phone = ScriptedShell(pm=reply("Success\n"))
    driver = connect(monkeypatch, phone)
    driver.choose_user(user)
    driver.uninstall("com.a")
    driver.clear_data("com.a")
    driver.set_permission("com.a", CAMERA, granted=True)
    driver.set_permission("com.a", CAMERA, granted=False)
    assert [script.rpartition("; ")[2] for script in phone.asked] == scripts


def refused(monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer) -> ClawError:
    with pytest.raises(ClawError) as error:
        connect(monkeypatch, ScriptedShell(pm=answer)).clear_data("com.a")
    assert (error.value.code, error.value.details) == ("ANDROID_PACKAGE_FAILED", {"application_id": "com.a"})
    return error.value


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply("Failed\n"), "Failed"),
        (reply(), "no output"),
        (reply("\n \n"), "no output"),
        (reply("Success\n", code=1), "Success"),
        (reply("Success\n", "Error: java.lang.NullPointerException\n"), "Success"),
        (
            reply(err="\nException occurred while executing 'clear':\n  no such app\n\tat a.B.c(D.java)\n"),
            "no such app",
        ),
        (reply("x" * 400), "x" * 300),
    ],
)
def test_a_change_that_pm_does_not_confirm_failed_for_the_reason_it_prints(
    monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer, reason: str
) -> None:
    assert refused(monkeypatch, answer).message == f"x did not clear com.a: {reason}"


def test_a_permission_that_is_refused_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = connect(monkeypatch, ScriptedShell(pm=reply(err="Failure: unknown permission\n", code=255)))
    with pytest.raises(ClawError) as error:
        driver.set_permission("com.a", CAMERA, granted=False)
    assert error.value.message == f"x did not revoke com.a {CAMERA}: Failure: unknown permission"


@pytest.mark.parametrize("printed", ["java.lang.SecurityException: no\n", "Security exception: no\n"])
def test_a_change_that_is_forbidden_has_the_hint_of_the_vendor(
    monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    monkeypatch.setattr(
        vendors, "vendor_hint", lambda device, switch, otherwise: f"{device.serial} {switch} {otherwise}"
    )
    packages = "Run 'clawperator packages list --device x' for the installed apps."
    assert refused(monkeypatch, reply(err=printed, code=255)).hint == f"x grant {packages}"
    assert refused(monkeypatch, reply("Failed\n")).hint == packages


@pytest.mark.parametrize(("seconds", "least", "most"), [(6_000.0, 60.0, 600.0), (50.0, 50.0, 50.0)])
def test_an_installation_may_take_a_part_of_a_long_time_and_all_of_a_short_one(
    monkeypatch: pytest.MonkeyPatch, seconds: float, least: float, most: float
) -> None:
    StillClock(monkeypatch)
    given: dict[str, Any] = {}

    def install(_: object, path: str, **options: object) -> int:
        given.update(options, path=path)
        return 7

    monkeypatch.setattr(sync, "install_apk", install)
    driver = connect(monkeypatch, ScriptedShell(), seconds=seconds)
    driver.choose_user(10)
    assert driver.install("a.apk") == 7
    assert least <= given.pop("seconds") <= most
    assert given == {"path": "a.apk", "user": 10}


# The log

PACKAGE = "    userId=10012\n"
BY_UID = reply(err="logcat: unrecognized option '--uid'\n", code=1)


def line(pid: int | str, message: str = "hello") -> str:
    return f"01-31 12:00:00.000  {pid}  1240 I Tag: {message}\n"


def log(
    monkeypatch: pytest.MonkeyPatch, since: str = "01-31 12:00:00", max_lines: int = 50, **rules: Any
) -> tuple[list[str], list[str]]:
    """The lines of the log of an app, and the commands that read them."""
    phone = ScriptedShell(**{"dumpsys package": reply(PACKAGE), **rules})
    return connect(monkeypatch, phone).read_log("com.a", since, max_lines), phone.asked


def test_the_last_lines_of_the_log_of_a_user_id_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = "--------- beginning of main\n" + line(1, "one") + line(2, "two") + line(3, "x" * 3_000)
    lines, asked = log(monkeypatch, max_lines=2, logcat=reply(printed))
    assert lines == [line(2, "two").rstrip(), line(3, "x" * 3_000)[:2_000]]
    assert asked[1:] == ["logcat -d -v threadtime -T '01-31 12:00:00.000' --uid 10012"]


@pytest.mark.parametrize(
    ("since", "start"),
    [
        ("500ms", "1699999999.500"),
        ("10s", "1699999990.000"),
        ("5m", "1699999700.000"),
        ("2h", "1699992800.000"),
        ("1d", "1699913600.000"),
        ("99999d", "0.000"),
        ("1700000000", "1700000000.000"),
        ("1700000000.5", "1700000000.5"),
    ],
)
def test_a_log_starts_at_a_time_that_every_logcat_reads(
    monkeypatch: pytest.MonkeyPatch, since: str, start: str
) -> None:
    _, asked = log(monkeypatch, since, date=reply("1700000000\n"), logcat=reply(line(1)))
    assert asked[-1] == f"logcat -d -v threadtime -T {start} --uid 10012"


def unread(monkeypatch: pytest.MonkeyPatch, since: str = "01-31 12:00:00", **rules: Any) -> ClawError:
    with pytest.raises(ClawError) as error:
        log(monkeypatch, since, **rules)
    return error.value


def test_a_device_without_a_clock_has_no_log_of_the_last_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    error = unread(monkeypatch, "5m", date=reply("date: bad\n"))
    assert (error.code, error.message) == ("DEVICE_SHELL_UNAVAILABLE", "x does not report its time")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(), "it is empty"),
        (reply(err="Unable to open log device\n", code=1), "Unable to open log device"),
        (reply(code=3), "logcat exited with 3"),
    ],
)
def test_a_log_that_cannot_be_read_is_reported_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, answer: ShellAnswer, reason: str
) -> None:
    error = unread(monkeypatch, logcat=answer)
    assert (error.code, error.message) == ("LOGCAT_UNAVAILABLE", f"the log of x cannot be read: {reason}")


def test_a_log_in_which_only_other_apps_wrote_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: dict[str, Any] = {"-t 1": reply(line(9)), "logcat": reply()}
    lines, asked = log(monkeypatch, **rules)
    assert (lines, asked[-1]) == ([], "logcat -d -v threadtime -t 1")


def test_a_log_with_lines_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(log(monkeypatch, logcat=reply(line(1)))[1]) == 2


def test_an_app_that_is_not_installed_has_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: dict[str, Any] = {"dumpsys package": reply("Unable to find package: com.a\n")}
    error = unread(monkeypatch, **rules)
    assert (error.code, error.details) == ("APP_NOT_FOUND", {"application_id": "com.a"})


OLD_PS = "USER PID PPID VSIZE RSS WCHAN PC NAME\nu0_a12 71 200 1 2 s 0 S com.a\nu0_a12 72 200 1 2 s 0 S com.ab\n"


@pytest.mark.parametrize(
    ("rules", "pids", "commands"),
    [
        ({"pidof": reply("71 73\n")}, ["71", "73"], ["pidof"]),
        ({"ps": reply("PID NAME\n71 com.a\n72 com.ab\n73 com.a:remote\n1\n")}, ["71", "73"], ["pidof", "ps"]),
        ({"pidof": reply("71\n", code=1), "ps": reply("PID NAME\n72 com.a\n")}, ["72"], ["pidof", "ps"]),
        (
            {"pidof": reply("pidof: not found\n", code=127), "ps -A": reply("bad\n"), "ps": reply(OLD_PS)},
            ["71"],
            ["pidof", "ps", "ps"],
        ),
    ],
    ids=["pidof", "ps", "a failed pidof", "Android 7"],
)
def test_an_older_device_gives_the_log_of_the_processes_that_run(
    monkeypatch: pytest.MonkeyPatch, rules: dict[str, Any], pids: list[str], commands: list[str]
) -> None:
    cut_off = "01-31 12:00:00.000 71 9\n01-31 12:00:00.000 71\n"
    printed = reply("".join(map(line, (71, 72, 73))) + cut_off, "warning\n", 1)
    lines, asked = log(monkeypatch, **rules | {"--uid": BY_UID, "logcat": printed})
    assert lines == [line(pid).rstrip() for pid in pids] + ["01-31 12:00:00.000 71 9"] * ("71" in pids)
    assert [script.split()[0] for script in asked[2:-1]] == commands


def test_an_older_device_may_have_no_line_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    rules: dict[str, Any] = {"pidof": reply("71\n"), "--uid": BY_UID, "-t 1": reply(line(9)), "logcat": reply()}
    assert log(monkeypatch, **rules)[0] == []
