"""adbutils drives the phone, through the phone's own adb server and through real ones."""

import os
import queue
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbutils  # type: ignore[import-untyped]
import pytest

from clawperator.engine.clock import SystemClock
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Node
from clawperator.ui.parse import parse_hierarchy
from tests.phone.adb.real_adb import LOCALHOST, PROGRAMS, SECONDS, adb_server
from tests.phone.core.apks import make_apk

LAUNCHER, SETTINGS, NOTES = "com.android.launcher3", "com.android.settings", "com.clawperator.notes"


@pytest.fixture(scope="module", params=["phone", *PROGRAMS])
def server_port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int | None]:
    """The port of a real adb server that knows no phone; None stands for the phone's own server."""
    if request.param == "phone":
        yield None
    else:
        with adb_server(request.param, tmp_path_factory.mktemp("adb")) as adb:
            yield adb.port


@pytest.fixture
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone(clock=SystemClock()) as phone:
        yield phone


@pytest.fixture
def client(server_port: int | None, phone: SimulatedPhone) -> Iterator[Any]:
    """A client of a server that knows one new phone."""
    with phone.serve() as served:
        client = adbutils.AdbClient(LOCALHOST, server_port or served.server_port, socket_timeout=SECONDS)
        serial = f"{LOCALHOST}:{served.adbd_port}"
        if server_port:
            assert client.connect(serial) == f"connected to {serial}"
        yield client
        if server_port:
            client.disconnect(serial)


@pytest.fixture
def device(client: Any) -> Any:
    return client.device_list()[0]


def node(device: Any, label: str) -> Node:
    nodes = parse_hierarchy(device.dump_hierarchy()).nodes
    return next(node for node in nodes if node.label == label)


def test_the_phone_is_listed_with_its_properties(client: Any) -> None:
    (found,) = client.list(extended=True)
    assert (found.state, found.tags["model"], found.tags["product"]) == ("device", "Simulated_phone", "simulated")
    assert [device.serial for device in client.device_list()] == [found.serial]
    assert client.server_version() == 41
    client.wait_for(found.serial, timeout=SECONDS)
    watched = client.track_devices()
    event = next(watched)
    watched.close()
    assert (event.serial, event.status, event.present) == (found.serial, "device", True)


def test_the_phone_reports_its_properties(device: Any) -> None:
    assert device.get_state() == "device"
    assert "shell_v2" in device.get_features().split(",")
    assert str(device.prop) == "product:simulated model:Simulated phone device:simulated"
    assert device.getprop("ro.serialno") == "claw-1"
    assert device.battery().level == 100
    assert device.wlan_ip()


def test_a_transport_is_selected_by_its_id(client: Any) -> None:
    (found,) = client.list(extended=True)
    assert client.device(transport_id=found.transport_id).shell("echo hi") == "hi"


def test_commands_have_output_errors_and_exit_codes(device: Any) -> None:
    assert device.shell(["echo", "a b", "$HOME"]) == "a b $HOME"
    assert device.shell("echo out; echo err >&2") == "out\nerr"
    assert device.shell2("false").returncode == 1
    ran = device.shell2("echo out; echo err >&2; exit 7", v2=True)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("out\n", "err\n", 7)
    assert device.shell2("frobnicate", v2=True).returncode == 127
    assert len(device.shell("head -c 3000000 /dev/zero", encoding=None)) == 3_000_000


def test_a_command_can_be_closed_before_it_ends(device: Any) -> None:
    began = time.monotonic()
    with pytest.raises(adbutils.AdbTimeout):
        device.shell("sleep 60", timeout=0.1)
    assert time.monotonic() - began < SECONDS
    assert device.shell("echo still here") == "still here"


def test_a_file_is_followed_while_it_grows(device: Any) -> None:
    device.shell("echo one > /sdcard/growing")
    with device.shell(["tail", "-f", "/sdcard/growing"], stream=True, timeout=SECONDS) as stream:
        assert stream.read_string(4) == "one\n"
        device.shell("echo two >> /sdcard/growing")
        assert stream.read_string(4) == "two\n"


def test_files_are_pushed_read_and_pulled(device: Any, tmp_path: Path) -> None:
    content = os.urandom(300_000)
    (tmp_path / "file").write_bytes(content)
    assert device.sync.push(tmp_path / "file", "/sdcard/Download", check=True) == len(content)
    assert device.sync.read_bytes("/sdcard/Download/file") == content
    assert b"".join(device.sync.iter_content("/sdcard/Download/file")) == content
    found = device.sync.stat("/sdcard/Download/file")
    assert stat.S_ISREG(found.mode)
    assert found.size == len(content)

    device.sync.push("grüße\n".encode(), "/sdcard/Download/sub/ü.txt", mode=0o644)
    assert device.sync.read_text("/sdcard/Download/sub/ü.txt") == "grüße\n"
    assert {entry.path for entry in device.sync.list("/sdcard/Download")} == {".", "..", "file", "sub"}
    assert device.sync.pull("/sdcard/Download", tmp_path / "back") == len(content) + 8
    assert (tmp_path / "back" / "file").read_bytes() == content
    assert (tmp_path / "back" / "sub" / "ü.txt").read_text(encoding="utf-8") == "grüße\n"

    device.remove("/sdcard/Download/file")
    assert not device.sync.exists("/sdcard/Download/file")
    with pytest.raises(adbutils.AdbError, match="No such file or directory"):
        device.sync.read_bytes("/sdcard/Download/file")


