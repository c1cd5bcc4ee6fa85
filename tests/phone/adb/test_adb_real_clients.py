"""Programs other people wrote, on both doors: adb as the system has it, the adb inside adbutils, and adbutils."""

import importlib.util
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from phone.adb.peer import FakeDevice, open_door, open_server


def programs() -> dict[str, str]:
    found = {}
    if system := shutil.which("adb"):
        found["system"] = system
    spec = importlib.util.find_spec("adbutils")
    if spec and spec.submodule_search_locations:
        inside = os.path.join(spec.submodule_search_locations[0], "binaries", "adb")
        if os.access(inside, os.X_OK):
            found["adbutils"] = inside
    return found


class Adb(NamedTuple):
    """An adb program that sees one phone."""

    program: str
    environment: dict[str, str]
    folder: Path
    device: FakeDevice

    def run(self, *words: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [self.program, *words], input=stdin, capture_output=True, timeout=20, env=self.environment,
            cwd=self.folder, check=False,
        )  # fmt: skip

    def say(self, *words: str, stdin: bytes = b"") -> str:
        ran = self.run(*words, stdin=stdin)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode()


PROGRAMS = programs()
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="no adb here")


@pytest.fixture(scope="module", params=[(name, door) for name in PROGRAMS for door in ("adbd", "server")])
def adb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adb]:
    name, door = request.param
    folder = tmp_path_factory.mktemp("adb")
    device = FakeDevice(str(folder / "phone"))
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "TMPDIR": str(folder), "ADB_LIBUSB": "0"}
    if door == "server":
        with open_server(device) as (_, port):
            yield Adb(PROGRAMS[name], environment | {"ANDROID_ADB_SERVER_PORT": str(port)}, folder, device)
        return
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        server_port = str(free.getsockname()[1])
    adb = Adb(PROGRAMS[name], environment | {"ANDROID_ADB_SERVER_PORT": server_port}, folder, device)
    with open_door(device) as (_, port):
        # The server inherits what it is started with: a pipe of ours would never be closed.
        subprocess.run([adb.program, "start-server"], env=adb.environment, timeout=20, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            assert "connected to" in adb.say("connect", f"127.0.0.1:{port}")
            yield adb
        finally:
            adb.run("-P", server_port, "kill-server")


def test_the_phone_is_listed(adb: Adb) -> None:
    listed = adb.say("devices", "-l")
    assert "device product:box model:Phone_in_the_box device:box" in listed
    assert adb.say("get-state") == "device\n"
    assert adb.run("wait-for-device").returncode == 0


def test_a_shell_command_has_output_errors_and_an_exit_code(adb: Adb) -> None:
    ran = adb.run("shell", "warn")
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"out\n", b"err\n", 3)
    assert adb.run("shell", "nonsense").returncode == 127


def test_input_reaches_a_command(adb: Adb) -> None:
    assert adb.say("shell", "cat", stdin=b"typed\n") == "typed\n"
    assert adb.say("shell", stdin=b"ls\n") == "ran ls\n"


def test_raw_output_and_input_are_untouched(adb: Adb) -> None:
    content = os.urandom(300_000)
    assert len(adb.run("exec-out", "big 300000").stdout) == 300_000
    assert adb.run("exec-in", "keep", "/sdcard/kept", stdin=content).returncode == 0
    while adb.device.ended.get(timeout=5) != "keep":
        pass
    assert adb.device.storage.read("/sdcard/kept") == content


def test_files_and_folders_are_pushed_and_pulled(adb: Adb) -> None:
    source = adb.folder / "source"
    (source / "sub").mkdir(parents=True, exist_ok=True)
    (source / "a").write_bytes(os.urandom(200_000))
    (source / "sub" / "b c").write_bytes(b"b")
    adb.say("push", "source", "/sdcard/")
    adb.say("push", "source/a", "/sdcard/Download")
    assert adb.device.storage.list("/sdcard/Download") == ["a"]
    adb.say("pull", "/sdcard/source", "target")
    assert (adb.folder / "target" / "a").read_bytes() == (source / "a").read_bytes()
    assert (adb.folder / "target" / "sub" / "b c").read_bytes() == b"b"
    assert "Download" in adb.say("ls", "/sdcard")


def test_what_cannot_be_pushed_or_pulled_says_why(adb: Adb) -> None:
    (adb.folder / "small").write_bytes(b"x")
    pushed = adb.run("push", "small", "/system/x")
    assert pushed.returncode == 1
    assert b"Read-only file system" in pushed.stderr + pushed.stdout
    pulled = adb.run("pull", "/nope")
    assert pulled.returncode == 1
    assert b"No such file or directory" in pulled.stderr + pulled.stdout


def test_a_streamed_install_succeeds(adb: Adb) -> None:
    (adb.folder / "a.apk").write_bytes(bytes(150_000))
    ran = adb.run("install", "a.apk")
    assert b"Success" in ran.stdout, ran.stderr


def test_a_forwarded_port_leads_to_the_phone(adb: Adb) -> None:
    port = int(adb.say("forward", "tcp:0", "tcp:7"))
    assert f"tcp:{port} tcp:7" in adb.say("forward", "--list")
    with socket.create_connection(("127.0.0.1", port), 5) as sock:
        sock.sendall(b"ping")
        assert sock.recv(10) == b"ping"
    adb.say("forward", "--remove", f"tcp:{port}")
    assert adb.say("forward", "--list").strip() == ""


def test_what_the_phone_does_not_do_is_refused_without_a_wait(adb: Adb) -> None:
    reverse = adb.run("reverse", "tcp:1", "tcp:2")
    assert reverse.returncode == 1
    assert b"no reverse connections" in reverse.stderr
    assert "cannot run as root" in adb.say("root")
    assert adb.run("reboot").returncode == 1
    assert adb.run("jdwp").returncode == 1


def test_adbutils_drives_the_phone_through_the_server_door(tmp_path: Path) -> None:
    adbutils: Any = pytest.importorskip("adbutils")
    device = FakeDevice(str(tmp_path / "phone"))
    with open_server(device) as (_, port):
        client = adbutils.AdbClient("127.0.0.1", port)
        assert [(found.serial, found.get_state()) for found in client.device_list()] == [("box-1", "device")]
        phone = client.device("box-1")
        assert phone.shell("echo hi") == "hi"
        assert phone.shell2("warn", v2=True).returncode == 3
        (tmp_path / "file").write_bytes(b"content" * 20_000)
        phone.sync.push(str(tmp_path / "file"), "/sdcard/file")
        assert phone.sync.read_bytes("/sdcard/file") == b"content" * 20_000
        assert phone.sync.stat("/sdcard/file").size == 140_000
        assert "file" in {entry.path for entry in phone.sync.list("/sdcard")}
        chosen = phone.forward_port("localabstract:echo")
        with socket.create_connection(("127.0.0.1", chosen), 5) as sock:
            sock.sendall(b"ping")
            assert sock.recv(10) == b"ping"
