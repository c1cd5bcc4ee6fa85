"""The phone's file system: paths, permissions and the sandbox."""

import errno
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.storage.filesystem import MAX_DEPTH, SHARED, STAGING, Storage, resolve
from clawperator.testing import simulated_phone
from tests.support.hanging import HANG_SECONDS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "phone"


@pytest.fixture
def storage(root: Path) -> Iterator[Storage]:
    storage = Storage(str(root))
    yield storage
    storage.close()


def refused(number: int, call: Callable[[], object]) -> None:
    with pytest.raises(OSError) as caught:
        call()
    assert errno.errorcode[caught.value.errno or 0] == errno.errorcode[number]


@pytest.mark.parametrize(
    ("path", "cwd", "whole"),
    [
        ("/sdcard/a", "/", f"{SHARED}/a"),
        ("/storage/self/primary", "/", SHARED),
        ("/mnt/sdcard//x/./y/", "/", f"{SHARED}/x/y"),
        ("/sdcardx", "/", "/sdcardx"),
        ("../../../../etc/passwd", "/sdcard", "/system/etc/passwd"),
        ("a/../b", "/data/local/tmp", "/data/local/tmp/b"),
        (".", "/", "/"),
    ],
)
def test_a_path_has_one_canonical_form(path: str, cwd: str, whole: str) -> None:
    assert resolve(path, cwd) == whole


def test_standard_folders_exist_at_first_use(storage: Storage, root: Path) -> None:
    assert not root.exists()
    assert {"Android", "DCIM", "Download", "Pictures"} <= set(storage.list("/sdcard"))
    assert {"data", "sdcard", "storage", "system"} <= set(storage.list("/"))
    assert storage.list("/data/local/tmp") == []
    assert storage.stat("/sdcard").is_dir


def test_a_file_is_the_same_under_every_alias(storage: Storage) -> None:
    storage.write("/sdcard/a", b"one")
    with storage.open("/mnt/sdcard/a", "ab") as file:
        file.write(b" two")
    assert storage.read(f"{SHARED}/a") == b"one two"
    assert storage.stat("/storage/self/primary/a").size == 7


def test_a_private_folder_is_removed_at_the_end() -> None:
    storage = Storage()
    storage.write("/sdcard/a", b"")
    made = storage._folder._root
    assert made is not None
    assert os.path.isdir(made)
    storage.close()
    assert not os.path.exists(made)
    refused(errno.ENODEV, lambda: storage.list("/"))


@pytest.mark.parametrize("path", ["/x", "/system/x", "/proc/x", "/etc/hosts", "/vendor/lib/x"])
def test_the_system_is_read_only(storage: Storage, path: str) -> None:
    refused(errno.EROFS, lambda: storage.write(path, b""))
    refused(errno.EROFS, lambda: storage.open(path, "wb"))
    refused(errno.EROFS, lambda: storage.mkdir(path))


def test_the_data_of_apps_is_closed_to_the_shell_and_open_to_the_phone(storage: Storage) -> None:
    storage.system.mkdir("/data/data/com.example", parents=True)
    storage.system.write("/data/data/com.example/secret", b"s")
    storage.system.mkdir("/data/app/com.example-1", parents=True)
    storage.system.write("/data/app/com.example-1/base.apk", b"PK")
    for closed in ("/data", "/data/data", "/data/app", "/data/data/com.example"):
        refused(errno.EACCES, lambda closed=closed: storage.list(closed))  # type: ignore[misc] # bound now
    refused(errno.EACCES, lambda: storage.read("/data/user/0/com.example/secret"))
    refused(errno.EACCES, lambda: storage.write("/data/app/x", b""))
    assert storage.read("/data/app/com.example-1/base.apk") == b"PK"
    assert storage.stat("/data").is_dir
    assert storage.system.list("/data/data") == ["com.example"]


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/sdcard/" + "n" * 256, errno.ENAMETOOLONG),
        ("/sdcard/" + "é" * 128, errno.ENAMETOOLONG),
        ("/sdcard/" + "n/" * 3000, errno.ENAMETOOLONG),
        ("/sdcard/" + "n/" * MAX_DEPTH, errno.ENAMETOOLONG),
        ("/sdcard/a\0b", errno.EINVAL),
        ("/sdcard/\ud800", errno.EILSEQ),
        ("", errno.ENOENT),
        ("/.staging/x", errno.ENOENT),
        ("/sdcard/nope/x", errno.ENOENT),
    ],
)
def test_an_invalid_file_name_is_refused(storage: Storage, path: str, number: int) -> None:
    refused(number, lambda: storage.write(path, b"x"))
    refused(number, lambda: storage.read(path))


