"""The documentation is true: generated parts are fresh, nothing is left out, every example does what it shows.

How a page is read. A ``console`` block holds commands, each after ``$ ``, followed by what it prints, stdout and
stderr as a terminal shows them. A command goes on over lines that end in a backslash and over here-documents. In
the expected text a line ``...`` matches any lines, and ``…`` within a line any text. A command may fail only if it
ends with ``; echo "exit $?"``. The blocks of a page share one fresh folder, in order. A command ``export NAME=VALUE``
holds for the commands after it.

``python`` blocks are run in that folder too; each ``# -> text`` names a line they print. ``json`` blocks are
parsed, and validated when they are executions. A ``yaml`` block is a GitHub workflow: the commands of its steps are
run too, except for those that install. ``text`` blocks are only looked at.
"""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

import msgspec
import pytest

from clawperator import __version__
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS
from clawperator.contract.commands import GLOBALS, all_commands, find_command, leaves
from clawperator.contract.execution import validate
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.errors import CODES
from clawperator.operations.claw import CLAW_GLOBALS, claw_commands
from clawperator.recording.compare.compare import SUMMARIES
from clawperator.schemas import SCHEMAS
from tests.device.pairing_servers import CODE, WIRELESS, pairing_server
from tests.phone.core.apks import make_apk
from tests.skills.test_sync import published  # noqa: F401 - a fixture
from tests.support.paths import REPOSITORY
from tests.support.running import clawperator
from tests.support.unused_port import UNUSED_PORT

RunDemo = Callable[[], subprocess.CompletedProcess[str]]

# The demo alone takes 15 seconds; a busy machine is ten times slower.
_LONGEST_EXAMPLE_SECONDS = 300
ROOT = REPOSITORY
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"


