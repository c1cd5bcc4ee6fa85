"""Naming a user on the device's command lines."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from clawperator.contract.execution import needs_host, new_execution, operator_action, validate
from clawperator.contract.results import ResultEnvelope
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device import users
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, run_shell
from clawperator.device.packages import list_packages
from clawperator.device.run.run import run_plan
from clawperator.device.users import list_users, require_user, user_line, user_refusal, user_words
from clawperator.engine.clock import VirtualClock
from clawperator.engine.run import Engine
from clawperator.engine.scripted import ScriptedDriver, node
from clawperator.errors import ClawError
from clawperator.policy.gate import approve
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import SETTINGS, ordinary_phone

SAMSUNG = "Users:\n\tUserInfo{0:Owner:4c13} running\n\tUserInfo{150:Secure Folder:10061030} running\n"
REFUSED = (
    "\nException occurred while executing 'list':\n"
    "java.lang.SecurityException: Shell does not have permission to access user 150\n"
)


class Doubled(Struct, frozen=True):
    doubles: CommandDoubles
    device: Device


@pytest.fixture
def doubled(tmp_path: Path) -> Iterator[Doubled]:
    doubles = CommandDoubles(tmp_path / "d")
    doubles.answer("am", "10\n", when="get-current-user")
    doubles.answer("pm", SAMSUNG, when="list users")
    with double_server(doubles) as device:
        yield Doubled(doubles, device)


def test_the_current_user_is_asked_for_in_the_same_round_trip(doubled: Doubled) -> None:
    doubled.doubles.answer("pm", "package:a\n", when="list packages*")
    assert run_shell(doubled.device, user_line("pm", "list", "packages", rest=["-3"]), seconds=10).code == 0
    assert doubled.doubles.calls() == [
        ["am", "get-current-user"],
        ["pm", "list", "packages", "--user", "10", "-3"],
    ]


@pytest.mark.parametrize(
    "answer",
    [
        Reply("", "Error: unknown command 'get-current-user'\n", 255),
        Reply("Unknown command: get-current-user\n", code=0),
        Reply("10; reboot\n"),
        Reply("-2\n"),
        Reply(""),
    ],
)
def test_without_an_answer_it_is_user_0(doubled: Doubled, answer: Reply) -> None:
    doubled.doubles.answer("am", answer)
    doubled.doubles.answer("pm", "")
    run_shell(doubled.device, user_line("pm", "clear", rest=["com.a"]), seconds=10)
    assert doubled.doubles.calls("pm") == [["pm", "clear", "--user", "0", "com.a"]]


def test_a_named_user_needs_no_question(doubled: Doubled) -> None:
    doubled.doubles.answer("pm", "")
    run_shell(doubled.device, user_line("pm", "clear", user=150, rest=["com.a"]), seconds=10)
    assert doubled.doubles.calls() == [["pm", "clear", "--user", "150", "com.a"]]


def test_reading_falls_back_to_the_plain_form(doubled: Doubled) -> None:
    doubled.doubles.answer("pm", Reply("", "Error: Unknown option: --user\n", 255), when="*--user*")
    doubled.doubles.answer("pm", "package:a\n", when="list packages -3")
    script = user_line("pm", "list", "packages", rest=["-3"], or_plain=True)
    answer = run_shell(doubled.device, script, seconds=10)
    assert (answer.code, answer.text) == (0, "package:a\n")
    named = user_line("pm", "list", "packages", user=7, rest=["-3"], or_plain=True)
    assert run_shell(doubled.device, named, seconds=10).code == 255


@given(rest=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_every_other_argument_arrives_as_it_is(tmp_path_factory: pytest.TempPathFactory, rest: list[str]) -> None:
    doubles = CommandDoubles(tmp_path_factory.mktemp("doubles") / "d")
    doubles.answer("am", "0\n")
    doubles.answer("settings", "")
    with double_server(doubles) as device:
        run_shell(device, user_line("settings", "put", rest=rest), seconds=10)
    assert doubles.calls("settings") == [["settings", "put", "--user", "0", *rest]]


def test_am_knows_the_current_user_by_that_name() -> None:
    assert user_words(None) == ("--user", "current")
    assert user_words(10) == ("--user", "10")
    assert user_words("current") == ("--user", "current")


def test_a_change_is_not_tried_for_every_user() -> None:
    assert "||" not in user_line("pm", "clear", rest=["com.a"])
    assert user_line("pm", "list", user=3) == "pm list --user 3"
    assert user_line("pm", "list").endswith('; pm list --user "$U"')
    assert user_line("pm", "list", or_plain=True).endswith('; pm list --user "$U" || pm list')


def test_users_are_listed_with_their_names(doubled: Doubled) -> None:
    users = list_users(doubled.device)
    assert [(user.id, user.name, user.running) for user in users] == [
        (0, "Owner", True),
        (150, "Secure Folder", True),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\tUserInfo{10:a:b}c:30}", (10, "a:b}c", False)),
        ("\tUserInfo{0::13} running", (0, "", True)),
        ("id=0, name=Owner", None),
        ("\tUserInfo{999999:x:0} running", None),
    ],
)
def test_a_line_of_the_list(doubled: Doubled, line: str, expected: tuple[int, str, bool] | None) -> None:
    doubled.doubles.answer("pm", f"Users:\n{line}\n", when="list users")
    assert [(user.id, user.name, user.running) for user in list_users(doubled.device)] == (
        [] if expected is None else [expected]
    )


def test_the_beginning_of_an_endless_list_is_read(doubled: Doubled) -> None:
    listed = "".join(f"\tUserInfo{{{number}:x:0}}\n" for number in range(200))
    doubled.doubles.answer("pm", f"Users:\n{listed}", when="list users")
    read = [user.id for user in list_users(doubled.device)]
    assert 10 < len(read) < 200
    assert read == list(range(len(read)))


@pytest.mark.parametrize(("name", "shown"), [("x" * 60, "x" * 60), ("x" * 61, "x" * 59 + "…")])
def test_a_long_name_is_cut(doubled: Doubled, name: str, shown: str) -> None:
    doubled.doubles.answer("pm", f"Users:\n\tUserInfo{{0:{name}:13}}\n", when="list users")
    assert [user.name for user in list_users(doubled.device)] == [shown]


def test_a_user_without_a_name_is_named_by_its_number(doubled: Doubled) -> None:
    doubled.doubles.answer("pm", "Users:\n\tUserInfo{7::13}\n\tUserInfo{10:Work:30} running\n", when="list users")
    with pytest.raises(ClawError) as caught:
        require_user(doubled.device, 0)
    assert caught.value.message.endswith(" has no user 0; it has 7, 10 (Work)")
    assert caught.value.hint == "Choose one of its users, for example 7, or current."
    assert (caught.value.operation, caught.value.target) == ("user", doubled.device.serial)


def test_the_list_is_awaited_as_long_as_the_caller_likes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, float]] = []

    def answer(_: Device, script: str, *, seconds: float) -> ShellAnswer:
        asked.append((script, seconds))
        return ShellAnswer(0, SAMSUNG.encode(), b"")

    monkeypatch.setattr(users, "run_shell", answer)
    device = Device("pixel", Endpoint("127.0.0.1", 1))
    list_users(device, seconds=3)
    require_user(device, 0, seconds=4)
    require_user(device, None)
    require_user(device, "current")
    assert asked == [("pm list users", 3), ("pm list users", 4)]


def test_a_user_that_does_not_exist_is_refused_with_the_users(doubled: Doubled) -> None:
    require_user(doubled.device, None)
    require_user(doubled.device, 150)
    with pytest.raises(ClawError) as caught:
        require_user(doubled.device, 11)
    error = caught.value
    assert error.code == "DEVICE_USER_NOT_FOUND"
    assert "0 (Owner), 150 (Secure Folder)" in error.message
    assert error.details == {"user": 11, "users": [0, 150]}
    assert "for example 0, or current" in error.hint


def test_a_device_that_lists_no_users_decides_itself(doubled: Doubled) -> None:
    doubled.doubles.answer("pm", Reply("", "Error: unknown list type 'users'\n", 255), when="list users")
    require_user(doubled.device, 11)


def test_a_refused_user_has_its_own_code(doubled: Doubled) -> None:
    refusal = user_refusal(doubled.device, REFUSED)
    assert refusal is not None
    assert (refusal.code, refusal.details) == ("DEVICE_USER_FORBIDDEN", {"user": 150})
    assert refusal.message == f"device {doubled.device.serial} does not allow adb to access its user 150"
    assert user_refusal(doubled.device, "Success") is None


# Where users matter


@pytest.fixture
def samsung(tmp_path: Path) -> Iterator[Doubled]:
    """A phone with a Secure Folder: pm refuses to list packages without a user."""
    doubles = ordinary_phone(tmp_path / "d")
    doubles.answer("pm", SAMSUNG, when="list users")
    doubles.answer("pm", Reply(stderr=REFUSED, code=255), when="list packages*")
    doubles.answer("pm", f"package:{SETTINGS}\npackage:com.example.app\n", when="list packages --user 0")
    doubles.answer("pm", "package:com.example.app\n", when="list packages --user 0 -3")
    doubles.answer("pm", "Success\n", when="uninstall*")
    doubles.answer("pm", "Success\n", when="clear*")
    doubles.answer("pm", "", when="grant*")
    with double_server(doubles) as device:
        yield Doubled(doubles, device)


def run(doubled: Doubled, kind: str, /, **params: Any) -> ResultEnvelope:
    document = new_execution([{"type": kind, "params": params}], command_id="c", source="test", timeout_ms=20_000)
    return run_plan(approve(validate(document)), doubled.device, package=OPERATOR_PACKAGE, backend="adb").envelope


def test_packages_of_a_phone_with_a_secure_folder_are_listed(samsung: Doubled) -> None:
    assert list_packages(samsung.device) == [SETTINGS, "com.example.app"]
    assert list_packages(samsung.device, third_party=True) == ["com.example.app"]


def test_a_forbidden_user_is_reported_as_such(samsung: Doubled) -> None:
    with pytest.raises(ClawError) as caught:
        list_packages(samsung.device, user=150)
    assert caught.value.code == "DEVICE_USER_FORBIDDEN"
    assert "another user, for example 0." in caught.value.hint


def test_a_list_without_a_known_reason_is_a_failure_of_the_shell(samsung: Doubled) -> None:
    samsung.doubles.answer("pm", Reply(stderr="cmd: Can't find service: package\n", code=20))
    with pytest.raises(ClawError) as caught:
        list_packages(samsung.device)
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"
    assert "Can't find service" in caught.value.message


@pytest.mark.parametrize(
    ("action", "params", "expected"),
    [
        ("open_app", {"applicationId": SETTINGS}, ["am", "start", "--user", "current"]),
        ("open_app", {"applicationId": SETTINGS, "user": 150}, ["am", "start", "--user", "150"]),
        ("open_uri", {"uri": "https://a.example", "user": 150}, ["am", "start", "--user", "150"]),
        ("start_activity", {"action": "a.b", "user": 150}, ["am", "start", "--user", "150"]),
        ("start_activity", {"action": "a.b"}, ["am", "start", "--user", "current"]),
        ("close_app", {"applicationId": SETTINGS}, ["am", "force-stop", SETTINGS]),
        ("close_app", {"applicationId": SETTINGS, "user": "current"}, ["am", "force-stop", "--user", "current"]),
        ("close_app", {"applicationId": SETTINGS, "user": 150}, ["am", "force-stop", "--user", "150", SETTINGS]),
        ("uninstall_app", {"applicationId": "a.b"}, ["pm", "uninstall", "a.b"]),
        ("uninstall_app", {"applicationId": "a.b", "user": 0}, ["pm", "uninstall", "--user", "0", "a.b"]),
        ("clear_app_data", {"applicationId": "a.b"}, ["pm", "clear", "--user", "0", "a.b"]),
        ("clear_app_data", {"applicationId": "a.b", "user": 150}, ["pm", "clear", "--user", "150", "a.b"]),
        (
            "grant_permission",
            {"applicationId": "a.b", "permission": "c.d", "user": 150},
            ["pm", "grant", "--user", "150", "a.b", "c.d"],
        ),
    ],
)
def test_an_action_names_its_user(
    samsung: Doubled, action: str, params: dict[str, Any], expected: list[str]
) -> None:
    envelope = run(samsung, action, **params)
    assert envelope.status == "success", envelope
    assert expected in [call[: len(expected)] for call in samsung.doubles.calls(expected[0])]


PROCESSES = (
    "USER NAME\nsystem com.android.settings\nu0_a10 com.one:remote\nu150_a10 com.two\nu150_system com.three\n"
)


@pytest.mark.parametrize(
    ("package", "user", "was_running"),
    [
        ("com.android.settings", 0, True),
        ("com.android.settings", 150, False),
        ("com.one", 0, True),
        ("com.one", 150, False),
        ("com.two", 150, True),
        ("com.two", 0, False),
        ("com.three", 150, True),
        ("com.three", 0, False),
    ],
)
def test_an_app_runs_for_its_user(samsung: Doubled, package: str, user: int, *, was_running: bool) -> None:
    samsung.doubles.answer("ps", PROCESSES, when="-A -o USER,NAME")
    (step,) = run(samsung, "close_app", applicationId=package, user=user).stepResults
    assert step.data.get("was_running", "true") == str(was_running).lower()


def test_only_the_current_user_is_opened_by_monkey(samsung: Doubled) -> None:
    samsung.doubles.answer("cmd", "android/com.android.internal.app.ResolverActivity\n", when="package resolve*")
    retry = {"maxAttempts": 1}
    (step,) = run(samsung, "open_app", applicationId="com.example.app", user=150, retry=retry).stepResults
    assert "packages list --user 150" in step.data["hint"]
    assert samsung.doubles.calls("monkey") == []
    run(samsung, "open_app", applicationId="com.example.app", retry=retry)
    assert len(samsung.doubles.calls("monkey")) == 1


def test_nothing_is_done_for_a_user_that_does_not_exist(samsung: Doubled) -> None:
    with pytest.raises(ClawError) as caught:
        run(samsung, "open_app", applicationId=SETTINGS, user=10)
    assert caught.value.code == "DEVICE_USER_NOT_FOUND"
    assert samsung.doubles.calls() == [["pm", "list", "users"]]


def test_a_change_for_a_forbidden_user_has_its_own_code(samsung: Doubled) -> None:
    samsung.doubles.answer("pm", Reply(stderr=REFUSED, code=255), when="clear*")
    (step,) = run(samsung, "clear_app_data", applicationId="a.b", user=150).stepResults
    assert step.data["error"] == "DEVICE_USER_FORBIDDEN"


def test_the_user_of_one_action_is_not_that_of_the_next(samsung: Doubled) -> None:
    actions = [
        {"type": "clear_app_data", "params": {"applicationId": "a.b", "user": 150}},
        {"type": "clear_app_data", "params": {"applicationId": "a.b"}},
    ]
    document = new_execution(actions, command_id="c", source="test", timeout_ms=20_000)
    run_plan(approve(validate(document)), samsung.device, package=OPERATOR_PACKAGE, backend="adb")
    assert [call[3] for call in samsung.doubles.calls("pm") if call[1] == "clear"] == ["150", "0"]


def test_an_operator_receives_no_user() -> None:
    document = new_execution(
        [{"type": "open_app", "params": {"applicationId": "a.b", "user": 10}}],
        command_id="c",
        source="test",
        timeout_ms=20_000,
    )
    plan = validate(document)
    assert needs_host(plan.execution.actions[0])
    assert operator_action(plan.document["actions"][0])["params"] == {"applicationId": "a.b"}


@pytest.mark.parametrize("user", [-1, 21_475, "10", "all", 1.5, True, None])
def test_a_user_of_a_plan_is_a_number_or_current(user: object) -> None:
    action = {"type": "open_app", "params": {"applicationId": "a.b", "user": user}}
    with pytest.raises(ClawError) as caught:
        validate(new_execution([action], command_id="c", source="test", timeout_ms=20_000))
    assert caught.value.code == "EXECUTION_VALIDATION_FAILED"


def test_a_driver_without_users_refuses_one() -> None:
    clock = VirtualClock()
    document = new_execution(
        [{"type": "open_app", "params": {"applicationId": "a.b", "user": 10}}],
        command_id="c",
        source="test",
        timeout_ms=20_000,
    )
    engine = Engine(ScriptedDriver(clock, node("Settings")), clock)
    (step,) = engine.run(validate(document).execution).stepResults
    assert step.data["error"] == "EXECUTION_ACTION_UNSUPPORTED"
