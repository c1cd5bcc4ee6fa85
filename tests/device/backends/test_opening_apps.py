"""Opening apps over plain adb, and reading the processes and the log of one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.host_actions import is_running
from tests.device.backends.doubles_bench import DoublesBench, doubles_bench
from tests.support.command_doubles import Reply
from tests.support.ordinary_phone import SETTINGS

TV_APP = "com.example.tv"
LEANBACK = "android.intent.category.LEANBACK_LAUNCHER"
KEPT = "Warning: Activity not started because the  current activity is being kept for the user.\n"
ONCE = {"maxAttempts": 1}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DoublesBench]:
    with doubles_bench(tmp_path) as made:
        yield made


def test_an_app_for_tv_is_opened_by_its_own_category(bench: DoublesBench) -> None:
    found = f"priority=0 preferredOrder=0 match=0x108000\n{TV_APP}/.TvActivity\n"
    bench.doubles.answer("cmd", found, when=f"package resolve-activity *{LEANBACK} {TV_APP}")
    assert bench.data("open_app", applicationId=TV_APP)["dispatch_method"] == "launch_intent"
    (started,) = bench.lines("am")
    assert started.endswith(f"-c {LEANBACK} -f 0x10200000 -n {TV_APP}/.TvActivity")


def test_a_missing_app_is_asked_for_once_in_each_category(bench: DoublesBench) -> None:
    step = bench.step("open_app", applicationId="com.nope")
    assert step.data["error"] == "APP_NOT_FOUND"
    assert [line.split()[0] for line in bench.lines()] == ["cmd", "cmd"]


def test_monkey_opens_the_app_where_the_device_does_not_resolve_it(bench: DoublesBench) -> None:
    bench.doubles.answer("cmd", Reply(stderr="Unknown command: resolve-activity\n", code=255))
    bench.doubles.answer("monkey", "Events injected: 1\n## Network stats: elapsed time=1ms\n")
    assert bench.step("open_app", applicationId=SETTINGS).success
    assert bench.lines("monkey") == [f"monkey -p {SETTINGS} -c android.intent.category.LAUNCHER --pct-syskeys 0 1"]


@pytest.mark.parametrize("package", [SETTINGS, "com.example.gone"])
def test_what_monkey_reports_is_compared_with_the_app_in_front(bench: DoublesBench, package: str) -> None:
    """It reports an event also for an activity that does not exist."""
    found = f"priority=0 preferredOrder=0 match=0x108000\n{package}/.Main\n"
    bench.doubles.answer("cmd", found, when="package resolve-activity *")
    missing = f"Error type 3\nError: Activity class {{{package}/.Main}} does not exist.\n"
    bench.doubles.answer("am", Reply("Starting: Intent { }\n", missing), when="start *")
    bench.doubles.answer("monkey", "Events injected: 1\n")
    step = bench.step("open_app", applicationId=package, retry=ONCE)
    assert step.success is (package == SETTINGS)
    if not step.success:
        assert step.data["error"] == "APP_NOT_STARTED"
        assert step.data["foreground_package"] == SETTINGS


def test_an_app_that_comes_to_the_front_at_the_last_look_is_opened(
    bench: DoublesBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.doubles.answer("cmd", Reply(stderr="Unknown command: resolve-activity\n", code=255))
    bench.doubles.answer("monkey", "Events injected: 1\n")
    looks: list[str] = []

    def foreground(_: AdbDriver) -> str:
        looks.append("")
        return SETTINGS if len(looks) > slow else "com.other"

    monkeypatch.setattr(AdbDriver, "foreground", foreground)
    monkeypatch.setattr(AdbDriver, "_sleep", lambda *_: None)
    slow = 1_000
    assert not bench.step("open_app", applicationId=SETTINGS, retry=ONCE).success
    slow = len(looks) - 1
    looks.clear()
    assert bench.step("open_app", applicationId=SETTINGS, retry=ONCE).success


@pytest.mark.parametrize(
    "warning",
    [
        "Warning: Activity not started, its current task has been brought to the front\n",
        "Warning: Activity not started, intent has been delivered to currently running top-most instance.\n",
    ],
)
def test_an_app_that_is_there_already_is_opened(bench: DoublesBench, warning: str) -> None:
    bench.doubles.answer("am", Reply("Starting: Intent { }\r\n", warning), when="start *")
    assert bench.step("open_app", applicationId=SETTINGS).success


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("open_app", {"applicationId": SETTINGS, "retry": ONCE}),
        ("open_uri", {"uri": "https://example.com", "retry": ONCE}),
        ("start_activity", {"component": f"{SETTINGS}/.Settings"}),
    ],
)
def test_an_activity_that_the_device_keeps_back_is_not_opened(
    bench: DoublesBench, kind: str, params: dict[str, object]
) -> None:
    bench.doubles.answer("am", Reply("Starting: Intent { }\n", KEPT), when="start *")
    step = bench.step(kind, **params)  # type: ignore[arg-type]
    assert (step.data["error"], "dispatched" in step.data) == ("APP_NOT_STARTED", False)
    assert "press home" in step.data["hint"]


# Processes and the log

OLD_PS = (
    "USER      PID   PPID  VSIZE  RSS   WCHAN            PC  NAME\n"
    "root      1     0     8904   788   SyS_epoll_ 00000000 S /init\n"
    f"u0_a12    1234  200   123456 12345 SyS_epoll_ 00000000 S {SETTINGS}\n"
)


@pytest.mark.parametrize(("package", "running"), [(SETTINGS, True), ("com.nope", False)])
def test_the_processes_of_android_7_are_listed(bench: DoublesBench, package: str, *, running: bool) -> None:
    bench.doubles.answer("ps", OLD_PS.splitlines()[0] + "\n", when="-A -o *")
    bench.doubles.answer("ps", OLD_PS, when="")
    assert is_running(bench.device, package) is running


@pytest.mark.parametrize(
    ("package", "running"), [(SETTINGS, True), ("com.nope", False), ("com.a", True), ("com.android", False)]
)
def test_a_process_may_have_a_suffix(bench: DoublesBench, package: str, *, running: bool) -> None:
    bench.doubles.answer("ps", f"NAME\r\n{SETTINGS}\r\ncom.a:remote\r\n")
    assert is_running(bench.device, package) is running


def test_an_app_may_run_where_processes_are_not_listed(bench: DoublesBench) -> None:
    bench.doubles.answer("ps", Reply(stderr="ps: bad\n", code=1))
    assert is_running(bench.device, SETTINGS) is True


LINES = (
    "Note: log switch off, only log_main and log_events will have logs!\n--------- beginning of main\n01-31 12:00:00.000  1234  1240 I Settings: hello\n"
    "01-31 12:00:00.001   999  1240 I Other: not this\n"
)


@pytest.fixture
def logging(bench: DoublesBench) -> DoublesBench:
    bench.doubles.answer("dumpsys", f"  Package [{SETTINGS}]\n    userId=10012\n", when="package *")
    bench.doubles.answer("logcat", LINES)
    bench.doubles.answer("logcat", Reply(stderr="logcat: unrecognized option '--uid'\n", code=1), when="*--uid*")
    return bench


@pytest.mark.parametrize("has_pidof", [True, False])
def test_the_log_of_an_older_device_is_filtered_by_process(logging: DoublesBench, *, has_pidof: bool) -> None:
    if has_pidof:
        logging.doubles.answer("pidof", "1234\n", when=SETTINGS)
    else:
        logging.doubles.remove("pidof")
        logging.doubles.answer("ps", OLD_PS.splitlines()[0] + "\n", when="-A -o *")
        logging.doubles.answer("ps", OLD_PS, when="")
    data = logging.data("read_logcat", applicationId=SETTINGS)
    assert data["text"] == "01-31 12:00:00.000  1234  1240 I Settings: hello"


def test_an_app_that_logged_nothing_has_an_empty_log(logging: DoublesBench) -> None:
    logging.doubles.answer("logcat", "--------- beginning of main\n", when="*--uid*")
    logging.doubles.answer("logcat", LINES, when="*-t 1")
    assert logging.data("read_logcat", applicationId=SETTINGS)["line_count"] == "0"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(),
        Reply("--------- beginning of main\r\n"),
        Reply(stderr="Unable to open log device '/dev/log/main': No such file or directory\n", code=1),
    ],
)
def test_a_device_that_does_not_log_is_named_with_the_switch(logging: DoublesBench, reply: Reply) -> None:
    for when in ("*", "*--uid*"):
        logging.doubles.answer("logcat", reply, when=when)
    step = logging.step("read_logcat", applicationId=SETTINGS)
    assert step.data["error"] == "LOGCAT_UNAVAILABLE"
    assert "Logger buffer sizes" in step.data["hint"]
    assert "*#*#2846579#*#*" in step.data["hint"]
