"""Reported turns survive any crash; unreported ones leave nothing behind."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.agent.ports import Evidence
from clawperator.agent.sessions.store import SessionStore
from clawperator.errors import ClawError
from tests.agent.sessions.session_turns import refused, turn, written
from tests.support.running import without_bytecode

BEGIN = """
import os, sys
from clawperator.agent.ports import Evidence
from clawperator.agent.sessions.records import TurnRecord
from clawperator.agent.sessions.store import SessionStore
from clawperator.errors import ClawError
def turn(prompt):
    return TurnRecord(prompt=prompt, output=prompt.upper(), started_at_ms=1, ended_at_ms=2)
store = SessionStore(sys.argv[1])
"""
# Commits endlessly and prints a line after each commit.
WRITER = (
    BEGIN
    + """
with store.open("s", resume=os.path.exists(store.directory + "/s.jsonl")) as session:
    while True:
        prompt = f"{os.getpid()}-{session.prompt_count} " + "x" * (session.prompt_count * 997 % 20_000)
        kept = session.commit(turn(prompt), [Evidence("document", "d", document=prompt)])
        os.write(1, b"%d %s\\n" % (kept.turn, prompt.split()[0].encode()))
"""
)
# Takes the session, adds one turn, lets go of it; again and again.
TAKER = (
    BEGIN
    + """
for number in range(int(sys.argv[2])):
    prompt = f"{os.getpid()}-{number}"
    try:
        with store.open("s", resume=True, wait_seconds=float(sys.argv[3])) as session:
            kept = session.commit(turn(prompt))
        print(kept.turn, prompt)
    except ClawError as e:
        print("-", e.code)
