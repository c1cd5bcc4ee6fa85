"""A device made of doubles: a real shell whose Android commands answer from a table and log their arguments.

``CommandDoubles`` writes the programs, ``double_server`` is an adb server that runs our scripts with them. The
programs are plain ``sh``, so they also work below a real adbd.
"""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from shutil import which

from msgspec import Struct

from clawperator.device.adb.client import Device, Endpoint
from tests.support.hanging import HANG_SECONDS

LOCALHOST = "127.0.0.1"
SERIAL = "R5CT1234567"
# Programs of the host that scripts of ours use on a device.
_HOST_PROGRAMS = ("sh", "cat", "rm", "sleep", "mkdir")
_FEATURES = "shell_v2,cmd,stat_v2,ls_v2,abb_exec"


class Reply(Struct, frozen=True):
    """What a command prints and how it exits. ``written`` is the content of the file that its last word names.

    With several replies for one command, each call gets the next one, and the last one repeats.
    """

    stdout: str | bytes = ""
    stderr: str | bytes = ""
    code: int = 0
    seconds: float = 0.0
    written: str | None = None


class CommandDoubles:
    """Doubles of Android's commands in a folder. Files that they name are below ``folder/root``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = folder / "bin"
        self.root = folder / "root"
        self._log = folder / "calls"
        self._rules: dict[str, list[tuple[str, Sequence[Reply]]]] = {}
        self.programs.mkdir(parents=True)
        (self.root / "data/local/tmp").mkdir(parents=True)
        for name in _HOST_PROGRAMS:
            if (found := which(name)) is not None:
                (self.programs / name).symlink_to(found)
        for name in ("cat", "rm"):
            self._write_program(name, self._file_program(name))

    def answer(self, command: str, *replies: Reply | str, when: str = "*") -> None:
        """Answer a command whose arguments, joined by spaces, match the pattern ``when``.

        The latest matching rule counts. A call that no rule matches exits with code 127 and is ``unexpected``.
        """
        texts = [Reply(reply) if isinstance(reply, str) else reply for reply in replies]
        self._rules.setdefault(command, []).append((when, texts))
        self._write_program(command, self._program(command))

    def script(self, command: str, body: str) -> None:
        """Answer a command with a shell script of the test's own. Its calls are logged too."""
        self._rules.pop(command, None)
        self._write_program(command, f"{self._head(command)}{body}\n")

    def remove(self, command: str) -> None:
        """The device has no such command."""
        self._rules.pop(command, None)
        (self.programs / command).unlink(missing_ok=True)

    def calls(self, command: str | None = None) -> list[list[str]]:
        """The argument lists of all calls in order, each with the name of its command first."""
        try:
            words = self._log.read_bytes().split(b"\0")[:-1]
        except FileNotFoundError:
            return []
        found, at = [], 0
        while at < len(words):
            end = at + 2 + int(words[at])
            found.append([word.decode("utf-8", "surrogateescape") for word in words[at + 1 : end]])
            at = end
        return [call for call in found if command in (None, call[0])]

    def unexpected(self) -> list[str]:
        """The calls that no rule matched."""
        try:
            return (self.folder / "unexpected").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _program(self, command: str) -> str:
        """Number the calls of each rule with a file of its own, to which each call adds a byte."""
        cases = []
        for index in reversed(range(len(self._rules[command]))):
            pattern, replies = self._rules[command][index]
            place = self.folder / "replies" / command / str(index)
            place.mkdir(parents=True, exist_ok=True)
            counter = quote(str(place / "count"))
            replies_by_number = [self._reply(place, i, reply) for i, reply in enumerate(replies)]
            steps = "\n".join(f"  {i}) {script} ;;" for i, script in enumerate(replies_by_number[:-1]))
            cases.append(
                f"{_glob(pattern)})\n n=0; [ -f {counter} ] && read -r n <{counter}; echo $((n + 1)) >{counter}\n"
                f" case $n in\n{steps}\n  *) {replies_by_number[-1]} ;;\n esac ;;"
            )
        unexpected = quote(str(self.folder / "unexpected"))
        return (
            self._head(command)
            + 'case "$*" in\n'
            + "\n".join(cases)
            + f'\nesac\necho {quote(command)} "$*" >>{unexpected}\n'
            f'echo {quote(command)}: no answer for "$*" >&2\nexit 127\n'
        )

    def _head(self, command: str) -> str:
        """Log the call, and keep its last word."""
        log = quote(str(self._log))
        return f'#!/bin/sh\nprintf \'%s\\0\' "$#" {quote(command)} "$@" >>{log}\nfor last in "$@"; do :; done\n'

    def _reply(self, place: Path, number: int, reply: Reply) -> str:
        parts = []
        if reply.seconds:
            parts.append(f"sleep {reply.seconds}")
        if reply.written is not None:
            (place / f"{number}.file").write_text(reply.written)
            file = quote(str(place / f"{number}.file"))
            target = f'"{self.root}$last"'
            parts.append(
                f'case "$last" in /proc/self/fd/1|/dev/tty) cat {file} ;; *) cat {file} >{target} ;; esac'
            )
        for name, content, redirect in (("out", reply.stdout, ""), ("err", reply.stderr, " >&2")):
            if content:
                data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
                (place / f"{number}.{name}").write_bytes(data)
                parts.append(f"{which('cat')} {quote(str(place / f'{number}.{name}'))}{redirect}")
        return "; ".join([*parts, f"exit {reply.code}"])

    def _file_program(self, name: str) -> str:
        """A program of the host on the files of the device."""
        return (
            f'#!/bin/sh\nwords=\nfor word in "$@"; do case "$word" in {self.folder}/*) ;; '
            f'/*) word="{self.root}$word" ;; esac; words="$words $word"; done\nexec {which(name)} $words\n'
        )

    def _write_program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(script)
        path.chmod(0o755)


