"""am, monkey and the dumps that say what is in front: as Android prints them, and as clients read them."""

import re
from collections.abc import Iterator

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.intents import Intent
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, field, text
from tests.phone.asking import ask, out

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
    assert out(phone, f"am start -n {NOTES}/.MainActivity") == (
        f"Starting: Intent {{ cmp={NOTES}/.MainActivity }}\n"
    )
    assert phone.foreground() == NOTES


def test_start_activity_is_the_same_command(phone: Phone) -> None:
    out(phone, f"am start-activity -n {NOTES}/{NOTES}.MainActivity")
    assert phone.foreground() == NOTES


def test_waiting_tells_how_the_app_came_up(phone: Phone) -> None:
    said = out(phone, f"am start -W -n {NOTES}/.MainActivity").splitlines()
    assert said[1:4] == ["Status: ok", "LaunchState: COLD", f"Activity: {NOTES}/.MainActivity"]
    assert re.fullmatch(r"TotalTime: \d+", said[4])
    assert re.fullmatch(r"WaitTime: \d+", said[5])
    assert said[6] == "Complete"


def test_an_app_that_was_left_is_brought_back_with_a_warning(phone: Phone) -> None:
    out(phone, f"am start -n {NOTES}/.MainActivity")
    phone.go_home()
    said = ask(phone, f"am start -n {NOTES}/.MainActivity")
    assert (said.code, said.err) == (
        0,
        "Warning: Activity not started, its current task has been brought to the front\n",
    )
    assert phone.foreground() == NOTES


def test_an_app_in_front_is_told_of_the_intent(phone: Phone) -> None:
    out(phone, f"am start -n {NOTES}/.MainActivity")
    said = out(phone, f"am start -W -n {NOTES}/.MainActivity")
    assert (
        "Warning: Activity not started, intent has been delivered to currently running top-most instance.\n"
        in said
    )


def test_stopping_first_makes_the_start_cold(phone: Phone) -> None:
    out(phone, f"am start -n {NOTES}/.MainActivity")
    said = out(phone, f"am start -S -W -n {NOTES}/.MainActivity").splitlines()
    assert said[0] == f"Stopping: {NOTES}"
    assert "LaunchState: COLD" in said


@pytest.mark.parametrize("component", ["com.nobody/.Main", f"{NOTES}/.Nowhere"])
def test_a_class_that_is_not_there_is_error_type_3(phone: Phone, component: str) -> None:
    package, _, name = component.partition("/")
    said = ask(phone, f"am start -n {component}")
    assert said.code == 1
    assert said.out == f"Starting: Intent {{ cmp={component} }}\n"
    assert said.err == f"Error type 3\nError: Activity class {{{package}/{package}{name}}} does not exist.\n"
    assert phone.foreground() == LAUNCHER


def test_one_who_waits_reads_the_error_on_stdout(phone: Phone) -> None:
    said = ask(phone, "am start -W -n com.nobody/.Main")
    assert said.code == 1
    assert said.err == ""
    assert said.out.endswith("does not exist.\n")


def test_an_activity_for_its_own_app_alone_is_refused(phone: Phone) -> None:
    said = ask(phone, f"am start -n {NOTES}/.Secret")
    assert said.code == 255
    assert "java.lang.SecurityException: Permission Denial: starting Intent" in said.err
    assert "not exported from uid" in said.err
    assert phone.foreground() == LAUNCHER


def test_an_intent_nobody_answers_cannot_be_resolved(phone: Phone) -> None:
    said = ask(phone, "am start -a android.intent.action.VIEW -d zzz://nobody/x")
    assert said.code == 1
    assert said.err == (
        "Error: Activity not started, unable to resolve"
        " Intent { act=android.intent.action.VIEW dat=zzz://nobody/... flg=0x10000000 }\n"
    )


def test_a_link_opens_the_app_that_takes_it(phone: Phone) -> None:
    said = out(phone, "am start -W -a android.intent.action.VIEW -d notes:7 --es who me --ez loud true --ei n 3")
    assert said.startswith("Starting: Intent { act=android.intent.action.VIEW dat=notes: (has extras) }\n")
    assert f"Activity: {NOTES}/.Reader\n" in said
    assert phone.windows.active().nodes[-1].text == "Reading notes:7"