"""
)


def python(script: str, *arguments: object, **more: Any) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **more)


def round_of_killing(folder: Path, chance: random.Random) -> dict[int, str]:
    """Let a writer work for a moment and kill it; the turns it reported, by number."""
    with python(WRITER, folder) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(chance.random() * 0.03)
        writer.kill()
        lines = [first, *writer.stdout.readlines()]
    assert writer.returncode == -signal.SIGKILL
    return {int(number): name for number, name in (line.split() for line in lines if line.endswith("\n"))}


def check_after_kills(folder: Path, rounds: int, chance: random.Random) -> None:
    reported: dict[int, str] = {}
    store = SessionStore(str(folder))
    for _ in range(rounds):
        reported |= round_of_killing(folder, chance)
        loaded = store.load("s")
        assert [t.turn for t in loaded.turns] == list(range(1, len(loaded.turns) + 1))
        there = {t.turn: t.prompt.split()[0] for t in loaded.turns}
        assert there.items() >= reported.items()
        for kept in loaded.turns:
            assert kept.output == kept.prompt.upper()
            assert os.path.getsize(folder / kept.evidence[0].path) == kept.evidence[0].bytes
        (summary,) = store.list().sessions
        assert summary.valid
        assert summary.stopped, "the lock died with its holder"
        assert summary.prompt_count == len(loaded.turns)
    with store.open("s", resume=True) as session:
        last = session.commit(turn("after all"))
    assert store.load("s").warnings == ()
    numbers = {name.split("-")[1] for name in os.listdir(folder / "s.evidence")}
    assert numbers == {f"{number:04d}" for number in range(1, last.turn)}


def test_no_reported_turn_is_lost_when_its_writer_is_killed(tmp_path: Path) -> None:
    check_after_kills(tmp_path, 4, random.Random(7))


@pytest.mark.random
def test_no_reported_turn_is_lost_over_a_long_campaign(tmp_path: Path) -> None:
    rounds = 100 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 2
    check_after_kills(tmp_path, rounds, random.Random())


@pytest.mark.parametrize("wait_seconds", [5.0, 0.0])
def test_two_writers_alternate_and_no_turn_is_lost_or_mixed(tmp_path: Path, wait_seconds: float) -> None:
    written(tmp_path, "s", "first")
    count = 25
    with python(TAKER, tmp_path, count, wait_seconds) as one, python(TAKER, tmp_path, count, wait_seconds) as two:
        output = [
            line.split() for process in (one, two) for line in process.communicate(timeout=30)[0].splitlines()
        ]
    assert (one.returncode, two.returncode) == (0, 0)
    assert len(output) == 2 * count
    kept = {int(number): prompt for number, prompt in output if number != "-"}
    refusals = {code for number, code in output if number == "-"}
    assert refusals <= (set() if wait_seconds else {"SESSION_BUSY"})
    loaded = SessionStore(str(tmp_path)).load("s")
    assert {t.turn: t.prompt for t in loaded.turns} == {1: "first", **kept}
    assert loaded.warnings == ()


def test_a_session_is_locked_against_other_processes(tmp_path: Path) -> None:
    store = SessionStore(str(tmp_path))
    script = BEGIN + "with store.open('s') as s:\n s.commit(turn('p'))\n print(flush=True)\n sys.stdin.readline()"
    words = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not store.list().sessions[0].stopped
        with refused("SESSION_BUSY"):
            store.open("s", resume=True, wait_seconds=0.05)
        with refused("SESSION_BUSY"):
            store.delete("s")
        assert store.load("s").prompt_count == 1
        holder.kill()
    with store.open("s", resume=True, wait_seconds=1) as session:
        assert session.prompt_count == 1


# --- disks that are full, and folders that cannot be written to


def test_a_file_size_limit_refuses_the_turn(tmp_path: Path) -> None:
    script = (
        BEGIN
        + """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with store.open("s") as session:
    session.commit(turn("fits"))
    size = os.path.getsize(session.path)
    for limit, evidence in ((size + 200, []), (size, []), (size + 9_000, [Evidence("document", "d", document="y" * 20_000)])):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            session.commit(turn("x" * 4_000), evidence)
            print("committed")
        except ClawError as e:
            print(e.code, e.operation, e.target == session.path, "--directory" in e.hint, os.path.getsize(session.path) == size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    session.commit(turn("fits again"), [Evidence("document", "d", document="y" * 20_000)])
"""
    )
    with python(script, tmp_path, env=without_bytecode()) as child:
        output = child.communicate(timeout=30)[0].splitlines()
    assert output == ["SESSION_WRITE_FAILED write True True True"] * 3
    loaded = SessionStore(str(tmp_path)).load("s")
    assert [(t.turn, t.prompt) for t in loaded.turns] == [(1, "fits"), (2, "fits again")]
    assert loaded.warnings == ()
    assert os.listdir(tmp_path / "s.evidence") == ["turn-0002-01-document.json"]


def failing(code: int) -> Callable[..., int]:
    def fail(*_: Any) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def half(descriptor: int, data: bytes) -> int:
    return _write(descriptor, data[: len(data) // 2])


_write = os.write


@pytest.mark.parametrize(
    ("broken", "message", "hint"),
    [
        (("write", half), "bytes could be written", "Free disk space"),
        (("write", failing(errno.ENOSPC)), "No space left on device", "Free disk space"),
        (("write", failing(errno.EDQUOT)), "quota", "Free disk space"),
        (("fsync", failing(errno.EIO)), "Input/output error", "--directory"),
        (("write", failing(errno.EROFS)), "Read-only file system", "--directory"),
        (("write", failing(errno.EACCES)), "Permission denied", "chmod"),
    ],
)
def test_a_failed_write_is_undone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    broken: tuple[str, Callable[..., int]],
    message: str,
    hint: str,
) -> None:
    path = written(tmp_path, "s", "one")
    before = path.read_bytes()
    with SessionStore(str(tmp_path)).open("s", resume=True) as session:
        with monkeypatch.context() as patch:
            patch.setattr(os, *broken)
            with refused("SESSION_WRITE_FAILED") as error:
                session.commit(turn("two"), [Evidence("document", "d", document=1)])
        assert (error.value.operation, error.value.target) == ("write", str(path))
        assert error.value.retryable
        assert message in error.value.message
        assert hint in (error.value.hint or "")
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["s.jsonl"], "its evidence is gone, too"
        assert session.prompt_count == 1
        assert session.commit(turn("two")).turn == 2
    assert [t.prompt for t in SessionStore(str(tmp_path)).load("s").turns] == ["one", "two"]


def test_an_interrupt_during_a_commit_undoes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(tmp_path).read_bytes()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with SessionStore(str(tmp_path)).open("s", resume=True) as session:
        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            session.commit(turn("two"))
    assert (tmp_path / "s.jsonl").read_bytes() == before


def test_a_failed_undo_is_repeated_by_the_next_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "s", "one")
    with SessionStore(str(tmp_path)).open("s", resume=True) as session:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            patch.setattr(os, "ftruncate", failing(errno.EIO))
            with refused("SESSION_WRITE_FAILED"):
                session.commit(turn("two"))
        session.commit(turn("three"))
    loaded = SessionStore(str(tmp_path)).load("s")
    assert [t.prompt for t in loaded.turns] == ["one", "three"]
    assert loaded.warnings == ()


def test_a_session_without_space_for_its_meta_line_is_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with refused("SESSION_WRITE_FAILED") as error:
            SessionStore(str(tmp_path)).open("s")
    assert error.value.operation == "write"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("where", "operation"), [("file", "mkdir"), ("file/below", "mkdir"), ("/proc/none", "mkdir")]
)
def test_a_failed_mkdir_has_a_hint(tmp_path: Path, where: str, operation: str) -> None:
    (tmp_path / "file").touch()
    directory = str(tmp_path / where)
    with refused("SESSION_WRITE_FAILED") as error:
        SessionStore(directory).open("s")
    assert (error.value.operation, error.value.target) == (operation, directory)
    assert "--directory" in (error.value.hint or "")


def test_a_read_only_folder_has_a_hint(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        directory, message = "/proc/self/fdinfo", "cannot open"  # not writable, even for root
    else:
        tmp_path.chmod(0o500)
        directory, message = str(tmp_path), "Permission denied"
    with refused("SESSION_WRITE_FAILED") as error:
        SessionStore(directory).open("s")
    assert message in error.value.message
    assert "--directory" in (error.value.hint or "")
    assert SessionStore(directory).list().sessions == []


def test_each_turn_is_one_write_and_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    sync = os.fsync

    def note_write(descriptor: int, data: bytes) -> int:
        calls.append("write")
        return _write(descriptor, data)

    def note_sync(descriptor: int) -> None:
        calls.append("sync")
        sync(descriptor)

    written(tmp_path, "s")
    with SessionStore(str(tmp_path)).open("s", resume=True) as session:
        monkeypatch.setattr(os, "write", note_write)
        monkeypatch.setattr(os, "fsync", note_sync)
        session.commit(turn("x" * 60_000))
    assert calls == ["write", "sync"]


def test_concurrent_deletes_and_writes_leave_no_partial_session(tmp_path: Path) -> None:
    script = (
        BEGIN
        + """
for number in range(40):
    try:
        with store.open("s", wait_seconds=0) as session:
            session.commit(turn("p"), [Evidence("document", "d", document=1)])
            for link in session.turns[0].evidence:
                assert os.path.exists(os.path.join(store.directory, link.path)), "evidence of a living session"
    except ClawError as e:
        assert e.code in ("SESSION_BUSY", "SESSION_EXISTS"), e.code
"""
    )
    store = SessionStore(str(tmp_path))
    codes = set[str]()
    with python(script, tmp_path) as one, python(script, tmp_path) as two:
        while one.poll() is None or two.poll() is None:
            try:
                store.delete("s")
            except ClawError as e:
                codes.add(e.code)
            for summary in store.list().sessions:
                assert summary.valid
    assert (one.returncode, two.returncode) == (0, 0)
    assert codes <= {"SESSION_BUSY"}
    store.delete("s")
    assert os.listdir(tmp_path) == []
