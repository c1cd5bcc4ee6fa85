"""The environment of skills and MCP servers: a short list, plus what the user names."""

import os
from pathlib import Path

import pytest

from clawperator._base.environment import child_environment, own_environment
from clawperator.errors import ClawError

SECRETS = {"OPENAI_API_KEY": "k1", "GITHUB_TOKEN": "k2", "AWS_SECRET_ACCESS_KEY": "k3"}
LOADERS = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "BASH_ENV",
)
PASSED = (
    *("PATH", "HOME", "USER", "SHELL", "LANG", "LC_ALL", "LC_TIME", "TZ", "TMPDIR", "XDG_CONFIG_HOME"),
    *("HTTP_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "VIRTUAL_ENV", "ANDROID_HOME", "ADB_PATH"),
    *("CLAWPERATOR_HOME", "CLAW_CONFIG_HOME"),
)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*SECRETS, *LOADERS, *PASSED):
        monkeypatch.setenv(name, SECRETS.get(name, f"/{name}"))


def write_config(text: str) -> None:
    path = Path(os.environ["CLAWPERATOR_HOME"], "clawperator.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.usefixtures("environment")
def test_a_child_gets_the_listed_variables_and_no_others() -> None:
    given = child_environment("skill a.b", {"CLAWPERATOR_SKILL_ID": "a.b"})
    assert set(PASSED) <= set(given)
    assert not {*SECRETS, *LOADERS} & set(given)
    assert given["CLAWPERATOR_SKILL_ID"] == "a.b"
    assert given["CLAWPERATOR_PARENT"] == "skill a.b"


@pytest.mark.usefixtures("environment")
def test_the_user_names_further_variables_by_flag_or_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    write_config('pass_env = ["GITHUB_TOKEN"]\n')
    given = child_environment("mcp a", pass_env=("OPENAI_API_KEY", "NOT_SET"))
    assert (given["OPENAI_API_KEY"], given["GITHUB_TOKEN"]) == ("k1", "k2")
    assert not {"AWS_SECRET_ACCESS_KEY", "NOT_SET"} & set(given)


def test_variables_of_the_child_override_inherited_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "de")
    assert child_environment("mcp a", {"LANG": "en", "CLAWPERATOR_PARENT": ""})["LANG"] == "en"
    assert child_environment("mcp a", {"CLAWPERATOR_PARENT": ""})["CLAWPERATOR_PARENT"] == "mcp a"


@pytest.mark.parametrize("name", ["", " ", "A=b", "A\0"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ClawError) as info:
        child_environment("mcp a", pass_env=(name,))
    assert info.value.code == "USAGE"


def test_our_own_processes_do_not_inherit_a_python_path_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f":/opt/a:.:{tmp_path}")
    assert own_environment()["PYTHONPATH"] == "/opt/a"
    monkeypatch.setenv("PYTHONPATH", ":.")
    assert "PYTHONPATH" not in own_environment()
