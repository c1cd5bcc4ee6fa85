"""Atomic file writes, and locks."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawperator._base.files import (
    AtomicFile,
    Spill,
    locked,
    make_folder,
    make_private_folder,
    open_regular,
    read_input,
    try_lock,
    unlock,
)
from tests.support.hanging import HANG_SECONDS


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
        "from clawperator._base.files import AtomicFile\n"
        "with AtomicFile(sys.argv[1]) as out:\n"
        "    out.file.write(b'n' * 5_000_000)\n"
        "    out.file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


def unfinished(folder: Path, pid: int) -> Path:
    """A file as a killed process leaves it."""
    path = folder / f".clawperator-{pid}-0123456789ab.part"
    path.write_bytes(b"half")
    return path


@pytest.fixture
def ended_pid() -> int:
    """The id of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_write_removes_what_killed_processes_left_in_its_folder(tmp_path: Path, ended_pid: int) -> None:
    other = tmp_path / "other"
    other.mkdir()
    left, elsewhere = unfinished(tmp_path, ended_pid), unfinished(other, ended_pid)
    kept = [unfinished(tmp_path, os.getpid()), tmp_path / ".clawperator-1x-a.part", tmp_path / "a.part"]
    for path in kept:
        path.write_bytes(b"")
    with AtomicFile(str(tmp_path / "a")) as out:
        out.file.write(b"new")
    assert not left.exists()
    assert [path.exists() for path in (*kept, elsewhere)] == [True] * 4


def test_a_file_that_a_process_of_another_container_writes_is_kept(tmp_path: Path, ended_pid: int) -> None:
    import fcntl

    with unfinished(tmp_path, ended_pid).open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with AtomicFile(str(tmp_path / "a")):
            assert Path(file.name).exists()


def test_a_folder_with_the_name_of_an_unfinished_file_is_no_problem(tmp_path: Path, ended_pid: int) -> None:
    folder = tmp_path / f".clawperator-{ended_pid}-0123456789ab.part"
    folder.mkdir()
    with AtomicFile(str(tmp_path / "a")):
        pass
    assert folder.is_dir()


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


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A umask that takes nothing away."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("old_mode", [None, 0o644])
def test_a_private_file_is_readable_by_its_owner_only_from_the_start(tmp_path: Path, old_mode: int | None) -> None:
    target = tmp_path / "a"
    if old_mode is not None:
        target.write_bytes(b"old")
        target.chmod(old_mode)
    with AtomicFile(str(target), private=True) as out:
        part = next(path for path in tmp_path.iterdir() if path != target)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        out.file.write(b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.usefixtures("open_umask")
def test_the_part_of_a_replaced_file_is_never_more_readable_than_the_file(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with AtomicFile(str(target)):
        part = next(path for path in tmp_path.iterdir() if path != target)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("umask", [0, 0o027])
def test_a_new_file_gets_the_mode_of_the_umask_at_its_end_and_is_private_before(
    tmp_path: Path, umask: int
) -> None:
    target = tmp_path / "a"
    before = os.umask(umask)
    try:
        with AtomicFile(str(target)):
            assert [stat.S_IMODE(part.stat().st_mode) for part in tmp_path.iterdir()] == [0o600]
        assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~umask
        assert os.umask(umask) == umask
    finally:
        os.umask(before)


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_is_refused_when_links_are_not_followed(tmp_path: Path, *, exists: bool) -> None:
    target, link = tmp_path / "a", tmp_path / "link"
    if exists:
        target.write_bytes(b"old")
    link.symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        AtomicFile(str(link), follow_links=False)
    assert link.is_symlink()
    assert target.exists() is exists


def test_a_link_planted_while_writing_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, target = tmp_path / "victim", tmp_path / "a"
    victim.write_bytes(b"keep")
    with AtomicFile(str(target), follow_links=False) as out:
        out.file.write(b"new")
        target.symlink_to(victim)
    assert victim.read_bytes() == b"keep"
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_file_in_a_linked_folder_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with AtomicFile(str(tmp_path / "link" / "a"), follow_links=False) as out:
        out.file.write(b"new")
    assert (tmp_path / "folder" / "a").read_bytes() == b"new"


@pytest.mark.parametrize("follow_links", [True, False])
def test_a_pipe_is_refused_at_once(tmp_path: Path, *, follow_links: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        AtomicFile(str(tmp_path / "pipe"), follow_links=follow_links)
    with pytest.raises(OSError, match="named pipe"):
        open_regular(str(tmp_path / "pipe"))


def test_a_folder_or_a_device_is_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_regular(str(tmp_path))
    with pytest.raises(IsADirectoryError):
        AtomicFile(str(tmp_path))
    with pytest.raises(OSError, match="a device"):
        open_regular(os.devnull)


@pytest.mark.usefixtures("open_umask")
def test_every_new_parent_of_a_private_folder_is_private(tmp_path: Path) -> None:
    make_private_folder(str(tmp_path / "a" / "b" / "c"))
    for folder in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    make_private_folder(str(tmp_path / "a" / "b"))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        make_private_folder(str(tmp_path / "file"))


def test_a_folder_of_very_many_parents_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    deep = "/".join("d" * 1500)
    try:
        make_folder(deep)
        assert os.path.isdir(deep)
    finally:
        for depth in range(1500, 0, -1):  # shutil fails for such a depth
            os.rmdir("/".join("d" * depth))


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


def test_an_input_is_a_file_or_a_pipe_with_a_writer(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert read_input(str(tmp_path / "file"), 10) == b"abc"
    assert read_input(str(tmp_path / "file"), 2) == b"ab"
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            for piece in (b"x" * 100_000, b"y"):
                pipe.write(piece)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert read_input(str(tmp_path / "pipe"), 10**6) == b"x" * 100_000 + b"y"
    writer.join()


def test_a_pipe_without_a_writer_ends_in_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TimeoutError, match="no data"):
        read_input(str(tmp_path / "pipe"), 10, seconds=0.05)


def test_a_lock_is_held_while_the_block_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with locked(path, 0.0) as descriptor:
        assert descriptor is not None
        with locked(path, 0.05) as second:
            assert second is None
    with locked(path, 0.0) as again:
        assert again is not None


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with ExitStack() as stack:
        stack.enter_context(locked(path, 0.0))
        timer = threading.Timer(0.05, stack.pop_all().close)
        timer.start()
        with locked(path, HANG_SECONDS) as descriptor:
            assert descriptor is not None
        timer.join()


def test_shared_locks_do_not_exclude_each_other(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("wb") as one, (tmp_path / "lock").open("rb") as other:
        assert try_lock(one.fileno(), shared=True)
        assert try_lock(other.fileno(), shared=True)
        assert not try_lock(one.fileno())
        unlock(other.fileno())
        assert try_lock(one.fileno())
        assert not try_lock(other.fileno(), shared=True)


def test_the_file_of_a_lock_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), locked(str(tmp_path / "lock"), 0.0):
        pass
    assert not (tmp_path / "elsewhere").exists()
