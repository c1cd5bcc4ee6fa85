"""am, monkey, and dumpsys activity and window: as Android prints them, and as clients parse them."""

import re
from collections.abc import Iterator

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.package_manager import Intent
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, field, text
from tests.phone.shell.scripts import output, run

NOTES = "com.example.notes"
LAUNCHER = "com.android.launcher3"


def notes() -> App:
    app = App(NOTES, "Notes", links=("notes:",), link_screen="reader")

    @app.screen("home", activity=f"{NOTES}.MainActivity")
    def home(_: AppContext) -> View:
        return column(text("All notes"), field("draft", id="draft"))

    @app.screen("reader", activity=f"{NOTES}.Reader")
    def reader(context: AppContext) -> View:
        return column(text(f"Reading {context.args['uri']}"))

    @app.screen("secret", activity=f"{NOTES}.Secret")
    def secret(context: AppContext) -> View:
        return column(text(context.args["needed"]))

    return app


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone(apps=[notes()])
    yield phone
    phone.close()


def events(phone: Phone, tag: str) -> list[str]:
    return [entry.message for entry in phone.log.read() if entry.tag == tag]


# Starting


def test_a_component_is_started_and_named_as_it_was_given(phone: Phone) -> None:
    assert output(phone, f"am start -n {NOTES}/.MainActivity") == (
        f"Starting: Intent {{ cmp={NOTES}/.MainActivity }}\n"
    )
    assert phone.foreground() == NOTES


def test_start_activity_is_the_same_command(phone: Phone) -> None:
    output(phone, f"am start-activity -n {NOTES}/{NOTES}.MainActivity")
    assert phone.foreground() == NOTES


def test_waiting_prints_the_launch_state(phone: Phone) -> None:
    result = output(phone, f"am start -W -n {NOTES}/.MainActivity").splitlines()
    assert result[1:4] == ["Status: ok", "LaunchState: COLD", f"Activity: {NOTES}/.MainActivity"]
    assert re.fullmatch(r"TotalTime: \d+", result[4])
    assert re.fullmatch(r"WaitTime: \d+", result[5])
    assert result[6] == "Complete"


def test_a_background_app_is_brought_to_the_front_with_a_warning(phone: Phone) -> None:
    output(phone, f"am start -n {NOTES}/.MainActivity")
    phone.go_home()
    result = run(phone, f"am start -n {NOTES}/.MainActivity")
    assert (result.code, result.err) == (
        0,
        "Warning: Activity not started, its current task has been brought to the front\n",
    )
    assert phone.foreground() == NOTES


def test_an_app_in_front_gets_the_intent(phone: Phone) -> None:
    output(phone, f"am start -n {NOTES}/.MainActivity")
    result = output(phone, f"am start -W -n {NOTES}/.MainActivity")
    assert (
        "Warning: Activity not started, intent has been delivered to currently running top-most instance.\n"
        in result
    )


def test_stopping_first_makes_the_start_cold(phone: Phone) -> None:
    output(phone, f"am start -n {NOTES}/.MainActivity")
    result = output(phone, f"am start -S -W -n {NOTES}/.MainActivity").splitlines()
    assert result[0] == f"Stopping: {NOTES}"
    assert "LaunchState: COLD" in result


@pytest.mark.parametrize("component", ["com.nobody/.Main", f"{NOTES}/.Nowhere"])
def test_an_unknown_activity_is_error_type_3(phone: Phone, component: str) -> None:
    package, _, name = component.partition("/")
    result = run(phone, f"am start -n {component}")
    assert result.code == 1
    assert result.out == f"Starting: Intent {{ cmp={component} }}\n"
    assert result.err == f"Error type 3\nError: Activity class {{{package}/{package}{name}}} does not exist.\n"
    assert phone.foreground() == LAUNCHER


def test_with_waiting_the_error_is_on_stdout(phone: Phone) -> None:
    result = run(phone, "am start -W -n com.nobody/.Main")
    assert result.code == 1
    assert result.err == ""
    assert result.out.endswith("does not exist.\n")