def _load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _load_generator()
PAGES: list[Path] = [*generate.pages(), ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


# Reading a page.


class Block(NamedTuple):
    language: str
    line: int
    text: str


class Example(NamedTuple):
    line: int
    command: str
    expected: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    language: str | None = None
    start = 0
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if language is None and line.startswith("```"):
            language, start, body = line[3:].strip(), number, []
        elif language is not None and line == "```":
            yield Block(language, start, "\n".join(body) + "\n")
            language = None
        else:
            body.append(line)
    assert language is None, f"the block that begins at line {start} has no end"


def examples(block: Block) -> Iterator[Example]:
    """The commands of a console block, each with the text that follows it."""
    lines = block.text.splitlines()
    i = 0
    while i < len(lines):
        assert lines[i].startswith("$ "), f"line {block.line + 1 + i}: a console block begins with '$ '"
        start = i
        command = [lines[i][2:]]
        i += 1
        while command[-1].endswith("\\"):
            command.append(lines[i])
            i += 1
        if here := re.search(r"<<'?(\w+)'?", command[-1]):
            while command[-1] != here[1]:
                command.append(lines[i])
                i += 1
        expected = []
        while i < len(lines) and not lines[i].startswith("$ "):
            expected.append(lines[i])
            i += 1
        yield Example(block.line + 1 + start, "\n".join(command), "\n".join(expected))


def matches(expected: str, printed: str) -> bool:
    """Whether a command printed what the page shows."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(piece) for piece in line.split("…")) + "\n"
    return re.fullmatch(pattern, printed if not printed or printed.endswith("\n") else printed + "\n") is not None


def surroundings(folder: Path) -> dict[str, str]:
    """The variables that all examples of a page are run with."""
    home = folder / ".home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        # Phones sleep a tenth of the time.
        "PYTHONPATH": str(ROOT / "tests" / "support" / "short_sleeps"),
        # It takes a second to import.
        "PYTEST_ADDOPTS": "-p no:schemathesis",
        # No adb and no server: an example must not start an adb server on this machine.
        "ADB_PATH": str(home / "no-adb"),
        "ANDROID_ADB_SERVER_PORT": UNUSED_PORT,
        # A browser that opens nothing.
        "BROWSER": "true",
    }


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=surroundings(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LONGEST_EXAMPLE_SECONDS,
        check=False,
    )


def prepare(folder: Path, *command: str) -> None:
    """Run a command that is not the example itself, with the same variables, in this process: it is faster."""
    with patch.dict(os.environ, surroundings(folder)):
        ran = clawperator(*command)
    assert ran.code == 0, ran.out


def run_example(example: Example, folder: Path, run_demo: RunDemo, exported: str = "") -> None:
    command = example.command
    if installed := re.fullmatch(r"pip install (?:\.|'\.\[([a-z,]+)\]')", command):
        # The environment that runs these tests has it installed.
        project = tomllib.loads(_read(ROOT / "pyproject.toml"))["project"]
        assert set((installed[1] or "dev").split(",")) <= set(project["optional-dependencies"])
        return
    if command.startswith("make "):
        assert re.search(rf"^{command.removeprefix('make ')}:", _read(ROOT / "Makefile"), re.MULTILINE)
        if command != "make demo":
            return  # it would run these tests, or take minutes
    ran = run_demo() if command == "make demo" else shell(exported + command, folder)
    shown = f"line {example.line}: $ {example.command}"
    assert ran.returncode == 0, f"{shown}\nexit code {ran.returncode}\n{ran.stdout}"
    assert matches(example.expected, ran.stdout), (
        f"{shown}\n--- the page\n{example.expected}\n--- it\n{ran.stdout}"
    )


def run_python(block: Block, folder: Path) -> None:
    expected = re.findall(r"# -> (.*)", block.text)
    ran = subprocess.run(
        [sys.executable, "-"],
        cwd=folder,
        env=surroundings(folder),
        input=block.text,
        capture_output=True,
        text=True,
        timeout=_LONGEST_EXAMPLE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, f"line {block.line}: {ran.stderr}"
    assert ran.stdout.splitlines() == expected, f"line {block.line}"


def run_workflow(block: Block, folder: Path) -> None:
    """Run the steps of a GitHub workflow in order, as far as they are commands, and check what they use."""
    document = msgspec.yaml.decode(block.text)
    # YAML 1.1 reads the key "on" as true.
    assert set(document) == {"name", True, "permissions", "jobs"}
    (job,) = document["jobs"].values()
    assert job["timeout-minutes"] <= 30
    uploaded = []
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step), step
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step
            uploaded += [step["with"]["path"]] if "upload" in step["uses"] else []
        elif not step["run"].startswith("pip install "):
            ran = shell(f"set -eo pipefail\n{step['run']}", folder)
            assert ran.returncode == 0, f"{step['name']}: {ran.stdout}"
    assert uploaded
    for path in uploaded:
        assert list((folder / path).rglob("*.*")), f"nothing to upload in {path}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# The pages.


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder for examples. Phones and servers they leave running are stopped."""
    yield tmp_path
    for left in tmp_path.glob("*.pid"):
        with suppress(ProcessLookupError, ValueError):
            os.kill(int(left.read_text()), signal.SIGTERM)
    if (tmp_path / ".home" / ".clawperator").exists():
        prepare(tmp_path, "phone", "stop", "--all")


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo runs, the same one in all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo-of-docs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def run_demo(demo_folder: Path) -> RunDemo:
    """Run the demo, unless a test or another process has done so. Returns what it printed."""

    def run() -> subprocess.CompletedProcess[str]:
        ended = demo_folder / "ended.json"
        with (demo_folder / "lock").open("w") as lock:
            flock(lock, LOCK_EX)
            if not ended.exists():
                shutil.copy(ROOT / "demo.sh", demo_folder)
                ran = shell("bash demo.sh", demo_folder)
                ended.write_text(json.dumps([ran.returncode, ran.stdout]), encoding="utf-8")
        code, printed = json.loads(_read(ended))
        return subprocess.CompletedProcess("bash demo.sh", code, printed)

    return run


@every_page
def test_examples_do_what_the_page_shows(page: Path, place: Path, run_demo: RunDemo) -> None:
    exported = ""
    for block in blocks(_read(page)):
        if block.language == "console":
            for example in examples(block):
                if re.fullmatch(r"export \w+=\S+", example.command):
                    exported += f"{example.command}\n"
                run_example(example, place, run_demo, exported)
        elif block.language == "python":
            run_python(block, place)
        elif block.language == "yaml":
            run_workflow(block, place)


@every_page
def test_every_install_line_names_the_folder_that_it_is_run_in(page: Path) -> None:
    """The package is not published, so that the line works in a checkout only."""
    text = _read(page)
    for line in re.finditer(r"pip install '?\.", text):
        assert "checkout" in text[max(0, line.start() - 250) : line.end() + 100], line[0]


@every_page
def test_json_blocks_are_valid(page: Path) -> None:
    for block in blocks(_read(page)):
        if block.language == "json":
            document = json.loads(block.text)
            if "actions" in document:
                validate(document)


@every_page
def test_every_block_has_a_language(page: Path) -> None:
    for block in blocks(_read(page)):
        assert block.language in {"console", "json", "python", "text", "yaml"}, f"line {block.line}"


@every_page
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = _read(page)
    assert generate.rewrite(text) == text, "run 'make docs'"


def test_the_async_phone_is_up_to_date() -> None:
    assert generate.async_phone() == _read(generate.ASYNC_PHONE), "run 'make docs'"


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _without_blocks(_read(page))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in _anchors(_read(file)), target


@every_page
def test_no_error_code_is_misspelt(page: Path) -> None:
    variables = {
        "HYPOTHESIS_PROFILE",
        "NO_COLOR",
        "ANDROID_ADB_SERVER_PORT",
        "ANDROID_ADB_SERVER_ADDRESS",
        "ADB_SERVER_SOCKET",
        "ANDROID_SERIAL",
        "CLAWPERATOR_HOME",
        "CLAWPERATOR_BACKEND",
        "CLAWPERATOR_TIMEOUT_MS",
        "CLAWPERATOR_OUTPUT",
        "CLAWPERATOR_OPERATOR_PACKAGE",
        "CLAWPERATOR_LOG_DIR",
        "CLAWPERATOR_LOG_LEVEL",
        "CLAWPERATOR_SKILLS_REGISTRY",
        "CLAWPERATOR_SKILLS_REPO",
        "CLAWPERATOR_SKILL_AGENT_CLI",
        "CLAWPERATOR_SKILL_AGENT_CLI_PATH",
        "CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS",
        "CLAWPERATOR_SKILL_ID",
        "CLAWPERATOR_SKILL_INPUTS",
        "CLAWPERATOR_SKILL_PROGRAM",
        "CLAWPERATOR_DEVICE_ID",
        "CLAWPERATOR_BIN",
        "CLAWPERATOR_TEST_DATA",
        "CLAWPERATOR_TEST_CACHE",
        "ADB_PATH",
        "EMULATOR_PATH",
        "SDKMANAGER_PATH",
        "AVDMANAGER_PATH",
        "ANDROID_HOME",
        "ANDROID_SDK_ROOT",
        "CLAW_OUTPUT_FORMAT",
        "CLAW_CONFIG_HOME",
        "CLAW_MODEL",
        "CLAW_INPUT_USD_PER_MILLION",
        "CLAW_OUTPUT_USD_PER_MILLION",
        "CLAW_CACHED_INPUT_USD_PER_MILLION",
        "CLAW_CACHE_WRITE_USD_PER_MILLION",
        *(f"CLAW_{option}" for option in ("MAX_TOKENS", "THINKING", "TEMPERATURE", "IMAGES")),
        *(f"{service}_{what}" for service in ("OPENAI", "ANTHROPIC") for what in ("BASE_URL", "API_KEY")),
        "ANTHROPIC_AUTH_TOKEN",
        "CLAWPERATOR_PARENT",
        "CLAWPERATOR_POLICY",
        "CLAWPERATOR_ALLOW_SCHEMES",
        *(f"{protocol}_PROXY" for protocol in ("HTTP", "HTTPS", "FTP", "ALL", "NO")),
        *("LD_PRELOAD", "NODE_OPTIONS", "VIRTUAL_ENV"),
    }
    words = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", _read(page)))
    assert words <= set(CODES) | variables


@every_page
def test_commands_named_in_the_text_exist(page: Path) -> None:
    for words in re.findall(r"`clawperator ([a-z][a-z-]*(?: [a-z][a-z-]*)?)", _without_blocks(_read(page))):
        name, _, verb = words.partition(" ")
        command = find_command(name)
        assert command is not None, words
        if command.subcommands and verb:
            assert find_command(verb, command) is not None, words


@every_page
def test_commands_of_claw_named_in_the_text_exist(page: Path) -> None:
    known = {"help", *(command.name for command in claw_commands())}
    for name in re.findall(r"`claw ([a-z][a-z-]*)", _without_blocks(_read(page))):
        assert name in known, name


def _without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", _without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Nothing is left out.


def test_every_generated_part_has_its_place() -> None:
    placed = [name for page in PAGES for name in re.findall(r"<!-- begin: ([a-z-]+) -->", _read(page))]
    assert sorted(placed) == sorted(generate.PARTS)


def test_every_command_and_flag_is_documented() -> None:
    text = _read(REFERENCE / "commands.md")
    headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
    for command in all_commands():
        assert command.name in headings
        assert all(f"{command.name} {below.name}" in headings for below in command.subcommands)
        assert all(synonym in text for synonym in command.synonyms)
    for flag in (*GLOBALS, *(flag for _, command in leaves() for flag in command.flags)):
        assert all(name in text for name in (flag.name, *flag.aliases))


def test_every_command_and_flag_of_claw_is_documented() -> None:
    text = _read(REFERENCE / "claw.md")
    headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
    for command in claw_commands():
        assert command.name in headings
    for flag in (*CLAW_GLOBALS, *(flag for command in claw_commands() for flag in command.flags)):
        assert flag.name in text


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("errors.md", CODES),
        ("executions.md", SCHEMAS),
        ("executions.md", ACTIONS),
        ("executions.md", ACTION_ALIASES),
        ("recordings.md", SUMMARIES),
    ],
    ids=["errors", "schemas", "actions", "action aliases", "outcomes"],
)
def test_every_name_is_documented(page: str, names: dict[str, object]) -> None:
    text = _read(REFERENCE / page)
    absent = [name for name in names if f"`{name}`" not in text and f"\n### {name}\n" not in text]
    assert absent == []


