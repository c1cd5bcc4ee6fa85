"""Inventory of commands and tools, with their source and responsibility.

Commands are those of ``clawperator`` and ``claw``, the skills of the registry, and plugins. Names are unique,
and no skill or plugin can replace a name or an alias of a built-in command.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._base.environment import is_working_folder
from clawperator._base.files import open_regular
from clawperator._base.text import nearest, printable
from clawperator._base.trust import folder_trust
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.ports import Tool, ToolResult
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import Command, all_commands, command_names
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.operations.claw import FOR_USERS, claw_commands

Kind = Literal["command", "tool"]

# Common names of apps: keywords of the commands that open apps.
APP_NAMES = (
    *("settings", "youtube", "solar", "solax", "browser", "chrome", "contacts", "notes", "camera", "gallery"),
    *("calculator", "calendar", "clock", "gmail", "maps", "messages", "spotify", "whatsapp"),
)
# The tools of simple mode: read the screen, click and type.
SIMPLE_TOOLS = frozenset(name for name, row in ACTIONS.items() if row.in_simple_mode)
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
        wanted = _key(name if self.kind == "tool" else name.replace("_", "-"))
        for entry in self.entries:
            if _key(entry.name) == wanted:
                return entry
        for entry in self.entries:
            if any(_key(alias) in (wanted, _key(name)) for alias in entry.aliases):
                return entry
        raise self._not_found(name.strip())

    def of(self, family: str) -> tuple[InventoryEntry, ...]:
        """The entries of a family."""
        return tuple(entry for entry in self.entries if entry.family == family)

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


def command_inventory(registry: str | None = None, *, plugins: "PluginScan | None" = None) -> Inventory:
    """All commands. A broken registry, skill or plugin becomes a warning.

    ``registry`` is the skills registry, as for ``open_registry``; ``plugins`` avoids discovering them again.
    """
    if plugins is None:
        plugins = discover_plugins()
    entries = list(builtin_commands())
    taken = {_key(name): entry for entry in entries for name in (entry.name, *entry.aliases)}
    warnings = [*plugins.warnings]
    found = [
        InventoryEntry("command", one.name, one.source_hint, one.responsibility, "plugin", level=one.level)
        for one in plugins.plugins
    ]
    for entry in (*_skills(registry, warnings), *found):
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
        words = APP_NAMES if row.takes_app_name else ()
        entries[_key(row.name)] = InventoryEntry(
            "tool", row.name, row.source_hint, row.responsibility, row.family, row.aliases, words, row.level
        )
    return Inventory("tool", tuple(entries.values()), tuple(warnings))


def filter_tools(
    tools: Iterable[Tool],
    *,
    simple_mode: bool = False,
    include_mcp: bool = True,
    deny_tools: Iterable[str] = (),
    deny_prefixes: Iterable[str] = (),
) -> tuple[Tool, ...]:
    """Filter tools: simple mode first, then MCP tools, then denied names and prefixes."""
    kept = [tool for tool in tools if not simple_mode or tool.name in SIMPLE_TOOLS]
    if not include_mcp:
        kept = [tool for tool in kept if "mcp" not in f"{tool.name} {tool.source_hint}".casefold()]
    names = {name.strip().casefold() for name in deny_tools}
    prefixes = tuple(prefix.strip().casefold() for prefix in deny_prefixes if prefix.strip())
    return tuple(
        tool
        for tool in kept
        if names.isdisjoint(name.casefold() for name in (tool.name, *tool.aliases))
        and not tool.name.casefold().startswith(prefixes)
    )


def builtin_commands() -> Iterator[InventoryEntry]:
    for command in all_commands():
        if not command.subcommands:
            yield _builtin("clawperator", command.name, command, command_names(command.name))
        for verb in command.subcommands:
            path = f"{command.name} {verb.name}"
            yield _builtin("clawperator", path, verb, command_names(path))
    for command in claw_commands():
        if command.name not in FOR_USERS:
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
    warnings += opened.warnings
    for place, row in enumerate(opened.entries):
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


def _key(name: str) -> str:
    """Names are compared without case and extra spaces."""
    return " ".join(name.split()).casefold()


GROUP = "clawperator.plugins"
_HEADING = f"[{GROUP}]".encode()
_LONGEST_NAME = 128
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST_NAME - 1}}}")
_LONGEST_PLUGIN_TEXT = 500
_MOST_PLUGINS = 200
_MOST_METADATA_BYTES = 1024 * 1024


class PluginContext(Struct, frozen=True):
    """The environment of a plugin: the working folder, the selected phone, and the sessions' directory."""

    folder: str = "."
    device: str | None = None
    directory: str | None = None


PluginFunction = Callable[[str, PluginContext], Any]


class Plugin(Struct, frozen=True):
    """A loaded plugin. ``value`` is its entry point, ``module:attribute``."""

    name: str
    distribution: str
    value: str
    responsibility: str
    run: PluginFunction
    level: Level = "act"

    @property
    def source_hint(self) -> str:
        return f"plugins/{self.distribution}/{self.value}"


class PluginScan(Struct, frozen=True):
    """The plugins that loaded, and warnings for those that did not."""

    plugins: tuple[Plugin, ...] = ()
    warnings: tuple[str, ...] = ()


