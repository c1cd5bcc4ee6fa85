"""Real adb programs for tests: find them, and run their servers for one test."""

import importlib.util
import os
import queue
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO

from msgspec import Struct

from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.parse import parse_hierarchy
from tests.support.required_programs import skip_without

# As the system has it, and as adbutils brings it: two programs years apart.
PROGRAMS = ("system", "adbutils")
LOCALHOST = "127.0.0.1"
SECONDS = 20.0  # no answer takes this long
_PAUSE = 0.05
# Below the ports a system hands out by itself, so that no phone or test can be given ours.
_FIRST_PORT, _LAST_PORT = 20_000, 30_000


class Adb(Struct, frozen=True):
    """An adb program and the server it talks to."""

    program: str
    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the person who runs the tests: no keys, no USB, no search on the network."""
        return {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "ANDROID_ADB_SERVER_PORT": str(self.port),
            "ADB_LIBUSB": "0",
            "ADB_MDNS": "0",
            "ADB_USB": "0",
            "ADB_EMU": "0",
        }

    def command(self, *words: str) -> list[str]:
        return [self.program, "-P", str(self.port), *words]

    def run(self, *words: str, stdin: bytes | BufferedReader = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run a command in ``folder`` to its end, with input from bytes or an open file."""
        return subprocess.run(
            self.command(*words),
            input=stdin if isinstance(stdin, bytes) else None,
            stdin=None if isinstance(stdin, bytes) else stdin,
            capture_output=True,
            timeout=SECONDS,
            env=self.environment,
            cwd=self.folder,
            check=False,
        )

    def output(self, *words: str, stdin: bytes = b"") -> str:
        """The output of a command that must succeed."""
        ran = self.run(*words, stdin=stdin)
        assert ran.returncode == 0, (words, ran.returncode, ran.stdout, ran.stderr)
        return ran.stdout.decode()

    @contextmanager
    def running(self, *words: str) -> "Iterator[subprocess.Popen[bytes]]":
        """A running command, ended with the block."""
        process = subprocess.Popen(
            self.command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
        )
        with process:
            try:
                yield process
            finally:
                process.terminate()
                process.wait(SECONDS)

    def dump(self) -> Hierarchy:
        """The hierarchy of the screen."""
        return parse_hierarchy(self.run("exec-out", "uiautomator", "dump", "/dev/tty").stdout)

    def shown(self, label: str) -> Node:
        """The node with this label, waiting for it if necessary."""
        deadline = time.monotonic() + SECONDS
        while True:
            nodes = self.dump().nodes
            found = next((node for node in nodes if node.label == label), None)
            if found is not None:
                return found
            assert time.monotonic() < deadline, [node.label for node in nodes if node.label]
            time.sleep(_PAUSE)

    def tap(self, label: str) -> None:
        x, y = self.shown(label).bounds.centre
        self.output("shell", "input", "tap", str(x), str(y))

    def wait_for_state(self, serial: str, state: str, *, connects: bool = False) -> None:
        """Wait for a state. With ``connects``, connect again whenever the device is not listed."""
        deadline = time.monotonic() + SECONDS
        while (states := self.states()).get(serial) != state:
            assert time.monotonic() < deadline, states
            if connects and serial not in states:
                self.run("connect", serial)
            time.sleep(_PAUSE)

    def states(self) -> Mapping[str, str]:
        """The state of each phone by its serial."""
        lines = self.output("devices").splitlines()[1:]
        return dict(line.split("\t") for line in lines if line)


class Lines:
    """The lines a running command prints, as they come."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        self._lines: queue.Queue[str] = queue.Queue()
        self.last = ""
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def wait_for(self, begin: str) -> None:
        """Pass over lines until one begins like this. It is ``last`` then."""
        deadline = time.monotonic() + SECONDS
        while not self.last.startswith(begin):
            self.last = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))

    def _read(self, stream: IO[bytes]) -> None:
        with suppress(ValueError):  # the stream is closed when the command is ended
            for line in stream:
                self._lines.put(line.decode().strip())


def find_program(name: str) -> str:
    """Where a program of ``PROGRAMS`` is. Without it a test is skipped, but not where all tests must run."""
    if name == "system":
        path = shutil.which("adb")
    else:
        spec = importlib.util.find_spec("adbutils")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        path = os.path.join(spec.submodule_search_locations[0], "binaries", "adb")
    if path is None or not _runs(path):
        skip_without(f"no adb that runs here: {name}")
    return path


@contextmanager
def adb_server(name: str, folder: Path) -> Iterator[Adb]:
    """A server of the program ``name``, with no phones, on a port of its own."""
    adb = Adb(find_program(name), folder, free_port())
    # The server inherits what it is started with: a pipe of ours would never be closed.
    subprocess.run(
        adb.command("start-server"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        env=adb.environment,
        check=True,
    )
    try:
        yield adb
    finally:
        adb.run("kill-server")


@contextmanager
def connected(adb: Adb, port: int) -> Iterator[str]:
    """Connect an adb server to a phone's adbd; gives the serial."""
    serial = f"{LOCALHOST}:{port}"
    assert adb.output("connect", serial) == f"connected to {serial}\n"
    try:
        yield serial
    finally:
        adb.run("disconnect", serial)


def _runs(path: str) -> bool:
    try:
        return subprocess.run([path, "version"], capture_output=True, timeout=SECONDS, check=False).returncode == 0
    except OSError:
        return False


def free_port() -> int:
    """A port on which nothing listens."""
    chance = random.SystemRandom()
    while True:
        port = chance.randint(_FIRST_PORT, _LAST_PORT)
        with socket.socket() as probe:
            if probe.connect_ex((LOCALHOST, port)):
                return port
