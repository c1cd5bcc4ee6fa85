"""Real adb programs drive the phone, through adbd and through the phone's own adb server."""

import hashlib
import io
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from clawperator.engine.clock import SystemClock
from clawperator.phone.process.server import PhoneServer, PhoneServerConfig
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.parse import parse_hierarchy
from tests.phone.adb.real_adb import LOCALHOST, PROGRAMS, SECONDS, Adb, Lines, adb_server, connected, find_program
from tests.phone.core.apks import make_apk


@pytest.fixture(scope="module", params=PROGRAMS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    """A real adb server that knows no phone."""
    with adb_server(request.param, tmp_path_factory.mktemp("adb")) as adb:
        yield adb


@pytest.fixture
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone(clock=SystemClock()) as phone:
        yield phone


@pytest.fixture(params=["adbd", "server"])
def adb(request: pytest.FixtureRequest, server: Adb, phone: SimulatedPhone, tmp_path: Path) -> Iterator[Adb]:
    """An adb that sees one new phone: by its own server, or by the server of the phone."""
    with phone.serve() as served:
        if request.param == "server":
            yield Adb(server.program, tmp_path, served.server_port)
        else:
            with connected(server, served.adbd_port):
                yield Adb(server.program, tmp_path, server.port)


# Connections


def test_a_phone_is_connected_listed_and_disconnected(server: Adb, phone: SimulatedPhone) -> None:
    with phone.serve() as served:
        serial = f"{LOCALHOST}:{served.adbd_port}"
        assert server.output("connect", serial) == f"connected to {serial}\n"
        assert server.output("connect", serial) == f"already connected to {serial}\n"
        listed = server.output("devices", "-l").splitlines()[1]
        assert listed.split()[:5] == [
            serial,
            "device",
            "product:simulated",
            "model:Simulated_phone",
            "device:simulated",
        ]
        server.output("disconnect", serial)
        assert server.states() == {}


def test_the_server_of_the_phone_lists_it_under_its_own_serial(server: Adb, phone: SimulatedPhone) -> None:
    with phone.serve() as served:
        adb = Adb(server.program, server.folder, served.server_port)
        listed = adb.output("devices", "-l").splitlines()[1]
        assert listed.split()[:5] == [
            "claw-1",
            "device",
            "product:simulated",
            "model:Simulated_phone",
            "device:simulated",
        ]
        assert adb.output("-s", "claw-1", "get-serialno") == "claw-1\n"
        assert adb.run("-s", "nobody", "shell", "true").returncode == 1


def test_a_phone_is_waited_for_and_reports_its_state(adb: Adb) -> None:
    assert adb.output("wait-for-device") == ""
    assert adb.output("get-state") == "device\n"


def test_waiting_for_a_phone_ends_when_it_comes(server: Adb, phone: SimulatedPhone) -> None:
    with server.running("wait-for-device") as waiting, phone.serve() as served:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(0.1)
        with connected(server, served.adbd_port):
            assert waiting.wait(SECONDS) == 0


def test_commands_reach_the_phone_they_name(server: Adb, phone: SimulatedPhone) -> None:
    with (
        simulated_phone(serial="claw-2", clock=SystemClock()) as other,
        phone.serve() as one,
        other.serve() as two,
        connected(server, one.adbd_port) as first,
        connected(server, two.adbd_port) as second,
    ):
        assert server.states() == {first: "device", second: "device"}
        assert server.output("-s", first, "shell", "getprop ro.serialno") == "claw-1\n"
        assert server.output("-s", second, "shell", "getprop ro.serialno") == "claw-2\n"
        server.output(
            "-s", second, "shell", "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1"
        )
        assert (phone.foreground(), other.foreground()) == ("com.android.launcher3", "com.android.settings")
        unnamed = server.run("shell", "true")
        assert unnamed.returncode == 1
        assert b"more than one device" in unnamed.stderr


@pytest.mark.parametrize("fault", ["offline", "unauthorized"])
def test_an_offline_or_unauthorized_phone_is_listed_as_such(server: Adb, fault: str) -> None:
    phone_server = PhoneServer(PhoneServerConfig(serial="claw-1"))
    phone_server.open()
    serial = f"{LOCALHOST}:{phone_server.adbd_port}"
    try:
        server.output("connect", serial)
        phone_server.command("fault", {"name": fault, "setting": "on"})
        server.wait_for_state(serial, fault)
        assert server.run("-s", serial, "shell", "true").returncode == 1
        own = Adb(server.program, server.folder, phone_server.server_port)
        assert own.states() == {"claw-1": fault}
        assert fault in own.run("shell", "true").stderr.decode()

        phone_server.command("fault", {"name": fault, "setting": "off"})
        assert own.output("shell", "echo", "back") == "back\n"
        # By itself a server comes back too, but only after a while.
        server.run("disconnect", serial)
        server.run("connect", serial)
        server.wait_for_state(serial, "device", connects=True)
        assert server.output("-s", serial, "shell", "echo", "back") == "back\n"
    finally:
        server.run("disconnect", serial)
        phone_server.close()


# The shell


def test_a_command_has_an_exit_code_and_errors_of_its_own(adb: Adb) -> None:
    ran = adb.run("shell", "echo out; echo err >&2; exit 7")
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"out\n", b"err\n", 7)