@pytest.mark.parametrize("section", ["start", "guides", "reference", "internals"])
def test_every_page_is_in_its_section_of_the_index(section: str) -> None:
    part = _read(DOCS / "README.md").split(f"## {section.capitalize()}\n", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^- \[[^]]*\]\(([^)]+)\)", part, re.MULTILINE)
    pages = [*(DOCS / section).glob("*.md"), *(DOCS / section).glob("*/README.md")]
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in pages)


def test_every_decision_is_in_the_list_of_decisions() -> None:
    text = _read(DOCS / "internals" / "decisions" / "README.md")
    for page in (DOCS / "internals" / "decisions").glob("[0-9]*.md"):
        assert f"({page.name})" in text


def test_every_picture_is_shown() -> None:
    texts = "".join(page.read_text("utf-8") for page in generate.pages())
    pictures = sorted(one.name for one in (DOCS / "pictures").iterdir())
    assert [name for name in pictures if f"pictures/{name}" not in texts] == []


def test_the_architecture_page_names_existing_files() -> None:
    text = _read(DOCS / "internals" / "architecture.md")
    table = text.split("## Where is ...?", 1)[1].split("\n## ", 1)[0]
    files = re.findall(r"`([^`]+)`", table)
    assert len(files) >= 15
    assert [name for name in files if not (ROOT / name).is_file()] == []
    packages = "agent|api|cli|contract|device|engine|operations|policy|recording|serve"
    modules = re.findall(rf"(?<![\w/])(?:{packages})/[\w/]+\.py", text)
    assert len(modules) >= 60
    assert [name for name in modules if not (ROOT / "src" / "clawperator" / name).is_file()] == []