def test_a_link_for_another_package_is_not_resolved(phone: Phone) -> None:
    said = ask(phone, "am start -a android.intent.action.VIEW -d notes:7 -p com.android.settings")
    assert said.code == 1


def test_a_task_is_cleared_to_its_first_screen_when_asked(phone: Phone) -> None:
    ask(phone, "am start -a android.intent.action.VIEW -d notes:7")
    phone.launch(NOTES)
    phone.tasks.open(phone.tasks.front.process, "reader", {"uri": "notes:8"})
    ask(phone, f"am start -n {NOTES}/.MainActivity --activity-clear-top")
    assert len(phone.tasks.front.entries) == 1


def test_a_package_alone_is_launched(phone: Phone) -> None:
    said = out(phone, f"am start {NOTES}")
    assert f"cat=[android.intent.category.LAUNCHER] pkg={NOTES} }}" in said
    assert phone.foreground() == NOTES


def test_home_is_an_activity_like_others(phone: Phone) -> None:
    phone.launch(NOTES)
    ask(phone, "am start -a android.intent.action.MAIN -c android.intent.category.HOME")
    assert phone.foreground() == LAUNCHER


def test_a_page_of_the_settings_is_opened_by_its_action(phone: Phone) -> None:
    out(phone, "am start -a android.settings.ACCESSIBILITY_SETTINGS")
    assert phone.foreground() == "com.android.settings"
    assert phone.tasks.front.top.screen.name == "accessibility"
    out(phone, f"am start -a android.settings.APPLICATION_DETAILS_SETTINGS -d package:{NOTES}")
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
def test_what_am_cannot_read_is_an_exception(phone: Phone, arguments: str, words: str) -> None:
    said = ask(phone, f"am start {arguments}")
    assert said.code == 255
    assert said.err.startswith("\nException occurred while executing 'start':\njava.lang.")
    assert words in said.err


def test_the_log_tells_of_a_start(phone: Phone) -> None:
    out(phone, f"am start -n {NOTES}/.MainActivity")
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
def test_a_link_is_printed_without_what_it_says(uri: str, shown: str) -> None:
    assert str(Intent(data=uri)) == f"Intent {{ dat={shown} }}"


# Stopping


def test_a_forced_stop_ends_the_app(phone: Phone) -> None:
    phone.launch(NOTES)
    assert out(phone, f"am force-stop {NOTES}") == ""
    assert phone.process_of(NOTES) is None
    assert phone.foreground() == LAUNCHER


def test_stopping_what_is_not_there_is_no_error(phone: Phone) -> None:
    assert out(phone, "am force-stop com.nobody") == ""


def test_kill_spares_what_is_in_front_and_the_operator(phone: Phone) -> None:
    phone.launch(NOTES)
    out(phone, f"am kill {NOTES}; am kill {phone.operator.package}")
    assert phone.process_of(NOTES) is not None
    phone.go_home()
    out(phone, f"am kill {NOTES}; am kill-all")
    assert phone.process_of(NOTES) is None
    assert phone.operator.is_bound()


# Broadcasts


def test_a_broadcast_reaches_the_operator(phone: Phone) -> None:
    said = out(
        phone,
        "am broadcast -a 'app.clawperator.operator.ACTION_AGENT_COMMAND' -p 'com.clawperator.operator'"
        " --es 'payload' '{\"it\":\"is'\"'\"'nt\"}' --receiver-foreground",
    )
    assert said == (
        "Broadcasting: Intent { act=app.clawperator.operator.ACTION_AGENT_COMMAND flg=0x10400000"
        " pkg=com.clawperator.operator (has extras) }\nBroadcast completed: result=0\n"
    )
    assert any("[Operator-Receiver]" in line for line in events(phone, "a"))


@pytest.mark.parametrize("where", ["-p com.another", "-n com.clawperator.operator/.Other", "-n com.another/.X"])
def test_a_broadcast_for_somebody_else_does_not(phone: Phone, where: str) -> None:
    said = out(phone, f"am broadcast -a app.clawperator.operator.ACTION_AGENT_COMMAND {where} --es payload '{{}}'")
    assert said.endswith("Broadcast completed: result=0\n")
    assert events(phone, "a") == []


def test_a_broadcast_of_the_system_is_refused(phone: Phone) -> None:
    said = ask(phone, "am broadcast -a android.intent.action.AIRPLANE_MODE --ez state true")
    assert said.code == 255
    assert "java.lang.SecurityException: Permission Denial: not allowed to send broadcast" in said.err


