"""Run adbd with nothing around it, started by ``real_adbd`` as the first process of new namespaces.

adbd listens on every address, and on vsock beside. Here it sees only a loopback interface of its own: connections to a
socket that was opened outside, on the outer loopback address, are forwarded to it. Its root folder is made of the
prepared packages, read only, and of the folder with the doubles. All ends when stdin is closed or adbd ends.

Needs only the standard library: ``ROOT FOLDER PORT LISTENER`` are its arguments.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

READY = b"ready\n"
_LOCALHOST = "127.0.0.1"
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_START_SECONDS = 20.0
_PAUSE = 0.005
_LINKS = {"bin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin", "dev/ptmx": "pts/ptmx"}
_DEVICES = ("null", "zero", "urandom", "tty")


def build_root(packages: Path, folder: Path) -> Path:
    """A root folder in memory. ``folder`` is in it at the same path."""
    root = folder / "chroot"
    root.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "tmpfs", root)
    for name in ("usr", "proc", "dev/pts", "etc", "tmp", str(folder).lstrip("/")):
        (root / name).mkdir(parents=True)
    for name in _DEVICES:
        (root / "dev" / name).touch()
        _mount("--bind", f"/dev/{name}", root / "dev" / name)
    _mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", root / "dev/pts")
    _mount("-t", "proc", "proc", root / "proc")
    _mount("--bind", packages / "usr", root / "usr")
    _mount("-o", "remount,bind,ro", root / "usr")
    _mount("--bind", folder, root / str(folder).lstrip("/"))
    for name, target in _LINKS.items():
        (root / name).symlink_to(target)
    for name in ("data", "sdcard"):
        (root / name).symlink_to(folder / "current/root" / name)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\n")
    return root


def _mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], stdin=subprocess.DEVNULL, check=True)


def open_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP))


def occupy_vsock(port: int) -> socket.socket | None:
    """Namespaces do not separate vsock: take the port, so that adbd cannot listen there."""
    try:
        taken = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
    except OSError:
        return None
    taken.bind((socket.VMADDR_CID_ANY, port))
    return taken


def connect(port: int, adbd: "subprocess.Popen[bytes]") -> socket.socket:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            return socket.create_connection((_LOCALHOST, port), _START_SECONDS)
        except OSError as e:
            if adbd.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"adbd does not listen (exit code {adbd.poll()})") from e
            time.sleep(_PAUSE)


def forward(listener: socket.socket, port: int, adbd: "subprocess.Popen[bytes]") -> None:
    while True:
        outer = listener.accept()[0]
        inner = connect(port, adbd)
        for end in (outer, inner):
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for ends in ((outer, inner), (inner, outer)):
            threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


def main() -> None:
    packages, folder, port = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    listener = socket.socket(fileno=int(sys.argv[4]))
    threading.Thread(target=end_with_stdin, daemon=True).start()
    root = build_root(packages, folder)
    open_loopback()
    taken = occupy_vsock(port)
    adbd = subprocess.Popen(
        ["chroot", str(root), "/usr/sbin/adbd"],
        env={"PATH": str(folder / "current/bin"), "ADBD_PORT": str(port)},
        executable="/usr/sbin/chroot",
        stdin=subprocess.DEVNULL,
        stdout=2,
    )
    connect(port, adbd).close()
    os.write(1, READY)
    threading.Thread(target=forward, args=(listener, port, adbd), daemon=True).start()
    adbd.wait()
    if taken is not None:
        taken.close()


if __name__ == "__main__":
    main()
