"""Text mode: what goes to stdout and to stderr, exit codes, and when it is chosen."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from clawperator.cli.text.render import JSON_CONTENT
from clawperator.contract.commands import leaves
from clawperator.operations.model import all_operations
from tests.skills.sample_skills import write_skill
from tests.support.routes import Route
from tests.support.running import claw_json, clawperator


def test_every_renderer_belongs_to_a_command() -> None:
    assert {name for name, _ in leaves()} >= JSON_CONTENT


@pytest.mark.parametrize(
    "argv",
    [
        ("clik",),
        ("click",),
        ("exec", "{}"),
        ("phone",),
        ("setup",),
        ("recording", "parse"),
        ("recording", "parse", "--input", "missing"),
        ("--log-level", "nope", "devices"),
        ("--device",),
        ("schema", "nothing"),
        ("phone", "stop", "no-such-phone"),
        ("config", "--timeout", "soon"),
    ],
)
def test_an_error_goes_to_stderr_with_the_exit_code_of_json(argv: tuple[str, ...]) -> None:
    plain = clawperator(*argv)
    text = clawperator("--output", "text", *argv)
    document = plain.json
    assert text.code == plain.code
    assert text.out == b""
    lines = text.err.splitlines()
    assert lines[0] == f"{document['code']}: {document['message']}"
    if "hint" in document:
        assert lines[-1] == f"hint: {document['hint']}"


@pytest.mark.parametrize(
    ("argv", "variable", "is_text"),
    [
        (("version", "--output", "text"), "", True),
        (("version", "--output=text"), "", True),
        (("version",), "text", True),
        (("version", "--json"), "text", False),
        (("version", "--output", "json"), "text", False),
        (("version", "--output", "text", "--json"), "", False),
        (("version",), "", False),
        (("version", "--output", "pretty"), "text", False),
    ],
)
def test_text_is_chosen_by_flag_or_setting_and_json_comes_first(
    monkeypatch: pytest.MonkeyPatch, *, argv: tuple[str, ...], variable: str, is_text: bool
) -> None:
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", variable)
    assert (clawperator(*argv).out.startswith(b"clawperator ")) is is_text


def test_an_unreadable_command_line_is_reported_in_the_format_of_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", "text")
    assert clawperator("--device").err.startswith("USAGE: ")
    assert clawperator("--json", "--device").json["code"] == "USAGE"


def test_a_failed_execution_prints_its_error_to_stderr_only(route: Route) -> None:
    ran = route.run("click", "--text", "Nowhere", "--timeout", "1000", "--output", "text")
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("NODE_NOT_FOUND: ")
    assert "\nhint: " in ran.err


def test_a_failed_check_is_a_verdict_on_stdout(route: Route) -> None:
    assert route.serial != "nothing"
    ran = clawperator("doctor", "--device", "nothing", "--output", "text")
    assert ran.code == 1
    assert b"Overall: not ready" in ran.out
    assert ran.err == ""


def test_pretty_output_of_doctor_is_the_same_text_without_colours(route: Route) -> None:
    pretty, text = (route.run("doctor", "--output", output).out for output in ("pretty", "text"))
    assert re.sub(rb"\d+ ms", b"", pretty) == re.sub(rb"\d+ ms", b"", text)


def test_text_of_an_app_is_escaped(route: Route) -> None:
    route.run("open", "com.android.settings")
    route.run("click", "--desc", "Search settings")
    ran = route.run("type", "a\x1b[31m\u202eb", "--role", "textfield", "--output", "text")
    assert ran.code == 0, ran
    assert b"\x1b" not in ran.out
    assert "\u202e" not in ran.out.decode()
    shown = route.run("snapshot", "--output", "text").out
    assert b"\x1b" not in shown


def test_commands_in_a_skill_print_json_whatever_the_user_likes_to_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = (
        "import json, os, shlex, subprocess\n"
        "bin = shlex.split(os.environ['CLAWPERATOR_BIN'])\n"
        "print(json.loads(subprocess.check_output([*bin, 'version']))['cliVersion'])\n"
    )
    registry = write_skill(tmp_path, script)
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", "text")
    ran = clawperator("skills", "run", "com.example.app.greet", "--registry", str(registry), "--json")
    assert ran.code == 0, ran


def test_claw_gets_the_document_of_a_command_in_text_mode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_OUTPUT", "text")
    for line in ("version", "version --output text"):
        name, _, words = line.partition(" ")
        assert "cliVersion" in claw_json("exec-command", name, words).json["result"]
    assert folder.exists()


def test_json_loads_no_renderer() -> None:
    script = (
        "import sys; from clawperator.cli.dispatch import run\n"
        "run(['config']); run(['clik']); run(['exec', '{}', '--validate-only'])\n"
        "print([name for name in sys.modules if name.startswith('clawperator.cli.text')])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_every_family_is_shown_by_a_renderer_of_its_own() -> None:
    """Only commands whose output is an execution, a report or text have none in the table."""
    rendered = {row.name for row in all_operations() if row.text}
    without = {name for name, row in leaves() if name not in rendered and not row.is_action}
    assert without == {
        "setup",
        "logs",
        "skills compile-artifact",
        "help",
        "watch",
        "completion",
        "serve",
    }
