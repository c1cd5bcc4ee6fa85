"""Hostile text in every command: the device gets exactly the given text, and no unexpected file appears."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.contract.action_params import SESSION_ID
from clawperator.phone.process.server import PhoneServer
from clawperator.phone.shell.process import ShellProcess
from tests.device.phone_servers import running_phone_server
from tests.support.running import Ran, clawperator

# What shells, XML, JSON and file systems trip over, in any mixture.
SHARP = st.sampled_from(
    (
        *(
            "'",
            '"',
            "`id`",
            "$(touch /sdcard/pwned)",
            "; reboot",
            "&& id",
            "| sh",
            "\\",
            "\n",
            "\r",
            "\t",
            "../",
            "/",
        ),
        *(
            "%s",
            "*",
            "?",
            "~",
            "!",
            "#",
            "<&>",
            "${IFS}",
            "--",
            "-rf",
            "\u202e",
            "\x1b[2J",
            "漢",
            "🙂",
            " ",
            "\x7f",
        ),
        *("{}", "[Clawperator-Result]", "</hierarchy>"),
    )
)
words = st.lists(
    SHARP | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), min_size=1, max_size=6
)
hostile = words.map("".join).filter(lambda text: bool(text.strip()))


class Watched:
    """A phone, the payloads its Operator got, and every command line its shell ran."""

    def __init__(self, phone_server: PhoneServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.phone_server = phone_server
        self.payloads: list[Any] = []
        self.argvs: list[list[str]] = []
        receive, start = phone_server.phone.operator.receive, ShellProcess.start

        def received(payload: str | None) -> None:
            self.payloads.append(json.loads(payload or "null"))
            receive(payload)

        def started(process: ShellProcess) -> int:
            self.argvs.append(list(process.argv))
            return start(process)

        monkeypatch.setattr(phone_server.phone.operator, "receive", received)
        monkeypatch.setattr(ShellProcess, "start", started)

    def forget(self) -> None:
        self.payloads.clear()
        self.argvs.clear()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("injection")


@pytest.fixture(scope="module")
def watched(place: Path) -> Iterator[Watched]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_HOME", str(place / "home"))
        with running_phone_server() as phone_server:
            yield Watched(phone_server, patch)


@pytest.fixture(autouse=True)
def _at_work(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, below the one that is watched."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(place / "home"))
    (place / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(place / "work")


def tell(*argv: str) -> Ran:
    ran = clawperator(*argv, "--timeout", "1000")
    document = ran.json
    assert ("envelope" in document) or ("code" in document) or document.get("ok")
    return ran


def params(watched: Watched) -> dict[str, Any]:
    """The params of the command's action. A failed search reads the screen once more."""
    payload, *others = watched.payloads
    assert all([action["type"] for action in other["actions"]] == ["snapshot_ui"] for other in others)
    (action,) = payload["actions"]
    result: dict[str, Any] = action["params"]
    return result


def is_listing(argv: list[str]) -> bool:
    """Whether a command lists the labels of all apps: a name without a dot may be one of them."""
    category = ["-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER"]
    return "query-activities" in argv and argv[-len(category) :] == category


def allowed(watched: Watched) -> None:
    """Nothing but the commands of the link itself was run."""
    names = {argv[0] for argv in watched.argvs if not is_listing(argv)}
    assert names <= {"date", "echo", "am", "pidof", "[", "sleep", "pm", "logcat", "settings", "break"}, names
    assert not watched.phone_server.phone.storage.exists("/sdcard/pwned")


