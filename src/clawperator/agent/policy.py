"""The policy of a run: settings and flags combined."""

from collections.abc import Iterable

from msgspec import Struct

from clawperator.commands.model import LEVELS, Level
from clawperator.errors import ClawError
from clawperator.policy.rules import DEFAULT_MODE, Policy, PolicyRule, read_rule


class Permissions(Struct, frozen=True):
    """The permissions of the settings files. ``mode_source`` is the path of the file that sets the mode.

    ``unreadable`` is a file that may contain restrictions and cannot be read. Until it is repaired the mode is
    read-only, unless a flag sets another one.
    """

    default_mode: Level | None = None
    mode_source: str = ""
    allow: tuple[PolicyRule, ...] = ()
    deny: tuple[PolicyRule, ...] = ()
    ask: tuple[PolicyRule, ...] = ()
    unreadable: str = ""


def make_policy(  # noqa: PLR0913 - the flags of a command line
    permissions: Permissions,
    *,
    mode: Level | None = None,
    deny_tools: Iterable[str] = (),
    deny_prefixes: Iterable[str] = (),
    allow_tools: Iterable[str] = (),
    ask_tools: Iterable[str] = (),
) -> Policy:
    """Combine settings and flags. A mode flag overrides the files; the rules of both apply.

    ``ARGUMENTS_INVALID`` for a flag whose value is not a rule.
    """
    chosen, source = DEFAULT_MODE, "default"
    if mode is not None:
        chosen, source = mode, "flag"
    elif permissions.unreadable:
        chosen, source = LEVELS[0], permissions.unreadable
    elif permissions.default_mode is not None:
        chosen, source = permissions.default_mode, permissions.mode_source
    # An empty prefix would deny every tool: reject it as a mistake.
    prefixes = (f"{prefix.strip()}*" if prefix.strip() else "" for prefix in deny_prefixes)
    return Policy(
        chosen,
        allow=(*permissions.allow, *_flag_rules(allow_tools, "--allow-tool")),
        deny=(*permissions.deny, *_flag_rules(deny_tools, "--deny-tool"), *_flag_rules(prefixes, "--deny-prefix")),
        ask=(*permissions.ask, *_flag_rules(ask_tools, "--ask-tool")),
        mode_source=source,
    )


def _flag_rules(texts: Iterable[str], flag: str) -> tuple[PolicyRule, ...]:
    try:
        return tuple(read_rule(text, flag) for text in texts)
    except ValueError as e:
        raise ClawError(
            "ARGUMENTS_INVALID",
            f"argument {flag}: {e}",
            hint=f"Pass a tool name, as in '{flag} click'.",
            operation="argparse",
            target=flag,
        ) from None
