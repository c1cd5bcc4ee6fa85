"""Text, secrets, apps and the device as a whole, run by the host over the Operator and over plain adb."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator._base.notes import listening
from clawperator.device.adb import sync
from clawperator.device.run.secrets import SecretReader
from clawperator.errors import ClawError
from tests.device.backends.host_bench import INPUT, HostBench, host_bench
from tests.phone.core.apks import make_apk
from tests.support.secret_search import find_secret

NAME = {"resourceId": f"{INPUT}:id/name"}
CODE = {"resourceId": f"{INPUT}:id/code"}
SECRET = "Tr0ub4dor-and-3"
NOTES = "com.clawperator.notes"
CAMERA = "android.permission.CAMERA"
ONCE = {"maxAttempts": 1}


@pytest.fixture(params=["operator", "adb"])
def bench(request: pytest.FixtureRequest) -> Iterator[HostBench]:
    with host_bench(request.param) as made:
        yield made


def test_text_is_appended_to_what_the_field_has(bench: HostBench) -> None:
    bench.data("enter_text", matcher=NAME, text="one")
    data = bench.data("enter_text", matcher=NAME, text=" two", append=True)
    assert bench.state("name") == "one two"
    assert (data["text"], data["append"]) == (" two", "true")


def test_an_empty_text_with_clear_empties_the_field(bench: HostBench) -> None:
    bench.data("enter_text", matcher=NAME, text="one")
    bench.data("enter_text", matcher=NAME, text="", clear=True)
    assert bench.state("name") == ""


def test_without_a_selector_the_focused_field_gets_the_text(bench: HostBench) -> None:
    bench.data("click", matcher=NAME)
    bench.data("enter_text", text="hello")
    assert bench.state("name") == "hello"


def test_without_a_focused_field_nothing_is_typed(bench: HostBench) -> None:
    step = bench.step("enter_text", text="hello", retry=ONCE)
    assert (step.data["error"], step.data.get("dispatched")) == ("NODE_NOT_FOUND", None)


@pytest.mark.parametrize("matcher", [NAME, CODE])
def test_a_secret_is_entered_and_reported_nowhere(
    bench: HostBench, matcher: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    step = bench.step("enter_text", matcher=matcher, textFrom={"env": "SHOP_PASSWORD"})
    assert step.success, step
    assert bench.state("name" if matcher is NAME else "code") == SECRET
    assert step.data["text"] == "••••"
    assert find_secret(SECRET, [tmp_path], {"step": repr(step.data)}) == []


@pytest.mark.parametrize("secret", [SECRET, SECRET * 8])
def test_a_failed_expectation_does_not_name_the_field_with_the_secret(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("TOKEN", secret)
    expect = {"text": SECRET[:-1], "timeoutMs": 1}
    params = {"matcher": {"shortId": "name"}, "textFrom": {"env": "TOKEN"}, "expect": expect}
    step = bench.step("enter_text", **params)
    assert bench.state("name") == secret
    assert step.data["error"] == "EXPECTATION_FAILED"
    assert find_secret(SECRET, (), {"step": repr(step.data)}) == []


def test_the_error_of_a_rejected_secret_does_not_quote_it(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    step = bench.step("enter_text", matcher={"textEquals": "Start"}, textFrom={"env": "SHOP_PASSWORD"}, retry=ONCE)
    assert not step.success
    assert find_secret(SECRET, (), {"step": repr(step.data)}) == []


def test_a_secret_is_refused_while_a_recording_would_keep_it(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if bench.backend == "adb":
        pytest.skip("plain adb cannot record")
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    bench.data("start_recording", sessionId="demo")
    step = bench.step("enter_text", matcher=NAME, textFrom={"env": "SHOP_PASSWORD"}, retry=ONCE)
    assert (step.data["error"], step.data.get("dispatched")) == ("SECRET_REFUSED_WHILE_RECORDING", None)
    assert bench.state("name") == ""
    bench.data("enter_text", matcher=CODE, textFrom={"env": "SHOP_PASSWORD"})
    bench.data("stop_recording", sessionId="demo")
    bench.data("enter_text", matcher=NAME, textFrom={"env": "SHOP_PASSWORD"})
    assert bench.state("name") == SECRET


def test_a_variable_that_is_not_set_is_named(bench: HostBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    step = bench.step("enter_text", matcher=NAME, textFrom={"env": "SHOP_PASSWORD"})
    assert step.data["error"] == "SECRET_UNAVAILABLE"
    assert "SHOP_PASSWORD" in step.data["message"]


def test_a_secret_file_has_one_line_and_is_private(bench: HostBench, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o600)
    bench.data("enter_text", matcher=NAME, textFrom={"file": str(file)})
    assert bench.state("name") == SECRET


@pytest.mark.parametrize(("content", "mode"), [("one\ntwo\n", 0o600), ("one", 0o644), ("", 0o600)])
def test_a_file_that_others_may_read_or_that_is_no_secret_is_refused(
    content: str, mode: int, tmp_path: Path
) -> None:
    from clawperator.contract.action_params import TextSource

    file = tmp_path / "secret"
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(ClawError) as caught:
        SecretReader("claw-1").read(TextSource(file=str(file)))
    assert caught.value.code == "SECRET_UNAVAILABLE"
    assert "two" not in str(caught.value)


def test_the_screen_is_rotated_and_follows_the_sensor_again(bench: HostBench) -> None:
    data = bench.data("rotate", orientation="landscape", settle=True)
    assert (data["orientation"], data["effect"]) == ("landscape", "changed")
    display = bench.phone.phone.windows.display.bounds
    assert display.width > display.height
    bench.data("rotate", orientation="portrait")
    bench.data("rotate", orientation="auto")
    assert bench.phone.phone.settings.get("system", "accelerometer_rotation") == "1"


def test_an_activity_is_started_by_action_or_component(bench: HostBench) -> None:
    bench.data(
        "start_activity", action="android.settings.DISPLAY_SETTINGS", extras={"a": "b c", "n": 1, "t": True}
    )
    assert bench.phone.foreground() == "com.android.settings"
    step = bench.step("start_activity", component=f"{INPUT}/.NotThere")
    assert step.data["error"] == "APP_NOT_FOUND"


def test_data_and_permissions_of_an_app_change(bench: HostBench) -> None:
    packages = bench.phone.phone.packages
    bench.data("grant_permission", applicationId=NOTES, permission=CAMERA)
    assert CAMERA in packages.granted(NOTES)
    bench.data("revoke_permission", applicationId=NOTES, permission=CAMERA)
    assert CAMERA not in packages.granted(NOTES)
    bench.data("enter_text", matcher=NAME, text="one")
    bench.data("clear_app_data", applicationId=INPUT)
    bench.data("open_app", applicationId=INPUT)
    assert bench.state("name") == ""
    bench.data("uninstall_app", applicationId=INPUT)
    assert INPUT not in packages


def test_what_the_package_manager_refuses_is_reported(bench: HostBench, tmp_path: Path) -> None:
    for kind, params in {
        "uninstall_app": {"applicationId": "com.not.there"},
        "clear_app_data": {"applicationId": "com.not.there"},
        "grant_permission": {"applicationId": NOTES, "permission": "com.not.A_PERMISSION"},
        "install_app": {"path": str(tmp_path / "no.apk")},
    }.items():
        step = bench.step(kind, **params)
        assert (kind, step.data["error"]) == (kind, "ANDROID_PACKAGE_FAILED")
        assert ("dispatched" in step.data) == (kind != "install_app")


def test_an_app_is_installed_and_installed_again(bench: HostBench, tmp_path: Path) -> None:
    apk = tmp_path / "app.apk"
    for version in (1, 2):
        apk.write_bytes(make_apk("com.example.sent", version, filler=100_000))
        data = bench.data("install_app", path=str(apk))
        assert data == {"path": str(apk), "size_bytes": str(apk.stat().st_size)}
        assert bench.phone.phone.packages["com.example.sent"].version_code == version


def test_a_long_installation_notes_how_much_was_sent(
    bench: HostBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_NOTE_SECONDS", 0)
    apk = tmp_path / "app.apk"
    apk.write_bytes(make_apk("com.example.sent", filler=1_500_000))
    notes: list[str] = []
    with listening(notes.append):
        bench.data("install_app", path=str(apk))
    assert notes[0] == "installing on claw-1: 0.1 of 1.5 MB sent"
    assert notes[-1] == "sent 1.5 MB; claw-1 installs the app"


def test_a_short_installation_notes_nothing(
    bench: HostBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "_NOTE_SECONDS", 3_600)
    apk = tmp_path / "app.apk"
    apk.write_bytes(make_apk("com.example.sent"))
    notes: list[str] = []
    with listening(notes.append):
        bench.data("install_app", path=str(apk))
    assert notes == []


def test_a_file_that_is_no_apk_is_not_installed(bench: HostBench, tmp_path: Path) -> None:
    (tmp_path / "app.apk").write_bytes(b"not an apk")
    assert bench.step("install_app", path=str(tmp_path / "app.apk")).data["error"] == "ANDROID_INSTALL_FAILED"


def write_log(bench: HostBench, package: str, message: str) -> None:
    """Write a log line as an app."""
    phone = bench.phone.phone
    with phone.lock:
        phone.log.write("I", "Shop", message, 4_321, uid=phone.packages[package].uid)


def test_the_log_of_an_app_is_read_and_of_no_other(bench: HostBench) -> None:
    write_log(bench, INPUT, "a line of the app")
    write_log(bench, NOTES, "a line of another app")
    data = bench.data("read_logcat", applicationId=INPUT, since="5m", maxLines=50)
    lines = data["text"].splitlines()
    assert int(data["line_count"]) == len(lines)
    assert [line for line in lines if "a line of the app" in line]
    assert [line for line in lines if "another app" in line or "AccessibilityManager" in line] == []
    other = bench.data("read_logcat", applicationId=NOTES, since="5m", maxLines=50)
    assert "a line of another app" in other["text"]
    assert bench.step("read_logcat", applicationId="com.not.there").data["error"] == "APP_NOT_FOUND"


def test_a_log_does_not_show_the_secrets_that_the_user_declares(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    file = tmp_path / "pin"
    file.write_text("8317-2206\n")
    file.chmod(0o600)
    (tmp_path / "clawperator.toml").write_text(f'secrets = ["SHOP_PASSWORD", "{file}", "NOT_SET", "/not/there"]\n')
    write_log(bench, INPUT, f"login with {SECRET} and 8317-2206 as bob")
    text = bench.data("read_logcat", applicationId=INPUT, since="5m")["text"]
    assert "login with •••• and •••• as bob" in text


def test_a_log_does_not_show_a_secret_that_the_run_entered(
    bench: HostBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    write_log(bench, INPUT, f"login with {SECRET}")
    entered, log = bench.run(
        {"type": "enter_text", "params": {"matcher": NAME, "textFrom": {"env": "SHOP_PASSWORD"}}},
        {"type": "read_logcat", "params": {"applicationId": INPUT, "since": "5m"}},
    ).stepResults
    assert entered.success
    assert "login with ••••" in log.data["text"]
    assert find_secret(SECRET, (), {"log": log.data["text"]}) == []


@pytest.mark.parametrize("secret", ["1", "e", "7!", "on", "true", "set_text"])
def test_a_secret_that_is_part_of_other_words_changes_none_of_them(
    bench: HostBench, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", secret)
    data = bench.data("enter_text", matcher=NAME, textFrom={"env": "SHOP_PASSWORD"})
    assert bench.state("name") == secret
    assert (data["text"], data["candidate_count"], data["effect"]) == ("••••", "1", "changed")
    assert data["settled_ms"].isdecimal()
    assert '"resourceId":"com.example.input:id/name"' in data["matched_target"]


@pytest.mark.parametrize("secret", ["1", "St", "art"])
def test_the_error_of_a_short_secret_has_a_fixed_message(
    bench: HostBench, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", secret)
    params = {"matcher": {"textEquals": "Start"}, "textFrom": {"env": "SHOP_PASSWORD"}, "retry": ONCE}
    step = bench.step("enter_text", **params)
    assert not step.success
    assert step.data["message"] == "cannot enter the secret; the message is hidden, because it may quote it"
    assert set(step.data) <= {"error", "message", "hint", "dispatched"}
