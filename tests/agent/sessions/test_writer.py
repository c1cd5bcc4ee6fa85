"""Writing a session: atomic turns with evidence, redacted, by one process at a time."""

import fcntl
import hashlib
import json
import os
import re
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator._base.deadline import Deadline
from clawperator.agent.ports import Evidence
from clawperator.agent.sessions import records
from clawperator.agent.sessions.records import CallRecord, Denial, Usage
from clawperator.agent.sessions.store import SessionStore
from clawperator.errors import ClawError
from tests.agent.sessions.session_turns import refused, turn, written
from tests.support.hanging import HANG_SECONDS

if TYPE_CHECKING:
    from clawperator.agent.sessions.writer import OpenSession

META = '{"type":"session_meta","version":1,"session_id":"s","created_at_ms":1000}\n'


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path))


def ids(store: SessionStore) -> list[str]:
    return [summary.session_id for summary in store.list().sessions]


# --- one session, from its first turn to its end


def test_a_loaded_turn_equals_the_committed_one(store: SessionStore) -> None:
    record = turn(
        correlation_id="c-1",
        outcome="done",
        brain="rules",
        usage=Usage(4, 2),
        matched_commands=("click",),
        matched_tools=("snapshot_ui",),
        tool_calls=(
            CallRecord("click", {"matcher": {"textEquals": "About"}, "n": [1, 2.5, None, True]}, True, "ok"),
        ),
        permission_denials=(Denial("open_uri", "not allowed", "blocked"),),
    )
    with store.open("s") as session:
        first = session.commit(record)
        second = session.commit(turn("and then", None, usage=Usage(3, 0)))
        assert (first.turn, second.turn) == (1, 2)
        assert (session.prompt_count, session.message_count) == (2, 3)
        assert session.usage == Usage(7, 2)
    loaded = store.load("s")
    assert loaded.turns == (first, second)
    assert loaded.turns[0].tool_calls == record.tool_calls
    assert (loaded.prompt_count, loaded.messages_count) == (2, 3)
    assert (loaded.input_tokens, loaded.output_tokens) == (7, 2)
    assert loaded.warnings == ()
    assert not loaded.legacy


def test_the_file_is_a_meta_line_and_a_line_for_each_turn(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in written(tmp_path, "s", "one", "two").read_text().splitlines()]
    meta, *turns = lines
    assert list(meta) == ["type", "version", "session_id", "created_at_ms"]
    assert (meta["type"], meta["version"], meta["session_id"]) == ("session_meta", 1, "s")
    assert abs(meta["created_at_ms"] / 1000 - time.time()) < 60
    assert [(t["type"], t["turn"], t["prompt"]) for t in turns] == [("turn", 1, "one"), ("turn", 2, "two")]


def test_only_its_owner_may_read_a_session(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    with SessionStore(str(folder)).open("s") as session:
        session.commit(turn(), [Evidence("execution", "c", document={})])
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in [folder.parent, *tmp_path.rglob("b/**/*")]}
    assert modes.pop("a") == modes.pop("s.evidence") == 0o700
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_generated_id_is_valid_and_unique(store: SessionStore) -> None:
    with store.open() as one, store.open() as two:
        assert one.session_id != two.session_id
        assert re.fullmatch(r"sess_[0-9a-z]{8,9}_[0-9a-f]{8}", one.session_id)
        assert records.is_session_id(one.session_id)
        assert one.path == os.path.join(store.directory, f"{one.session_id}.jsonl")


def test_a_session_without_turns_is_removed(store: SessionStore, tmp_path: Path) -> None:
    with store.open("s"):
        assert ids(store) == ["s"], "it is there while it is open"
    assert os.listdir(tmp_path) == []


def test_close_is_idempotent(store: SessionStore) -> None:
    session = store.open("s")
    session.commit(turn())
    session.close()
    session.close()
    with refused("SESSION_WRITE_FAILED"):
        session.commit(turn())


def test_resume_appends_to_the_session(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path, "s", "one")
    with store.open("s", resume=True) as session:
        assert [t.prompt for t in session.turns] == ["one"]
        assert session.commit(turn("two")).turn == 2
    assert [t.prompt for t in store.load("s").turns] == ["one", "two"]