def discover_plugins() -> PluginScan:
    """Load all plugins. One that fails to load becomes a warning."""
    if not _may_have_plugins():
        return PluginScan()
    from importlib import metadata

    plugins: dict[str, Plugin] = {}
    warnings: list[str] = []
    try:
        points = sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, _distribution(point)))
    except Exception as e:  # noqa: BLE001 - the metadata of any distribution may be damaged
        return PluginScan(warnings=(f"cannot list plugins: {_describe(e)}",))
    for point in points[:_MOST_PLUGINS]:
        distribution, key = _distribution(point), point.name.casefold()
        problem = _untrusted(point)
        if not _NAME.fullmatch(point.name):
            problem = "names consist of letters, digits, dots, _ and -"
        elif not problem and key in plugins:
            problem = f"the name is taken by {plugins[key].distribution}"
        elif not problem:
            try:
                with _silenced():
                    plugins[key] = _load(point, distribution)
            except (Exception, SystemExit) as e:  # noqa: BLE001 - third-party code
                problem = f"it does not load: {_describe(e)}"
        if problem:
            label = f"plugin {printable(point.name)[:_LONGEST_NAME]!r} of {distribution}"
            warnings.append(f"{label} ignored: {problem}")
    if len(points) > _MOST_PLUGINS:
        warnings.append(f"{len(points) - _MOST_PLUGINS} plugins after the first {_MOST_PLUGINS} ignored")
    return PluginScan(tuple(plugins.values()), tuple(warnings))


def run_plugin(plugin: Plugin, prompt: str, context: PluginContext) -> ToolResult:
    """Run a plugin. ``PLUGIN_FAILED`` when it raises, or returns an invalid value.

    A ``ClawError`` that it lets through, such as ``NO_DEVICES``, is raised unchanged.
    """
    try:
        with _silenced():
            answer = plugin.run(prompt, context)
    except (ClawError, TurnCancelledError):
        raise
    except (Exception, SystemExit) as e:
        raise _failed(plugin, f"raised {_describe(e)}") from e
    if isinstance(answer, str):
        return ToolResult(handled=True, message=answer)
    if not isinstance(answer, dict):
        raise _failed(plugin, f"returned {type(answer).__name__}, not a string or a dict")
    try:
        document = msgspec.json.decode(msgspec.json.encode(answer))
    except (TypeError, ValueError, RecursionError, OverflowError) as e:
        raise _failed(plugin, f"returned a value that is not JSON: {_describe(e)}") from e
    message = document.get("message")
    return ToolResult(
        handled=True, message=message if isinstance(message, str) else f"{plugin.name} finished", result=document
    )


@contextmanager
def _silenced() -> Iterator[None]:
    """Discard what a plugin prints: stdout is for the one document."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


def _may_have_plugins() -> bool:
    """Whether all metadata must be read, which takes longer than most commands.

    False only when every entry of ``sys.path`` is a folder, and no distribution there names the group.
    """
    for entry in dict.fromkeys(sys.path):
        folder = entry or os.curdir
        try:
            with os.scandir(folder) as entries:
                names = [
                    entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info", ".egg"))
                ]
        except FileNotFoundError:
            continue
        except OSError:
            if os.path.isfile(folder):  # a zip file, which may contain distributions
                return True
            continue
        if any(_names_group(os.path.join(folder, name)) for name in names):
            return True
    return any(map(_finds_distributions, sys.meta_path))


def _names_group(distribution: str) -> bool:
    if distribution.endswith(".egg"):
        return True
    try:
        with open_regular(os.path.join(distribution, "entry_points.txt")) as file:
            text = file.read(_MOST_METADATA_BYTES)
    except OSError:
        return False
    return _HEADING in text.replace(b" ", b"")


def _finds_distributions(finder: object) -> bool:
    """Whether a third-party importer finds distributions."""
    home = getattr(finder, "__module__", "") or ""
    return hasattr(finder, "find_distributions") and not home.startswith(("_frozen_importlib", "importlib"))


def _distribution(point: Any) -> str:
    try:
        return printable(str(point.dist.name))[:_LONGEST_NAME]
    except Exception:  # noqa: BLE001 - metadata without a name, or none at all
        return "unknown"


def _untrusted(point: Any) -> str:
    """Why a plugin in the working folder itself is not loaded; empty when it may be."""
    try:
        place = str(point.dist.locate_file(""))
    except Exception:  # noqa: BLE001 - metadata without a place
        return ""
    if not is_working_folder(place or os.curdir):
        return ""
    trust = folder_trust(os.curdir)
    return "" if trust.is_trusted else trust.advice


def _load(point: Any, distribution: str) -> Plugin:
    found = point.load()
    if isinstance(found, type):
        found = found()
    run = getattr(found, "run", None)
    if callable(run):
        responsibility = getattr(found, "responsibility", None)
        if not isinstance(responsibility, str):
            raise TypeError("responsibility is not a string")
    elif callable(found):
        run, responsibility = found, found.__doc__ or ""
    else:
        raise TypeError("neither a function nor an object with run")
    level = getattr(found, "level", "act")
    if level not in LEVELS:
        raise ValueError(f"invalid level {level!r}: use {', '.join(LEVELS)}")
    first = next(iter(responsibility.strip().splitlines()), "")
    return Plugin(
        point.name, distribution, printable(point.value), printable(first)[:_LONGEST_PLUGIN_TEXT], run, level
    )


def _failed(plugin: Plugin, reason: str) -> ClawError:
    message, hint = f"plugin {plugin.name!r} {reason}", f"Run 'claw show-command {plugin.name}' to see its source."
    details = {"distribution": plugin.distribution, "value": plugin.value}
    return ClawError(
        "PLUGIN_FAILED", message, hint=hint, details=details, operation="plugin.run", target=plugin.name
    )


def _describe(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")[:_LONGEST_PLUGIN_TEXT]