def test_the_security_page_names_existing_files() -> None:
    table = _read(ROOT / "SECURITY.md").split("## Where it is checked", 1)[1]
    names = re.findall(r"`([\w/]+(?:/|\.py))`", table)
    assert len(names) >= 15
    places = (ROOT, ROOT / "src" / "clawperator")
    assert [name for name in names if not any((place / name).exists() for place in places)] == []


def test_the_readme_names_the_first_two_things_to_type() -> None:
    text = _read(ROOT / "README.md")
    assert "$ make demo\n" in text
    assert "$ make test\n" in text


# The examples in the help of each command.


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, demo_folder: Path, run_demo: RunDemo) -> Iterator[Path]:
    """A folder with the files that the examples name, and a simulated phone."""
    folder = tmp_path_factory.mktemp("examples")
    made = run_demo()
    assert made.returncode == 0, made.stdout
    shutil.copytree(demo_folder / "demo", folder / "demo")
    made = shell(
        "mkdir recordings && cp demo/plan.json . && cp demo/faithful.skills-run.json run.json && "
        "cp demo/recordings/solar.export.json demo.export.json",
        folder,
    )
    assert made.returncode == 0, made.stdout
    (folder / "operator.apk").write_bytes(make_apk(OPERATOR_PACKAGE, 300_901, __version__))
    prepare(folder, "phone", "start")
    yield folder
    prepare(folder, "phone", "stop")