def test_an_unknown_command_ends_with_127(adb: Adb) -> None:
    ran = adb.run("shell", "frobnicate")
    assert (ran.stdout, ran.returncode) == (b"", 127)
    assert b"frobnicate: inaccessible or not found" in ran.stderr


def test_a_terminal_gets_everything_on_one_stream(adb: Adb) -> None:
    ran = adb.run("shell", "-tt", "echo out; echo err >&2; exit 7")
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"out\r\nerr\r\n", b"", 7)


def test_input_reaches_a_command(adb: Adb) -> None:
    text = b"".join(b"line %d\n" % number for number in range(20_000))
    assert adb.run("shell", "cat", stdin=text).stdout == text
    (adb.folder / "text").write_bytes(text)
    with (adb.folder / "text").open("rb") as file:
        assert adb.run("shell", "cat", stdin=file).stdout == text
    assert adb.output("shell", stdin=b"echo typed\ncd /sdcard && pwd\n") == "typed\n/sdcard\n"


def test_raw_input_and_output_are_untouched(adb: Adb, phone: SimulatedPhone) -> None:
    content = os.urandom(3_000_000)
    phone.phone.storage.write("/sdcard/large", content)
    assert adb.run("exec-out", "cat", "/sdcard/large").stdout == content
    # This client gets no exit code, so a file shows that the command has ended.
    assert adb.run("exec-in", "cat > /sdcard/kept; touch /sdcard/done", stdin=content).returncode == 0
    deadline = time.monotonic() + SECONDS
    while not phone.phone.storage.exists("/sdcard/done"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert phone.phone.storage.read("/sdcard/kept") == content


# Files


def test_a_large_file_comes_back_as_it_went(adb: Adb) -> None:
    content = os.urandom(5_000_000)
    (adb.folder / "large").write_bytes(content)
    adb.output("push", "large", "/sdcard/Download")
    sum_there = adb.output("shell", "sha256sum", "/sdcard/Download/large").split()[0]
    assert sum_there == hashlib.sha256(content).hexdigest()
    adb.output("pull", "/sdcard/Download/large", "back")
    assert (adb.folder / "back").read_bytes() == content


def test_a_folder_keeps_its_names_contents_and_rights(adb: Adb) -> None:
    tree = adb.folder / "tree"
    (tree / "sub" / "deep er").mkdir(parents=True)
    (tree / "größe 図 📱.txt").write_text("names", encoding="utf-8")
    (tree / "sub" / "deep er" / "data").write_bytes(os.urandom(70_000))
    (tree / "sub" / "nothing").touch()
    (tree / "run.sh").write_text('echo ran "$1"; exit 3\n', encoding="ascii")
    (tree / "run.sh").chmod(0o755)
    os.utime(tree / "run.sh", (1_700_000_000, 1_700_000_000))

    adb.output("push", "tree", "/data/local/tmp/")
    assert adb.output("shell", "stat -c '%a %n' /data/local/tmp/tree/*.sh") == "755 /data/local/tmp/tree/run.sh\n"
    ran = adb.run("shell", "/data/local/tmp/tree/run.sh", "it")
    assert (ran.stdout, ran.returncode) == (b"ran it\n", 3)
    adb.output("shell", "mkdir /data/local/tmp/tree/hollow")
    adb.output("pull", "-a", "/data/local/tmp/tree", "back")

    back = adb.folder / "back"
    (tree / "hollow").mkdir()
    assert contents(back) == contents(tree)
    assert os.access(back / "run.sh", os.X_OK)
    assert not os.access(back / "sub" / "nothing", os.X_OK)
    assert (back / "run.sh").stat().st_mtime == 1_700_000_000


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder by its name; a folder is None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


def test_a_failed_push_or_pull_reports_the_reason(adb: Adb, phone: SimulatedPhone) -> None:
    (adb.folder / "small").write_bytes(b"x")
    pushed = adb.run("push", "small", "/system/x")
    assert pushed.returncode == 1
    assert b"Read-only file system" in pushed.stderr + pushed.stdout
    pulled = adb.run("pull", "/nope")
    assert pulled.returncode == 1
    assert b"No such file or directory" in pulled.stderr + pulled.stdout
    phone.fault("storage_full")
    full = adb.run("push", "small", "/sdcard/x")
    assert full.returncode == 1
    assert b"No space left on device" in full.stderr + full.stdout


# Apps


@pytest.mark.parametrize("how", [[], ["--no-streaming"]], ids=["streamed", "pushed"])
def test_an_apk_is_installed_and_uninstalled(adb: Adb, how: list[str]) -> None:
    (adb.folder / "app.apk").write_bytes(make_apk("com.example.app", 3, "1.2", "Example", filler=300_000))
    assert "Success" in adb.output("install", *how, "app.apk")
    assert "package:com.example.app\n" in adb.output("shell", "pm list packages -3")
    assert adb.output("shell", "ls /data/local/tmp") == ""
    assert "versionName=1.2" in adb.output("shell", "dumpsys package com.example.app")
    assert adb.output("uninstall", "com.example.app") == "Success\n"
    assert "com.example.app" not in adb.output("shell", "pm list packages")


@pytest.mark.parametrize("how", [[], ["--no-streaming"]], ids=["streamed", "pushed"])
def test_a_file_that_is_not_an_apk_is_not_installed(adb: Adb, how: list[str]) -> None:
    (adb.folder / "bad.apk").write_bytes(b"not a package" * 1000)
    ran = adb.run("install", *how, "bad.apk")
    assert ran.returncode == 1
    assert b"INSTALL_PARSE_FAILED_NOT_APK" in ran.stdout + ran.stderr


def test_an_app_of_several_apks_is_installed_at_once(adb: Adb) -> None:
    (adb.folder / "base.apk").write_bytes(make_apk("com.example.parts", filler=100_000))
    (adb.folder / "split.apk").write_bytes(make_apk("com.example.parts", split="config.en"))
    assert "Success" in adb.output("install-multiple", "base.apk", "split.apk")
    assert "package:com.example.parts\n" in adb.output("shell", "pm list packages -3")


# The log


def test_the_log_is_printed_and_ends(adb: Adb) -> None:
    adb.output("shell", "am start -n com.android.settings/.Settings")
    printed = adb.output("logcat", "-d", "-v", "brief", "ActivityTaskManager:I", "*:S")
    assert "I/ActivityTaskManager( 1201): START u0 {" in printed
    assert "boot completed" not in printed
    adb.output("logcat", "-c")
    assert "START u0" not in adb.output("logcat", "-d")


def test_the_log_is_followed_while_it_grows(adb: Adb) -> None:
    with adb.running("logcat", "-v", "tag") as following:
        lines = Lines(following)
        lines.wait_for("I/SystemServer: boot completed")
        adb.output("shell", "am start -n com.android.settings/.Settings")
        lines.wait_for("I/ActivityTaskManager: START u0")
        adb.output("shell", "log", "-p", "w", "-t", "TestOfLog", "größer als zuvor")
        lines.wait_for("W/TestOfLog: ")
        assert lines.last == "W/TestOfLog: größer als zuvor"
        assert following.poll() is None


# The screen


def test_a_screenshot_is_a_whole_picture(adb: Adb) -> None:
    home = adb.run("exec-out", "screencap", "-p").stdout
    with Image.open(io.BytesIO(home), formats=["PNG"]) as picture:
        picture.load()
        assert picture.size == (1080, 2400)
        colours = picture.convert("RGB").getcolors(1080 * 2400)
        assert colours is not None
        assert len(colours) > 3
    adb.output("shell", "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1")
    assert adb.run("exec-out", "screencap", "-p").stdout != home


def test_a_hierarchy_is_dumped_to_a_file_or_straight_to_the_client(adb: Adb) -> None:
    assert adb.output("shell", "uiautomator", "dump") == "UI hierchary dumped to: /sdcard/window_dump.xml\n"
    adb.output("pull", "/sdcard/window_dump.xml", "dump.xml")
    pulled = parse_hierarchy((adb.folder / "dump.xml").read_bytes())
    assert [node.label for node in pulled.nodes] == [node.label for node in adb.dump().nodes]
    assert "Settings" in {node.label for node in pulled.nodes}
    assert {node.package for node in pulled.nodes} == {"com.android.launcher3"}


def test_taps_text_and_keys_change_the_screen(adb: Adb, phone: SimulatedPhone) -> None:
    adb.tap("Settings")
    adb.tap("Search settings")
    adb.output("shell", "input", "text", "dark%stheme")
    assert adb.shown("dark theme").class_name == "android.widget.EditText"
    adb.output("shell", "input", "keyevent", "DEL", "67")
    adb.shown("dark the")
    adb.output("shell", "input", "keyevent", "KEYCODE_HOME")
    assert phone.foreground() == "com.android.launcher3"


def test_a_swipe_moves_a_page(adb: Adb) -> None:
    adb.output("shell", "am start -n com.android.settings/.Settings")
    before = adb.shown("Display").bounds
    adb.output("shell", "input swipe 540 1800 540 1500 50")
    after = adb.shown("Display").bounds
    assert (after.left, after.height) == (before.left, before.height)
    assert after.top < before.top


# Connections through the phone, and what it does not do


def test_a_forwarded_port_leads_to_a_socket_on_the_phone(adb: Adb) -> None:
    port = int(adb.output("forward", "tcp:0", "localabstract:echo"))
    assert f"tcp:{port} localabstract:echo" in adb.output("forward", "--list")
    content = os.urandom(300_000)
    with socket.create_connection((LOCALHOST, port), SECONDS) as sock:
        sender = threading.Thread(target=sock.sendall, args=(content,))
        sender.start()
        back = b""
        while len(back) < len(content) and (block := sock.recv(65_536)):
            back += block
        sender.join(SECONDS)
    assert back == content
    adb.output("forward", "--remove", f"tcp:{port}")
    assert adb.output("forward", "--list").strip() == ""


def test_a_forward_to_a_missing_socket_is_closed_at_once(adb: Adb) -> None:
    port = int(adb.output("forward", "tcp:0", "localabstract:nobody"))
    with socket.create_connection((LOCALHOST, port), SECONDS) as sock:
        assert sock.recv(1) == b""
    adb.output("forward", "--remove-all")


def test_unsupported_requests_are_refused_at_once(adb: Adb) -> None:
    reverse = adb.run("reverse", "tcp:1", "tcp:2")
    assert reverse.returncode == 1
    assert b"this phone makes no reverse connections" in reverse.stderr
    assert adb.output("reverse", "--list").strip() == ""
    assert "cannot run as root" in adb.output("root")
    assert adb.run("reboot").returncode == 1
    assert adb.run("jdwp").returncode == 1


# The tests themselves


def test_a_missing_adb_fails_only_where_all_tests_must_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception):
        find_program("system")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        find_program("system")
