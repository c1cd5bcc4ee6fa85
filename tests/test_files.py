"""Atomic file writes."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clawperator._files import AtomicFile, Spill


def test_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with AtomicFile(str(target)) as out:
        out.file.write(b"new")
        assert not target.exists()
    assert target.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def fail() -> None:
        with AtomicFile(str(target)) as out:
            out.file.write(b"new" * 500_000)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    script = (
        "import os, signal, sys\n"
        "from clawperator._files import AtomicFile\n"
        "with AtomicFile(sys.argv[1]) as out:\n"
        "    out.file.write(b'n' * 5_000_000)\n"
        "    out.file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


def test_restart_forgets(tmp_path: Path) -> None:
    with AtomicFile(str(tmp_path / "a")) as out:
        out.file.write(b"first" * 100_000)
        out.restart()
        out.file.write(b"second")
    assert (tmp_path / "a").read_bytes() == b"second"


def test_mode_and_links_are_kept(tmp_path: Path) -> None:
    target, link = tmp_path / "a", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with AtomicFile(str(link)) as out:
        out.file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_stays_a_device() -> None:
    before = os.stat(os.devnull)
    with AtomicFile(os.devnull) as out:
        out.file.write(b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert before.st_rdev == os.stat(os.devnull).st_rdev


def test_a_full_disk_is_an_error_and_not_a_file() -> None:
    with pytest.raises(OSError, match="No space left"), AtomicFile("/dev/full") as out:
        out.file.write(b"x")


@pytest.mark.parametrize("count", [0, 3, 300])
@pytest.mark.parametrize("skip", [0, 1])
def test_a_spill_gives_back_what_it_took(tmp_path: Path, count: int, skip: int) -> None:
    spill = Spill()
    pieces = [b"%d," % i * 2_000 for i in range(count)]
    for piece in pieces:
        spill.append(piece)
    for _ in range(2):
        with (tmp_path / "out").open("wb") as out:
            spill.copy_to(out, skip)
        assert (tmp_path / "out").read_bytes() == b"".join(pieces)[skip:]
    assert spill.count == count
