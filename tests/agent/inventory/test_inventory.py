"""The inventory: everything is in it once, says truly where it comes from, and what is broken is a warning."""

import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import clawperator
from clawperator.agent import ports
from clawperator.agent.inventory.inventory import Inventory, InventoryEntry, commands, graph, tools
from clawperator.agent.inventory.plugins import Plugin, PluginScan
from clawperator.agent.ports import Tool, ToolResult
from clawperator.agent.turns.events import STAGES
from clawperator.commands.actions import COMMANDS
from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.handlers import claw_module_of, module_of
from clawperator.commands.levels import LEVEL_OF, RAISING, Level, Program, command_level
from clawperator.commands.model import Command
from clawperator.errors import ClawError
from clawperator.skills.registry import shipped_registry

SOURCE = Path(clawperator.__file__).parent.parent
BUILTIN = commands("shipped", plugins=PluginScan())


def leaves() -> dict[str, Command]:
    """The commands of ``clawperator`` by their canonical names."""
    out = {}
    for command in COMMANDS:
        for verb in command.subcommands:
            out[f"{command.name} {verb.name}"] = verb
        if not command.subcommands:
            out[command.name] = command
    return out


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
    expected = {name.replace(" ", "-") for name in leaves()} | {command.name for command in CLAW_COMMANDS}
    assert {entry.name for entry in BUILTIN.entries if entry.family == "builtin"} == expected
    assert sum(entry.family == "skill" for entry in BUILTIN.entries) == 4
    assert all(entry.kind == "command" for entry in BUILTIN.entries)


def test_every_entry_has_a_source_and_a_responsibility() -> None:
    root = Path(shipped_registry()).parent.parent
    for entry in BUILTIN.entries:
        assert entry.responsibility
        assert ((root if entry.family == "skill" else SOURCE) / entry.source_hint).is_file(), entry


def test_the_source_of_an_entry_handles_it() -> None:
    for name in leaves():
        module = import_module(module_of(name))
        assert callable(module.help_text if name == "help" else module.answer)
    for command in CLAW_COMMANDS:
        assert callable(import_module(claw_module_of(command.name)).answer)


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


def test_the_graph_groups_commands_by_origin() -> None:
    plugin = Plugin("greet", "greeting", "greeting.plugin:greet", "Greet.", lambda _p, _c: "hello", "read-only")
    inventory = commands("shipped", plugins=PluginScan((plugin,), ("a warning",)))
    found = graph(inventory)
    assert [entry.source_hint for entry in found.plugin_like] == ["plugins/greeting/greeting.plugin:greet"]
    assert found.plugin_like[0].level == "read-only"
    assert len(found.skill_like) == 4
    assert found.total == len(inventory.entries) == len(found.builtins) + 5
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
    inventory = commands(str(path), plugins=PluginScan())
    assert graph(inventory).skill_like == ()
    assert len(graph(inventory).builtins) == len(graph(BUILTIN).builtins)
    (warning,) = inventory.warnings
    assert warning.startswith("skills ignored: cannot read the skills registry")


def test_a_broken_variable_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_SKILLS_REGISTRY", " ")
    assert len(commands(plugins=PluginScan()).warnings) == 1


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
    inventory = commands(path, plugins=PluginScan())
    assert [entry.name for entry in graph(inventory).skill_like] == ["com.a.sound"]
    assert len(inventory.warnings) == 6
    assert inventory.warnings[0].startswith("skills[0] ignored: skill 'com.a.lacking' has no applicationId")
    assert all(line.isprintable() for line in inventory.warnings)


def test_skills_and_plugins_cannot_take_names_of_the_product(tmp_path: Path) -> None:
    path = registry(tmp_path / "skills", skill("TAP"), skill("com.a.b"), skill("com.a.b"), skill("doctor"))
    plugins = tuple(Plugin(n, "d", "m:f", "", lambda _p, _c: "") for n in ("Route", "com.a.b", "mine"))
    inventory = commands(path, plugins=PluginScan(plugins))
    more = [entry.name for entry in inventory.entries if entry.family != "builtin"]
    assert more == ["com.a.b", "mine"]
    assert len(inventory.warnings) == 5
    assert inventory.find("tap").name == "click"
    assert "skill 'TAP' ignored: the name is taken by clawperator/cli/handlers/actions.py" in inventory.warnings