EXAMPLES = [example for _, command in leaves() for example in command.examples]
FETCHING = [e for e in EXAMPLES if re.search(r"skills (install|update|sync)", e)]
# These would change the emulators of this computer.
WITH_EMULATORS = [e for e in EXAMPLES if re.search(r"emulator (create|start|stop|delete|status|provision)", e)]
CLAW_EXAMPLES = [example for command in claw_commands() for example in command.examples]


@pytest.mark.parametrize("command", [example for example in EXAMPLES if " phone " in example])
def test_examples_in_the_help_of_the_phone_work(command: str, place: Path) -> None:
    name = "shop" if " shop" in command else "claw-1"
    if "phone start" not in command:
        prepare(place, "phone", "start", name)
    if command.endswith("phone delete shop"):
        prepare(place, "phone", "stop", "shop")
    ran = shell(command, place)
    assert ran.returncode == 0, ran.stdout


SETTINGS = "clawperator close com.android.settings && clawperator open com.android.settings"
SEARCH = (
    "clawperator close com.google.android.youtube && clawperator open com.google.android.youtube && "
    "clawperator click --desc Search"
)
OUTLINE = f'rm -rf "$HOME/.clawperator/references"; {SETTINGS} && clawperator snapshot --view outline'
# The commands that bring the phone to the screen of an example, by its words or its first ones. Where there are none,
# Settings is opened, except for the commands that use no screen.
WITHOUT_SCREEN = frozenset(
    {"agents", "config", "emulator", "provision", "recording", "report", "schema", "skills"}
)
BEFORE = {
    "click e12": OUTLINE,
    "double-tap e12": OUTLINE,
    "query --file snapshot.json --state checked": f"{SETTINGS} && clawperator snapshot > snapshot.json",
    "type": SEARCH,
    "submit": f"{SEARCH} && clawperator type music --role textfield",
    "read-value": f"{SETTINGS} && clawperator scroll-and-click --text 'About phone'",
    "recording compare --baseline demo.export.json --result replay.json": (
        "clawperator recording replay --input recordings/demo.ndjson > replay.json"
    ),
    "recording start": "clawperator phone reset",
    "recording stop": "clawperator phone reset && clawperator recording start --session-id demo",
    "recording pull": (
        "clawperator phone reset && clawperator recording start --session-id demo && clawperator recording stop"
    ),
}


@pytest.mark.parametrize("command", [example for example in EXAMPLES if " pair " in example])
def test_examples_in_the_help_of_pair_work(command: str, place: Path) -> None:
    (place / "code.txt").write_text(CODE)
    stdin = "" if "<" in command else " < code.txt"
    with pairing_server() as server:
        server.listed = f"{WIRELESS}\tdevice\n"
        ran = shell(f"ANDROID_ADB_SERVER_PORT={server.port} {command}{stdin}", place)
    assert ran.returncode == 0, ran.stdout