def test_an_activity_that_is_not_exported_is_refused(phone: Phone) -> None:
    result = run(phone, f"am start -n {NOTES}/.Secret")
    assert result.code == 255
    assert "java.lang.SecurityException: Permission Denial: starting Intent" in result.err
    assert "not exported from uid" in result.err
    assert phone.foreground() == LAUNCHER


def test_an_intent_without_a_handler_cannot_be_resolved(phone: Phone) -> None:
    result = run(phone, "am start -a android.intent.action.VIEW -d zzz://nobody/x")
    assert result.code == 1
    assert result.err == (
        "Error: Activity not started, unable to resolve"
        " Intent { act=android.intent.action.VIEW dat=zzz://nobody/... flg=0x10000000 }\n"
    )


def test_a_link_opens_the_app_that_handles_it(phone: Phone) -> None:
    result = output(
        phone, "am start -W -a android.intent.action.VIEW -d notes:7 --es who me --ez loud true --ei n 3"
    )
    assert result.startswith("Starting: Intent { act=android.intent.action.VIEW dat=notes: (has extras) }\n")
    assert f"Activity: {NOTES}/.Reader\n" in result
    assert phone.windows.active().nodes[-1].text == "Reading notes:7"


def test_a_link_for_another_package_is_not_resolved(phone: Phone) -> None:
    result = run(phone, "am start -a android.intent.action.VIEW -d notes:7 -p com.android.settings")
    assert result.code == 1


def test_a_task_is_cleared_to_its_first_screen_when_asked(phone: Phone) -> None:
    run(phone, "am start -a android.intent.action.VIEW -d notes:7")
    phone.launch(NOTES)
    phone.tasks.open(phone.tasks.front.process, "reader", {"uri": "notes:8"})
    run(phone, f"am start -n {NOTES}/.MainActivity --activity-clear-top")
    assert len(phone.tasks.front.entries) == 1


def test_a_package_alone_is_launched(phone: Phone) -> None:
    result = output(phone, f"am start {NOTES}")
    assert f"cat=[android.intent.category.LAUNCHER] pkg={NOTES} }}" in result
    assert phone.foreground() == NOTES


def test_extras_reach_the_screen_with_their_types(phone: Phone) -> None:
    output(phone, "am start -n com.clawperator.notes/.MainActivity --es title Milk --ei count 3 --ez urgent true")
    assert phone.foreground() == "com.clawperator.notes"
    assert phone.tasks.front.top.args == {"title": "Milk", "count": 3, "urgent": True}
    assert "NumberFormatException" in run(phone, "am start -n a/.B --ei count many").err
    assert "NumberFormatException" in run(phone, "am start -n a/.B --ef size wide").err


def test_home_can_be_started_as_an_activity(phone: Phone) -> None:
    phone.launch(NOTES)
    run(phone, "am start -a android.intent.action.MAIN -c android.intent.category.HOME")
    assert phone.foreground() == LAUNCHER


def test_a_page_of_the_settings_is_opened_by_its_action(phone: Phone) -> None:
    output(phone, "am start -a android.settings.ACCESSIBILITY_SETTINGS")
    assert phone.foreground() == "com.android.settings"
    assert phone.tasks.front.top.screen.name == "accessibility"
    output(phone, f"am start -a android.settings.APPLICATION_DETAILS_SETTINGS -d package:{NOTES}")
    assert phone.tasks.front.top.args == {"package": NOTES}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("", "No intent supplied"),
        ("-n nonsense", "Bad component name: nonsense"),
        ("--what", "Unknown option: --what"),
        ("-a", 'Argument expected after "-a"'),
        ("-a x --ei k notanumber", 'For input string: "notanumber"'),
        ("-a x --ez k perhaps", "Invalid boolean value: perhaps"),
        ("-a x -f zz", 'For input string: "zz"'),
    ],
)
def test_invalid_arguments_of_am_are_an_exception(phone: Phone, arguments: str, words: str) -> None:
    result = run(phone, f"am start {arguments}")
    assert result.code == 255
    assert result.err.startswith("\nException occurred while executing 'start':\njava.lang.")
    assert words in result.err


