"""What there is: every command and every tool, where it comes from and what it is for.

Commands are the verbs of ``clawperator`` and ``claw``, the skills of the registry, and plugins. Tools come as
rows. A name stands once, and no skill or plugin can take over a name or an alias of what comes with the product.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from clawperator._text import nearest, printable
from clawperator.agent.inventory.tokens import APP_NAMES
from clawperator.agent.ports import Level, Tool
from clawperator.commands.actions import COMMANDS
from clawperator.commands.claw import CLAW_COMMANDS
from clawperator.commands.handlers import claw_module_of, module_of
from clawperator.commands.levels import command_level
from clawperator.commands.model import Command
from clawperator.errors import ClawError

# TYPE_CHECKING of typing, without its price: plugins are looked for only when somebody asks for commands.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.agent.inventory.plugins import PluginScan

Kind = Literal["command", "tool"]

_SKILL_LEVEL: Level = "act"
_OPENERS = frozenset(("open", "open_app"))
_LONGEST_TOLD = 200
_LONGEST_GUESSED = 64


class InventoryEntry(Struct, frozen=True):
    """One command or tool. ``source_hint`` points at what answers it, ``responsibility`` says what it is for.

    ``keywords`` are words that lead to it. ``level`` is the most it may ever need: a command may need less without
    certain flags, which ``contract.levels`` knows. ``argv`` is how a shell would call it, without its arguments.
    """

    kind: Kind
    name: str
    source_hint: str
    responsibility: str
    family: str = "builtin"  # of commands: builtin, skill or plugin; of tools: that of their row
    aliases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    level: Level = "full"
    argv: tuple[str, ...] = ()


class Inventory(Struct, frozen=True):
    """Entries of one kind, and what is wrong with those that had to be left out."""

    kind: Kind
    entries: tuple[InventoryEntry, ...]
    warnings: tuple[str, ...] = ()

    def find(self, name: str) -> InventoryEntry:
        """The entry of that name or alias, in any case. Otherwise ``COMMAND_NOT_FOUND`` or ``TOOL_NOT_FOUND``."""
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
        most = max(2, len(name) // 3)
        close = (text for text in known if abs(len(text) - len(name)) <= most)
        near = nearest(name.casefold(), close, most) if len(name) <= _LONGEST_GUESSED else None
        told = name[:_LONGEST_TOLD]
        shown = f'"{near}"' if near and " " in near else near
        return ClawError(
            "COMMAND_NOT_FOUND" if self.kind == "command" else "TOOL_NOT_FOUND",
            f"there is no {self.kind} {told!r}" + (f"; did you mean {near!r}?" if near else ""),
            hint=f"Run 'claw show-{self.kind} {shown}'." if near else None,
            extra={"suggestion": near} if near else None,
            operation=f"find_{self.kind}",
            target=told,
        )


class Graph(Struct, frozen=True):
    """The commands by their origin."""

    builtins: tuple[InventoryEntry, ...]
    plugin_like: tuple[InventoryEntry, ...]
    skill_like: tuple[InventoryEntry, ...]

    @property
    def total(self) -> int:
        return len(self.builtins) + len(self.plugin_like) + len(self.skill_like)


def commands(registry: str | None = None, *, found: "PluginScan | None" = None) -> Inventory:
    """Every command there is. A registry, a skill or a plugin that is broken is a warning.

    ``registry`` names the skills' registry, as for ``open_registry``; ``found`` are plugins known already.
    """
    if found is None:
        from clawperator.agent.inventory.plugins import discover

        found = discover()
    entries = list(builtin_commands())
    taken = {_key(name): entry for entry in entries for name in (entry.name, *entry.aliases)}
    warnings = [*found.warnings]
    for entry in (*_skills(registry, warnings), *_plugins(found)):
        other = taken.setdefault(_key(entry.name), entry)
        if other is entry:
            entries.append(entry)
        else:
            warnings.append(f"the {entry.family} {entry.name!r} is left out: {other.source_hint} has this name")
    return Inventory("command", tuple(entries), tuple(warnings))


def tools(rows: Sequence[Tool]) -> Inventory:
    """The tools of these rows. Of two with one name the first counts."""
    entries: dict[str, InventoryEntry] = {}
    warnings = []
    for row in rows:
        if _key(row.name) in entries:
            warnings.append(f"the tool {row.name!r} of {row.source_hint} is left out: there is one of this name")
            continue
        entries[_key(row.name)] = InventoryEntry(
            "tool",
            row.name,
            row.source_hint,
            row.responsibility,
            row.family,
            row.aliases,
            APP_NAMES if row.name in _OPENERS else (),
            row.level,
        )
    return Inventory("tool", tuple(entries.values()), tuple(warnings))


def graph(inventory: Inventory) -> Graph:
    """The commands of an inventory by their origin."""

    def of(*families: str) -> tuple[InventoryEntry, ...]:
        return tuple(entry for entry in inventory.entries if entry.family in families)

    return Graph(of("builtin"), of("plugin"), of("skill"))


def builtin_commands() -> Iterator[InventoryEntry]:
    """The commands that come with the product."""
    for command in COMMANDS:
        if not command.subcommands:
            yield _verb("clawperator", command.name, command, command.synonyms)
        for verb in command.subcommands:
            families, verbs = (command.name, *command.synonyms), (verb.name, *verb.synonyms)
            names = [(family, one) for family in families for one in verbs]
            aliases = [mark.join(pair) for pair in names for mark in (" ", "-")]
            yield _verb("clawperator", f"{command.name} {verb.name}", verb, aliases)
    for command in CLAW_COMMANDS:
        yield _verb("claw", command.name, command, command.synonyms)


def _verb(
    program: Literal["clawperator", "claw"], canonical: str, command: Command, aliases: Iterable[str]
) -> InventoryEntry:
    name = canonical.replace(" ", "-")
    module = module_of(canonical) if program == "clawperator" else claw_module_of(canonical)
    return InventoryEntry(
        "command",
        name,
        module.replace(".", "/") + ".py",
        command.summary,
        aliases=tuple(alias for alias in aliases if alias != name),
        keywords=APP_NAMES if name in _OPENERS else (),
        level=command_level(program, canonical),
        argv=(program, *canonical.split()),
    )


def _skills(registry: str | None, warnings: list[str]) -> Iterator[InventoryEntry]:
    from clawperator.skills.registry import open_registry

    try:
        rows = open_registry(registry).entries
    except ClawError as e:
        warnings.append(f"the skills are left out: {e.message}")
        return
    for place, row in enumerate(rows):
        try:
            yield _skill(row)
        except ClawError as e:
            warnings.append(f"skills[{place}] is left out: {e.message}")


def _skill(row: Mapping[str, Any]) -> InventoryEntry:
    from clawperator.skills.registry import parse_entry

    skill = parse_entry(row)
    if not skill.id.isprintable() or skill.id.split() != [skill.id]:
        raise ClawError("SKILL_ID_INVALID", f"{printable(skill.id)[:_LONGEST_TOLD]!r} is no id", target=skill.id)
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


def _plugins(found: "PluginScan") -> Iterator[InventoryEntry]:
    for plugin in found.plugins:
        yield InventoryEntry(
            "command", plugin.name, plugin.source_hint, plugin.responsibility, "plugin", level=plugin.level
        )


def _key(name: str) -> str:
    """By what names are the same."""
    return " ".join(name.split()).casefold()