# Each example is a command on a phone; the soak draws more of them.
one_go = settings(max_examples=max(25, settings().max_examples // 10))


@pytest.mark.random
@one_go
@given(hostile)
def test_any_text_to_look_for_reaches_the_operator_as_it_is(watched: Watched, text: str) -> None:
    watched.forget()
    ran = tell("exec", json.dumps(plan("click", {"matcher": {"textEquals": text}, "retry": {"maxAttempts": 1}})))
    assert params(watched)["matcher"]["textEquals"] == text
    allowed(watched)
    assert ran.json["envelope"]["stepResults"][0]["data"]["error"] == "NODE_NOT_FOUND"


@pytest.mark.random
@one_go
@given(hostile)
def test_any_text_to_type_reaches_the_field_as_it_is(watched: Watched, text: str) -> None:
    watched.forget()
    field = {"matcher": {"role": "textfield"}, "text": text[:500], "retry": {"maxAttempts": 1}}
    tell("exec", json.dumps(plan("enter_text", field)))
    assert params(watched)["text"] == text[:500]
    allowed(watched)


@pytest.mark.random
@one_go
@given(hostile)
def test_any_link_reaches_the_operator_as_it_is_or_is_refused_before(watched: Watched, text: str) -> None:
    watched.forget()
    uri = f"https://example.com/{text}"
    tell("exec", json.dumps(plan("open_uri", {"uri": uri, "retry": {"maxAttempts": 1}})))
    if watched.payloads:
        assert params(watched)["uri"] == uri
    allowed(watched)


@pytest.mark.random
@one_go
@given(hostile, st.sampled_from(["open", "close", "wait-for-nav"]))
def test_an_invalid_package_name_never_reaches_the_device(watched: Watched, text: str, command: str) -> None:
    watched.forget()
    ran = tell(command, f"--app={text}")
    if "://" not in text:
        name = "expectedPackage" if command == "wait-for-nav" else "applicationId"
        assert not watched.payloads or params(watched)[name] == text.strip()
        if not all(c.isalnum() or c in "._" for c in text):
            assert ran.code == 1
            assert all(is_listing(argv) for argv in watched.argvs)
    allowed(watched)


@pytest.mark.random
@one_go
@given(hostile.filter(lambda text: not SESSION_ID.fullmatch(text)))
def test_an_invalid_session_id_is_never_a_file_name(watched: Watched, place: Path, text: str) -> None:
    before = tree(place)
    watched.forget()
    for verb in ("start", "stop", "pull"):
        ran = tell("recording", verb, f"--session-id={text}")
        assert ran.code == 1, ran.out
    assert not watched.payloads
    assert tree(place) == before


@pytest.mark.random
@one_go
@given(hostile.filter(lambda text: len(text.encode()) < 200))
@pytest.mark.usefixtures("watched")
def test_a_screenshot_is_written_only_to_the_given_path(place: Path, text: str) -> None:
    here = place / "work"
    before = tree(place)
    name = text.replace("/", "_").strip() or "x"
    ran = tell("screenshot", f"--path={here}/{name}")
    new = tree(place) - before
    if ran.code == 0:
        made = ran.json["envelope"]["stepResults"][0]["data"]["path"]
        assert os.path.exists(made)
        assert os.path.dirname(os.path.abspath(made)) == str(here)
        os.remove(made)
    else:
        assert not {path for path in new if "logs" not in path and "leases" not in path}


@pytest.mark.random
@one_go
@given(hostile)
def test_an_invalid_serial_is_rejected_before_any_connection(watched: Watched, text: str) -> None:
    watched.forget()
    ran = clawperator("snapshot", f"--device={text}")
    assert ran.code == 1
    assert not watched.argvs


@pytest.mark.random
@settings(max_examples=5)  # each waits a second for a process that never comes
@given(hostile)
def test_a_package_of_the_operator_that_is_none_runs_nothing(watched: Watched, text: str) -> None:
    watched.forget()
    ran = tell("snapshot", f"--operator-package={text}")
    assert ran.code == 1
    allowed(watched)
    assert not watched.payloads


def plan(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": "c1",
        "taskId": "t1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": "a1", "type": kind, "params": params}],
    }


def tree(folder: Path) -> set[str]:
    """Every file below a folder but those of the phone itself."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {path for path in found if not path.startswith("home/phones")}
