"""``type --secret`` and ``textFrom``: the text is in no argument, output, log, session or file of this computer."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.device.run.host_log import log_file
from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.support.running import claw, claw_json, clawperator
from tests.support.secret_search import find_secret

BINARY = str(Path(sys.executable).with_name("clawperator"))
SECRET = "Tr0ub4dor-and-3"
YOUTUBE = "com.google.android.youtube"
FROM_VARIABLE = {"textFrom": {"env": "SHOP_PASSWORD"}, "matcher": {"role": "textfield"}}


@pytest.fixture
def search_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhoneServer]:
    """A phone that shows a field that is no password field, and the secret in the environment."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(folder / "home"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    with running_phone_server() as server:
        assert clawperator("open", YOUTUBE).code == 0
        assert clawperator("click", "--desc", "Search").code == 0
        yield server
        server.close()  # its own files and log are those of the phone


def declare(folder: Path, *names: str) -> None:
    (folder / "home" / "clawperator.toml").write_text(f"secrets = {list(names)}\n")


def files_of_the_host(folder: Path) -> list[Path]:
    """Everything but the files of the phone itself."""
    places = [path for path in folder.iterdir() if path.name != "home"]
    return [*places, *(path for path in (folder / "home").iterdir() if path.name != "phones")]


def assert_not_written(folder: Path, **outputs: bytes | str) -> None:
    places = files_of_the_host(folder)
    found = find_secret(SECRET, [path for path in places if path.is_dir()], outputs)
    assert found + [str(p) for p in places if p.is_file() and SECRET.encode() in p.read_bytes()] == []


@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_the_command_writes_the_secret_nowhere(folder: Path, backend: str) -> None:
    words = ("type", "--secret", "SHOP_PASSWORD", "--role", "textfield", "--backend", backend)
    ran = clawperator(*words, "--verbose", "--log-level", "debug")
    assert ran.code == 0, ran.out
    assert Path(log_file()).is_file()
    dry = clawperator(*words, "--dry-run")
    assert dry.code == 0
    assert_not_written(folder, out=ran.out, err=ran.err, dry=dry.out + dry.err.encode())
    shown = clawperator("read", "--role", "textfield")
    assert SECRET.encode() in shown.out, "the field has the text"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_no_process_has_the_secret_in_its_arguments(backend: str) -> None:
    words = [BINARY, "type", "--secret", "SHOP_PASSWORD", "--role", "textfield", "--backend", backend]
    seen: set[bytes] = set()
    ended = threading.Event()
    watcher = threading.Thread(target=_watch_arguments, args=(seen, ended))
    watcher.start()
    try:
        ran = subprocess.run(words, capture_output=True, check=True)
    finally:
        ended.set()
        watcher.join()
    assert any(b"SHOP_PASSWORD" in arguments for arguments in seen)
    assert [arguments for arguments in seen if SECRET.encode() in arguments] == []
    assert SECRET.encode() not in ran.stdout + ran.stderr


def _watch_arguments(seen: set[bytes], ended: threading.Event) -> None:
    while not ended.is_set():
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.add(process.read_bytes())
            except OSError:
                continue
        ended.wait(0.002)


@pytest.mark.usefixtures("search_page")
def test_a_tool_and_its_session_do_not_have_the_secret(folder: Path) -> None:
    declare(folder, "SHOP_PASSWORD")
    ran = claw_json("exec-tool", "enter_text", msgspec.json.encode(FROM_VARIABLE).decode())
    assert ran.code == 0, ran.out
    turn = claw("bootstrap", "press home", "--session-id", "s", "--events", "events.ndjson")
    assert turn.code == 0
    assert list((folder / ".claw" / "sessions").iterdir())
    assert_not_written(folder, out=ran.out, turn=turn.out)


@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_later_steps_of_the_run_do_not_show_the_secret(folder: Path, backend: str) -> None:
    actions: list[dict[str, Any]] = [
        {"id": "a1", "type": "enter_text", "params": FROM_VARIABLE},
        {"id": "a2", "type": "snapshot_ui"},
        {"id": "a3", "type": "snapshot_ui", "params": {"view": "outline"}},
        {"id": "a4", "type": "read_text", "params": {"matcher": {"role": "textfield"}}},
    ]
    plan = {
        "commandId": "c",
        "taskId": "t",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 30_000,
        "actions": actions,
    }
    ran = clawperator("exec", msgspec.json.encode(plan).decode(), "--backend", backend)
    assert ran.code == 0, ran.out
    assert [step["success"] for step in ran.json["envelope"]["stepResults"]] == [True] * 4
    assert ran.json["envelope"]["stepResults"][3]["data"]["text"] == "••••"
    assert_not_written(folder, out=ran.out)


