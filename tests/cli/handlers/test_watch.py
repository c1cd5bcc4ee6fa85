"""``watch``: the screen, its changes, and how it ends."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from clawperator._base.home import PhoneFolder
from clawperator.cli.handlers import streams as watch
from clawperator.device.run.lease import lease
from clawperator.phone.process.server import PhoneServer
from clawperator.schemas import schema
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, claw_json, clawperator

SETTINGS = "com.android.settings"


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhoneServer]:
    """A phone that shows Settings."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(folder / "home"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("ADB_PATH", str(folder / "no-adb"))
    with running_phone_server() as running:
        assert clawperator("open", SETTINGS).code == 0
        yield running


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What happens between the looks, in place of the pauses. After the last one the user stops."""

    def happen(*steps: Callable[[], object]) -> None:
        left = list(steps)

        def pause(_: float) -> None:
            if not left:
                raise KeyboardInterrupt
            left.pop(0)()

        monkeypatch.setattr(watch, "time", type("Pauses", (), {"sleep": staticmethod(pause)}))

    return happen


def documents(ran: Ran) -> list[Any]:
    return [json.loads(line) for line in ran.out.splitlines()]


@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_the_screen_is_printed_and_then_its_changes(
    server: PhoneServer, between: Callable[..., None], backend: str
) -> None:
    between(
        lambda: clawperator("click", "--text", "Display"),
        lambda: clawperator("click", "--text", "Dark theme"),
        server.phone.go_home,
    )
    ran = clawperator("watch", "--backend", backend)
    assert (ran.code, ran.err) == (0, "")
    first, display, dark, home = documents(ran)
    for document in documents(ran):
        jsonschema.validate(document, schema("watch"))
    assert (first["kind"], first["package"]) == ("screen", SETTINGS)
    assert list(first) == ["snapshotId", "time", "kind", "package", "text"]
    assert '"Connected devices"' in first["text"]
    assert display["kind"] == "screen"  # most lines have changed
    assert dark["kind"] == "changes"
    assert dark["text"].startswith("~")
    assert 'switch "Dark theme" on' in dark["text"]
    assert home["package"] == "com.android.launcher3"
    assert len({document["snapshotId"] for document in (first, display, dark, home)}) == 4


@pytest.mark.usefixtures("server")
def test_the_references_of_a_document_can_be_acted_on(between: Callable[..., None]) -> None:
    between()
    (screen,) = documents(clawperator("watch"))
    line = next(line for line in screen["text"].splitlines() if '"Display"' in line)
    assert clawperator("click", line.split()[0]).code == 0


@pytest.mark.usefixtures("server")
def test_nothing_is_printed_while_nothing_changes(between: Callable[..., None]) -> None:
    between(*[lambda: None] * 5)
    assert len(documents(clawperator("watch"))) == 1


def test_text_is_the_outline_and_then_the_changed_lines(server: PhoneServer, between: Callable[..., None]) -> None:
    assert server.phone is not None
    clawperator("click", "--text", "Display")
    between(lambda: clawperator("click", "--text", "Dark theme"))
    ran = clawperator("watch", "--output", "text")
    outline, changes = ran.out.decode().split("\n\n")
    assert 'switch "Dark theme" off' in outline
    assert 'switch "Dark theme" on' in changes
    assert all(line[0] in "+~-!" for line in changes.splitlines())


@pytest.mark.parametrize("line", [("--count", "1"), ("--for", "1"), ("--timeout", "1")])
@pytest.mark.usefixtures("server")
def test_a_limit_ends_it_after_the_first_look(line: tuple[str, ...]) -> None:
    ran = clawperator("watch", *line)
    assert ran.code == 0
    assert [document["kind"] for document in documents(ran)] == ["screen"]


@pytest.mark.usefixtures("server")
def test_the_count_is_that_of_documents(between: Callable[..., None]) -> None:
    between(lambda: clawperator("press", "home"), lambda: clawperator("open", SETTINGS))
    assert len(documents(clawperator("watch", "--count", "2"))) == 2


@pytest.mark.usefixtures("server")
def test_a_busy_device_is_waited_for_quietly(
    between: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is held by another command during the first look."""
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 1.0)
    busy = lease("claw-1", "other", 1.0)
    busy.__enter__()
    between(lambda: busy.__exit__(None, None, None))
    ran = clawperator("watch", "--count", "1")
    assert (ran.code, ran.err) == (0, "")
    assert [document["kind"] for document in documents(ran)] == ["screen"]


