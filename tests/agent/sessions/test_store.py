"""Listing, loading and deleting sessions; a damaged one does not affect the others."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.agent.ports import Evidence
from clawperator.agent.sessions import records
from clawperator.agent.sessions.store import SessionList, SessionStore
from clawperator.errors import ClawError
from tests.agent.sessions.session_turns import refused, turn, written

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
META = '{"type":"session_meta","version":1,"session_id":"s","created_at_ms":1000}\n'
TURN = '{"type":"turn","turn":1,"prompt":"p","output":"o","started_at_ms":1,"ended_at_ms":2}\n'


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path))


def ids(store: SessionStore) -> list[str]:
    return [summary.session_id for summary in store.list().sessions]


# --- ids


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "-a", "a/b", "../a", "a\0b", "a b", "ä", "a\n", "x" * 129])
def test_an_invalid_id_is_rejected_everywhere(store: SessionStore, tmp_path: Path, name: str) -> None:
    for call in (store.load, store.delete, store.open):
        with pytest.raises(ClawError) as error:
            call(name)
        assert error.value.code == "SESSION_ID_INVALID"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "_", "x" * 128, "a.jsonl", "a.evidence"])
def test_every_valid_id_can_be_used(store: SessionStore, tmp_path: Path, name: str) -> None:
    written(tmp_path, name)
    assert ids(store) == [name]
    assert store.load(name).prompt_count == 1
    assert store.delete(name)


# --- loading


def test_loading_a_missing_session_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for directory in (tmp_path, tmp_path / "none", tmp_path / "file"):
        with refused("SESSION_NOT_FOUND") as error:
            SessionStore(str(directory)).load("s")
        assert str(directory) in error.value.message


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("\n", "session_meta"),
        ("[]\n", "session_meta"),
        (TURN, "session_meta"),
        (META.replace(":1,", ":2,", 1), "version 2"),
        (META.replace(":1,", ":0,", 1), "version 0"),
        (META + "{\n" + TURN, "line 2"),
        (META + TURN + "\udcff\n", "line 3"),
        (META + '{"no":"type"}\n', "line 2"),
        (META + '{"type":"turn","turn":1}\n', "prompt"),
        (META + META, "line 2"),
        (META + TURN.replace('"output"', '"tool_calls":7,"output"'), "tool_calls"),
        (META + TURN.replace('"output":"o"', '"output":"o","usage":{"input_tokens":-1}'), "input_tokens"),
        (META + TURN.replace('"output":"o"', '"output":"o","evidence":[{"kind":"x"}]'), "evidence"),
        (META + '{"type":"turn","a":' + "[" * 50_000 + "]" * 50_000 + "}\n", "nested too deeply"),
    ],
)
def test_a_damaged_session_has_a_reason(store: SessionStore, tmp_path: Path, data: str, reason: str) -> None:
    (tmp_path / "s.jsonl").write_bytes(data.encode("utf-8", "surrogateescape"))
    with refused("SESSION_LOAD_FAILED") as error:
        store.load("s")
    assert reason in error.value.message
    (summary,) = store.list().sessions
    assert not summary.valid
    assert summary.problem == error.value.message
    assert (summary.prompt_count, summary.message_count) == (0, 0)
    with refused("SESSION_LOAD_FAILED"):
        store.open("s", resume=True)
    assert (tmp_path / "s.jsonl").read_bytes() == data.encode("utf-8", "surrogateescape")


def test_records_of_unknown_kinds_are_ignored_and_counted(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(META + '{"type":"compaction"}\n\n' + TURN + '{"type":"fork","to":"x"}\n')
    loaded = store.load("s")
    assert loaded.prompt_count == 1
    (warning,) = loaded.warnings
    assert "2 records" in warning
    assert "'compaction', 'fork'" in warning


def test_an_incomplete_last_line_is_reported_and_removed_by_the_next_turn(
    store: SessionStore, tmp_path: Path
) -> None:
    path = written(tmp_path, "s", "one")
    whole = path.read_bytes()
    for tail in (b'{"type":"turn","prompt":"never', b'{"type":"turn"}'.ljust(40, b"\0") + b"\n"):
        path.write_bytes(whole + tail)
        assert [t.prompt for t in store.load("s").turns] == ["one"]
        assert f"last {len(tail)} bytes" in store.load("s").warnings[0]
        assert store.list().sessions[0].valid
        with store.open("s", resume=True):
            pass
        assert path.read_bytes() == whole + tail, "who commits nothing writes nothing"
    with store.open("s", resume=True) as session:
        session.commit(turn("two"))
    assert path.read_bytes().startswith(whole)
    assert [t.prompt for t in store.load("s").turns] == ["one", "two"]
    assert store.load("s").warnings == ()


def test_a_copied_session_has_the_id_of_its_file_name(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path, "s").rename(tmp_path / "copy.jsonl")
    assert store.load("copy").session_id == "copy"
    assert "'s'" in store.load("copy").warnings[0]


def test_turns_out_of_order_are_a_warning(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(META + TURN + TURN)
    assert store.load("s").warnings == ("turn 1 is in the place of turn 2",)


def test_a_file_past_the_limit_is_not_read(store: SessionStore, tmp_path: Path) -> None:
    path = written(tmp_path)
    os.truncate(path, records.MOST_BYTES + 1)
    assert not store.list().sessions[0].valid
    with refused("SESSION_LOAD_FAILED") as error:
        store.load("s")
    assert "256 MiB" in error.value.message


def test_a_session_never_grows_past_the_limit(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(tmp_path).read_bytes()
    monkeypatch.setattr("clawperator.agent.sessions.writer.MOST_BYTES", len(before) + 50)
    with store.open("s", resume=True) as session, refused("SESSION_WRITE_FAILED"):
        session.commit(turn(), [Evidence("document", "d", document=1)])
    assert (tmp_path / "s.jsonl").read_bytes() == before
    assert not (tmp_path / "s.evidence").exists()


# --- listing


def test_a_list_is_sorted_and_has_all_fields(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path, "b", "one", "two")
    written(tmp_path, "a")
    assert ids(store) == ["a", "b"]
    summary = store.list().sessions[1]
    assert (summary.prompt_count, summary.message_count) == (2, 4)
    assert summary.valid
    assert summary.stopped
    assert summary.problem is None
    assert summary.size_bytes == (tmp_path / "b.jsonl").stat().st_size
    assert INSTANT.fullmatch(summary.created_at)
    assert INSTANT.fullmatch(summary.last_modified)
    assert store.list().directory == str(tmp_path)


def test_paths_are_relative_to_the_given_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SessionStore().open("s") as session:
        session.commit(turn())
    store = SessionStore()
    assert session.path == store.list().sessions[0].path == store.load("s").path == ".claw/sessions/s.jsonl"


def test_only_files_with_the_name_of_a_session_are_listed(store: SessionStore, tmp_path: Path) -> None:
    for name in ("notes.txt", ".hidden.jsonl", "with space.jsonl", "jsonl", "x.jsonl.bak", ".jsonl"):
        (tmp_path / name).write_text(META)
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert ids(store) == []
    for name in ("folder", "pipe"):
        for call in (store.load, store.open):
            with refused("SESSION_LOAD_FAILED"):
                call(name)
    written(tmp_path)
    assert ids(store) == ["s"]


def test_a_directory_that_is_absent_or_a_file_has_no_sessions(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert SessionStore(str(tmp_path / "none")).list() == SessionList(str(tmp_path / "none"), [])
    assert SessionStore(str(tmp_path / "file")).list().sessions == []
    assert SessionStore(str(tmp_path / "file")).list().problem == f"{tmp_path / 'file'} is not a folder"
    assert SessionStore(str(tmp_path / "file" / "below")).list().sessions == []


def test_an_invalid_directory_name_is_a_typed_error() -> None:
    for directory in ("a\0b", "x" * 5_000):
        store = SessionStore(directory)
        for call in (store.list, partial(store.load, "a"), partial(store.delete, "a"), partial(store.open, "a")):
            with pytest.raises(ClawError):
                call()


def test_an_unreadable_session_is_listed_with_its_problem(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "a")
    written(tmp_path, "b")
    real = records.open_file

    def refuse(path: str, flags: int = os.O_RDONLY) -> int:  # as root nothing is refused by its mode
        if path.endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags)

    monkeypatch.setattr("clawperator.agent.sessions.store.open_file", refuse)
    first, second = store.list().sessions
    assert not first.valid
    assert "Permission denied" in (first.problem or "")
    assert second.valid
    for resume in (True, False):
        with pytest.raises(ClawError) as error:
            store.open("a", resume=resume)
        assert error.value.code == "SESSION_WRITE_FAILED"
        assert "chmod u+rw" in (error.value.hint or "")
    with refused("SESSION_LOAD_FAILED") as unread:
        store.load("a")
    assert "chmod u+r" in (unread.value.hint or "")


def test_an_open_session_is_not_stopped(store: SessionStore) -> None:
    with store.open("s") as session:
        session.commit(turn())
        assert not store.list().sessions[0].stopped
        assert store.load("s").prompt_count == 1, "others may read while it is open"
    assert store.list().sessions[0].stopped


def test_links_are_not_followed(store: SessionStore, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    target = written(outside)
    before = target.read_bytes()
    (tmp_path / "s.jsonl").symlink_to(target)
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "none")
    for summary in store.list().sessions:
        assert not summary.valid
        assert "link" in (summary.problem or "")
        with refused("SESSION_LOAD_FAILED"):
            store.load(summary.session_id)
        with refused("SESSION_LOAD_FAILED"):
            store.open(summary.session_id)
        with refused("SESSION_LOAD_FAILED"):
            store.delete(summary.session_id)
    assert target.read_bytes() == before
    assert not (tmp_path / "none").exists()


# --- deleting


def test_deleting_is_idempotent(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path)
    assert store.delete("s") is True
    assert store.delete("s") is False
    assert SessionStore(str(tmp_path / "none")).delete("s") is False
    with refused("SESSION_NOT_FOUND"):
        store.load("s")


def test_deleting_takes_the_evidence_along(store: SessionStore, tmp_path: Path) -> None:
    with store.open("s") as session:
        session.commit(turn(), [Evidence("snapshot", "c", document="<hierarchy/>")])
    written(tmp_path, "other")
    assert (tmp_path / "s.evidence").is_dir()
    assert store.delete("s")
    assert os.listdir(tmp_path) == ["other.jsonl"]


def test_the_remains_of_an_interrupted_delete_are_removed_by_the_next(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / f".s.{'0' * 12}.deleted").mkdir()
    (tmp_path / f".s.t.{'0' * 12}.deleted").mkdir()
    assert store.delete("s") is False
    assert os.listdir(tmp_path) == [f".s.t.{'0' * 12}.deleted"]


def test_a_folder_named_like_a_session_is_not_deleted(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").mkdir()
    (tmp_path / "s.evidence").mkdir()
    with refused("SESSION_DELETE_FAILED") as error:
        store.delete("s")
    assert error.value.retryable
    assert sorted(os.listdir(tmp_path)) == ["s.evidence", "s.jsonl"]
    with refused("SESSION_LOAD_FAILED"):
        store.load("s")
    with refused("SESSION_LOAD_FAILED"):
        store.open("s")


def test_a_session_that_cannot_be_deleted_keeps_its_evidence(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open("s") as session:
        session.commit(turn(), [Evidence("snapshot", "c", document=1)])
    before = sorted(tmp_path.rglob("*"))

    def refuse(path: str, *_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted", path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        with refused("SESSION_DELETE_FAILED") as error:
            store.delete("s")
    assert "Operation not permitted" in error.value.message
    assert sorted(tmp_path.rglob("*")) == before
    assert store.delete("s")


def test_a_link_named_like_the_evidence_is_never_followed(store: SessionStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "turn-0001-01-document.json").write_text("theirs")
    (tmp_path / "s.evidence").symlink_to(outside)
    with store.open("s") as session:
        with refused("SESSION_WRITE_FAILED"):
            session.commit(turn(), [Evidence("document", "d", document=1)])
        session.commit(turn("without evidence"))
    assert store.delete("s")
    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert (outside / "turn-0001-01-document.json").read_text() == "theirs"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", "{}"),
        ("package.json", '{"messages": "none"}'),
        ("data.jsonl", '{"row": 1}\n'),
        ("data.jsonl", "\0\0"),
    ],
)
def test_a_file_that_is_no_session_is_not_deleted(
    store: SessionStore, tmp_path: Path, name: str, content: str
) -> None:
    (tmp_path / name).write_text(content)
    session_id = name.partition(".")[0]
    for act in (store.load, store.delete):
        with refused("SESSION_LOAD_FAILED") as error:
            act(session_id)
        assert "delete-session" not in error.value.hint
    assert (tmp_path / name).read_text() == content


def test_a_file_of_others_beside_a_session_is_kept(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path, "package")
    (tmp_path / "package.json").write_text("{}")
    assert store.delete("package") is True
    assert os.listdir(tmp_path) == ["package.json"]


@pytest.mark.parametrize("content", ["", META[:10], META + "damaged\n", META.replace(":1", ":99")])
def test_a_damaged_session_is_deleted_anywhere(store: SessionStore, tmp_path: Path, content: str) -> None:
    (tmp_path / "s.jsonl").write_text(content)
    assert store.delete("s")


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_session_that_is_damaged_from_the_start_is_deleted_by_its_id_or_its_folder(
    store: SessionStore, tmp_path: Path, suffix: str
) -> None:
    session_id = records.make_id()
    (tmp_path / f"{session_id}{suffix}").write_text("\0")
    assert store.delete(session_id)
    folder = tmp_path / ".claw" / "sessions"
    folder.mkdir(parents=True)
    (folder / f"s{suffix}").write_text("\0")
    assert SessionStore(str(folder)).delete("s")
    assert os.listdir(folder) == []


def test_an_open_session_is_not_deleted(store: SessionStore) -> None:
    with store.open("s") as session:
        session.commit(turn())
        with refused("SESSION_BUSY") as error:
            store.delete("s")
        assert error.value.retryable
    assert store.delete("s")


# --- sessions of the reference harness


LEGACY = '{\n  "session_id": "old",\n  "messages": ["one", "two"],\n  "input_tokens": 4,\n  "output_tokens": 9\n}'


def test_a_legacy_session_is_listed_loaded_and_deleted(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(LEGACY)
    (summary,) = store.list().sessions
    assert (summary.session_id, summary.prompt_count, summary.message_count) == ("old", 2, 2)
    assert summary.valid
    loaded = store.load("old")
    assert loaded.legacy
    assert [(t.turn, t.prompt, t.output) for t in loaded.turns] == [(1, "one", None), (2, "two", None)]
    assert (loaded.messages_count, loaded.input_tokens, loaded.output_tokens) == (2, 4, 9)
    assert store.delete("old")
    assert os.listdir(tmp_path) == []


def test_a_legacy_session_is_neither_resumed_nor_recreated(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(LEGACY)
    with refused("SESSION_READ_ONLY"):
        store.open("old", resume=True)
    with refused("SESSION_READ_ONLY"):
        store.open("old")
    assert os.listdir(tmp_path) == ["old.json"]


def test_a_legacy_file_without_messages_is_invalid(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"session_id":"old"}')
    assert not store.list().sessions[0].valid
    with refused("SESSION_LOAD_FAILED"):
        store.load("old")


def test_jsonl_takes_precedence_over_json_of_the_same_id(store: SessionStore, tmp_path: Path) -> None:
    written(tmp_path, "old", "new")
    (tmp_path / "old.json").write_text(LEGACY)
    assert ids(store) == ["old"]
    assert store.list().sessions[0].prompt_count == 1
    assert not store.load("old").legacy
    assert store.delete("old")
    assert ids(store) == []


# --- any bytes


_CALL = '{"name":"click","params":{"a":1},"handled":true,"message":"m","code":null}'
_DENIED = '{"tool_name":"click","reason":"r","status":"blocked"}'
_LINK = '{"kind":"execution","ref":"c","path":"s.evidence/x.json","bytes":3}'
_RICH = (
    '{"type":"turn","turn":2,"correlation_id":"c","prompt":"p","output":"o","stop_reason":"completed",'
    '"outcome":"done","started_at_ms":1,"ended_at_ms":2,"brain":"offline",'
    '"usage":{"input_tokens":1,"output_tokens":2},"matched_commands":["a"],"matched_tools":["b"],'
    f'"tool_calls":[{_CALL}],"permission_denials":[{_DENIED}],"evidence":[{_LINK}]}}\n'
)
_GOOD = (META + TURN + _RICH).encode()


@pytest.mark.random
@given(
    st.binary(max_size=200)
    | st.builds(
        lambda i, n, piece: _GOOD[:i] + piece + _GOOD[i + n :],
        st.integers(0, len(_GOOD)),
        st.integers(0, 20),
        st.sampled_from(
            [b"", b"\0", b"\xff", b"null", b"{", b'"', b"[", b"\n", b"-1e999", b"\\ud800", b"9" * 50, b"7"]
        ),
    ),
    st.sampled_from(["s.jsonl", "s.json"]),
)
@example(b"[" * 5_000, "s.json")
@example(b'{"messages":["a"],"input_tokens":-1}', "s.json")
def test_any_bytes_are_a_session_or_an_error_and_hide_no_other(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    written(folder, "sibling")
    (folder / name).write_bytes(data)
    store = SessionStore(str(folder))
    one, sibling = store.list().sessions
    assert (sibling.session_id, sibling.valid, sibling.prompt_count) == ("sibling", True, 1)
    codes: list[str] = []
    loaded, problem = None, None
    try:
        loaded = store.load("s")
    except ClawError as e:
        codes.append(e.code)
        problem = e.message
    assert (one.valid, one.problem) == (loaded is not None, problem)
    assert loaded is None or one.message_count == loaded.messages_count
    try:
        with store.open("s", resume=True) as session:
            session.commit(turn("next"))
        assert store.load("s").turns[-1].prompt == "next"
    except ClawError as e:
        codes.append(e.code)
        assert (folder / name).read_bytes() == data
    assert set(codes) <= {"SESSION_LOAD_FAILED", "SESSION_READ_ONLY"}
    if loaded is None and (name.endswith(".json") or not data.startswith(records.META_BEGIN)):
        with refused("SESSION_LOAD_FAILED"):
            store.delete("s")
        assert (folder / name).read_bytes() == data
    else:
        assert store.delete("s")


def test_listing_loads_no_more_than_it_needs() -> None:
    script = (
        "import sys; from clawperator.agent.sessions.store import SessionStore; SessionStore('/none').list();"
        "print([m for m in ('json', 'pathlib', 'threading', 'hashlib', 'shutil', 'subprocess', 'dataclasses',"
        " 'clawperator.agent.redaction', 'clawperator.device') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout == "[]\n"
