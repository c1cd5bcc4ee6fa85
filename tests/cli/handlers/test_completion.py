"""Completion: the scripts in real shells, and what the hidden command offers them."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clawperator.cli.handlers.completion import FILES, FOLDERS, offered
from clawperator.contract.commands import leaves
from clawperator.operations.claw import claw_commands
from tests.support.required_programs import require_program
from tests.support.running import clawperator

SHELLS = ("bash", "zsh", "fish")
SECONDS = 60
HERE = Path(__file__).parent
NAMES = ("claw-1", "127.0.0.1:5555", "adb-9 (2)._adb-tls-connect._tcp", 'it\'s "odd" \\')
# A ``clawperator`` for which these devices are connected.
PROGRAM = f"""#!{sys.executable}
import sys
from clawperator.cli.main import main
from clawperator.device import discovery
discovery.list_devices = lambda: [discovery.ListedDevice(name, "device") for name in {NAMES!r}]
sys.exit(main())
"""

# The matches for a line that is being typed. The texts beside them are left out.
Complete = Callable[[str], list[str]]
every_shell = pytest.mark.parametrize("complete", SHELLS, indirect=True)


def script(shell: str) -> str:
    ran = clawperator("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.decode()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files and a folder. ``clawperator`` is in the path."""
    (tmp_path / "plan.json").write_text("{}")
    (tmp_path / "other.txt").write_text("")
    (tmp_path / "sessions").mkdir()
    programs = tmp_path / ".programs"
    programs.mkdir()
    program = programs / "clawperator"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def zsh_dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of zsh's own list of a thousand completion functions, which takes a quarter of a second to make."""
    return tmp_path_factory.mktemp("zsh") / "dump"


@pytest.fixture
def complete(request: pytest.FixtureRequest, place: Path, zsh_dump: Path) -> Complete:
    shell = request.param
    program = require_program(shell)
    file = place / ".programs" / f"completion.{shell}"
    file.write_text(script(shell))

    def matches(line: str) -> list[str]:
        if shell == "bash":
            argv = [program, "--norc", "--noprofile", str(HERE / "matches.bash"), str(file), line]
        elif shell == "zsh":
            argv = [program, "-f", str(HERE / "matches.zsh"), str(file), line, str(zsh_dump)]
        else:
            argv = [program, "--no-config", "-c", f"source {file}; complete -C '{line}'"]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=True, cwd=place)
        assert ran.stderr == ""
        # zsh and fish print a text after the match; zsh and bash offer only the part after the equals sign.
        names = [found.partition("\t")[0].split(" ")[0] for found in ran.stdout.splitlines()]
        return sorted(name.rpartition("=")[2].rstrip("/") for name in names if name)

    return matches


@every_shell
def test_commands_and_their_subcommands_are_offered(complete: Complete) -> None:
    assert complete("clawperator clo") == ["close"]
    assert complete("clawperator recording re") == ["repair", "replay"]
    assert complete("claw boots") == ["bootstrap", "bootstrap-graph"]
    assert complete("clawperator --device claw-1 phone sta") == ["start"]


@every_shell
def test_synonyms_are_understood_but_not_offered(complete: Complete) -> None:
    assert "tap" not in complete("clawperator ta")
    assert complete("clawperator tap --coor") == ["--coordinate"]
    assert complete("clawperator record exp") == ["export"]


@every_shell
def test_flags_are_those_of_the_command_and_of_every_command(complete: Complete) -> None:
    assert complete("clawperator click --un") == ["--unique"]
    assert "--unique" not in complete("clawperator snapshot --un")
    assert complete("clawperator snapshot --dev") == ["--device"]
    assert complete("claw turn-loop --max-t") == ["--max-turns"]


@every_shell
def test_choices_are_offered_as_values_and_as_words(complete: Complete) -> None:
    assert complete("clawperator click --backend a") == ["adb", "auto"]
    assert complete("clawperator click --backend=a") == ["adb", "auto"]
    assert complete("clawperator --output ") == ["json", "pretty", "text"]
    assert complete("clawperator scroll l") == ["left"]
    assert complete("clawperator press volume_m") == ["volume_mute"]
    assert complete("claw bootstrap hello --brain o") == ["offline", "openai"]


@every_shell
def test_a_value_is_not_taken_for_a_command(complete: Complete) -> None:
    assert complete("clawperator click --text open --lon") == ["--long"]
    assert complete("clawperator click --coordinate 1 2 --lon") == ["--long"]
    assert complete("clawperator click --coordinate 1 ") == []


@every_shell
def test_files_are_offered_for_paths(complete: Complete) -> None:
    assert complete("clawperator exec pl") == ["plan.json"]
    assert complete("clawperator query --file pl") == ["plan.json"]
    assert complete("clawperator query --file=pl") == ["plan.json"]
    assert complete("claw list-sessions --directory se") == ["sessions"]
    assert complete("clawperator skills list --registry shi") == ["shipped"]


@every_shell
def test_serials_are_those_of_the_connected_devices(complete: Complete) -> None:
    assert complete("clawperator click --device c") == ["claw-1"]
    assert complete("clawperator phone stop c") == ["claw-1"]


@every_shell
def test_without_devices_no_serial_is_offered(complete: Complete, place: Path) -> None:
    failing = "from clawperator.errors import ClawError; raise ClawError('ADB_NOT_FOUND', 'no adb')"
    program = PROGRAM.replace("sys.exit", f"def fail():\n    {failing}\ndiscovery.list_devices = fail\nsys.exit")
    (place / ".programs" / "clawperator").write_text(program)
    assert complete("clawperator click --device ") == []
    assert complete("clawperator clo") == ["close"]