def test_resume_without_a_new_turn_changes_nothing(store: SessionStore, tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.read_bytes()
    with store.open("s", resume=True):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("given", [{"resume": True}, {"create": False}])
def test_resuming_a_missing_session_is_not_found(store: SessionStore, tmp_path: Path, given: Any) -> None:
    with refused("SESSION_NOT_FOUND"):
        store.open("s", **given)
    with refused("SESSION_NOT_FOUND"):
        SessionStore(str(tmp_path / "none")).open("s", **given)
    assert os.listdir(tmp_path) == []


def test_a_session_with_turns_is_not_overwritten(tmp_path: Path) -> None:
    before = written(tmp_path).read_bytes()
    with refused("SESSION_EXISTS") as error:
        SessionStore(str(tmp_path)).open("s")
    assert "--resume s" in (error.value.hint or "")
    assert f"claw delete-session s --directory {tmp_path}" in (error.value.hint or "")
    assert (tmp_path / "s.jsonl").read_bytes() == before


@pytest.mark.parametrize("left", ["", META, '{"type":"sess', META + '{"type":"tur'])
def test_a_session_without_turns_is_reused(store: SessionStore, tmp_path: Path, left: str) -> None:
    (tmp_path / "s.jsonl").write_text(left)
    with store.open("s") as session:
        session.commit(turn("mine"))
    assert [t.prompt for t in store.load("s").turns] == ["mine"]
    assert store.load("s").warnings == ()


def test_a_foreign_file_is_not_overwritten(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("my notes")
    with refused("SESSION_LOAD_FAILED"):
        store.open("s")
    assert (tmp_path / "s.jsonl").read_text() == "my notes"


# --- evidence


def test_evidence_is_stored_beside_the_session_and_linked(store: SessionStore, tmp_path: Path) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(b"PNG")
    with store.open("s") as session:
        kept = session.commit(
            turn(),
            [
                Evidence("execution", "cmd-1", "claw-1", {"envelope": {"status": "success"}}),
                Evidence("../odd kind", "r", document=["x" * 100_000]),
                Evidence("screenshot", "cmd-2", "claw-1", path=str(picture)),
                Evidence("recording", "rec", path=str(tmp_path / "gone.ndjson")),
            ],
        )
    first, second, third, fourth = kept.evidence
    assert first.path == "s.evidence/turn-0001-01-execution.json"
    assert (first.kind, first.ref, first.device_id) == ("execution", "cmd-1", "claw-1")
    assert json.loads((tmp_path / first.path).read_text()) == {"envelope": {"status": "success"}}
    assert first.bytes == (tmp_path / first.path).stat().st_size
    assert second.path == "s.evidence/turn-0001-02-___odd_kind.json"
    assert json.loads((tmp_path / second.path).read_text()) == ["x" * 100_000], "evidence is whole"
    assert (third.path, third.bytes) == (str(picture), 3)
    assert third.sha256 == hashlib.sha256(b"PNG").hexdigest()
    assert (fourth.path, fourth.bytes, fourth.sha256) == (str(tmp_path / "gone.ndjson"), None, None)
    assert store.load("s").turns == (kept,)


def test_evidence_of_an_uncommitted_turn_is_removed_by_the_next(store: SessionStore, tmp_path: Path) -> None:
    with store.open("s") as session:
        session.commit(turn(), [Evidence("document", "d", document=1)])
    folder = tmp_path / "s.evidence"
    for name in ("turn-0002-01-document.json", ".clawperator-1-00.part", "mine.txt"):
        (folder / name).touch()
    with store.open("s", resume=True) as session:
        session.commit(turn())
    assert sorted(os.listdir(folder)) == ["mine.txt", "turn-0001-01-document.json"]


# --- what is written


def test_long_texts_are_truncated_with_a_mark(store: SessionStore) -> None:
    long = "é" * 70_000
    with store.open("s") as session:
        kept = session.commit(turn(long, long, tool_calls=(CallRecord("t", {"a": [long]}, True, long),)))
    cut = "é" * 65_536 + "[4464 more characters omitted]"
    call = kept.tool_calls[0]
    assert kept.prompt == kept.output == call.message == call.params["a"][0] == cut
    assert store.load("s").turns == (kept,)


def test_endlessly_nested_params_are_truncated(store: SessionStore) -> None:
    deep: Any = "bottom"
    for _ in range(5_000):
        deep = [deep]
    with store.open("s") as session:
        session.commit(turn(tool_calls=(CallRecord("t", {"a": deep, "n": 10**6_000}, True, ""),)))
    assert b"nested too deep" in Path(store.list().sessions[0].path).read_bytes()
    assert store.load("s").prompt_count == 1


def test_secrets_are_redacted_in_all_files_and_later_turns(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "from-the-environment")
    evidence = [
        Evidence("document", "swordfish-1", document={"text": "typed swordfish", "k": ["from-the-environment"]})
    ]
    with store.open("s") as session:
        calls = (CallRecord("enter_text", {"text": "swordfish", "api_key": "abc"}, True, "typed swordfish"),)
        kept = session.commit(turn("type swordfish", "password=abc", tool_calls=calls), evidence, ["swordfish"])
        session.commit(turn("what was swordfish?", "from-the-environment"))
    assert kept.prompt == "type [redacted]"
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in (b"swordfish", b"from-the-environment", b'"abc"', b"=abc"):
        assert secret not in everything


def test_an_undecodable_record_is_rejected(store: SessionStore, tmp_path: Path) -> None:
    before = written(tmp_path).read_bytes()
    with store.open("s", resume=True) as session:
        for bad in (turn(usage=Usage(-1, 0)), turn(stop_reason="\ud800"), turn(outcome=5)):
            with refused("SESSION_WRITE_FAILED"):
                session.commit(bad)
        session.commit(turn("good"))
    assert (tmp_path / "s.jsonl").read_bytes().startswith(before)
    assert [t.prompt for t in store.load("s").turns] == ["first", "good"]


@pytest.mark.random
@given(st.text(st.characters(), max_size=200), st.none() | st.text(st.characters(), max_size=200))
@example("\ud800 lone", "\udfff\ud83d\ude00")
@example("\x00\u2028\r\n\x7f", None)
def test_any_text_is_stored(tmp_path_factory: pytest.TempPathFactory, prompt: str, output: str | None) -> None:
    store = SessionStore(str(tmp_path_factory.mktemp("any")))
    with store.open("s") as session:
        kept = session.commit(turn(prompt, output))
    assert store.load("s").turns == (kept,)
    if not any("\ud800" <= c <= "\udfff" for c in prompt) and "[redacted]" not in kept.prompt:
        assert kept.prompt == prompt
    assert not any("\ud800" <= c <= "\udfff" for c in kept.prompt + (kept.output or ""))
    assert (kept.output is None) == (output is None)


def test_a_lone_surrogate_is_stored_as_a_replacement(store: SessionStore) -> None:
    with store.open("s") as session:
        kept = session.commit(
            turn("a\udcffb\ud800", tool_calls=(CallRecord("t", {"\ud800": "\udfff"}, True, ""),))
        )
    assert kept.prompt == "a\ufffdb\ufffd"
    assert kept.tool_calls[0].params == {"\ufffd": "\ufffd"}


# --- several at once, in one process


def test_a_locked_session_is_busy_at_once(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.open("s") as session:
        session.commit(turn())
        monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))
        with refused("SESSION_BUSY"):
            store.open("s", resume=True, wait_seconds=0)
    assert store.load("s").prompt_count == 1


def test_a_waiting_writer_gets_the_session_when_it_is_released(store: SessionStore) -> None:
    got = threading.Event()

    def wait() -> None:
        with store.open("s", resume=True, wait_seconds=HANG_SECONDS) as session:
            assert session.prompt_count == 1
            got.set()

    with store.open("s") as session:
        session.commit(turn())
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        assert not got.is_set()
    thread.join(HANG_SECONDS)
    assert got.is_set()


def test_a_writer_waiting_for_a_removed_session_creates_it(store: SessionStore) -> None:
    prompts: list[str] = []

    def wait() -> None:
        with store.open("s", wait_seconds=HANG_SECONDS) as session:
            prompts.append(session.commit(turn("second")).prompt)

    with store.open("s"):  # refused turns: nothing is committed, and the file goes
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
    thread.join(HANG_SECONDS)
    assert [t.prompt for t in store.load("s").turns] == prompts == ["second"]


def test_readers_never_make_writers_fail(store: SessionStore) -> None:
    done = threading.Event()
    failures: list[Exception] = []

    def look() -> None:
        while not done.is_set():
            store.list()

    def probe() -> None:
        try:
            for number in range(15):
                with store.open(f"s{number % 3}", wait_seconds=0) as session:
                    session.commit(turn())
                store.delete(f"s{number % 3}")
        except ClawError as e:
            failures.append(e)

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for thread in watchers:
        thread.start()
    probe()
    done.set()
    for thread in watchers:
        thread.join(HANG_SECONDS)
    assert failures == []


def test_a_glance_of_others_is_waited_for_even_by_those_who_do_not_wait(
    store: SessionStore, tmp_path: Path
) -> None:
    path = written(tmp_path)
    for act in (lambda: store.open("s", resume=True, wait_seconds=0).close(), lambda: store.delete("s")):
        looker = os.open(path, os.O_RDONLY)
        fcntl.flock(looker, fcntl.LOCK_SH)
        timer = threading.Timer(0.1, os.close, [looker])
        timer.start()
        act()
        timer.join()
    assert ids(store) == []


def test_a_deleter_that_was_too_slow_does_not_take_the_next_session(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "s", "old")
    real = records.take_lock

    def overtaken(descriptor: int, deadline: Deadline) -> bool:
        monkeypatch.setattr("clawperator.agent.sessions.store.take_lock", real)
        path.unlink()
        held.append(store.open("s"))
        held[0].commit(turn("new"), [Evidence("document", "d", document=1)])
        return real(descriptor, deadline)

    held: list[OpenSession] = []
    monkeypatch.setattr("clawperator.agent.sessions.store.take_lock", overtaken)
    with refused("SESSION_BUSY"):
        store.delete("s")
    (kept,) = store.load("s").turns
    assert kept.prompt == "new"
    assert (tmp_path / kept.evidence[0].path).exists()
    held[0].close()


def test_a_session_that_is_removed_while_it_is_open_takes_no_turn(store: SessionStore, tmp_path: Path) -> None:
    with store.open("s") as session:
        session.commit(turn())
        (tmp_path / "s.jsonl").unlink()
        with refused("SESSION_WRITE_FAILED") as error:
            session.commit(turn("lost?"))
        assert "removed" in error.value.message
    assert os.listdir(tmp_path) == []
