"""The environment of child processes.

Skills and MCP servers receive the variables listed here, and those that the user lists with ``--pass-env`` or
``pass_env`` in clawperator.toml. Everything else, such as keys of other services, stays in our process.
"""

import os
from collections.abc import Iterable, Mapping

from clawperator._base.config import read_config
from clawperator._base.files import is_same_file
from clawperator.errors import ClawError

INHERITED = (
    *("PATH", "HOME", "USER", "SHELL", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "CLAW_CONFIG_HOME"),
    *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
)
INHERITED_PREFIXES = ("LC_", "XDG_", "ANDROID_", "ADB_", "CLAWPERATOR_")
# Set for every skill and MCP server. A command that only a user may run refuses to run where it is set.
PARENT_VARIABLE = "CLAWPERATOR_PARENT"


def child_environment(
    parent: str, variables: Mapping[str, str] | None = None, *, pass_env: Iterable[str] = ()
) -> dict[str, str]:
    """The environment of a skill or an MCP server. ``parent`` describes it: ``skill <id>``, ``mcp <name>``.

    ``variables`` are the child's own and override inherited ones.
    """
    named = {*check_names(pass_env), *check_names(read_config().pass_env)}
    inherited = {name: value for name, value in os.environ.items() if name in named or is_inherited(name)}
    return {**inherited, **(variables or {}), PARENT_VARIABLE: parent}


def is_inherited(name: str) -> bool:
    """Whether every child receives this variable."""
    return name in INHERITED or name.startswith(INHERITED_PREFIXES)


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names of variables; ``USAGE`` for one that cannot be a name."""
    checked = tuple(names)
    for name in checked:
        if not name or "=" in name or "\0" in name or name != name.strip():
            message = f"invalid variable name {name!r}"
            hint = "Give the name only, such as OPENAI_API_KEY."
            raise ClawError("USAGE", message, hint=hint, operation="pass_env", target=name)
    return checked


def parent_process() -> str:
    """The skill or MCP server that started this process; empty when a user did."""
    return os.environ.get(PARENT_VARIABLE, "")


def own_environment() -> dict[str, str]:
    """The environment of another process of ours: the same, without a PYTHONPATH to the working folder."""
    environment = dict(os.environ)
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = [place for place in places if place and not is_working_folder(place)]
    if kept:
        environment["PYTHONPATH"] = os.pathsep.join(kept)
    else:
        environment.pop("PYTHONPATH", None)
    return environment


def is_working_folder(path: str) -> bool:
    return is_same_file(path, os.curdir)