@pytest.mark.parametrize("complete", ["bash"], indirect=True)
def test_bash_completes_a_serial_with_a_colon(complete: Complete) -> None:
    assert complete("clawperator click --device 127.0.0.1:55") == ["5555"]


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("clawperator recor\t", "clawperator recording"),
        ("clawperator snapshot --view=out\t", "clawperator snapshot --view=outline"),
        (
            "clawperator click --text 'a b' --device 127.0.0.1:5\t",
            "clawperator click --text a b --device 127.0.0.1:5555",
        ),
        ("clawperator exec pl\t", "clawperator exec plan.json"),
        ("clawperator query --file=se\tplan", "clawperator query --file=sessions/plan"),
        ('clawperator click --device "adb\t', "clawperator click --device adb-9 (2)._adb-tls-connect._tcp"),
        ("clawperator click --device adb\t", "clawperator click --device adb-9 (2)._adb-tls-connect._tcp"),
        ("clawperator click --device adb-9\\ \t", "clawperator click --device adb-9 (2)._adb-tls-connect._tcp"),
        ("clawperator click --device it\t", 'clawperator click --device it\'s "odd" \\'),
    ],
)
def test_an_interactive_bash_inserts_the_only_match(place: Path, typed: str, becomes: str) -> None:
    (place / ".programs" / "completion.bash").write_text(script("bash"))
    # The line begins with echo only when it is entered: Ctrl-A goes to its start.
    lines = f"source .programs/completion.bash\n{typed}\x01echo 'line: '\nexit\n"
    printed = type_into([require_program("bash"), "--norc", "--noprofile", "-i"], lines)
    assert f"line: {becomes}" in [line.strip() for line in printed.replace("\r", "\n").splitlines()]


def type_into(argv: list[str], text: str) -> str:
    """Run a program on a terminal, type a text, and return what it printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.environ["PS1"] = "$ "
        os.execv(argv[0], argv)
    os.write(terminal, text.encode())
    printed = b""
    until = time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                data = os.read(terminal, 4096)
                if not data:
                    break
                printed += data
    except OSError:  # it has exited
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return printed.decode()


def names(line: str) -> list[str]:
    """What is offered in place of the last word of a line."""
    return [text for text, _ in offered(line.split(" "))[1]]


@pytest.fixture
def no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError("listed the devices")

    monkeypatch.setattr("clawperator.device.discovery.list_devices", fail)


@pytest.mark.usefixtures("no_devices")
def test_every_command_and_flag_is_offered() -> None:
    claw = [(command.name, command) for command in claw_commands()]
    for program, rows in (("clawperator", list(leaves())), ("claw", claw)):
        for path, command in rows:
            parent, _, name = f"{program} {path}".rpartition(" ")
            assert name in names(f"{parent} ")
            assert {flag.name for flag in command.flags} <= set(names(f"{program} {path} --"))
    assert set(names("claw help ")) == {*names("claw ")}


@pytest.mark.usefixtures("no_devices")
def test_a_flag_is_offered_once_unless_it_repeats() -> None:
    assert "--long" not in names("clawperator click --long --")
    assert "--pass-env" in names("claw bootstrap --pass-env HOME --")


@pytest.mark.usefixtures("no_devices")
@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("clawperator phone fault ", "latency"),
        ("clawperator schema ", "compare-report"),
        ("clawperator schema ", "tools"),
        ("clawperator mcp config ", "cursor"),
        ("clawperator skills run ", "com.android.settings.overview"),
        ("clawperator skills get ", "com.android.settings.overview"),
        ("claw exec-tool ", "open_app"),
        ("claw show-tool ", "open_app"),
        ("clawperator help recording ", "replay"),
    ],
)
def test_names_are_offered(line: str, name: str) -> None:
    assert name in names(line)
    assert not any(one.startswith("-") for one in names(line))
    assert all(one.startswith("-") for one in names(f"{line}{name} "))


def test_no_skill_is_offered_when_the_registry_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", "nowhere.json")
    assert all(one.startswith("-") for one in names("clawperator skills run "))


def test_the_values_of_a_flag_are_those_of_its_command() -> None:
    assert names("clawperator wait --quiet ") == []
    assert "--brain" in names("claw bootstrap --quiet --")
    assert names("clawperator exec --payload ") == [FILES]
    assert names("claw list-sessions --directory ") == [FOLDERS]
    assert names("clawperator click -- --") == []


def hidden_command(*words: str, **variables: str) -> tuple[int, bytes]:
    argv = [sys.executable, "-m", "clawperator", "__complete", *words]
    ran = subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False, env={**os.environ, **variables})
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    "words", [[], ["bash"], ["bash", ":"], ["tcsh", "clawperator", ""], ["fish", "clawperator"]]
)
def test_a_malformed_request_prints_nothing(words: list[str]) -> None:
    assert hidden_command(*words) == (1, b"")


def test_a_line_with_version_is_completed() -> None:
    assert hidden_command("bash", "=:", "clawperator --version clo") == (0, b"close\n")


def test_a_command_with_a_policy_completes_nothing() -> None:
    assert hidden_command("bash", "=:", "clawperator clo", CLAWPERATOR_POLICY="{}") == (1, b"")


def test_an_unknown_shell_is_a_usage_error() -> None:
    for words in (["tcsh"], [""], []):
        ran = clawperator("completion", *words)
        assert (ran.code, ran.json["code"]) == (1, "USAGE")
        assert "<bash|zsh|fish>" in ran.json["message"]