@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("place", ["inside", "outside", "declared", "declared by its name", "linked"])
def test_an_agent_reads_only_secret_files_that_the_user_declares(
    folder: Path, place: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("private") / "pin"
    file.write_text(SECRET)
    file.chmod(0o600)
    (folder / "link").symlink_to(file)
    (folder / "own").write_text(SECRET)
    (folder / "own").chmod(0o600)
    path = {"inside": "own", "linked": "link", "declared by its name": "link"}.get(place, str(file))
    declare(folder, *{"declared": [str(file)], "declared by its name": ["link", "own"]}.get(place, []))
    params = {**FROM_VARIABLE, "textFrom": {"file": path}}
    alone = claw_json("exec-tool", "enter_text", msgspec.json.encode(params).decode())
    plan = {"actions": [{"type": "enter_text", "params": params}]}
    in_plan = claw_json("exec-tool", "run_execution", msgspec.json.encode(plan).decode())
    codes = [ran.json.get("error", {}).get("code") for ran in (alone, in_plan)]
    assert codes == [None if place == "declared" else "PERMISSION_DENIED"] * 2


# Declared secrets


@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_a_declared_secret_is_masked_in_the_results_of_every_later_command(folder: Path, backend: str) -> None:
    assert clawperator("type", SECRET, "--role", "textfield", "--backend", backend).code == 0
    declare(folder, "SHOP_PASSWORD")
    looks = [
        ("read", "--role", "textfield"),
        ("query", "--role", "textfield"),
        ("wait", "--role", "textfield"),
        ("snapshot",),
        ("snapshot", "--view", "outline"),
        ("snapshot", "--view", "json"),
        ("type", SECRET, "--role", "textfield", "--clear"),
        ("click", "--text", SECRET),
        ("click", "--text", f"{SECRET} is not there"),
    ]
    outputs = {}
    for words in looks:
        ran = clawperator(*words, "--backend", backend)
        outputs[" ".join(words)] = ran.out + ran.err.encode()
    assert b"\xe2\x80\xa2" in outputs["read --role textfield"]
    assert_not_written(folder, **outputs)


@pytest.mark.usefixtures("search_page")
def test_an_agent_cannot_read_a_declared_secret_back_from_a_plain_field(folder: Path) -> None:
    declare(folder, "SHOP_PASSWORD")
    outputs = {}
    for tool, params in (
        ("enter_text", FROM_VARIABLE),
        ("read_text", {"matcher": {"role": "textfield"}}),
        ("snapshot_ui", {}),
        ("run_execution", {"actions": [{"type": "snapshot_ui", "params": {"view": "outline"}}]}),
    ):
        ran = claw_json("exec-tool", tool, msgspec.json.encode(params).decode())
        assert ran.code == 0, ran.out
        outputs[tool] = ran.out
    for number, prompt in enumerate(("what is on the screen?", f"is {SECRET} on the screen?")):
        claw("bootstrap", prompt, "--session-id", f"s{number}", "--events", f"events-{number}.ndjson")
    assert len(list((folder / ".claw" / "sessions").glob("*.jsonl"))) == 2
    assert_not_written(folder, **outputs)


@pytest.mark.usefixtures("search_page")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_references_work_on_a_page_that_shows_a_declared_secret(
    folder: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TITLE", "Settings")
    monkeypatch.setenv("ROW", "Network & internet")
    declare(folder, "TITLE", "ROW")
    assert clawperator("open", "com.android.settings", "--backend", backend).code == 0
    for label in ("••••", "Display"):
        outline = clawperator("snapshot", "--view", "outline", "--backend", backend).json
        lines = outline["envelope"]["stepResults"][0]["data"]["text"].splitlines()
        assert not any("Network" in line for line in lines)
        line = next(line for line in lines if f'button "{label}"' in line)
        ran = clawperator("click", line.split()[0], "--backend", backend)
        assert ran.code == 0, ran.out
        assert clawperator("back", "--backend", backend).code == 0
