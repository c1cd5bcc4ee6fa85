"""Starting and stopping phone processes from Python."""

import os
import socket
from pathlib import Path

import pytest

import clawperator
from clawperator import start_phone
from clawperator.errors import ClawError, SimulatedPhoneError
from clawperator.phone.process.launch import list_phones, reset_phone, stop_phone


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    return tmp_path


def test_a_phone_runs_while_the_block_does_and_can_be_connected_to() -> None:
    with clawperator.start_phone("api", seed=3) as phone:
        assert (phone.serial, phone.record.seed, phone.recovered) == ("api", 3, False)
        assert phone.adbd_port
        assert phone.server_port
        connected = clawperator.connect(phone.serial)
        connected.open_app("com.android.settings")
        assert "Display" in connected.snapshot().labels()
        (listed,) = list_phones()
        assert (listed["state"], listed["pid"], listed["foreground"]) == (
            "running",
            phone.pid,
            "com.android.settings",
        )
    assert list_phones()[0]["state"] == "stopped"
    with pytest.raises(ProcessLookupError):
        os.kill(phone.pid, 0)


def test_a_second_phone_of_the_same_name_is_refused_with_the_address_of_the_first() -> None:
    with start_phone("api") as phone:
        with pytest.raises(SimulatedPhoneError) as refused:
            start_phone("api")
        assert refused.value.code == "PHONE_ALREADY_RUNNING"
        assert refused.value.details is not None
        assert refused.value.details["pid"] == phone.pid


def test_stopping_a_stopped_phone_changes_nothing() -> None:
    start_phone("api").stop()
    stopped = stop_phone("api")
    assert (stopped.was_running, stopped.crashed) == (False, False)


def test_an_unknown_phone_cannot_be_stopped_or_reset() -> None:
    for call in (stop_phone, reset_phone):
        with pytest.raises(SimulatedPhoneError, match="PHONE_NOT_FOUND"):
            call("nobody")


def test_a_missing_app_or_an_unknown_fault_is_refused_before_anything_starts(home: Path) -> None:
    with pytest.raises(SimulatedPhoneError, match="PHONE_APP_INVALID"):
        start_phone("api", apps=["missing.toml"])
    with pytest.raises(SimulatedPhoneError, match="PHONE_FAULT_INVALID"):
        start_phone("api", faults={"gravity": "on"})
    assert not (home / "phones").exists()


def door(path: Path, label: str = "Door") -> str:
    path.write_text(
        f'package = "com.example.door"\nlabel = "{label}"\n[[screen]]\nname = "home"\ntitle = "{label}"\n'
    )
    return str(path)


def packages(serial: str) -> str:
    return shell(serial, "pm", "list", "packages", "com.example")


def shell(serial: str, *words: str) -> str:
    return clawperator.connect(serial).shell(*words).text


def test_the_operator_variant_outlives_a_stop() -> None:
    dev = "com.clawperator.operator.dev"
    for given in (dev, None):
        with start_phone("api", operator_package=given) as phone:
            assert phone.record.operator_package == dev
            connected = clawperator.connect(phone.serial, operator_package=dev)
            connected.open_app("com.android.settings")
            assert shell("api", "pm", "list", "packages", "clawperator.operator") == f"package:{dev}\n"


def test_a_phone_that_gets_another_operator_variant_has_it_enabled() -> None:
    with start_phone("api"):
        shell("api", "settings", "put", "system", "font_scale", "1.3")
    dev = "com.clawperator.operator.dev"
    for given in (dev, None):
        with start_phone("api", operator_package=given) as phone:
            clawperator.connect(phone.serial, operator_package=dev).press("home")


def test_an_invalid_operator_package_is_refused() -> None:
    with pytest.raises(ClawError, match="invalid package name"):
        start_phone("api", operator_package="no package")


def test_apps_outlive_a_stop_and_do_not_need_their_file(tmp_path: Path) -> None:
    file = door(tmp_path / "door.toml")
    start_phone("api", apps=[file]).stop()
    Path(file).unlink()
    with start_phone("api") as phone:
        assert phone.record.apps == [file]
        assert packages("api") == "package:com.example.door\n"
        reset_phone("api")
        assert packages("api") == "package:com.example.door\n"


def test_a_changed_app_file_replaces_the_one_given_before(tmp_path: Path) -> None:
    start_phone("api", apps=[door(tmp_path / "old.toml")]).stop()
    with start_phone("api", apps=[door(tmp_path / "new.toml", "Gate")]) as phone:
        assert phone.record.apps == [str(tmp_path / "new.toml")]
        connected = clawperator.connect("api")
        assert "Gate" in connected.snapshot().labels()
        assert "Door" not in connected.snapshot().labels()


def test_an_uninstalled_app_stays_away_until_a_reset_or_until_it_is_given_again(tmp_path: Path) -> None:
    file = door(tmp_path / "door.toml")
    with start_phone("api", apps=[file]):
        shell("api", "pm", "uninstall", "com.example.door")
    with start_phone("api"):
        assert packages("api") == ""
        reset_phone("api")
        assert packages("api") == "package:com.example.door\n"
        shell("api", "pm", "uninstall", "com.example.door")
    with start_phone("api", apps=[file]):
        assert packages("api") == "package:com.example.door\n"


def test_an_app_of_a_failed_start_is_not_kept(tmp_path: Path) -> None:
    start_phone("api").stop()
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SimulatedPhoneError):
        start_phone("api", apps=[door(tmp_path / "door.toml")], adbd_port=taken.getsockname()[1])
    with start_phone("api"):
        assert packages("api") == ""


def test_a_python_app_file_runs_once_when_the_phone_starts(tmp_path: Path) -> None:
    file = tmp_path / "counted.py"
    file.write_text(
        "from clawperator.phone.toolkit.app import App; from clawperator.phone.toolkit.views import column\n"
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
        "one, two = App('com.example.one', 'One'), App('com.example.two', 'Two')\n"
        "one.screen('home')(lambda _: column())\n"
        "two.screen('home')(lambda _: column())\n"
    )
    for given in ([str(file)], []):
        with start_phone("api", apps=given):
            assert packages("api") == "package:com.example.one\npackage:com.example.two\n"
    assert (tmp_path / "runs").read_text() == "xx"