def test_a_start_is_logged(phone: Phone) -> None:
    output(phone, f"am start -n {NOTES}/.MainActivity")
    process = phone.process_of(NOTES)
    assert process is not None
    assert f"START u0 {{flg=0x10000000 cmp={NOTES}/.MainActivity}} from uid 2000" in events(
        phone, "ActivityTaskManager"
    )
    assert any(f"Start proc {process.pid}:{NOTES}/u0a" in line for line in events(phone, "ActivityManager"))
    assert any(f"[0,{process.pid}," in line for line in events(phone, "am_proc_start"))


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://example.com:8080/path?q=secret", "https://example.com:8080/..."),
        ("https://example.com", "https://example.com/..."),
        ("tel:+49-123", "tel:xxx-xxx"),
        ("mailto:me@example.com", "mailto:xx@xxxxxxx.xxx"),
        ("geo:1,2", "geo:"),
        ("https://[broken", "https:"),
    ],
)
def test_a_link_is_printed_without_its_content(uri: str, shown: str) -> None:
    assert str(Intent(data=uri)) == f"Intent {{ dat={shown} }}"


# Stopping


def test_a_forced_stop_ends_the_app(phone: Phone) -> None:
    phone.launch(NOTES)
    assert output(phone, f"am force-stop {NOTES}") == ""
    assert phone.process_of(NOTES) is None
    assert phone.foreground() == LAUNCHER


def test_stopping_an_unknown_package_succeeds(phone: Phone) -> None:
    assert output(phone, "am force-stop com.nobody") == ""


def test_kill_spares_the_app_in_front_and_the_operator(phone: Phone) -> None:
    phone.launch(NOTES)
    output(phone, f"am kill {NOTES}; am kill {phone.operator.package}")
    assert phone.process_of(NOTES) is not None
    phone.go_home()
    output(phone, f"am kill {NOTES}; am kill-all")
    assert phone.process_of(NOTES) is None
    assert phone.operator.is_bound()


# Broadcasts


def test_a_broadcast_reaches_the_operator(phone: Phone) -> None:
    result = output(
        phone,
        "am broadcast -a 'app.clawperator.operator.ACTION_AGENT_COMMAND' -p 'com.clawperator.operator'"
        " --es 'payload' '{\"it\":\"is'\"'\"'nt\"}' --receiver-foreground",
    )
    assert result == (
        "Broadcasting: Intent { act=app.clawperator.operator.ACTION_AGENT_COMMAND flg=0x10400000"
        " pkg=com.clawperator.operator (has extras) }\nBroadcast completed: result=0\n"
    )
    assert any("[Operator-Receiver]" in line for line in events(phone, "a"))


@pytest.mark.parametrize("where", ["-p com.another", "-n com.clawperator.operator/.Other", "-n com.another/.X"])
def test_a_broadcast_for_another_receiver_does_not(phone: Phone, where: str) -> None:
    result = output(
        phone, f"am broadcast -a app.clawperator.operator.ACTION_AGENT_COMMAND {where} --es payload '{{}}'"
    )
    assert result.endswith("Broadcast completed: result=0\n")
    assert events(phone, "a") == []


def test_a_broadcast_of_the_system_is_refused(phone: Phone) -> None:
    result = run(phone, "am broadcast -a android.intent.action.AIRPLANE_MODE --ez state true")
    assert result.code == 255
    assert "java.lang.SecurityException: Permission Denial: not allowed to send broadcast" in result.err


def test_no_instrumentation_is_found(phone: Phone) -> None:
    result = run(phone, "am instrument -w -e class a.B com.example.test/androidx.test.runner.AndroidJUnitRunner")
    assert result.code == 1
    assert "INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for" in result.out
    assert "INSTRUMENTATION_FAILED: com.example.test/androidx.test.runner.AndroidJUnitRunner" in result.err


