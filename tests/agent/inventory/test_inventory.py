"""The inventory: every entry is unique, names its source, and a broken one is a warning."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import clawperator
from clawperator.agent.inventory.inventory import (
    Inventory,
    InventoryEntry,
    Plugin,
    PluginScan,
    command_inventory,
    tool_inventory,
)
from clawperator.agent.ports import Tool, ToolResult
from clawperator.agent.turns.events import STAGES
from clawperator.contract.commands import leaves
from clawperator.contract.fields import Level
from clawperator.errors import ClawError
from clawperator.operations.claw import FOR_USERS, claw_commands
from clawperator.skills.registry import shipped_registry

SOURCE = Path(clawperator.__file__).parent.parent
BUILTIN = command_inventory("shipped", plugins=PluginScan())


def tool(name: str, *aliases: str, family: str = "action", level: Level = "act") -> Tool:
    return Tool(
        name=name,
        responsibility=f"Does {name}.",
        source_hint=f"somewhere/{name}.py",
        level=level,
        schema=dict,
        run=lambda _params, _context: ToolResult(handled=True, message=""),
        aliases=aliases,
        family=family,
    )


# What is in it.


def test_every_command_is_listed_once() -> None:
    names = [entry.name for entry in BUILTIN.entries]
    assert len(set(names)) == len(names)
    assert BUILTIN.warnings == ()
    expected = {name.replace(" ", "-") for name, _ in leaves()} | {
        command.name for command in claw_commands() if command.name not in FOR_USERS
    }
    assert {entry.name for entry in BUILTIN.entries if entry.family == "builtin"} == expected
    assert sum(entry.family == "skill" for entry in BUILTIN.entries) == 4
    assert all(entry.kind == "command" for entry in BUILTIN.entries)


def test_every_entry_has_a_source_and_a_responsibility() -> None:
    root = Path(shipped_registry()).parent.parent
    for entry in BUILTIN.entries:
        assert entry.responsibility
        assert ((root if entry.family == "skill" else SOURCE) / entry.source_hint).is_file(), entry


def test_subcommands_are_named_with_a_dash_and_aliased_with_a_space() -> None:
    entry = BUILTIN.find("recording-parse")
    assert entry.aliases == ("recording parse", "record parse", "record-parse")
    assert entry.argv == ("clawperator", "recording", "parse")
    assert BUILTIN.find("operator install").name == "operator-setup"
    assert BUILTIN.find("route").argv == ("claw", "route")


def test_a_skill_has_keywords_for_routing() -> None:
    entry = BUILTIN.find("com.google.android.youtube.search")
    assert entry.source_hint == "skills/com.google.android.youtube.search/SKILL.md"
    assert entry.keywords == ("youtube", "video", "search", "com.google.android.youtube", "search")
    assert entry.responsibility == "Search YouTube for a text and return the titles found."
    assert (entry.family, entry.level) == ("skill", "act")
    assert entry.argv == ("clawperator", "skills", "run", entry.name)


def test_commands_are_grouped_by_origin() -> None:
    plugin = Plugin("greet", "greeting", "greeting.plugin:greet", "Greet.", lambda _p, _c: "hello", "read-only")
    inventory = command_inventory("shipped", plugins=PluginScan((plugin,), ("a warning",)))
    (found,) = inventory.of("plugin")
    assert (found.source_hint, found.level) == ("plugins/greeting/greeting.plugin:greet", "read-only")
    assert len(inventory.of("skill")) == 4
    assert len(inventory.entries) == len(inventory.of("builtin")) + 5
    assert inventory.warnings == ("a warning",)


# What is broken.


def registry(path: Path, *entries: Any) -> str:
    path.mkdir(exist_ok=True)
    (path / "skills-registry.json").write_bytes(msgspec.json.encode({"skills": entries}))
    return str(path / "skills-registry.json")


def skill(skill_id: str, **more: Any) -> dict[str, Any]:
    where = f"skills/{skill_id}"
    fields = {"id": skill_id, "applicationId": "com.a", "intent": "b", "summary": "Does.", "path": where}
    return {**fields, "skillFile": f"{where}/SKILL.md", "scripts": [], "artifacts": [], **more}


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"skills": 3}', '{"skills": [3]}', "[" * 100_000])
def test_a_broken_registry_is_a_warning(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "skills-registry.json"
    if text is not None:
        path.write_text(text)
    inventory = command_inventory(str(path), plugins=PluginScan())
    assert inventory.of("skill") == ()
    assert len(inventory.of("builtin")) == len(BUILTIN.of("builtin"))
    (warning,) = inventory.warnings
    assert warning.startswith("skills ignored: cannot read the skills registry")


def test_a_broken_variable_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", " ")
    assert len(command_inventory(plugins=PluginScan()).warnings) == 1


def test_a_broken_skill_is_a_warning_and_its_siblings_are_kept(tmp_path: Path) -> None:
    path = registry(
        tmp_path / "skills",
        {"id": "com.a.lacking"},
        skill("com.a.sound"),
        skill("com.a.mistyped", keywords="battery"),
        {},
        skill("two words"),
        skill("line\nend"),
        skill(""),
    )
    inventory = command_inventory(path, plugins=PluginScan())
    assert [entry.name for entry in inventory.of("skill")] == ["com.a.sound"]
    assert len(inventory.warnings) == 6
    assert inventory.warnings[0].startswith("skills[0] ignored: skill 'com.a.lacking' has no applicationId")
    assert all(line.isprintable() for line in inventory.warnings)


def test_skills_and_plugins_cannot_take_names_of_the_product(tmp_path: Path) -> None:
    path = registry(tmp_path / "skills", skill("TAP"), skill("com.a.b"), skill("com.a.b"), skill("doctor"))
    plugins = tuple(Plugin(n, "d", "m:f", "", lambda _p, _c: "") for n in ("Route", "com.a.b", "mine"))
    inventory = command_inventory(path, plugins=PluginScan(plugins))
    more = [entry.name for entry in inventory.entries if entry.family != "builtin"]
    assert more == ["com.a.b", "mine"]
    assert len(inventory.warnings) == 5
    assert inventory.find("tap").name == "click"
    assert "skill 'TAP' ignored: the name is taken by clawperator/operations/actions.py" in inventory.warnings


# Finding.


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("click", "click"),
        ("CLICK", "click"),
        ("  tap\n", "click"),
        ("recording  parse", "recording-parse"),
        ("Record-Parse", "recording-parse"),
        ("list-sessions", "list-sessions"),
        ("COM.android.settings.overview", "com.android.settings.overview"),
        ("open", "open"),
        ("setup", "setup"),
    ],
)
def test_commands_are_found_by_name_or_alias_case_insensitively(given: str, name: str) -> None:
    assert BUILTIN.find(given).name == name


def test_names_take_precedence_over_aliases() -> None:
    rows = (InventoryEntry("command", "a", "x", "", aliases=("b",)), InventoryEntry("command", "b", "y", ""))
    assert Inventory("command", rows).find("b").source_hint == "y"


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("clik", "click"),
        ("recording-prase", "recording-parse"),
        ("shw-tool", "show-tool"),
        ("quite another thing", None),
    ],
)
def test_an_unknown_command_suggests_the_closest_name(given: str, near: str | None) -> None:
    with pytest.raises(ClawError) as e:
        BUILTIN.find(given)
    assert (e.value.code, e.value.operation, e.value.target) == ("COMMAND_NOT_FOUND", "find_command", given)
    assert e.value.extra.get("suggestion") == near
    expected = (
        f"Run 'claw show-command {near}'."
        if near
        else "Run 'claw command-graph --output-format json' to list commands."
    )
    assert e.value.hint == expected


@pytest.mark.parametrize("given", ["", " ", "x" * 1_000_000, "\x00", "\ud800", "a b c d"])
def test_a_hostile_name_is_not_found_and_shortened(given: str) -> None:
    with pytest.raises(ClawError) as e:
        BUILTIN.find(given)
    assert e.value.code == "COMMAND_NOT_FOUND"
    assert len(e.value.message) < 1_000
    assert len(e.value.target) <= 200


def test_the_default_inventory_contains_everything() -> None:
    assert command_inventory().find("com.android.settings.overview").family == "skill"


def test_the_first_tool_of_a_name_is_used() -> None:
    rows = [
        tool("click", "tap"),
        tool("open_app"),
        tool("mcp__s__look", family="mcp", level="read-only"),
        tool("Click"),
    ]
    inventory = tool_inventory(rows)
    assert [entry.name for entry in inventory.entries] == ["click", "open_app", "mcp__s__look"]
    assert len(inventory.warnings) == 1
    entry = inventory.find(" TAP ")
    assert (entry.kind, entry.name, entry.source_hint, entry.responsibility) == (
        "tool",
        "click",
        "somewhere/click.py",
        "Does click.",
    )
    assert (inventory.find("mcp__s__look").family, inventory.find("mcp__s__look").level) == ("mcp", "read-only")
    assert tool_inventory(rows).find("click") == entry
    with pytest.raises(ClawError) as e:
        tool_inventory(rows).find("clikc")
    assert e.value.code == "TOOL_NOT_FOUND"
    assert e.value.hint == "Run 'claw show-tool click'."


def test_an_entry_has_the_most_its_command_may_need() -> None:
    assert BUILTIN.find("doctor").level == "full"
    assert BUILTIN.find("exec-tool").level == "full"
    assert BUILTIN.find("click").level == "act"
    assert BUILTIN.find("phone-reset").level == "full"


# The stages of bootstrap.


def test_the_stages_are_in_order() -> None:
    names = "settings inventory policy session phone brain route turn commit"
    assert " ".join(stage.id for stage in STAGES) == names
    assert [stage.order for stage in STAGES] == list(range(1, 10))
    assert all(stage.label and stage.description.endswith(".") for stage in STAGES)
    assert list(msgspec.to_builtins(STAGES[0])) == ["id", "label", "description", "order"]
