"""Plugins: commands of other distributions, by the entry-point group ``clawperator.plugins``.

    [project.entry-points."clawperator.plugins"]
    greet = "greeting.plugin:greet"

A plugin is a function ``greet(prompt, context)`` whose docstring starts with its responsibility, or an object or a
class with ``responsibility`` and ``run(prompt, context)``. It returns a string, or a dict that is valid JSON. Its
``level`` is read-only, act or full; the default is act.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._base.environment import is_working_folder
from clawperator._base.files import open_regular
from clawperator._base.text import printable
from clawperator._base.trust import folder_trust
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.ports import LEVELS, Level, ToolResult
from clawperator.errors import ClawError

GROUP = "clawperator.plugins"
_HEADING = f"[{GROUP}]".encode()
_LONGEST_NAME = 128
_LONGEST_SHOWN = 500
_MOST_PLUGINS = 200
_MOST_METADATA_BYTES = 1024 * 1024
_MARKS = frozenset("._-")


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
        distribution = _distribution(point)
        untrusted = _untrusted(point)
        label = f"plugin {printable(point.name)[:_LONGEST_NAME]!r} of {distribution}"
        if not _is_name(point.name):
            warnings.append(f"{label} ignored: names consist of letters, digits, dots, _ and -")
        elif untrusted:
            warnings.append(f"{label} ignored: {untrusted}")
        elif point.name.casefold() in plugins:
            other = plugins[point.name.casefold()].distribution
            warnings.append(f"{label} ignored: the name is taken by {other}")
        else:
            try:
                with _silenced():
                    plugin = _load(point, distribution)
            except (Exception, SystemExit) as e:  # noqa: BLE001 - third-party code
                warnings.append(f"{label} ignored: it does not load: {_describe(e)}")
            else:
                plugins[point.name.casefold()] = plugin
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


def _is_name(name: str) -> bool:
    plain = all(c.isascii() and (c.isalnum() or c in _MARKS) for c in name)
    return plain and 0 < len(name) <= _LONGEST_NAME and name[0].isalnum()


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
    return Plugin(point.name, distribution, printable(point.value), printable(first)[:_LONGEST_SHOWN], run, level)


def _failed(plugin: Plugin, reason: str) -> ClawError:
    return ClawError(
        "PLUGIN_FAILED",
        f"plugin {plugin.name!r} {reason}",
        hint=f"Run 'claw show-command {plugin.name}' to see its source.",
        details={"distribution": plugin.distribution, "value": plugin.value},
        operation="plugin.run",
        target=plugin.name,
    )


def _describe(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")[:_LONGEST_SHOWN]
