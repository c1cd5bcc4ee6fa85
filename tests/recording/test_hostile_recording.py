"""Hostile recordings: every command refuses them with a typed error, or reads them and reports what is wrong."""

import json
import os
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.recordings import pull_recording
from clawperator.errors import CODES, ClawError
from clawperator.recording import reader
from clawperator.recording.events import decode_event
from clawperator.recording.export import export_recording
from clawperator.recording.parse import parse_recording
from clawperator.recording.repair import repair_recording
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.recording.samples import HEADER, click, typed, window, write
from tests.support.fast_clock import SkippingClock
from tests.support.running import Ran, clawperator
from tests.support.secret_search import find_secret

SECONDS = 30.0  # of any command here; each takes less than one
COMMANDS = ("parse", "export", "describe", "compare", "replay", "repair")
PACKAGE = "com.clawperator.operator"
FOLDER = f"/sdcard/Android/data/{PACKAGE}/files/recordings"
DIGITS = "9" * 100_000


def run(command: str, path: Path) -> Ran:
    """Run a command on a file, within the time limit."""
    words = {
        "compare": ["--baseline", str(path), "--result", str(path)],
        "replay": ["--input", str(path), "--dry-run"],
    }.get(command, ["--input", str(path)])
    answers: list[Ran] = []
    thread = threading.Thread(
        target=lambda: answers.append(clawperator("recording", command, *words)), daemon=True
    )
    thread.start()
    thread.join(SECONDS)
    assert answers, f"{command} did not end"
    return answers[0]


def assert_typed(ran: Ran) -> None:
    """A documented error with a hint, and no trace of Python."""
    assert ran.code == 1
    assert ran.json["code"] in CODES
    assert ran.json["code"] != "UNKNOWN"
    assert ran.json["message"]
    assert "Traceback" not in ran.err


def lines(path: Path, *texts: str | bytes) -> Path:
    header = json.dumps(HEADER).encode()
    path.write_bytes(b"\n".join([header, *(t.encode() if isinstance(t, str) else t for t in texts), b""]))
    return path


def event(**changes: Any) -> str:
    return json.dumps({**click(0), **changes})


def raw(field: str, value: str) -> str:
    """An event with a field of raw JSON."""
    return json.dumps({**click(0), field: "RAW"}).replace('"RAW"', value)


REFUSED: dict[str, Callable[[Path], Path]] = {
    "empty": lambda path: (path.write_bytes(b""), path)[1],
    "NUL": lambda path: lines(path, b"\0" * 1_000),
    "not UTF-8": lambda path: lines(path, event().encode().replace(b"Connected", b"\xff\xfe")),
    "huge line": lambda path: lines(path, event(snapshot="x" * 70_000_000)),
    "deep": lambda path: lines(path, raw("snapshot", "[" * 100_000)),
    "deep and closed": lambda path: lines(path, raw("extra", "[" * 100_000 + "]" * 100_000)),
    "NaN": lambda path: lines(path, raw("seq", "NaN")),
    "Infinity": lambda path: lines(path, raw("ts", "Infinity")),
    "long number": lambda path: lines(path, raw("seq", DIGITS)),
    "long fraction": lambda path: lines(path, raw("ts", f"1e{DIGITS}")),
    "text as number": lambda path: lines(path, event(seq="0")),
    "list as text": lambda path: lines(path, event(packageName=["a"])),
    "no bounds": lambda path: lines(path, event(bounds=None)),
    "unknown type": lambda path: lines(path, event(type="\u202eevil\x1b[31m")),
    "object as snapshot": lambda path: lines(path, event(snapshot={})),
    "other version": lambda path: (path.write_text(json.dumps({**HEADER, "schemaVersion": 99})), path)[1],
    "no header": lambda path: (path.write_text(event()), path)[1],
    "deep header": lambda path: (path.write_text("[" * 200_000), path)[1],
    "lone surrogate": lambda path: lines(path, raw("text", '"\\ud800"')),
}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "repair"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_broken_recording_is_refused(tmp_path: Path, kind: str, command: str) -> None:
    ran = run(command, REFUSED[kind](tmp_path / "a.ndjson"))
    assert_typed(ran)
    assert len(ran.out) < 10_000
    assert all(unicodedata.category(c) not in ("Cc", "Cf") or c == "\n" for c in ran.err)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_broken_recording_is_repaired_or_refused(tmp_path: Path, kind: str) -> None:
    ran = run("repair", REFUSED[kind](tmp_path / "a.ndjson"))
    if ran.code == 0:
        assert ran.json["eventCount"] + ran.json["droppedCount"] == 1
    else:
        assert_typed(ran)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_a_folder_and_a_missing_file_are_refused(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder", "missing", "link"):
        if name == "link":
            (tmp_path / name).symlink_to(tmp_path / "pipe")
        assert_typed(run(command, tmp_path / name))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pipe_as_output_is_refused(tmp_path: Path, command: str) -> None:
    if command == "compare":
        pytest.skip("compare writes no file")
    source = write(tmp_path / "a.ndjson", [window(0), click(1)])
    os.mkfifo(tmp_path / "pipe")
    words = ["--input", str(source), "--out", str(tmp_path / "pipe")]
    words += ["--dry-run"] if command == "replay" else []
    answers: list[Ran] = []
    thread = threading.Thread(
        target=lambda: answers.append(clawperator("recording", command, *words)), daemon=True
    )
    thread.start()
    thread.join(SECONDS)
    assert answers, f"{command} did not end"
    assert_typed(answers[0])
    assert "named pipe" in answers[0].json["message"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_to_a_recording_is_read(tmp_path: Path, command: str) -> None:
    source = write(tmp_path / "real.ndjson", [window(0), click(1)])
    if command == "compare":
        clawperator("recording", "export", "--input", str(source))
        source = tmp_path / "real.export.json"
    link = tmp_path / "link.ndjson"
    link.symlink_to(source)
    assert run(command, link).code == 0


TEXT = "a\x1b[2J\u202eb\u2066c\r\nd\x9b"


@pytest.mark.parametrize("command", ["parse", "export", "describe", "replay"])
def test_control_and_bidi_text_does_not_reach_the_terminal(tmp_path: Path, command: str) -> None:
    events = [window(0, title=TEXT, packageName=TEXT), click(1, TEXT, TEXT), typed(2, TEXT, TEXT)]
    ran = run(command, write(tmp_path / "a.ndjson", events))
    assert ran.code == 0
    assert all(unicodedata.category(c) not in ("Cc", "Cf") or c == "\n" for c in ran.err)
    assert all(byte >= ord(" ") or byte == ord("\n") for byte in ran.out)


@pytest.mark.parametrize("command", ["parse", "export", "describe", "replay"])
def test_equal_and_missing_numbers_are_read_and_reported(tmp_path: Path, command: str) -> None:
    events = [window(0), click(7), click(7), click(2**62)]
    ran = run(command, write(tmp_path / "a.ndjson", events))
    assert ran.code == 0
    assert f"{2**62 - 2} events are missing: seq 1-6, 8-{2**62 - 1}" in ran.json["warnings"]


@pytest.mark.parametrize("work", [parse_recording, export_recording, repair_recording])
def test_a_file_that_grows_while_it_is_read_is_read_to_its_first_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[str, str], object]
) -> None:
    source = write(tmp_path / "a.ndjson", [window(0), *(click(n) for n in range(1, 50))])
    decode, module = decode_event, work.__module__
    target = module if module.endswith("repair") else reader.__name__
    count = 0

    def growing(line: bytes) -> Any:
        nonlocal count
        count += 1
        assert count < 1_000, "it never ends"
        with source.open("ab") as file:
            file.write(event(seq=count + 100).encode() + b"\n")
        return decode(line)

    monkeypatch.setattr(f"{target}.decode_event", growing)
    work(str(source), str(tmp_path / "out.json"))
    assert count == 50


