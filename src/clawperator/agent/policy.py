"""Permission policy: a mode, and rules that take precedence over it.

    click                     the tool, by name or alias, case-insensitive
    recording_*, *            every tool whose name has this prefix
    open_app(com.example)     the tool, for exactly this subject
    open_uri(https://a.b/*)   the tool, for subjects with this prefix; a trailing :* means the same

A call's subject is the app, URI, key, node label or skill id it names; for tools without a subject, the parameters
as JSON. Deny and ask rules compare case-insensitively, allow rules exactly, so a different spelling never gains
permissions. A node can be matched by other properties than its label: to protect an element, deny the tool.

Precedence: deny rules, ask rules, allow rules, then the mode.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator.agent.ports import Tool
from clawperator.commands import LEVELS, Level
from clawperator.errors import ClawError

DEFAULT_MODE: Level = "act"
_LONGEST_RULE = 1_024
_ANY = "*"


class PolicyRule(Struct, frozen=True):
    """A pattern for calls. ``name`` may end in a star; without a ``subject`` it covers every call of the tool.

    ``source`` is where the rule was defined: a flag, or the path of a settings file.
    """

    name: str
    subject: str | None = None
    source: str = ""

    def __str__(self) -> str:
        return self.name if self.subject is None else f"{self.name}({self.subject})"

    def matches_tool(self, tool: Tool) -> bool:
        name = self.name.casefold()
        if name.endswith("*"):
            return tool.name.casefold().startswith(name[:-1])
        return name in (tool.name.casefold(), *(alias.casefold() for alias in tool.aliases))

    def matches_subject(self, subject: str, *, exact: bool) -> bool:
        if self.subject is None:
            return True
        is_prefix = self.subject.endswith(_ANY)
        wanted = self.subject.removesuffix(_ANY).removesuffix(":") if is_prefix else self.subject
        if not exact:
            wanted, subject = wanted.strip().casefold(), subject.strip().casefold()
        return subject.startswith(wanted) if is_prefix else subject == wanted


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


class PolicyDecision(Struct, frozen=True):
    """Whether a call is allowed. ``source`` is what decided: a flag, a settings file, or ``mode``."""

    allowed: bool
    decision: Literal["allow", "deny", "ask"]
    reason: str
    source: str


class Policy(Struct, frozen=True):
    """The mode and the rules. ``mode_source`` is ``flag``, the path of a settings file, or ``default``."""

    mode: Level = DEFAULT_MODE
    allow: tuple[PolicyRule, ...] = ()
    deny: tuple[PolicyRule, ...] = ()
    ask: tuple[PolicyRule, ...] = ()
    mode_source: str = "default"

    def decide(self, tool: Tool, params: Mapping[str, Any]) -> PolicyDecision:
        """Decide on a call. Never raises, whatever the parameters are."""
        subject = subject_of(tool, params)
        if rule := _first(self.deny, tool, subject):
            return PolicyDecision(False, "deny", f"{tool.name} is denied by the rule {rule}", rule.source)
        if rule := _first(self.ask, tool, subject):
            return PolicyDecision(
                False, "ask", f"{tool.name} requires confirmation by the rule {rule}", rule.source
            )
        if rule := _first(self.allow, tool, subject, exact=True):
            return PolicyDecision(True, "allow", f"{tool.name} is allowed by the rule {rule}", rule.source)
        if LEVELS.index(tool.level) <= LEVELS.index(self.mode):
            return PolicyDecision(True, "allow", f"{tool.name} is allowed in mode {self.mode}", "mode")
        reason = f"{tool.name} requires --permission-mode {tool.level}; the mode is {self.mode}"
        return PolicyDecision(False, "deny", reason, "mode")

    def may_allow(self, tool: Tool, *, can_ask: bool) -> bool:
        """Whether some call of the tool can be allowed. ``can_ask``: a user can confirm calls."""
        if _covers(self.deny, tool) or (not can_ask and _covers(self.ask, tool)):
            return False
        if LEVELS.index(tool.level) <= LEVELS.index(self.mode):
            return True
        confirmable = can_ask and any(rule.matches_tool(tool) for rule in self.ask)
        return confirmable or any(rule.matches_tool(tool) for rule in self.allow)

    def describe(self) -> dict[str, Any]:
        """The mode, its source, and the number of rules of each kind."""
        return {
            "mode": self.mode,
            "mode_source": self.mode_source,
            "allow_rules": len(self.allow),
            "deny_rules": len(self.deny),
            "ask_rules": len(self.ask),
        }


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


def read_level(text: str) -> Level | None:
    """Parse a level, case-insensitive; None for an unknown name."""
    wanted = text.strip().casefold()
    return next((level for level in LEVELS if level == wanted), None)


def read_rule(text: str, source: str) -> PolicyRule:
    """Parse a rule; ``ValueError`` with the reason for an invalid one."""
    rule = text.strip()
    if len(rule) > _LONGEST_RULE:
        raise ValueError(f"rule longer than {_LONGEST_RULE} characters")
    name, bracket, rest = rule.partition("(")
    name = name.strip()
    if not name:
        raise ValueError("rule without a tool name")
    if "*" in name[:-1] or not all(c.isalnum() or c in "_-.*" for c in name):
        raise ValueError(f"invalid tool name {name!r}: use letters, digits, _, - and ., and * only at the end")
    if not bracket:
        return PolicyRule(name, None, source)
    if not rest.endswith(")"):
        raise ValueError("rule without a closing bracket at its end")
    return PolicyRule(name, rest[:-1], source)


def subject_of(tool: Tool, params: object) -> str:
    """The subject of a call, for rules to match; empty for invalid parameters."""
    if not isinstance(params, Mapping):
        return ""
    try:
        if tool.subject is not None:
            return tool.subject(params)
        return msgspec.json.encode(params, order="sorted").decode()
    except Exception:  # noqa: BLE001 - unvalidated parameters; the tool reports what is wrong with them
        return ""


def _first(rules: tuple[PolicyRule, ...], tool: Tool, subject: str, *, exact: bool = False) -> PolicyRule | None:
    return next(
        (rule for rule in rules if rule.matches_tool(tool) and rule.matches_subject(subject, exact=exact)), None
    )


def _covers(rules: tuple[PolicyRule, ...], tool: Tool) -> bool:
    """Whether a rule applies to every call of the tool."""
    return any(rule.subject in (None, _ANY) and rule.matches_tool(tool) for rule in rules)


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