def test_examples_in_the_help_of_commands_that_fetch_skills_work(
    published: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    for command in FETCHING:
        ran = shell(f"CLAWPERATOR_SKILLS_REPO={published} {command}", tmp_path)
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    "command",
    [e for e in EXAMPLES if " phone " not in e and " pair " not in e and e not in (*FETCHING, *WITH_EMULATORS)],
)
def test_examples_in_the_help_work(command: str, workplace: Path) -> None:
    words = command.split()[1:]
    if words[0] == "serve":  # it runs until it is stopped, and the port may be in use
        command += " --timeout 100" + ("" if "--port" in words else " --port 0")
    shutil.copy(workplace / "demo/recordings/solar.ndjson", workplace / "recordings/demo.ndjson")
    starts = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    before = next((BEFORE[start] for start in starts if start in BEFORE), "")
    if before:
        ready = shell(before, workplace)
        assert ready.returncode == 0, ready.stdout
    elif words[0] not in WITHOUT_SCREEN:
        for verb in ("close", "open"):
            prepare(workplace, verb, "com.android.settings")
    try:
        ran = shell(command, workplace)
        assert ran.returncode == 0, ran.stdout
    finally:
        if words[:2] == ["recording", "start"]:
            shell("clawperator recording stop", workplace)
        elif words[0] == "rotate":
            shell("clawperator rotate portrait", workplace)


def test_examples_in_the_help_of_claw_work_in_their_order(place: Path) -> None:
    prepare(place, "phone", "start")
    for example in CLAW_EXAMPLES:
        ran = shell(example, place)
        assert ran.returncode == 0, f"{example}\n{ran.stdout}"


def test_commands_that_need_a_phone_fail_without_one(tmp_path: Path) -> None:
    for name in sorted(generate.NEED_PHONE):
        arguments = {"operator setup": " --apk operator.apk", "pair": " 127.0.0.1:1"}.get(name, "")
        ran = shell(f"clawperator {name}{arguments}", tmp_path)
        assert ran.returncode == 1, name
        assert json.loads(ran.stdout)["code"] == "ADB_NOT_FOUND", name


# The reader of pages itself: a page that lies is noticed.


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("", "more\n"),
        ("one\n", ""),
        ("one\ntwo\n", "one\n2\n"),
        ("one\n...\n", "two\n"),
        ("one\n...\nthree\n", "one\ntwo\n"),
        ('{"id":"a-…","ok":true}\n', '{"id":"a-1","ok":false}\n'),
        ("a.c\n", "abc\n"),
    ],
)
def test_output_that_differs_is_noticed(expected: str, printed: str) -> None:
    assert not matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("", ""),
        ("one", "one\n"),
        ("one\n...\nthree", "one\nthree\n"),
        ("...\nthree", "one\ntwo\nthree\n"),
        ('{"id":"a-…","ok":true}', '{"id":"a-17-x","ok":true}\n'),
    ],
)
def test_output_that_agrees_is_accepted(expected: str, printed: str) -> None:
    assert matches(expected, printed)


def test_a_failing_command_must_be_shown_as_failing(tmp_path: Path, run_demo: RunDemo) -> None:
    run_example(Example(1, 'clawperator clik >/dev/null; echo "exit $?"', "exit 1"), tmp_path, run_demo)
    with pytest.raises(AssertionError, match="exit code 1"):
        run_example(Example(1, "clawperator clik", "..."), tmp_path, run_demo)


def test_commands_go_on_over_lines_and_here_documents() -> None:
    block = Block("console", 1, "$ cat \\\n  - <<'EOF'\n$ not a command\nEOF\n$ not a command\n")
    first, second = examples(block)
    assert first.command == "cat \\\n  - <<'EOF'\n$ not a command\nEOF"
    assert (second.line, second.command, second.expected) == (6, "not a command", "")