def test_a_name_that_is_not_utf8_survives(storage: Storage) -> None:
    storage.write("/sdcard/\udcff\udcfe", b"x")
    assert "\udcff\udcfe" in storage.list("/sdcard")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(b"secret")
    return folder


def test_a_link_planted_on_the_host_is_not_followed(storage: Storage, root: Path, outside: Path) -> None:
    storage.list("/")
    shared = root / SHARED[1:]
    (shared / "folder").symlink_to(outside)
    (shared / "file").symlink_to(outside / "secret")
    (shared / "new").symlink_to(outside / "new")
    (root / "data/local/tmp").rmdir()
    (root / "data/local/tmp").symlink_to(outside)
    for path in ("/sdcard/folder/secret", "/sdcard/file", "/data/local/tmp/secret"):
        with pytest.raises(OSError):
            storage.read(path)
    for path in ("/sdcard/folder/x", "/sdcard/file", "/sdcard/new", "/data/local/tmp/x"):
        with pytest.raises(OSError):
            storage.open(path, "wb")
        with pytest.raises(OSError):
            storage.open(path, "ab")
        with pytest.raises(OSError):
            storage.chmod(path, 0o777)
    with pytest.raises(OSError):
        storage.list("/sdcard/folder")
    with pytest.raises(OSError):
        storage.mkdir("/sdcard/folder/inner")
    with pytest.raises(OSError):
        storage.rename("/sdcard/folder/secret", "/sdcard/stolen")
    # Replacing and removing act on the link, never on what it names.
    storage.write("/sdcard/file", b"mine")
    storage.remove_tree("/sdcard/folder")
    assert storage.read("/sdcard/file") == b"mine"
    assert [p.name for p in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_pipe_planted_on_the_host_does_not_block(storage: Storage, root: Path) -> None:
    storage.list("/")
    os.mkfifo(root / SHARED[1:] / "pipe")
    with pytest.raises(OSError):
        storage.read("/sdcard/pipe")
    with pytest.raises(OSError):
        storage.open("/sdcard/pipe", "wb")


@pytest.mark.random
@given(
    st.lists(st.sampled_from(["..", ".", "", "a", "sdcard", "data", "local", "tmp", "etc", "\0", "~", "%2e%2e"]))
)
def test_no_path_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    base = tmp_path_factory.mktemp("base")
    storage = Storage(str(base / "phone"))
    for path in ("/".join(parts), "/" + "/".join(parts), "/sdcard/" + "/".join(parts)):
        for view in (storage, storage.system):
            try:
                view.mkdir(path + "/made", parents=True)
                view.write(path + "/made/file", b"x")
                assert view.read(path + "/made/file") == b"x"
            except OSError:
                continue
    storage.close()
    assert [p.name for p in base.iterdir() if p.name != "phone"] == []


def test_writing_a_file_is_atomic(storage: Storage) -> None:
    storage.write("/sdcard/a", b"old")

    def fail() -> None:
        with storage.replacing("/sdcard/a") as file:
            file.write(b"half")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert storage.read("/sdcard/a") == b"old"
    assert storage.system.list("/sdcard") == storage.list("/sdcard")
    assert storage._folder.list([".staging"]) == []


def test_a_full_disk_refuses_writes_and_loses_nothing(storage: Storage) -> None:
    storage.write("/sdcard/a", b"old")
    open_file = storage.open("/sdcard/b", "wb")
    storage.full = True
    refused(errno.ENOSPC, lambda: open_file.write(b"x"))
    refused(errno.ENOSPC, lambda: storage.write("/sdcard/a", b"new"))
    refused(errno.ENOSPC, lambda: storage.open("/sdcard/a", "ab"))
    refused(errno.ENOSPC, lambda: storage.mkdir("/sdcard/folder"))
    assert storage.system.full
    assert storage.space().free == 0
    assert storage.read("/sdcard/a") == b"old"
    storage.remove("/sdcard/a")
    storage.full = False
    assert open_file.write(b"x") == 1
    open_file.close()


def test_the_capacity_limits_what_a_client_can_write(root: Path) -> None:
    storage = Storage(str(root), capacity=1000, max_files=100)
    with storage.open("/sdcard/a", "wb") as file:
        file.write(b"x" * 900)
        refused(errno.ENOSPC, lambda: file.write(b"x" * 200))
        refused(errno.ENOSPC, lambda: file.truncate(10**12))
    storage.remove("/sdcard/a")
    storage.write("/sdcard/a", b"x" * 900)  # what was freed can be used again

    def make_many() -> None:
        for number in range(200):
            storage.write(f"/sdcard/{number}", b"")

    refused(errno.ENOSPC, make_many)
    assert len(storage.list("/sdcard")) < 110


def test_depth_is_limited_however_it_is_reached(storage: Storage) -> None:
    storage.mkdir("/sdcard/" + "a/" * 60, parents=True)
    storage.mkdir("/sdcard/" + "b/" * 60, parents=True)
    refused(errno.ENAMETOOLONG, lambda: storage.rename("/sdcard/a", "/sdcard/" + "b/" * 60 + "a"))
    storage.remove_tree("/sdcard/a")
    assert not storage.exists("/sdcard/a")


def test_modes_and_times_are_kept(storage: Storage) -> None:
    before = os.umask(0o077)
    try:
        storage.open("/data/local/tmp/a", "wb").close()
        storage.mkdir("/data/local/tmp/folder")
    finally:
        os.umask(before)
    assert stat.S_IMODE(storage.stat("/data/local/tmp/a").mode) == 0o644
    assert stat.S_IMODE(storage.stat("/data/local/tmp/folder").mode) == 0o755
    storage.chmod("/data/local/tmp/a", 0o4751)
    storage.set_mtime("/data/local/tmp/a", 1_600_000_000)
    storage.write("/data/local/tmp/b", b"", mode=0o444)
    assert storage.stat("/data/local/tmp/a") == storage.stat("/data/local/tmp/../tmp/a")
    assert stat.S_IMODE(storage.stat("/data/local/tmp/a").mode) == 0o751
    assert storage.stat("/data/local/tmp/a").mtime == 1_600_000_000
    assert stat.S_IMODE(storage.stat("/data/local/tmp/b").mode) == 0o444


def test_the_content_of_provided_files_is_computed_at_each_open(storage: Storage) -> None:
    answers = iter([b"1", b"2", b"3"])
    storage.provide("/proc/12/uptime", lambda: next(answers))
    assert storage.read("/proc/12/uptime") == b"1"
    assert storage.read("/proc/12/uptime") == b"2"
    assert storage.list("/proc/12") == ["uptime"]
    assert storage.stat("/proc/12").is_dir
    refused(errno.EROFS, lambda: storage.write("/proc/12/uptime", b""))


def test_device_files_can_be_read_and_written(storage: Storage) -> None:
    assert storage.read("/dev/null") == b""
    storage.write("/dev/null", b"x")
    with storage.open("/dev/zero") as zero:
        assert zero.read(4) == b"\0" * 4
    assert stat.S_ISCHR(storage.stat("/dev/null").mode)


def test_many_threads_write_at_once(storage: Storage) -> None:
    def work(name: str) -> None:
        for number in range(20):
            storage.mkdir("/sdcard/same/folder", parents=True)
            storage.write(f"/sdcard/same/{name}{number}", name.encode())

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    assert len(storage.list("/sdcard/same")) == 81


def test_files_are_found_again_by_the_next_phone_on_the_same_folder(root: Path) -> None:
    Storage(str(root)).write("/sdcard/a", b"kept")
    assert Storage(str(root)).read("/sdcard/a") == b"kept"


def test_unfinished_files_of_a_killed_phone_are_removed(tmp_path: Path) -> None:
    Storage(str(tmp_path)).write("/sdcard/whole", b"x")
    (tmp_path / STAGING / "0123456789ab").write_bytes(bytes(1000))
    again = Storage(str(tmp_path))
    assert again.read("/sdcard/whole") == b"x"
    assert list((tmp_path / STAGING).iterdir()) == []
    assert again.space().used == 1


def test_a_phone_creates_no_folder_until_its_files_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with simulated_phone() as phone:
        phone.open_app("com.android.settings")
        phone.click("Display")
        assert list(tmp_path.iterdir()) == []
        assert phone.shell("ls", "/sdcard").stdout
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
