"""Commands that other distributions bring, by the entry-point group ``clawperator.plugins``.

    [project.entry-points."clawperator.plugins"]
    greet = "greeting.plugin:greet"

A plugin is a function ``greet(prompt, context)`` whose docstring begins with what it is for, or an object, or the
class of one, with ``responsibility`` and ``run(prompt, context)``. It answers with a text, or with a dict that
JSON can hold. Its ``level`` says what it may do: read-only, act or full; act if it has none.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any

import msgspec
from msgspec import Struct

from clawperator._text import printable
from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.ports import LEVELS, Level, ToolResult
from clawperator.errors import ClawError

GROUP = "clawperator.plugins"
_HEADING = f"[{GROUP}]".encode()
_LONGEST_NAME = 128
_LONGEST_TOLD = 500
_MOST_PLUGINS = 200
_MOST_METADATA_BYTES = 1024 * 1024
_MARKS = frozenset("._-")


class PluginContext(Struct, frozen=True):
    """Where a plugin works: the folder, the phone that is meant if one is, and where sessions lie."""

    folder: str = "."
    device: str | None = None
    directory: str | None = None


Run = Callable[[str, PluginContext], Any]


class Plugin(Struct, frozen=True):
    """One that loaded. ``value`` is the ``module:attribute`` it came from."""

    name: str
    distribution: str
    value: str
    responsibility: str
    run: Run
    level: Level = "act"

    @property
    def source_hint(self) -> str:
        return f"plugins/{self.distribution}/{self.value}"


class PluginScan(Struct, frozen=True):
    """The plugins that can be used, by name, and why others cannot."""

    plugins: tuple[Plugin, ...] = ()
    warnings: tuple[str, ...] = ()


def discover() -> PluginScan:
    """Load every plugin there is. One that does not load is a warning, whatever it did."""
    if not _may_be_any():
        return PluginScan()
    from importlib import metadata

    plugins: dict[str, Plugin] = {}
    warnings: list[str] = []
    try:
        points = sorted(metadata.entry_points(group=GROUP), key=lambda point: (point.name, _distribution(point)))
    except Exception as e:  # noqa: BLE001 - any file in any distribution may be damaged
        return PluginScan(warnings=(f"the plugins cannot be listed: {_told(e)}",))
    for point in points[:_MOST_PLUGINS]:
        distribution = _distribution(point)
        named = f"the plugin {printable(point.name)[:_LONGEST_NAME]!r} of {distribution}"
        if not _is_name(point.name):
            warnings.append(f"{named} is left out: a name holds letters, digits, dot, _ and -")
        elif point.name.casefold() in plugins:
            other = plugins[point.name.casefold()].distribution
            warnings.append(f"{named} is left out: {other} has one of that name")
        else:
            try:
                with _unheard():
                    plugin = _loaded(point, distribution)
            except (Exception, SystemExit) as e:  # noqa: BLE001 - it is somebody else's code
                warnings.append(f"{named} is left out: it does not load: {_told(e)}")
            else:
                plugins[point.name.casefold()] = plugin
    if len(points) > _MOST_PLUGINS:
        warnings.append(f"{len(points) - _MOST_PLUGINS} plugins after the first {_MOST_PLUGINS} are left out")
    return PluginScan(tuple(plugins.values()), tuple(warnings))


def run_plugin(plugin: Plugin, prompt: str, context: PluginContext) -> ToolResult:
    """Have a plugin do its work. ``PLUGIN_FAILED`` when it raises, or answers with something that is no answer.

    A typed error of the product that it lets through, such as that there is no phone, stays what it is.
    """
    try:
        with _unheard():
            answer = plugin.run(prompt, context)
    except (ClawError, TurnCancelledError):
        raise
    except (Exception, SystemExit) as e:
        raise _failed(plugin, f"raised {_told(e)}") from e
    if isinstance(answer, str):
        return ToolResult(handled=True, message=answer)
    if not isinstance(answer, dict):
        raise _failed(plugin, f"answered with {type(answer).__name__}, not with a text or a dict")
    try:
        document = msgspec.json.decode(msgspec.json.encode(answer))
    except (TypeError, ValueError, RecursionError, OverflowError) as e:
        raise _failed(plugin, f"answered with what JSON cannot hold: {_told(e)}") from e
    message = document.get("message")
    return ToolResult(
        handled=True, message=message if isinstance(message, str) else f"{plugin.name} answered", result=document
    )


@contextmanager
def _unheard() -> Iterator[None]:
    """What a plugin prints goes nowhere: stdout is for the one answer."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        yield


def _may_be_any() -> bool:
    """Whether reading all metadata is worth its time, which is longer than that of most commands.

    False only when every place modules come from is a folder, and none of the distributions there names the group.
    """
    for place in dict.fromkeys(sys.path):
        folder = place or os.curdir
        try:
            with os.scandir(folder) as entries:
                names = [
                    entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info", ".egg"))
                ]
        except FileNotFoundError:
            continue
        except OSError:
            if os.path.isfile(folder):  # a zip file, which may hold distributions too
                return True
            continue
        if any(_names_group(os.path.join(folder, name)) for name in names):
            return True
    return any(map(_finds_distributions, sys.meta_path))


def _names_group(distribution: str) -> bool:
    if distribution.endswith(".egg"):
        return True
    try:
        with open(os.path.join(distribution, "entry_points.txt"), "rb") as file:
            text = file.read(_MOST_METADATA_BYTES)
    except OSError:
        return False
    return _HEADING in text.replace(b" ", b"")


def _finds_distributions(finder: object) -> bool:
    """Whether an importer that is not Python's own knows distributions."""
    home = getattr(finder, "__module__", "") or ""
    return hasattr(finder, "find_distributions") and not home.startswith(("_frozen_importlib", "importlib"))


def _distribution(point: Any) -> str:
    try:
        return printable(str(point.dist.name))[:_LONGEST_NAME]
    except Exception:  # noqa: BLE001 - metadata without a name, or none at all
        return "unknown"


def _is_name(name: str) -> bool:
    plain = all(c.isascii() and (c.isalnum() or c in _MARKS) for c in name)
    return plain and 0 < len(name) <= _LONGEST_NAME and name[0].isalnum()


def _loaded(point: Any, distribution: str) -> Plugin:
    found = point.load()
    if isinstance(found, type):
        found = found()
    run = getattr(found, "run", None)
    if callable(run):
        responsibility = getattr(found, "responsibility", None)
        if not isinstance(responsibility, str):
            raise TypeError("it has run and no responsibility that is a text")
    elif callable(found):
        run, responsibility = found, found.__doc__ or ""
    else:
        raise TypeError("it is no function, and has no run")
    level = getattr(found, "level", "act")
    if level not in LEVELS:
        raise ValueError(f"its level is none of {', '.join(LEVELS)}")
    first = next(iter(responsibility.strip().splitlines()), "")
    return Plugin(point.name, distribution, printable(point.value), printable(first)[:_LONGEST_TOLD], run, level)


def _failed(plugin: Plugin, why: str) -> ClawError:
    return ClawError(
        "PLUGIN_FAILED",
        f"the plugin {plugin.name!r} {why}",
        hint=f"Run 'claw show-command {plugin.name}' to see where it comes from.",
        details={"distribution": plugin.distribution, "value": plugin.value},
        operation="plugin.run",
        target=plugin.name,
    )


def _told(error: BaseException) -> str:
    return printable(f"{type(error).__name__}: {error}")[:_LONGEST_TOLD]