@pytest.mark.parametrize("command", COMMANDS)
def test_a_secret_of_a_broken_recording_is_in_no_error(tmp_path: Path, command: str) -> None:
    source = lines(tmp_path / "a.ndjson", json.dumps(typed(0, "Zx7-swordfish"))[:-1])
    ran = run(command, source)
    assert find_secret("Zx7-swordfish", outputs={"stdout": ran.out, "stderr": ran.err}) == []


# From a phone


@pytest.fixture(scope="module")
def phone() -> Iterator[tuple[SimulatedPhone, Device]]:
    with simulated_phone(clock=SkippingClock()) as simulated, simulated.serve() as doors:
        yield simulated, Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True))


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind != "huge line"])
def test_pull_copies_a_broken_recording_as_it_is(
    tmp_path: Path, phone: tuple[SimulatedPhone, Device], kind: str
) -> None:
    simulated, device = phone
    data = REFUSED[kind](tmp_path / "a").read_bytes()
    simulated.phone.storage.system.mkdir(FOLDER, parents=True)
    simulated.phone.storage.system.write(f"{FOLDER}/hostile.ndjson", data)
    pulled = pull_recording(device, PACKAGE, "hostile", str(tmp_path / "out"))
    assert pulled.ok
    assert Path(pulled.localPath).read_bytes() == data


def test_pull_warns_of_missing_events_and_of_passwords(
    tmp_path: Path, phone: tuple[SimulatedPhone, Device]
) -> None:
    simulated, device = phone
    field = (
        '<hierarchy><node text="" resource-id="a:id/p" class="android.widget.EditText" focused="true" '
        'password="true" bounds="[0,0][9,9]" /></hierarchy>'
    )
    source = write(tmp_path / "a", [window(0, snapshot=field), typed(3, "Zx8-swordfish")])
    simulated.phone.storage.system.mkdir(FOLDER, parents=True)
    simulated.phone.storage.system.write(f"{FOLDER}/leaky.ndjson", source.read_bytes())
    pulled = pull_recording(device, PACKAGE, "leaky", str(tmp_path / "out"))
    assert Path(pulled.localPath).read_bytes() == source.read_bytes()
    assert Path(pulled.localPath).stat().st_mode & 0o777 == 0o600
    assert isinstance(pulled.warnings, list)
    missing, masked = pulled.warnings
    assert missing == "2 events are missing: seq 1-2"
    assert masked.startswith("1 texts of password fields are not masked")


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_pull_writes_to_no_pipe_and_through_no_link(
    tmp_path: Path, phone: tuple[SimulatedPhone, Device], kind: str
) -> None:
    simulated, device = phone
    simulated.phone.storage.system.mkdir(FOLDER, parents=True)
    simulated.phone.storage.system.write(f"{FOLDER}/plain.ndjson", b"data")
    target, victim = tmp_path / "plain.ndjson", tmp_path / "victim"
    victim.write_bytes(b"keep")
    if kind == "pipe":
        os.mkfifo(target)
    else:
        target.symlink_to(victim)
    with pytest.raises(ClawError) as error:
        pull_recording(device, PACKAGE, "plain", str(tmp_path))
    assert error.value.code == "RECORDING_PULL_FAILED"
    assert victim.read_bytes() == b"keep"
