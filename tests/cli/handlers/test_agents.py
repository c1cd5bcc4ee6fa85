"""Instructions for agents, and the tool schemas for function calling."""

import os
import re
import stat
from pathlib import Path
from typing import get_args

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.instructions import (
    BEGIN,
    END,
    MOST_BYTES,
    agent_instructions,
    merge_section,
    section,
)
from clawperator.agent.model_tools import compact_tools
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.contract.commands import find_by_path, leaves
from clawperator.operations.servers import InstructionFormat
from tests.support.running import clawperator

pytestmark = pytest.mark.usefixtures("folder")


@pytest.mark.parametrize("form", get_args(InstructionFormat))
def test_the_instructions_are_short(form: InstructionFormat) -> None:
    assert len(agent_instructions(form).encode()) <= MOST_BYTES == 3_600


def test_the_instructions_are_printed_as_text_or_as_json() -> None:
    text = agent_instructions("agents")
    assert clawperator("agents", "init").out.decode() == text
    assert clawperator("agents", "init", "--json").json == {"format": "agents", "text": text}


def test_a_skill_has_a_head_with_name_and_description() -> None:
    lines = clawperator("agents", "init", "--form", "skill").out.decode().splitlines()
    assert lines[0] == "---"
    assert lines[1] == "name: clawperator"
    assert lines[2].startswith("description: ")
    assert lines[3] == "---"


def test_every_command_of_the_instructions_exists() -> None:
    text = section()
    for words in re.findall(r"`clawperator ([a-z-]+(?: [a-z-]+)?)", text):
        path = words.split()
        assert find_by_path(path) or find_by_path(path[:1]), words
    known = dict(leaves())
    listed = re.findall(r"^- `([a-z]+(?:[- ][a-z-]+)*)", text, re.MULTILINE)
    assert len(listed) > 10
    assert set(listed) <= set(known)


def test_the_actions_of_the_instructions_are_valid() -> None:
    examples = re.findall(r"`clawperator ((?:open|snapshot|click) [^`]*)`", section())
    assert len(examples) == 3
    for words in examples:
        argv = words.replace("<package>", "com.android.settings").split()
        assert clawperator(*argv, "--dry-run").json["ok"] is True, words


def test_commands_and_summaries_come_from_the_registry() -> None:
    text = section()
    known = dict(leaves())
    for name in ("snapshot", "click", "type", "open", "wait"):
        assert known[name].summary in text


def test_a_file_is_created_then_left_unchanged() -> None:
    first = clawperator("agents", "init", "--write", "AGENTS.md")
    assert (first.code, first.json["status"]) == (0, "created")
    assert Path("AGENTS.md").read_text() == agent_instructions("agents")
    assert clawperator("agents", "init", "--write", "AGENTS.md").json["status"] == "unchanged"


def test_a_section_is_appended_to_other_text_and_replaced_alone() -> None:
    Path("AGENTS.md").write_text("# Mine\n\nKeep this.")
    os.chmod("AGENTS.md", 0o640)
    assert clawperator("agents", "init", "--write", "AGENTS.md").json["status"] == "updated"
    written = Path("AGENTS.md").read_text()
    assert written.startswith("# Mine\n\nKeep this.\n\n" + BEGIN)
    assert stat.S_IMODE(os.stat("AGENTS.md").st_mode) == 0o640
    start, end = written.index(BEGIN), written.index(END)
    Path("AGENTS.md").write_text(f"{written[:start]}{BEGIN}\nold\n{written[end:]}\nAfter.\n")
    assert clawperator("agents", "init", "--write", "AGENTS.md").json["status"] == "updated"
    assert Path("AGENTS.md").read_text() == f"# Mine\n\nKeep this.\n\n{section()}\nAfter.\n"


WITHOUT_MARKERS = st.text(max_size=60).filter(lambda text: BEGIN not in text and END not in text)


