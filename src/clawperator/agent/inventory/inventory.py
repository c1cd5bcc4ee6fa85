"""Inventory of commands and tools, with their source and responsibility.

Commands are those of ``clawperator`` and ``claw``, the skills of the registry, and plugins. Names are unique,
and no skill or plugin can replace a name or an alias of a built-in command.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from clawperator._base.text import nearest, printable
from clawperator.agent.ports import Level, Tool
from clawperator.commands.claw import CLAW_COMMANDS
from clawperator.commands.model import Command
from clawperator.commands.registry import all_commands, command_names
from clawperator.errors import ClawError

# TYPE_CHECKING without importing typing at start-up; plugins are loaded only for a list of commands.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.agent.inventory.plugins import PluginScan

Kind = Literal["command", "tool"]

# Common names of apps: keywords of the commands that open apps.
APP_NAMES = (
    *("settings", "youtube", "solar", "solax", "browser", "chrome", "contacts", "notes", "camera", "gallery"),
    *("calculator", "calendar", "clock", "gmail", "maps", "messages", "spotify", "whatsapp"),
)
_SKILL_LEVEL: Level = "act"
_LONGEST_SHOWN = 200
_LONGEST_GUESSED = 64


class InventoryEntry(Struct, frozen=True):
    """One command or tool. ``source_hint`` is the module that handles it, ``responsibility`` its purpose.

    ``keywords`` are further words for routing. ``level`` is the highest level it may need; without some flags a
    command may need less. ``argv`` is its command line without arguments.
    """

    kind: Kind
    name: str
    source_hint: str
    responsibility: str
    family: str = "builtin"  # of commands: builtin, skill or plugin; of tools: their own family
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    level: Level = "full"
    argv: tuple[str, ...] = ()


class Inventory(Struct, frozen=True):
    """Entries of one kind, and warnings for those that were left out."""

    kind: Kind
    entries: tuple[InventoryEntry, ...]
    warnings: tuple[str, ...] = ()

    def find(self, name: str) -> InventoryEntry:
        """Find an entry by name or alias, case-insensitive; ``COMMAND_NOT_FOUND`` or ``TOOL_NOT_FOUND``."""
        wanted = _key(name)
        for entry in self.entries:
            if _key(entry.name) == wanted:
                return entry
        for entry in self.entries:
            if any(_key(alias) == wanted for alias in entry.aliases):
                return entry
        raise self._not_found(name.strip())

    def _not_found(self, name: str) -> ClawError:
        known = [text for e in self.entries for text in (e.name, *e.aliases)]
        distance = max(2, len(name) // 3)
        close = (text for text in known if abs(len(text) - len(name)) <= distance)
        near = nearest(name.casefold(), close, distance) if len(name) <= _LONGEST_GUESSED else None
        shown = name[:_LONGEST_SHOWN]
        quoted = f'"{near}"' if near and " " in near else near
        return ClawError(
            "COMMAND_NOT_FOUND" if self.kind == "command" else "TOOL_NOT_FOUND",
            f"unknown {self.kind} {shown!r}" + (f"; did you mean {near!r}?" if near else ""),
            hint=f"Run 'claw show-{self.kind} {quoted}'." if near else None,
            extra={"suggestion": near} if near else None,
            operation=f"find_{self.kind}",
            target=shown,
        )


class CommandGraph(Struct, frozen=True):
    """Commands grouped by origin."""

    builtins: tuple[InventoryEntry, ...]
    plugin_like: tuple[InventoryEntry, ...]
    skill_like: tuple[InventoryEntry, ...]

    @property
    def total(self) -> int:
        return len(self.builtins) + len(self.plugin_like) + len(self.skill_like)


def command_inventory(registry: str | None = None, *, plugins: "PluginScan | None" = None) -> Inventory:
    """All commands. A broken registry, skill or plugin becomes a warning.

    ``registry`` is the skills registry, as for ``open_registry``; ``plugins`` avoids discovering them again.
    """
    if plugins is None:
        from clawperator.agent.inventory.plugins import discover_plugins

        plugins = discover_plugins()
    entries = list(builtin_commands())
    taken = {_key(name): entry for entry in entries for name in (entry.name, *entry.aliases)}
    warnings = [*plugins.warnings]
    for entry in (*_skills(registry, warnings), *_plugins(plugins)):
        other = taken.setdefault(_key(entry.name), entry)
        if other is entry:
            entries.append(entry)
        else:
            warnings.append(f"{entry.family} {entry.name!r} ignored: the name is taken by {other.source_hint}")
    return Inventory("command", tuple(entries), tuple(warnings))


def tool_inventory(rows: Sequence[Tool]) -> Inventory:
    """The inventory of these tools. Of two with the same name the first is used."""
    entries: dict[str, InventoryEntry] = {}
    warnings = []
    for row in rows:
        if _key(row.name) in entries:
            warnings.append(f"tool {row.name!r} of {row.source_hint} ignored: duplicate name")
            continue
        entries[_key(row.name)] = InventoryEntry(
            "tool",
            row.name,
            row.source_hint,
            row.responsibility,
            row.family,
            row.aliases,
            APP_NAMES if row.takes_app_name else (),
            row.level,
        )
    return Inventory("tool", tuple(entries.values()), tuple(warnings))


def group_by_origin(inventory: Inventory) -> CommandGraph:
    """Group the commands of an inventory by origin."""

    def of(*families: str) -> tuple[InventoryEntry, ...]:
        return tuple(entry for entry in inventory.entries if entry.family in families)

    return CommandGraph(of("builtin"), of("plugin"), of("skill"))


def builtin_commands() -> Iterator[InventoryEntry]:
    """The built-in commands."""
    for command in all_commands():
        if not command.subcommands:
            yield _builtin("clawperator", command.name, command, command_names(command.name))
        for verb in command.subcommands:
            path = f"{command.name} {verb.name}"
            yield _builtin("clawperator", path, verb, command_names(path))
    for command in CLAW_COMMANDS:
        if command.for_users:
            continue
        yield _builtin("claw", command.name, command, command.synonyms)


def _builtin(
    program: Literal["clawperator", "claw"], canonical: str, command: Command, aliases: Iterable[str]
) -> InventoryEntry:
    name = canonical.replace(" ", "-")
    return InventoryEntry(
        "command",
        name,
        command.module.replace(".", "/") + ".py",
        command.summary,
        aliases=tuple(alias for alias in aliases if alias != name),
        keywords=APP_NAMES if command.takes_app_name else (),
        level=command.highest_level,
        argv=(program, *canonical.split()),
    )


def _skills(registry: str | None, warnings: list[str]) -> Iterator[InventoryEntry]:
    from clawperator.skills.registry import open_registry

    try:
        opened = open_registry(registry)
    except ClawError as e:
        warnings.append(f"skills ignored: {e.message}")
        return
    rows = opened.entries
    warnings += opened.warnings
    for place, row in enumerate(rows):
        try:
            yield _skill(row)
        except ClawError as e:
            warnings.append(f"skills[{place}] ignored: {e.message}")


def _skill(row: Mapping[str, Any]) -> InventoryEntry:
    from clawperator.skills.registry import parse_entry

    skill = parse_entry(row)
    if not skill.id.isprintable() or skill.id.split() != [skill.id]:
        raise ClawError(
            "SKILL_ID_INVALID", f"invalid id {printable(skill.id)[:_LONGEST_SHOWN]!r}", target=skill.id
        )
    keywords = skill.keywords if isinstance(skill.keywords, list) else []
    return InventoryEntry(
        "command",
        skill.id,
        printable(skill.skillFile),
        printable(skill.summary),
        "skill",
        keywords=(*keywords, skill.applicationId, skill.intent),
        level=_SKILL_LEVEL,
        argv=("clawperator", "skills", "run", skill.id),
    )


def _plugins(scan: "PluginScan") -> Iterator[InventoryEntry]:
    for plugin in scan.plugins:
        yield InventoryEntry(
            "command", plugin.name, plugin.source_hint, plugin.responsibility, "plugin", level=plugin.level
        )


def _key(name: str) -> str:
    """Names are compared without case and extra spaces."""
    return " ".join(name.split()).casefold()