def _glob(pattern: str) -> str:
    """A pattern of ``case`` in which only the asterisk is special."""
    return "*".join(quote(part) if part else "" for part in pattern.split("*")) or "''"


@contextmanager
def double_server(doubles: CommandDoubles, serial: str = SERIAL, *, state: str = "device") -> Iterator[Device]:
    """An adb server on a port of its own, with one device that runs scripts with these doubles."""
    with socket.create_server((LOCALHOST, 0)) as listener:
        over = threading.Event()
        threads: list[threading.Thread] = []

        def accept() -> None:
            while not over.is_set():
                with suppress(OSError):
                    peer = listener.accept()[0]
                    peer.settimeout(HANG_SECONDS)
                    thread = threading.Thread(target=_serve, args=(peer, doubles, serial, state), daemon=True)
                    threads.append(thread)
                    thread.start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield Device(serial, Endpoint(LOCALHOST, listener.getsockname()[1]))
        finally:
            over.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # ends the accept of the other thread
            for thread in (acceptor, *threads):
                thread.join(HANG_SECONDS)


def _serve(peer: socket.socket, doubles: CommandDoubles, serial: str, state: str) -> None:
    with peer, suppress(OSError, ValueError, subprocess.TimeoutExpired):
        while True:
            request = _read(peer, int(_read(peer, 4), 16)).decode("utf-8", "surrogateescape")
            service, _, rest = request.partition(":")
            if service == "host-serial" or request == "host:features":
                _send_text(peer, _FEATURES if "features" in request else state)
                return
            if request.startswith("host:transport"):
                if state != "device":
                    _send_text(peer, f"device {state}", status=b"FAIL")
                    return
                peer.sendall(b"OKAY")
            elif request in ("host:devices", "host:devices-l"):
                _send_text(peer, f"{serial}\t{state}\n")
                return
            elif request == "host:version":
                _send_text(peer, "0029")
                return
            elif service in ("shell,v2,raw", "exec"):
                peer.sendall(b"OKAY")
                _run(peer, rest, doubles, packets=service != "exec")
                return
            else:
                _send_text(peer, f"unknown service {request[:80]}", status=b"FAIL")
                return


def _run(peer: socket.socket, script: str, doubles: CommandDoubles, *, packets: bool) -> None:
    """Run a script; it ends when the peer hangs up, as below adbd."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        env={"PATH": str(doubles.programs)},
        cwd=doubles.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if packets else subprocess.STDOUT,
        start_new_session=True,
    )
    watcher = threading.Thread(target=_end_with_peer, args=(peer, process), daemon=True)
    watcher.start()
    lock = threading.Lock()
    streams = [(1, process.stdout)] + ([(2, process.stderr)] if packets else [])
    pumps = [
        threading.Thread(target=_pump, args=(peer, kind if packets else 0, stream, lock), daemon=True)
        for kind, stream in streams
    ]
    for pump in pumps:
        pump.start()
    for pump in pumps:
        pump.join(HANG_SECONDS)
    code = process.wait(HANG_SECONDS)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with suppress(OSError):
        if packets:
            peer.sendall(b"\x03" + (1).to_bytes(4, "little") + bytes([code & 0xFF]))
        peer.shutdown(socket.SHUT_WR)
    watcher.join(HANG_SECONDS)


def _pump(peer: socket.socket, kind: int, stream: object, lock: threading.Lock) -> None:
    while block := os.read(stream.fileno(), 65_536):  # type: ignore[attr-defined]
        with lock, suppress(OSError):
            peer.sendall((bytes([kind]) + len(block).to_bytes(4, "little") if kind else b"") + block)


def _end_with_peer(peer: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError):
        while peer.recv(65_536):
            pass
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _send_text(peer: socket.socket, text: str, *, status: bytes = b"OKAY") -> None:
    data = text.encode("utf-8", "surrogateescape")
    peer.sendall(status + b"%04x" % len(data) + data)


def _read(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = peer.recv(size - len(data))
        if not block:
            raise ConnectionError("closed")
        data += block
    return data
