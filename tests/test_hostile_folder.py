"""A hostile working folder: its files start no program, raise no permission and stop no command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hanging import HANG_SECONDS

BIN = Path(sys.executable).parent
# Modules that our processes or Python itself import, by name.
MODULES = (
    *("msgspec", "secrets", "base64", "sitecustomize", "usercustomize", "json", "signal", "hashlib", "tomllib"),
    *("subprocess", "selectors", "shlex", "socket", "threading", "typing", "random", "zlib", "importlib_metadata"),
)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """The file that every hostile program writes to."""
    return tmp_path / "marker"


@pytest.fixture
def folder(tmp_path: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder. Each Python module in it writes its name to the marker."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'a').write({name!r} + '\\n')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "config"))
    return folder


def run(*argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the working folder."""
    return subprocess.run(
        argv,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def command(name: str) -> str:
    return str(BIN / name)


# Imports


@pytest.fixture
def phone(folder: Path) -> Iterator[str]:
    """A simulated phone in a process of its own, started in the working folder."""
    assert folder
    started = run(command("clawperator"), "phone", "start", "hostile")
    try:
        assert started.returncode == 0, started.stdout
        yield "hostile"
    finally:
        run(command("clawperator"), "phone", "stop", "hostile")


def test_no_process_of_ours_imports_from_the_working_folder(phone: str, marker: Path) -> None:
    for argv in (
        (command("clawperator"), "snapshot", "--device", phone),
        (sys.executable, "-m", "clawperator", "snapshot", "--device", phone),
        (sys.executable, "-m", "clawperator", "skills", "list"),
        (command("claw"), "bootstrap", "open settings", "--device", phone),
        (command("claw"), "tool-pool"),
        (command("claw"), "exec-command", "skills-list", ""),
    ):
        ran = run(*argv)
        assert ran.returncode == 0, (argv, ran.stdout, ran.stderr)
    assert not marker.exists(), marker.read_text()


def test_an_empty_part_of_the_python_path_does_not_make_the_folder_importable(folder: Path, marker: Path) -> None:
    for name in ("sitecustomize", "usercustomize"):  # Python imports these before any of our code runs
        (folder / f"{name}.py").unlink()
    try:
        for argv in (("phone", "start", "hostile"), ("snapshot", "--device", "hostile"), ("skills", "list")):
            ran = run(command("clawperator"), *argv, PYTHONPATH=os.pathsep)
            assert ran.returncode == 0, (argv, ran.stdout, ran.stderr)
        assert run(command("claw"), "tool-pool", PYTHONPATH=os.pathsep).returncode == 0
    finally:
        run(command("clawperator"), "phone", "stop", "hostile")
    assert not marker.exists(), marker.read_text()


SHELL_SKILL = """#!/bin/sh
$CLAWPERATOR_BIN skills list >/dev/null || exit 1
$CLAWPERATOR_BIN version
"""
PYTHON_SKILL = "import beside\nimport msgspec\nfrom clawperator.skill_api import Skill\nprint(beside.VALUE)\n"


def write_skill(root: Path, skill_id: str, name: str, script: str) -> Path:
    """A registry with one skill, outside of the working folder."""
    import json

    path = f"skills/{skill_id}"
    entry = {
        "id": skill_id,
        "applicationId": skill_id.rpartition(".")[0],
        "intent": "test",
        "summary": "A skill.",
        "path": path,
        "skillFile": f"{path}/SKILL.md",
        "scripts": [f"{path}/scripts/{name}"],
        "artifacts": [],
    }
    scripts = root / path / "scripts"
    scripts.mkdir(parents=True)
    (root / path / "SKILL.md").write_text("# Skill\n")
    (root / path / "skill.json").write_text(json.dumps(entry))
    (scripts / name).write_text(script)
    (scripts / name).chmod(0o755)
    registry = root / "skills" / "skills-registry.json"
    registry.write_text(json.dumps({"schemaVersion": "1.0", "skills": [entry]}))
    return registry


@pytest.mark.usefixtures("folder")
def test_a_skill_and_the_commands_it_runs_do_not_import_from_the_working_folder(
    tmp_path: Path, marker: Path
) -> None:
    shell = write_skill(tmp_path / "shell", "a.b.shell", "run.sh", SHELL_SKILL)
    ran = run(command("clawperator"), "skills", "run", "a.b.shell", "--registry", str(shell))
    assert ran.returncode == 0, ran.stdout
    python = write_skill(tmp_path / "python", "a.b.python", "run.py", PYTHON_SKILL)
    (python.parent / "a.b.python" / "scripts" / "beside.py").write_text("VALUE = 'own module'\n")
    ran = run(command("clawperator"), "skills", "run", "a.b.python", "--registry", str(python))
    assert ran.returncode == 0, ran.stdout
    assert "own module" in ran.stdout
    assert not marker.exists(), marker.read_text()