def test_no_test_can_be_instrumented(phone: Phone) -> None:
    said = ask(phone, "am instrument -w -e class a.B com.example.test/androidx.test.runner.AndroidJUnitRunner")
    assert said.code == 1
    assert "INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for" in said.out
    assert "INSTRUMENTATION_FAILED: com.example.test/androidx.test.runner.AndroidJUnitRunner" in said.err


def test_services_are_not_found(phone: Phone) -> None:
    said = ask(phone, f"am startservice -n {NOTES}/.Service")
    assert (said.code, said.err) == (255, "Error: Not found; no service started.\n")


def test_there_is_one_user(phone: Phone) -> None:
    assert out(phone, "am get-current-user") == "0\n"


def test_an_unknown_command_is_named(phone: Phone) -> None:
    assert ask(phone, "am dance") == (255, "Unknown command: dance\n", "")


# Monkey


def test_monkey_launches_an_app(phone: Phone) -> None:
    said = ask(phone, f"monkey -p {NOTES} -c android.intent.category.LAUNCHER 1")
    assert said.code == 0
    assert "\nEvents injected: 1\n" in said.out
    assert said.out.startswith(f"  bash arg: -p\n  bash arg: {NOTES}\n")
    assert phone.foreground() == NOTES


def test_monkey_without_an_activity_aborts(phone: Phone) -> None:
    said = ask(phone, "monkey -p com.nobody -c android.intent.category.LAUNCHER 1")
    assert said.code == 252
    assert said.out.endswith("** No activities found to run, monkey aborted.\n")


@pytest.mark.parametrize("arguments", ["", "-p", f"-p {NOTES}", f"-p {NOTES} many", f"-p {NOTES} --throttle x 1"])
def test_monkey_needs_a_count(phone: Phone, arguments: str) -> None:
    assert ask(phone, f"monkey {arguments}").code == 255


def test_monkey_plays_the_same_with_the_same_seed(phone: Phone) -> None:
    other = Phone(apps=[notes()])
    for each in (phone, other):
        assert "Events injected: 40\n" in ask(each, f"monkey -p {NOTES} -s 5 --throttle 10 40").out
    assert phone.windows.xml() == other.windows.xml()
    other.close()


# What is in front


def test_the_window_in_front_is_told_where_clients_look(phone: Phone) -> None:
    phone.launch(NOTES)
    said = out(phone, "dumpsys window windows")
    assert re.search(rf"mCurrentFocus=Window\{{\w+ u0 {NOTES}/{NOTES}\.MainActivity\}}", said)
    assert re.search(rf"mFocusedApp=ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", said)


def test_a_phone_asleep_has_no_focus(phone: Phone) -> None:
    out(phone, "input keyevent SLEEP")
    assert "mCurrentFocus=null\n" in out(phone, "dumpsys window")


def test_the_activity_in_front_is_told_with_its_task_and_process(phone: Phone) -> None:
    phone.launch(NOTES)
    process = phone.process_of(NOTES)
    assert process is not None
    activities = out(phone, "dumpsys activity activities")
    assert re.search(rf"mResumedActivity: ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", activities)
    assert re.search(rf"topResumedActivity=ActivityRecord\{{\w+ u0 {NOTES}/\.MainActivity t\d+\}}", activities)
    top = re.findall(r"ACTIVITY (\S+) \w+ pid=(\d+)", out(phone, "dumpsys activity top"))
    assert top[-1] == (f"{NOTES}/.MainActivity", str(process.pid))
    for part in ("recents", "processes"):
        assert NOTES in out(phone, f"dumpsys activity {part}")


def test_a_dialog_of_the_system_takes_the_focus_but_not_the_activity(phone: Phone) -> None:
    phone.launch(NOTES)
    phone.set_fault("dialog", 1)
    said = out(phone, "dumpsys window")
    assert "Application Not Responding: com.android.systemui}" in said
    assert f"{NOTES}/.MainActivity" in said


def test_the_tasks_are_listed_from_the_top(phone: Phone) -> None:
    phone.launch(NOTES)
    said = re.findall(r"taskId=\d+: (\S+) .*visible=(\w+)", out(phone, "am stack list"))
    assert said[0] == (f"{NOTES}/{NOTES}.MainActivity", "true")
    assert said[-1][1] == "false"