@pytest.mark.usefixtures("server")
def test_a_device_that_stays_busy_is_an_error_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LOOK_SECONDS", 1.0)
    with lease("claw-1", "other", 1.0):
        ran = clawperator("watch", "--for", "10")
    assert (ran.code, documents(ran)[-1]["code"]) == (1, "EXECUTION_CONFLICT_IN_FLIGHT")


def test_a_lost_device_is_an_error_after_what_was_printed(
    server: PhoneServer, between: Callable[..., None]
) -> None:
    def lose() -> None:
        server.close()
        PhoneFolder("claw-1").forget()

    between(lose, *[lambda: None] * 10)
    with running_phone_server("claw-2"):
        ran = clawperator("watch", "--device", "claw-1")
    screen, error = documents(ran)
    assert (ran.code, screen["kind"]) == (1, "screen")
    assert (error["code"], error["hint"]) == ("DEVICE_NOT_FOUND", "Use one of: claw-2.")


def test_a_device_that_does_not_respond_is_an_error_after_what_was_printed(
    server: PhoneServer, between: Callable[..., None]
) -> None:
    between(lambda: server.phone.set_fault("offline", True), *[lambda: None] * 10)
    ran = clawperator("watch")
    screen, error = documents(ran)
    assert (ran.code, screen["kind"]) == (1, "screen")
    assert (error["code"], bool(error["hint"])) == ("DEVICE_OFFLINE", True)


def test_a_screen_that_cannot_be_read_for_a_moment_ends_nothing(
    server: PhoneServer, between: Callable[..., None]
) -> None:
    between(
        lambda: server.phone.set_fault("offline", True),
        lambda: server.phone.set_fault("offline", False) == 0 and clawperator("press", "home"),
    )
    kinds = [document.get("kind", document.get("code")) for document in documents(clawperator("watch"))]
    assert kinds == ["screen", "screen"]


@pytest.mark.parametrize("flag", ["--for", "--count", "--interval"])
@pytest.mark.parametrize("value", ["0", "-1", "soon", "1.5"])
def test_an_invalid_number_is_refused(flag: str, value: str) -> None:
    ran = clawperator("watch", f"{flag}={value}")
    assert (ran.code, ran.json["code"]) == (1, "USAGE")


@pytest.mark.usefixtures("server")
def test_an_agent_cannot_run_it_as_a_command() -> None:
    error = claw_json("exec-command", "watch", "").json["error"]
    assert (error["code"], error["hint"]) == ("USAGE", "Run 'clawperator watch' in a shell.")


@pytest.mark.usefixtures("server")
def test_a_policy_that_denies_a_look_denies_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from clawperator.policy.rules import Policy, encode_policy, read_rule

    denied = Policy("act", deny=(read_rule("snapshot_ui", "test"),))
    monkeypatch.setenv("CLAWPERATOR_POLICY", encode_policy(denied))
    assert clawperator("watch", "--count", "1").json["code"] == "PERMISSION_DENIED"
    monkeypatch.setenv("CLAWPERATOR_POLICY", encode_policy(Policy("read-only")))
    assert clawperator("watch", "--count", "1").code == 0


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("end", ["signal", "reader"])
def test_it_ends_quietly_when_the_user_or_the_reader_stops(end: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "clawperator", "watch", "--interval", "10"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        assert json.loads(process.stdout.readline())["kind"] == "screen"
        if end == "signal":
            process.terminate()
        else:
            process.stdout.close()
            until = time.monotonic() + HANG_SECONDS
            while process.poll() is None and time.monotonic() < until:
                clawperator("press", "home")
                clawperator("open", SETTINGS)
        assert process.wait(HANG_SECONDS) == 0
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