def test_services_are_not_found(phone: Phone) -> None:
    result = run(phone, f"am startservice -n {NOTES}/.Service")
    assert (result.code, result.err) == (255, "Error: Not found; no service started.\n")


def test_there_is_one_user(phone: Phone) -> None:
    assert output(phone, "am get-current-user") == "0\n"


def test_an_unknown_command_is_named(phone: Phone) -> None:
    assert run(phone, "am dance") == (255, "Unknown command: dance\n", "")


# Monkey


def test_monkey_launches_an_app(phone: Phone) -> None:
    result = run(phone, f"monkey -p {NOTES} -c android.intent.category.LAUNCHER 1")
    assert result.code == 0
    assert "\nEvents injected: 1\n" in result.out
    assert result.out.startswith(f"  bash arg: -p\n  bash arg: {NOTES}\n")
    assert phone.foreground() == NOTES


def test_monkey_without_an_activity_aborts(phone: Phone) -> None:
    result = run(phone, "monkey -p com.nobody -c android.intent.category.LAUNCHER 1")
    assert result.code == 252
    assert result.out.endswith("** No activities found to run, monkey aborted.\n")


@pytest.mark.parametrize("arguments", ["", "-p", f"-p {NOTES}", f"-p {NOTES} many", f"-p {NOTES} --throttle x 1"])
def test_monkey_needs_a_count(phone: Phone, arguments: str) -> None:
    assert run(phone, f"monkey {arguments}").code == 255


def test_monkey_repeats_its_events_with_the_same_seed(phone: Phone) -> None:
    other = Phone(apps=[notes()])
    for each in (phone, other):
        assert "Events injected: 40\n" in run(each, f"monkey -p {NOTES} -s 5 --throttle 10 40").out
    assert phone.windows.xml() == other.windows.xml()
    other.close()


# What is in front


def test_the_focused_window_is_in_the_lines_clients_parse(phone: Phone) -> None:
    phone.launch(NOTES)
    result = output(phone, "dumpsys window windows")
    assert re.search(rf"mCurrentFocus=Window\{{\w+ u0 {NOTES}/{NOTES}\.MainActivity\}}", result)
    assert re.search(rf"mFocusedApp=ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", result)


def test_a_phone_asleep_has_no_focus(phone: Phone) -> None:
    output(phone, "input keyevent SLEEP")
    assert "mCurrentFocus=null\n" in output(phone, "dumpsys window")


def test_the_activity_in_front_is_dumped_with_its_task_and_process(phone: Phone) -> None:
    phone.launch(NOTES)
    process = phone.process_of(NOTES)
    assert process is not None
    activities = output(phone, "dumpsys activity activities")
    assert re.search(rf"mResumedActivity: ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", activities)
    assert re.search(rf"topResumedActivity=ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", activities)
    top = re.findall(r"ACTIVITY (\S+) \w+ pid=(\d+)", output(phone, "dumpsys activity top"))
    assert top[-1] == (f"{NOTES}/.MainActivity", str(process.pid))
    for part in ("recents", "processes"):
        assert NOTES in output(phone, f"dumpsys activity {part}")


def test_a_dialog_of_the_system_takes_the_focus_but_not_the_activity(phone: Phone) -> None:
    phone.launch(NOTES)
    phone.set_fault("dialog", 1)
    result = output(phone, "dumpsys window")
    assert "Application Not Responding: com.android.systemui}" in result
    assert f"{NOTES}/.MainActivity" in result


def test_the_tasks_are_listed_from_the_top(phone: Phone) -> None:
    phone.launch(NOTES)
    result = re.findall(r"taskId=\d+: (\S+) .*visible=(\w+)", output(phone, "am stack list"))
    assert result[0] == (f"{NOTES}/{NOTES}.MainActivity", "true")
    assert result[-1][1] == "false"
