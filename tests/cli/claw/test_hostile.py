"""``claw`` under hostile conditions: odd names, damaged files, full disks, closed streams, signals, concurrency.

JSON mode always prints one document on one line with the exit code of the process, and nothing to stderr. No
committed turn is lost, and no file appears outside the chosen folder.
"""

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from clawperator._base.typed import read_json
from clawperator.agent.ports import Evidence
from clawperator.agent.sessions.records import make_id
from clawperator.agent.sessions.store import SessionStore
from tests.agent.sessions.session_turns import turn
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, claw, without_bytecode

SESSIONS = Path(".claw/sessions")
PROCESS = "import sys; from clawperator.cli.main import claw; sys.exit(claw())"
# An interpreter needs files and memory of its own to start, and how much depends on its environment: limits are set
# after the start, and the one on memory leaves so much more than was used by then.
FEW_FILES = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); "
LITTLE_MEMORY = (
    "import resource; "
    "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
    "resource.setrlimit(resource.RLIMIT_AS, (used + ({megabytes} << 20),) * 2); "
)
LOOKING = "what is on the screen"
UNLIMITED = ("--max-session-turns", "9999", "--max-budget-tokens", "9999999")


children: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _no_process_outlives_its_test() -> Iterator[None]:
    """Also when a test fails between the start of a process and its end: open pipes would fail a later test."""
    yield
    while children:
        with children.pop() as child:
            child.kill()


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("CLAW_OUTPUT_FORMAT", "CLAW_CONFIG_HOME", "CLAW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    yield
    monkeypatch.chdir(os.sep)


def run_json(*argv: str, stdin: bytes = b"") -> dict[str, Any]:
    """The JSON document of a call, with its envelope checked."""
    ran = claw("--output-format", "json", *argv, stdin=stdin)
    assert ran.err == ""
    assert ran.code in (0, 1, 2)
    document: dict[str, Any] = ran.json
    assert document["exit_code"] == ran.code
    return document


def answered(*argv: str, stdin: bytes = b"") -> dict[str, Any]:
    """The same, and what went wrong was foreseen."""
    document = run_json(*argv, stdin=stdin)
    assert ("error" in document) == (document["exit_code"] != 0)
    if "error" in document:
        assert document["error"]["code"] != "UNKNOWN", document["error"]["message"]
        assert all(document["error"][name] for name in ("kind", "operation", "target", "message", "hint"))
    return document


def code_of(document: dict[str, Any]) -> str | None:
    return document["error"]["code"] if "error" in document else None


def process(*argv: str | bytes, first: str = "", **more: Any) -> subprocess.Popen[bytes]:
    """``claw`` as a process of its own, in JSON mode. ``first`` is code that the process runs before."""
    return spawn(first + PROCESS, "--output-format", "json", *argv, **more)


def spawn(script: str, *argv: str | bytes, **more: Any) -> subprocess.Popen[bytes]:
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", script, *argv], **{**streams, **more})
    children.append(child)
    return child


def ended(child: subprocess.Popen[bytes], seconds: float = HANG_SECONDS) -> Ran:
    """The result of a process that must not hang or write to stderr."""
    try:
        out, err = child.communicate(timeout=seconds)
    finally:
        child.kill()
    assert not err, err.decode()[-2_000:]
    return Ran(child.returncode, out or b"", "")


def kept(ran: Ran) -> Any:
    """The document of a process that kept the promise."""
    assert ran.code in (0, 1, 2)
    assert ran.json["exit_code"] == ran.code
    return ran.json


def keep(session_id: str, *prompts: str) -> Path:
    """A session with these prompts."""
    with SessionStore(str(SESSIONS)).open(session_id) as session:
        for prompt in prompts:
            session.commit(turn(prompt))
    return SESSIONS / f"{session_id}.jsonl"


def prompts_of(session_id: str) -> list[str]:
    return [t["prompt"] for t in answered("load-session", session_id)["turns"]]


def all_evidence_is_there(session_id: str) -> int:
    """Every piece that a turn links to exists and is what it was. How many there are."""
    links = [link for t in SessionStore(str(SESSIONS)).load(session_id).turns for link in t.evidence]
    for link in links:
        data = (SESSIONS / link.path).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (link.bytes, link.sha256)
    return len(links)


# --- names and places

IDS = (
    *(
        "ünïcode",
        "a\nb",
        "x" * 128,
        "x" * 129,
        "..",
        "../x",
        ".hidden",
        "-x",
        "--",
        "CON",
        "a.jsonl",
        "a.evidence",
    ),
    *(
        "",
        " ",
        "a/b",
        "/etc/passwd",
        "a" * 100_000,
        "\udcff\udcfe",
        "a\u202eb",
        "~",
        "*",
        "$HOME",
        "a\x01",
        "a..b",
    ),
)


@pytest.mark.parametrize("session_id", IDS, ids=lambda name: ascii(name)[:20])
def test_no_id_leads_out_of_the_directory(session_id: str, tmp_path: Path) -> None:
    for verb in ("load-session", "delete-session"):
        answered(verb, session_id)
        answered(verb, "--", session_id)
    for words in (
        ("flush-transcript", "p", f"--session-id={session_id}"),
        ("flush-transcript", "p", f"--resume={session_id}"),
        ("bootstrap", "hello", f"--resume={session_id}"),
    ):
        answered(*words)
    valid = run_json("list-sessions")["sessions"]
    made = [str(path.relative_to(tmp_path / "here")) for path in tmp_path.rglob("*") if path.is_file()]
    assert made == [session["path"] for session in valid]
    assert all(Path(name).parent == SESSIONS for name in made)


PLACES = (
    *("file", "file/x", "/proc/x", "/proc/self/fd", "/dev/null", "dangling", "dangling/x", "loop", "pipe"),
    *("a\nb", "\udcff\udcfe", "x" * 300, "y/" * 3_000, ""),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda name: ascii(name)[:20])
def test_every_command_answers_for_any_directory(place: str) -> None:
    Path("file").touch()
    Path("dangling").symlink_to("nowhere")
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    where = f"--directory={place}"
    answered("list-sessions", where)
    answered("load-session", "s", where)
    made = answered("flush-transcript", "p", "--session-id", "s", where)
    answered("bootstrap", "hello", "--resume", "s", where)
    assert answered("delete-session", "s", where).get("deleted", False) is ("error" not in made)
    assert not Path("nowhere").exists()
    assert not SESSIONS.exists()


def test_a_directory_that_is_a_link_is_where_it_leads() -> None:
    Path("elsewhere").mkdir()
    Path("link").symlink_to("elsewhere")
    answered("flush-transcript", "p", "--session-id", "s", "--directory", "link")
    assert os.listdir("elsewhere") == ["s.jsonl"]
    assert answered("delete-session", "s", "--directory", "link")["deleted"] is True


def test_a_directory_with_many_files_is_listed() -> None:
    SESSIONS.mkdir(parents=True)
    for number in range(2_000):
        (SESSIONS / f"s{number}.jsonl").touch()
        (SESSIONS / f"no session {number}").touch()
    assert answered("list-sessions")["count"] == 2_000


# --- what lies where a session should

META = b'{"type":"session_meta","version":1,"session_id":"s","created_at_ms":1}\n'
TURN = b'{"type":"turn","turn":1,"prompt":"p","started_at_ms":1,"ended_at_ms":2}\n'


def calling(params: bytes) -> bytes:
    call = b'"tool_calls":[{"name":"x","params":' + params + b',"handled":true,"message":""}]}\n'
    return META + TURN.rstrip(b"}\n") + b"," + call


FILES: dict[str, tuple[bytes, int | None]] = {  # and how many turns it has; None when it is none of ours
    "empty": (b"", 0),
    "a line end": (b"\n", None),
    "binary": (bytes(range(256)) * 20, None),
    "NULs": (b"\0" * 4_096, None),
    "NULs after a turn": (META + TURN + b"\0" * 4_096, 1),
    "half a meta line": (META[:30], 0),
    "half a turn": (META + TURN + TURN[:20], 1),
    "BOM": (b"\xef\xbb\xbf" + META, None),
    "CRLF": ((META + TURN).replace(b"\n", b"\r\n"), 1),
    "mixed line ends": (META + TURN.replace(b"\n", b"\r\n") + b"\r\n\n" + TURN, 2),
    "of another id": (META.replace(b'"s"', b'"other"') + TURN, 1),
    "newer": (META.replace(b'n":1', b'n":2') + TURN, None),
    "much newer": (META.replace(b'n":1', b'n":' + b"9" * 40) + TURN, None),
    "a long line": (META + TURN.replace(b'"p"', b'"' + b"x" * 5_000_000 + b'"'), 1),
    "brackets": (META + b"[" * 100_000 + b"\n", None),
    "nested": (calling(b'{"a":' + b"[" * 900 + b"]" * 900 + b"}"), 1),
    "nested too deeply": (calling(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"), None),
    "huge numbers": (META + TURN.replace(b'"turn":1', b'"turn":' + b"9" * 30), 1),
    "not UTF-8": (META + TURN.replace(b'"p"', b'"\xff"'), None),
    "half a pair": (META + TURN.replace(b'"p"', b'"\\ud800"'), None),
    "escapes": (META + TURN.replace(b'"p"', b'"\\u0000\\u001b[31m\\u202e"'), 1),
}


@pytest.mark.parametrize("what", FILES)
def test_a_damaged_session_is_reported_and_never_modified(what: str) -> None:
    data, turns = FILES[what]
    path = SESSIONS / "s.jsonl"
    SESSIONS.mkdir(parents=True)
    path.write_bytes(data)
    (listed,) = answered("list-sessions")["sessions"]
    loaded = answered("load-session", "s")
    resumed = answered("flush-transcript", "more", "--resume", "s")
    if turns is None:
        assert (listed["valid"], loaded["loaded"], resumed["flushed"]) == (False, False, False)
        assert code_of(loaded) == code_of(resumed) == "SESSION_LOAD_FAILED"
        assert path.read_bytes() == data
    else:
        assert (listed["valid"], listed["prompt_count"]) == (True, turns)
        assert (loaded["loaded"], loaded["prompt_count"]) == (True, turns)
        assert answered("load-session", "s")["prompt_count"] == turns + 1
    assert answered("delete-session", "s")["deleted"] is True
    assert os.listdir(SESSIONS) == []


def test_a_path_that_is_not_a_file_is_not_a_session_and_is_not_waited_for(tmp_path: Path) -> None:
    SESSIONS.mkdir(parents=True)
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(META + TURN)
    (SESSIONS / "folder.jsonl").mkdir()
    os.mkfifo(SESSIONS / "pipe.jsonl")
    (SESSIONS / "link.jsonl").symlink_to(secret)
    (SESSIONS / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener, (SESSIONS / "sparse.jsonl").open("wb") as sparse:
        listener.bind(str(SESSIONS / "socket.jsonl"))
        sparse.truncate(300 * 1024 * 1024)
        answered("list-sessions")
        for name in ("folder", "pipe", "link", "zero", "socket", "sparse"):
            assert code_of(answered("load-session", name)) == "SESSION_LOAD_FAILED"
            assert "error" in answered("bootstrap", "hello", "--resume", name)
            assert "error" in answered("flush-transcript", "x", "--session-id", name)
            deleted = answered("delete-session", name)
            assert deleted["deleted"] is (name != "folder")
    assert secret.read_bytes() == META + TURN
    assert "'rm -r " in answered("load-session", "folder")["error"]["hint"]


def test_a_session_cut_off_anywhere_has_all_its_whole_turns_and_can_be_gone_on_with() -> None:
    whole = keep("s", "first", "second").read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    store = SessionStore(str(SESSIONS))
    path = SESSIONS / "s.jsonl"
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        turns = max(sum(end <= length for end in ends) - 1, 0)
        assert [t.prompt for t in store.load("s").turns] == ["first", "second"][:turns]
        assert store.list().sessions[0].prompt_count == turns
        if length % 41 == 0 or length in ends:
            with store.open("s", resume=True) as session:
                session.commit(turn("third"))
            assert [t.prompt for t in store.load("s").turns] == [*["first", "second"][:turns], "third"]
            assert store.load("s").warnings == ()


def test_evidence_goes_nowhere_but_into_its_own_folder(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    keep("s", "first")
    evidence = [Evidence("document", "d", document="d")]
    (SESSIONS / "s.evidence").symlink_to(elsewhere)
    with (
        SessionStore(str(SESSIONS)).open("s", resume=True) as session,
        pytest.raises(Exception, match="is a link"),
    ):
        session.commit(turn("second"), evidence)
    (SESSIONS / "s.evidence").unlink()
    (SESSIONS / "s.evidence").mkdir()
    (SESSIONS / "s.evidence/turn-0002-01-document.json").symlink_to(elsewhere / "target")
    with SessionStore(str(SESSIONS)).open("s", resume=True) as session:
        session.commit(turn("second"), evidence)
    assert list(elsewhere.iterdir()) == []
    assert all_evidence_is_there("s") == 1


# --- what is typed

PROMPTS = (
    *(
        "",
        "   ",
        "\n\t\n",
        "\x01\x1b[31mred\x07",
        "a\u202eb\u2066c",
        "\udcff\udcfe\udc80",
        "😀" * 500,
        "İ" * 5_000,
    ),
    *("word " * 30_000, "x" * 1_000_000, "(" * 3_000, "open settings then " * 200, "tap '", "$(reboot); rm -rf /"),
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda text: ascii(text)[:20])
def test_any_prompt_is_answered(prompt: str) -> None:
    for verb in ("route", "flush-transcript", "bootstrap"):
        answered(verb, "--", prompt)
    answered("exec-command", "load-session", prompt)
    answered("turn-loop", "hello", f"--continuation-prompt={prompt}", "--max-turns", "2")
    for verb in ("show-command", "show-tool"):
        assert code_of(answered(verb, "--", prompt)) in ("COMMAND_NOT_FOUND", "TOOL_NOT_FOUND")
    assert run_json("--", prompt)["error"]["kind"] == "parse"


@pytest.mark.parametrize(
    "argv", [["-"], ["--"], ["---"], ["--foo"], ["-x"], ["--output-format"], ["--="], ["=", "="]]
)
def test_dashes_are_an_error_or_a_word(argv: list[str]) -> None:
    for verb in ("route", "bootstrap", "flush-transcript"):
        answered(verb, *argv)
    assert code_of(answered(*argv)) == "ARGUMENTS_INVALID"


PAYLOADS = (
    *("", "{", "null", "[]", "1", '"x"', '{"key":"home","key":"x"}', '{"key":NaN}', '{"key":1e999}', "\ufeff{}"),
    *('{"key":' + "9" * 30 + "}", '{"key":' + "9" * 5_000 + "}", '{"key":"\\ud800"}', '{"key":"\udcff"}'),
    *(
        '{"a":' * 900 + "1" + "}" * 900,
        '{"key":' + "[" * 90_000,
        '{"x":"' + "y" * 1_000_000 + '"}',
        "y" * 1_048_577,
    ),
)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda text: ascii(text)[:20])
def test_any_payload_is_answered(payload: str) -> None:
    assert answered("exec-tool", "press_key", payload)["exit_code"] == 1
    assert answered("exec-tool", "run_execution", payload)["exit_code"] == 1


@pytest.mark.parametrize(
    "data", [b"", b"-", bytes(range(256)) * 400, b"\xff\xfe{}", b"\0" * 999, b"z" * 3_000_000]
)
def test_anything_may_come_from_stdin(data: bytes) -> None:
    for argv in (["exec-tool", "press_key", "-"], ["bootstrap", "-"], ["route", "-"], ["flush-transcript", "-"]):
        answered(*argv, stdin=data)


NUMBERS = (
    "1e300",
    "1e10",
    "0x" + "f" * 5_000,
    "-0x" + "f" * 5_000,
    "9" * 400,
    "nan",
    "inf",
    "",
    "1_0",
    "x" * 9_999,
)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda text: text[:9])
def test_an_absurd_number_is_refused_before_anything_is_done(number: str) -> None:
    for flag in ("--timeout-seconds", "--heartbeat-seconds", "--limit", "--max-turns", "--max-budget-tokens"):
        refused = answered("turn-loop", "hello", f"{flag}={number}", "--events", "events.ndjson")
        if flag == "--limit" and number == "1e10":
            continue  # so many may be wanted
        if number != "1e10" or "seconds" in flag:
            assert code_of(refused) == "ARGUMENTS_INVALID"
            assert len(refused["error"]["message"]) < 300
            assert not SESSIONS.exists()
    assert answered("exec-tool", "list_skills", "{}", f"--timeout-seconds={number}")["exit_code"] == 1


def test_a_word_of_any_length_is_not_guessed_at_for_long() -> None:
    started = time.process_time()
    assert code_of(answered("x" * 100_000)) == "ARGUMENTS_INVALID"
    assert code_of(answered("route", "--" + "x" * 100_000)) == "ARGUMENTS_INVALID"
    assert time.process_time() - started < 5


# --- answers that are hard to give


def test_an_interrupt_while_the_answer_is_written_does_not_lose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write, calls = json.dumps, count()

    def interrupted(*given: Any, **more: Any) -> str:
        if next(calls) == 0:
            raise KeyboardInterrupt
        return write(*given, **more)

    monkeypatch.setattr(json, "dumps", interrupted)
    assert answered("flush-transcript", "x", "--session-id", "s")["flushed"] is True


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**5_000, object()], ids=lambda v: type(v).__name__
)
def test_what_no_document_can_hold_is_an_error_in_one(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.agent.sessions.store.SessionStore.delete", lambda *_: value)
    document = run_json("delete-session", "s")
    assert (document["exit_code"], document["error"]["code"]) == (1, "UNKNOWN")
    assert "deleted" not in document


@pytest.mark.parametrize("text", ["1e999", "-1e999", '{"a": [1e400]}'])
def test_a_too_large_number_is_invalid_json(text: str) -> None:
    with pytest.raises(ValueError, match="is not JSON"):
        read_json(text)


# --- streams


def test_a_closed_stdin_is_an_error() -> None:
    ran = ended(process("bootstrap", "-", preexec_fn=lambda: os.close(0)))
    assert kept(ran)["error"]["target"] == "stdin"


@pytest.mark.parametrize("events", [(), ("--events", "-")])
@pytest.mark.parametrize("stdout", ["closed", "/dev/full"])
def test_an_answer_that_cannot_be_printed_is_exit_1_and_the_turn_is_kept(
    stdout: str, events: tuple[str, ...]
) -> None:
    argv = ("bootstrap", "hello", "--session-id", "s", *events)
    if stdout == "closed":
        ran = ended(process(*argv, stdout=None, preexec_fn=lambda: os.close(1)))
    else:
        with open(stdout, "wb") as full:
            ran = ended(process(*argv, stdout=full))
    assert (ran.code, ran.out) == (1, b"")
    assert prompts_of("s") == ["hello"]


def test_without_any_stream_no_session_is_written_into() -> None:
    def close() -> None:
        for stream in range(3):
            os.close(stream)

    for argv in (("flush-transcript", "x", "--session-id", "s"), ("bootstrap", "hello", "--resume", "s")):
        assert process(*argv, stdin=None, stdout=None, stderr=None, preexec_fn=close).wait(HANG_SECONDS) == 1
    assert prompts_of("s") == ["x", "hello"]


def test_a_pipe_without_a_reader_is_refused_at_once() -> None:
    os.mkfifo("pipe")
    ran = ended(process("bootstrap", "hello", "--events", "pipe"))
    assert kept(ran)["error"]["code"] == "EVENTS_WRITE_FAILED"
    assert not SESSIONS.exists()


def test_a_reader_of_events_that_sleeps_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr("clawperator.cli.claw.turns._READER_SECONDS", 0.05)
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4_096)
        argv = ("turn-loop", "hello", "--continuation-prompt", "hello", "--session-id", "s", "--events", "pipe")
        document = answered(*argv)
    finally:
        os.close(reader)
    assert document["turns_committed"] == 3
    assert any("has no reader" in warning for warning in document["warnings"])


def test_a_slow_reader_of_events_gets_them_all() -> None:
    os.mkfifo("pipe")
    script = "import time\nfor line in open('pipe'):\n print(line, end='', flush=True)\n time.sleep(0.005)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as reader:
        end = time.monotonic() + HANG_SECONDS
        document = run_json("bootstrap", "hello", "--events", "pipe")
        while code_of(document) == "EVENTS_WRITE_FAILED" and time.monotonic() < end:  # it is not there yet
            document = run_json("bootstrap", "hello", "--events", "pipe")
        out, _ = reader.communicate(timeout=HANG_SECONDS)
    lines = out.splitlines()
    assert document["warnings"] == []
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert json.loads(lines[-1])["event"] == "turn_ended"


def test_events_never_go_into_a_session_or_its_evidence() -> None:
    before = keep("s", "first").read_bytes()
    shutil.copytree(SESSIONS, "other")
    os.link("other/s.jsonl", "hard")
    Path("soft").symlink_to(SESSIONS / "s.jsonl")
    with running_phone_server():
        answered("bootstrap", LOOKING, "--session-id", "e")
    (piece,) = (SESSIONS / "e.evidence").iterdir()
    places = (f"{SESSIONS}/s.jsonl", f"{SESSIONS}/new.jsonl", "other/s.jsonl", "hard", "soft", str(piece))
    for place in (*places, f"{SESSIONS}/new.evidence", f"{SESSIONS}/old.json"):
        for more in (("--resume", "s"), ("--session-id", "new")):
            document = answered("bootstrap", "hello", "--events", place, *more)
            assert code_of(document) == "EVENTS_WRITE_FAILED"
    assert (SESSIONS / "s.jsonl").read_bytes() == before == Path("other/s.jsonl").read_bytes()
    assert all_evidence_is_there("e") == 1
    assert answered("bootstrap", "hello", "--events", f"{SESSIONS}/events.log")["exit_code"] == 0


def test_events_on_a_full_disk_are_a_warning() -> None:
    document = answered("bootstrap", "hello", "--events", "/dev/full")
    assert document["turn"]["committed"] is True
    assert any("No space left" in warning for warning in document["warnings"])


# --- surroundings


def test_a_removed_folder_is_an_error() -> None:
    Path("gone").mkdir()
    script = "import os; os.rmdir(os.getcwd()); " + PROCESS
    for argv in (["bootstrap", "hello"], ["list-sessions"], ["flush-transcript", "x"]):
        words = [sys.executable, "-c", script, *argv, "--output-format", "json"]
        Path("gone").mkdir(exist_ok=True)
        document = kept(ended(subprocess.Popen(words, cwd="gone", stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
        assert "error" not in document or "'mkdir -p .'" not in document["error"]["hint"]


@pytest.mark.parametrize("home", [None, "", "/dev/null", "/proc/x", "a\nb", "\udcff", "x" * 5_000])
def test_any_home_will_do(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "CLAW_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False) if home is None else monkeypatch.setenv(name, home)
        assert answered("bootstrap", "hello")["exit_code"] == 0
        assert answered("exec-tool", "list_skills", "{}")["exit_code"] == 0
    # Without a home folder there may be a phone of the user's.
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path) if home is None else home)
    assert answered("bootstrap", "go home")["exit_code"] == 1


SETTINGS = (
    *(b"", b"{", b"[]", b"\xff\xfe", b"\0" * 99, b"[" * 100_000, b'{"x":"' + b"y" * 2_000_000 + b'"}'),
    *(b'{"permissions":' + value + b"}" for value in (b"1", b"NaN", b"[]", b'{"deny":1}', b'{"defaultMode":[]}')),
    *(
        b'{"permissions":{"deny":[' + rule + b"]}}"
        for rule in (b"1", b'"("', b'"a("', b'"**"', b'"\\ud800"', b'[["x"]]')
    ),
)


@pytest.mark.parametrize("data", SETTINGS, ids=lambda data: ascii(data)[:20])
def test_settings_that_make_no_sense_are_a_warning(data: bytes) -> None:
    Path(".claw").mkdir()
    Path(".claw/settings.json").write_bytes(data)
    document = answered("bootstrap", "hello")
    assert document["exit_code"] == 0
    assert any("settings.json" in warning for warning in document["warnings"])


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("settings.json", path)])
def test_settings_that_are_there_and_cannot_be_read_are_a_warning(make: Callable[[str], None]) -> None:
    Path(".claw").mkdir()
    make(".claw/settings.json")
    assert any("settings.json" in warning for warning in answered("bootstrap", "hello")["warnings"])


@pytest.mark.parametrize(
    "rule", ["press_key(ho*)", "press_key(ho:*)", "press_key(HOME)", "press_key(*)", "press_*"]
)
def test_a_rule_with_a_star_denies_what_begins_so(rule: str) -> None:
    Path(".claw").mkdir()
    Path(".claw/settings.json").write_text(json.dumps({"permissions": {"deny": [rule]}}))
    assert code_of(answered("exec-tool", "press_key", '{"key": "home"}')) == "PERMISSION_DENIED"


@pytest.mark.parametrize("price", ["nan", "inf", "-1", "much", "1e300"])
def test_an_invalid_price_is_refused_before_anything_is_paid_for(
    price: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("INPUT", "OUTPUT"):
        monkeypatch.setenv(f"CLAW_{name}_USD_PER_MILLION", price)
    document = answered("bootstrap", "hello", "--brain", "openai")
    assert (document["error"]["operation"], document["exit_code"]) == ("price", 1)
    assert not SESSIONS.exists()


@pytest.mark.parametrize("clock", [lambda: -1e9, lambda: 0.0, lambda: 1e12, (1e9 - n for n in count()).__next__])
def test_a_clock_that_is_wrong_or_goes_backwards_costs_no_turn(
    clock: Callable[[], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", clock)
    monkeypatch.setattr("clawperator.agent.envelope.timestamp", lambda: "1970-01-01T00:00:00Z")
    assert make_id().startswith("sess_")
    answered("flush-transcript", "first", "--session-id", "s")
    document = answered("bootstrap", "hello", "--resume", "s", "--events", "events.ndjson")
    assert document["turn"]["duration_ms"] >= 0
    first, second = answered("load-session", "s")["turns"]
    assert second["ended_at_ms"] >= second["started_at_ms"]
    assert first["prompt"] == "first"
    assert answered("list-sessions")["sessions"][0]["valid"] is True


# --- limits


def limited(kind: int, most: int) -> Callable[[], None]:
    def limit() -> None:
        resource.setrlimit(kind, (most, most))

    return limit


@pytest.mark.parametrize("room", [1, 300, 3_000])
def test_a_full_disk_is_an_error_and_damages_nothing(room: int) -> None:
    path = keep("s", "first")
    before = path.read_bytes()
    limits: dict[str, Any] = {
        "preexec_fn": limited(resource.RLIMIT_FSIZE, len(before) + room),
        "env": without_bytecode(),
    }
    with running_phone_server():
        running = [
            process("flush-transcript", "x" * 5_000, "--resume", "s", **limits),
            process("bootstrap", LOOKING, "--resume", "s", **limits),
            process("bootstrap", LOOKING, "--session-id", "new", **limits),
        ]
        documents = [kept(ended(child)) for child in running]
    assert {code_of(document) for document in documents} == {"SESSION_WRITE_FAILED"}
    assert path.read_bytes() == before
    assert os.listdir(SESSIONS) == ["s.jsonl"]
    assert answered("flush-transcript", "second", "--resume", "s")["messages_count"] == 3


@pytest.mark.parametrize(
    "limit",
    [FEW_FILES.format(files=4), FEW_FILES.format(files=6), LITTLE_MEMORY.format(megabytes=28)],
    ids=["4 files", "6 files", "28 MB"],
)
def test_with_few_files_or_little_memory_the_promise_holds(limit: str) -> None:
    keep("s", "first")
    with running_phone_server():
        running = [
            process(*argv, first=limit)
            for argv in (["load-session", "s"], ["bootstrap", LOOKING, "--resume", "s"], ["tool-pool"])
        ]
        documents = [kept(ended(child)) for child in running]
    assert documents[0]["command"] == "load-session"
    assert prompts_of("s")[0] == "first"


# --- signals and crowds


def await_event(path: str, event: str, seconds: float = HANG_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not (os.path.exists(path) and f'"event":"{event}"' in Path(path).read_text()):
        assert time.monotonic() < end, f"no {event}"
        time.sleep(0.005)


def events_of(path: str) -> list[dict[str, Any]]:
    """The whole lines of a file; one may have been cut off by a kill."""
    lines = Path(path).read_bytes().split(b"\n")[:-1] if os.path.exists(path) else []
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("deadline", [(), ("--timeout-seconds", "30")])
def test_a_signal_in_the_middle_of_a_turn_is_answered_and_frees_the_session(
    number: signal.Signals, deadline: tuple[str, ...]
) -> None:
    keep("s", "first")
    prompt = "open settings then wait for Atlantis"
    with running_phone_server():
        child = process("bootstrap", prompt, "--resume", "s", "--events", "events.ndjson", *deadline)
        await_event("events.ndjson", "tool_result")
        child.send_signal(number)
        document = kept(ended(child))
    assert (document["exit_code"], document["error"]["code"]) == (1, "INTERRUPTED")
    (listed,) = answered("list-sessions")["sessions"]
    assert listed["stopped"] is True
    assert prompts_of("s") == ["first"]
    assert answered("delete-session", "s")["deleted"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("where", "argv"),
    [
        ("turns", ["bootstrap", "hello", "--session-id", "s"]),
        ("turns", ["turn-loop", "hello", "--session-id", "s", "--timeout-seconds", "30"]),
        ("execute", ["exec-tool", "list_skills", "{}"]),
    ],
)
def test_a_signal_that_comes_when_the_work_is_done_does_not_lose_the_answer(
    where: str, argv: list[str], number: signal.Signals
) -> None:
    script = (
        "import os, sys\n"
        "from clawperator.cli.main import claw\n"
        f"from clawperator.cli.claw import {where} as module\n"
        "respond = module._respond\n"
        "def late(*given):\n"
        f"    os.kill(os.getpid(), {number.value})\n"
        "    return respond(*given)\n"
        "module._respond = late\n"
        "sys.exit(claw())\n"
    )
    document = kept(ended(spawn(script, *argv, "--output-format", "json")))
    assert document["exit_code"] == 0
    assert "session_id" not in document or prompts_of("s") == ["hello"]


def test_an_interrupt_while_the_end_of_a_turn_is_announced_does_not_lose_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr("clawperator.agent.turns.engine.TurnEngine.emit_turn_ended", interrupted)
    document = answered("turn-loop", "hello", "--continuation-prompt", "hello", "--session-id", "s")
    assert (document["turns_committed"], prompts_of("s")) == (1, ["hello"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def check_signals(rounds: int, chance: random.Random) -> None:
    """At any moment: only committed turns are kept, and the session is not locked."""
    keep("s", "first")
    turns = 1
    for place in range(rounds):
        events = f"events-{place}.ndjson"
        child = process("bootstrap", "what is on the screen", "--resume", "s", "--events", events, *UNLIMITED)
        time.sleep(chance.uniform(0, 0.6))
        number = chance.choice([signal.SIGINT, signal.SIGTERM])
        child.send_signal(number)
        out, err = child.communicate(timeout=HANG_SECONDS)
        committed = any(event["event"] == "committed" for event in events_of(events))
        if out:
            document = json.loads(out)
            assert (document["exit_code"], err) == (child.returncode, b"")
            assert document["exit_code"] == 0 or document["error"]["code"] == "INTERRUPTED"
        else:  # it had not started its work yet, or was about to exit
            assert child.returncode in (-number, 1, 130)
        loaded = answered("load-session", "s")
        assert loaded["warnings"] == []
        assert loaded["prompt_count"] in ((turns + 1,) if committed else (turns, turns + 1))
        turns = loaded["prompt_count"]
        assert answered("list-sessions")["sessions"][0]["stopped"] is True
    all_evidence_is_there("s")


def check_kills(rounds: int, chance: random.Random) -> None:
    """Every turn that an event announced is there after a kill, with its evidence."""
    keep("s", "first")
    announced = set()
    for place in range(rounds):
        events = f"events-{place}.ndjson"
        loop = ("turn-loop", LOOKING, "--continuation-prompt", LOOKING, "--max-turns", "99", "--resume", "s")
        child = process(*loop, "--events", events, *UNLIMITED)
        await_event(events, "committed")
        time.sleep(chance.uniform(0, 0.1))
        child.kill()
        child.communicate(timeout=HANG_SECONDS)
        announced |= {event["turn"] for event in events_of(events) if event["event"] == "committed"}
        turns = SessionStore(str(SESSIONS)).load("s").turns
        assert [t.turn for t in turns] == list(range(1, len(turns) + 1))
        assert announced <= {t.turn for t in turns}
        assert all_evidence_is_there("s") == len(turns) - 1
    answered("flush-transcript", "last", "--resume", "s")
    linked = {
        os.path.basename(link.path) for t in SessionStore(str(SESSIONS)).load("s").turns for link in t.evidence
    }
    assert set(os.listdir(SESSIONS / "s.evidence")) == linked


def test_a_kill_loses_no_turn_that_was_announced() -> None:
    with running_phone_server():
        check_kills(2, random.Random(3))


@pytest.mark.random
def test_signals_and_kills_at_any_moment() -> None:
    rounds = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 2
    with running_phone_server():
        check_signals(rounds, random.Random())
        shutil.rmtree(SESSIONS)
        for path in Path().glob("events-*"):
            path.unlink()
        check_kills(rounds // 2, random.Random())


def test_concurrent_commands_keep_what_they_reported_as_kept() -> None:
    keep("s", "first")
    verbs = [
        *(("flush-transcript", f"flushed {n}", "--resume", "s") for n in range(4)),
        ("turn-loop", "hello", "--continuation-prompt", "hello", "--resume", "s"),
        ("load-session", "s"),
        ("list-sessions",),
        ("flush-transcript", "not so", "--session-id", "s"),
    ]
    running = [process(*argv) for argv in verbs]
    documents = [kept(ended(child)) for child in running]
    flushed = {f"flushed {n}" for n in range(4) if documents[n]["exit_code"] == 0}
    there = prompts_of("s")
    assert {prompt for prompt in there if prompt.startswith("flushed")} == flushed
    assert there.count("hello") == documents[4]["turns_committed"]
    assert {code_of(document) for document in documents} <= {None, "SESSION_BUSY", "SESSION_EXISTS"}
    assert documents[7]["error"]["code"] in ("SESSION_BUSY", "SESSION_EXISTS")


def test_a_session_that_is_deleted_while_others_go_on_with_it_is_whole_or_gone() -> None:
    keep("s", "first")
    verbs = (
        ("flush-transcript", "resumed", "--resume", "s"),
        ("delete-session", "s"),
        ("flush-transcript", "made anew", "--session-id", "s"),
        ("bootstrap", "hello", "--resume", "s"),
    )
    running = [process(*argv) for argv in (*verbs, *verbs)]
    documents = [kept(ended(child)) for child in running]
    codes = {None, "SESSION_BUSY", "SESSION_EXISTS", "SESSION_NOT_FOUND", "SESSION_WRITE_FAILED"}
    assert {code_of(document) for document in documents} <= codes
    assert not [name for name in os.listdir(SESSIONS) if name.startswith(".")]
    last = run_json("load-session", "s")
    assert last["loaded"] is ("error" not in last)
    assert not last["warnings"]