# Finding.


@pytest.mark.parametrize(
    ("said", "name"),
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
def test_commands_are_found_by_name_or_alias_case_insensitively(said: str, name: str) -> None:
    assert BUILTIN.find(said).name == name


def test_names_take_precedence_over_aliases() -> None:
    rows = (InventoryEntry("command", "a", "x", "", aliases=("b",)), InventoryEntry("command", "b", "y", ""))
    assert Inventory("command", rows).find("b").source_hint == "y"


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ("clik", "click"),
        ("recording-prase", "recording-parse"),
        ("shw-tool", "show-tool"),
        ("quite another thing", None),
    ],
)
def test_an_unknown_command_suggests_the_closest_name(said: str, near: str | None) -> None:
    with pytest.raises(ClawError) as e:
        BUILTIN.find(said)
    assert (e.value.code, e.value.operation, e.value.target) == ("COMMAND_NOT_FOUND", "find_command", said)
    assert e.value.extra.get("suggestion") == near
    expected = (
        f"Run 'claw show-command {near}'."
        if near
        else "Run 'claw command-graph --output-format json' to list commands."
    )
    assert e.value.hint == expected


@pytest.mark.parametrize("said", ["", " ", "x" * 1_000_000, "\x00", "\ud800", "a b c d"])
def test_a_hostile_name_is_not_found_and_shortened(said: str) -> None:
    with pytest.raises(ClawError) as e:
        BUILTIN.find(said)
    assert e.value.code == "COMMAND_NOT_FOUND"
    assert len(e.value.message) < 1_000
    assert len(e.value.target) <= 200


def test_the_default_inventory_contains_everything() -> None:
    assert commands().find("com.android.settings.overview").family == "skill"


def test_the_first_tool_of_a_name_is_used() -> None:
    rows = [
        tool("click", "tap"),
        tool("open_app"),
        tool("mcp__s__look", family="mcp", level="read-only"),
        tool("Click"),
    ]
    inventory = tools(rows)
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
    assert tools(rows).find("click") == entry
    with pytest.raises(ClawError) as e:
        tools(rows).find("clikc")
    assert e.value.code == "TOOL_NOT_FOUND"
    assert e.value.hint == "Run 'claw show-tool click'."


# Levels.


def test_every_command_has_a_level_and_every_level_a_command() -> None:
    assert set(LEVEL_OF["clawperator"]) == set(leaves())
    assert set(LEVEL_OF["claw"]) == {command.name for command in CLAW_COMMANDS}
    assert get_args(Level) == get_args(ports.Level) == ports.LEVELS


def test_destructive_commands_require_the_full_level() -> None:
    words = ("reset", "delete", "install", "provision", "update", "sync", "grant")
    for program, levels in LEVEL_OF.items():
        for name, level in levels.items():
            if any(word in name for word in words):
                assert level == "full", f"{program} {name}"


def test_flags_that_raise_the_level_exist() -> None:
    known = {
        "clawperator": leaves(),
        "claw": {command.name: command for command in CLAW_COMMANDS},
    }
    for program, raising in RAISING.items():
        for name, flags in raising.items():
            assert set(flags) <= {flag.name for flag in known[program][name].flags}


@pytest.mark.parametrize(
    ("program", "name", "flags", "level"),
    [
        ("clawperator", "doctor", (), "read-only"),
        ("clawperator", "doctor", ("--check-only",), "read-only"),
        ("clawperator", "doctor", ("--check-only", "--fix"), "full"),
        ("clawperator", "doctor", None, "full"),
        ("clawperator", "click", None, "act"),
        ("clawperator", "snapshot", None, "read-only"),
        ("claw", "exec-tool", (), "act"),
        ("claw", "exec-tool", ("--permission-mode",), "full"),
        ("claw", "delete-session", (), "full"),
        ("clawperator", "not sorted yet", (), "full"),
    ],
)
def test_flags_raise_the_level_of_a_command(
    program: Program, name: str, flags: tuple[str, ...] | None, level: Level
) -> None:
    assert command_level(program, name, flags) == level