@given(WITHOUT_MARKERS, WITHOUT_MARKERS, st.sampled_from(get_args(InstructionFormat)))
def test_text_around_the_section_is_never_changed(before: str, after: str, form: InstructionFormat) -> None:
    merged = merge_section(before, form)
    assert merged.startswith(before) or not before.strip()
    assert merge_section(merged, form) == merged
    old = f"{before}{BEGIN}old{END}{after}"
    assert merge_section(old, form) == before + section().removesuffix("\n") + after


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_file_with_broken_markers_is_refused_and_left_as_it_is(text: str) -> None:
    Path("AGENTS.md").write_text(text)
    ran = clawperator("agents", "init", "--write", "AGENTS.md")
    assert ran.json["code"] == "USAGE"
    assert "AGENTS.md" in ran.json["message"]
    assert Path("AGENTS.md").read_text() == text


def test_a_file_that_cannot_be_used_is_reported() -> None:
    Path("folder").mkdir()
    ran = clawperator("agents", "init", "--write", "folder")
    assert (ran.code, ran.json["code"]) == (1, "FILESYSTEM_FAILED")
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    assert clawperator("agents", "init", "--write", "bytes").json["code"] == "USAGE"
    assert Path("bytes").read_bytes() == b"\xff\xfe\x00"
    assert clawperator("agents", "init", "--form", "poem").json["code"] == "USAGE"


def test_tool_schemas_are_printed_in_both_forms() -> None:
    both = clawperator("schema", "tools").json
    assert list(both) == ["openai", "anthropic"]
    names = [made.name for made in compact_tools(builtin_tools())]
    assert [entry["function"]["name"] for entry in both["openai"]] == names
    assert [entry["name"] for entry in both["anthropic"]] == names
    for entry, other in zip(both["openai"], both["anthropic"], strict=True):
        assert entry["type"] == "function"
        assert entry["function"]["description"] == other["description"]
        assert entry["function"]["parameters"] == other["input_schema"]
        jsonschema.Draft202012Validator.check_schema(other["input_schema"])


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_one_form_is_what_a_request_contains(form: str) -> None:
    assert clawperator("schema", "tools", "--form", form).json == {
        "tools": clawperator("schema", "tools").json[form]
    }


def test_all_tools_are_printed_on_request() -> None:
    every = clawperator("schema", "tools", "--all", "--form", "anthropic").json["tools"]
    assert [entry["name"] for entry in every] == [tool.name for tool in builtin_tools()]


@pytest.mark.parametrize(
    "words", [("tools", "--form", "xml"), ("execution", "--all"), ("--form", "openai"), ("tools", "extra")]
)
def test_options_that_do_not_fit_are_refused(words: tuple[str, ...]) -> None:
    assert clawperator("schema", *words).json["code"] == "USAGE"


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("# Rules\n")
    (folder / "CLAUDE.md").symlink_to("AGENTS.md")
    assert clawperator("agents", "init", "--write", "CLAUDE.md").code == 0
    assert section() in (folder / "AGENTS.md").read_text()
    assert (folder / "CLAUDE.md").is_symlink()


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_out_of_the_folder_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, *, exists: bool
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    if exists:
        (outside / "file").write_text("mine\n")
    (folder / "AGENTS.md").symlink_to(outside / "file")
    (folder / "docs").symlink_to(outside)
    for path in ("AGENTS.md", "docs/file", str(folder / "AGENTS.md")):
        ran = clawperator("agents", "init", "--write", path)
        assert ran.code == 1
        assert ran.json["code"] == "FILESYSTEM_FAILED"
        assert "outside the working folder" in ran.json["message"]
    assert [path.read_text() for path in outside.iterdir()] == (["mine\n"] if exists else [])


def test_a_named_file_outside_the_folder_may_be_a_link(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "dotfiles").mkdir()
    (home / "CLAUDE.md").symlink_to("dotfiles/claude.md")
    assert clawperator("agents", "init", "--write", str(home / "CLAUDE.md")).code == 0
    assert section() in (home / "dotfiles" / "claude.md").read_text()