def test_apps_are_started_found_in_front_and_stopped(device: Any) -> None:
    assert device.app_current().package == LAUNCHER
    device.app_start(SETTINGS)
    current = device.app_current()
    assert (current.package, current.activity) == (SETTINGS, "com.android.settings.Settings")
    device.app_start(NOTES)
    assert device.app_current().package == NOTES
    device.app_start(SETTINGS, ".Settings")
    assert device.app_current().package == SETTINGS
    device.app_stop(SETTINGS)
    assert device.app_current().package != SETTINGS
    device.open_browser("example.com")
    assert device.app_current().package == "com.android.chrome"


def test_packages_are_listed_and_described(device: Any) -> None:
    assert {LAUNCHER, SETTINGS, NOTES} <= set(device.list_packages())
    assert SETTINGS not in device.list_packages(["-3"])
    info = device.app_info(SETTINGS)
    assert info.version_name
    assert info.version_code > 0
    assert info.path.endswith(".apk")
    assert "SYSTEM" in info.flags
    assert device.package_info(NOTES)["package_name"] == NOTES
    assert device.app_info("com.example.nobody") is None


def test_an_apk_is_installed_and_uninstalled(device: Any, tmp_path: Path) -> None:
    (tmp_path / "app.apk").write_bytes(make_apk("com.example.app", 3, "1.2", filler=100_000))
    device.install(tmp_path / "app.apk", silent=True)
    info = device.app_info("com.example.app")
    assert (info.version_code, info.version_name) == (3, "1.2")
    assert "com.example.app" in device.list_packages(["-3"])
    assert device.uninstall("com.example.app") == "Success"
    assert device.app_info("com.example.app") is None
    (tmp_path / "bad.apk").write_bytes(b"not a package")
    with pytest.raises(adbutils.AdbInstallError, match="INSTALL_PARSE_FAILED_NOT_APK"):
        device.install(tmp_path / "bad.apk", silent=True)


def test_screenshots_and_hierarchies_are_read(device: Any, phone: SimulatedPhone) -> None:
    assert node(device, "Settings").package == LAUNCHER
    assert device.window_size() == (1080, 2400)
    picture = device.screenshot(error_ok=False)
    picture.load()
    assert picture.size == (1080, 2400)
    assert device.rotation() == 0
    phone.fault("rotation", 1)
    assert device.rotation() == 1
    assert device.window_size() == device.screenshot(display_id=0, error_ok=False).size == (2400, 1080)


def test_the_screen_is_turned_off_and_on(device: Any) -> None:
    assert device.is_screen_on()
    device.switch_screen(False)
    assert not device.is_screen_on()
    device.switch_screen(True)
    assert device.is_screen_on()


def test_brightness_is_read_and_set(device: Any) -> None:
    assert 0 <= device.brightness_value <= 255
    assert device.brightness_mode == adbutils.BrightnessMode.MANUAL
    device.brightness_value = 7
    assert device.brightness_value == 7


def test_taps_swipes_text_and_keys_reach_the_app_in_front(device: Any, phone: SimulatedPhone) -> None:
    device.click(*node(device, "Settings").bounds.centre)
    assert phone.foreground() == SETTINGS
    before = node(device, "Display").bounds
    device.swipe(0.5, 0.7, 0.5, 0.5, 0.05)
    assert node(device, "Display").bounds.top < before.top
    device.swipe(0.5, 0.4, 0.5, 0.8, 0.05)
    device.click(*node(device, "Search settings").bounds.centre)
    device.send_keys("it's & more")
    assert node(device, "it's & more").class_name == "android.widget.EditText"
    device.keyevent("HOME")
    assert phone.foreground() == LAUNCHER
    device.keyevent(187)
    assert phone.foreground() == LAUNCHER


def test_ports_are_forwarded_to_sockets_on_the_phone(device: Any) -> None:
    port = device.forward_port("localabstract:echo")
    assert device.forward_port("localabstract:echo") == port
    assert [(item.local, item.remote) for item in device.forward_list()] == [(f"tcp:{port}", "localabstract:echo")]
    with socket.create_connection((LOCALHOST, port), SECONDS) as sock:
        sock.sendall(b"ping")
        assert sock.recv(10) == b"ping"
    device.forward_remove(f"tcp:{port}")
    assert device.forward_list() == []
    with device.create_connection(adbutils.Network.LOCAL_ABSTRACT, "echo") as sock:
        sock.sendall(b"straight")
        assert sock.recv(10) == b"straight"
    with pytest.raises(adbutils.AdbError):
        device.create_connection(adbutils.Network.TCP, 1)


def test_unsupported_requests_are_refused(device: Any) -> None:
    with pytest.raises(adbutils.AdbError, match="this phone makes no reverse connections"):
        device.reverse("tcp:1", "tcp:2")
    assert device.reverse_list() == []
    assert "cannot run as root" in device.root()


# It never closes the file it writes.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_the_log_is_followed_into_a_file(device: Any, phone: SimulatedPhone, tmp_path: Path) -> None:
    phone.phone.log.write("I", "Before", "cleared", 1)
    following = device.logcat(tmp_path / "log", clear=True, re_filter="START u0|last")
    device.app_start(SETTINGS)
    wait_for_text(tmp_path / "log", "START u0")
    following.stop_nowait()
    phone.phone.log.write("I", "Test", "last", 1)  # it looks up only when a line comes
    following.stop(SECONDS)
    assert "cleared" not in (tmp_path / "log").read_text(encoding="utf-8")


def wait_for_text(path: Path, text: str) -> None:
    deadline = time.monotonic() + SECONDS
    while text not in path.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_many_clients_are_served_at_once(device: Any) -> None:
    answers: queue.Queue[str] = queue.Queue()
    threads = [
        threading.Thread(target=lambda number=number: answers.put(device.shell(f"sleep 0.1; echo {number}")))
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert sorted(int(answers.get_nowait()) for _ in threads) == list(range(20))