def test_an_entry_has_the_highest_level_of_its_command() -> None:
    assert BUILTIN.find("doctor").level == "full"
    assert BUILTIN.find("exec-tool").level == "full"
    assert BUILTIN.find("click").level == "act"
    assert BUILTIN.find("phone-reset").level == "full"


# The table of claw's commands.

VERBS = {
    *("list-sessions", "delete-session", "load-session", "flush-transcript", "show-command", "show-tool"),
    *(
        "exec-command",
        "exec-tool",
        "route",
        "bootstrap",
        "command-graph",
        "tool-pool",
        "bootstrap-graph",
        "turn-loop",
    ),
}
ACTING = {
    *(
        "--device",
        "--operator-package",
        "--backend",
        "--permission-mode",
        "--allow-tool",
        "--deny-tool",
        "--deny-prefix",
    ),
    *("--ask-tool", "--timeout-seconds"),
}
SESSION = {"--directory", "--session-id", "--resume"}
THINKING = {
    *("--limit", "--brain", "--model", "--events", "--heartbeat-seconds", "--max-budget-tokens", "--max-steps"),
    *("--max-session-turns", "--strict"),
    "--no-mcp",
}
OWN_FLAGS = {
    "list-sessions": {"--directory"},
    "load-session": {"--directory"},
    "delete-session": {"--directory"},
    "flush-transcript": SESSION,
    "exec-command": ACTING,
    "exec-tool": ACTING,
    "route": {"--limit"},
    "tool-pool": {"--simple-mode", "--no-mcp", "--deny-tool", "--deny-prefix"},
    "bootstrap": THINKING | ACTING | SESSION,
    "turn-loop": THINKING | ACTING | SESSION | {"--max-turns", "--continuation-prompt", "--structured-output"},
}


def test_claw_has_its_fourteen_commands_with_their_flags() -> None:
    assert {command.name for command in CLAW_COMMANDS} == VERBS
    assert len(CLAW_COMMANDS) == 14
    for command in CLAW_COMMANDS:
        flags = [flag.name for flag in command.flags]
        assert len(set(flags)) == len(flags)
        assert set(flags) == {"--output-format", *OWN_FLAGS.get(command.name, ())}
        assert command.summary.endswith(".")
        assert len(command.examples) == 2
    assert [(f.name, f.aliases) for f in CLAW_GLOBALS] == [
        ("--output-format", ()),
        ("--help", ("-h",)),
        ("--version", ("-V",)),
    ]


def test_repeatable_flags_are_marked() -> None:
    repeated = {flag.name for command in CLAW_COMMANDS for flag in command.flags if flag.repeats}
    assert repeated == {"--allow-tool", "--deny-tool", "--deny-prefix", "--ask-tool"}


def test_the_examples_of_claw_parse() -> None:
    from clawperator.cli.claw.parsing import read

    for command in CLAW_COMMANDS:
        for example in command.examples:
            words = shlex.split(example.rpartition("| ")[2])
            assert words[0] == "claw"
            assert read(words[1:]).command == command


def test_the_claw_table_imports_nothing_else() -> None:
    script = (
        "import sys, msgspec; before = set(sys.modules); import clawperator.commands.claw;"
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    package = "clawperator.commands"
    loaded = ["clawperator", "clawperator._lazy", package, f"{package}.claw", f"{package}.model"]
    assert ran.stdout.split() == loaded


# The stages of bootstrap.


def test_the_stages_are_in_order() -> None:
    names = "settings inventory policy session phone brain route turn commit"
    assert " ".join(stage.id for stage in STAGES) == names
    assert [stage.order for stage in STAGES] == list(range(1, 10))
    assert all(stage.label and stage.description.endswith(".") for stage in STAGES)
    assert list(msgspec.to_builtins(STAGES[0])) == ["id", "label", "description", "order"]
