"""Permission rules: a mode, and rules that take precedence over it.

    click                     the tool, command or action, by any of its names, case-insensitive
    recording_*, *            everything that has a name with this prefix
    open_app(com.example)     the tool, for exactly this subject
    open_uri(https://a.b/*)   the tool, for subjects with this prefix; a trailing :* means the same

A call's subjects are the app, URI, key, node label or skill id it names; for tools without a subject, the
parameters as JSON. A deny or ask rule applies when it matches any subject, in any case, and also to calls that
perform the named one as a part: ``click`` covers ``scroll_and_click``. An allow rule must match the call's own
name and its first subject exactly, so a different spelling never gains permissions. A node can be matched by
properties other than its label: to protect an element, deny the tool.

Precedence: deny rules, ask rules, allow rules, then the mode.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.contract.commands import OPEN_SUBJECT, POLICY_VARIABLE
from clawperator.contract.fields import LEVELS, Level
from clawperator.errors import ClawError

DEFAULT_MODE: Level = "act"
_LONGEST_RULE = 1_024
_ANY = "*"
_STRICTEST_FIRST = ("deny", "ask", "allow")

Params = Mapping[str, Any]
Names = Callable[[Params], tuple[str, ...]]


class PolicyEntry(Struct, frozen=True):
    """What a policy decides on: an operation, an action of a plan, or a tool of others.

    ``subjects`` extracts from the parameters what rules match, the most specific first; without it they match all
    parameters. ``performs`` are the names of what a call with these parameters performs as well: deny and ask
    rules about them apply. ``grants`` are further names for allow rules. To confirm a call that ``is_whole``
    confirms everything that it performs.
    """

    name: str
    level: Level
    aliases: tuple[str, ...] = ()
    subjects: Names | None = None
    performs: Names | None = None
    grants: tuple[str, ...] = ()
    is_whole: bool = False


PolicyCall = tuple[PolicyEntry, Params]
# Asks the user for confirmation of a call, with the reason.
Asker = Callable[[PolicyEntry, Params, str], bool]


class PolicyRule(Struct, frozen=True):
    """A pattern for calls. ``name`` may end in a star; without a ``subject`` it covers every call of the tool.

    ``source`` is where the rule was defined: a flag, or the path of a settings file.
    """

    name: str
    subject: str | None = None
    source: str = ""

    def __str__(self) -> str:
        return self.name if self.subject is None else f"{self.name}({self.subject})"

    def matches_name(self, *names: str, exact: bool = False) -> bool:
        """Whether the rule names one of these; a dash is an underscore, unless the name must be ``exact``."""
        wanted, *others = (text.casefold() if exact else _spelled(text) for text in (self.name, *names))
        if wanted.endswith(_ANY):
            return any(name.startswith(wanted[:-1]) for name in others)
        return wanted in others

    def matches_tool(self, tool: PolicyEntry, *, exact: bool = False) -> bool:
        # A prefix is that of a name: aliases are matched only as a whole.
        aliases = () if self.name.endswith(_ANY) else tool.aliases
        return self.matches_name(tool.name, *aliases, exact=exact)

    def grants(self, tool: PolicyEntry) -> bool:
        """Whether the name of the rule, as an allow rule, covers the tool."""
        return self.matches_tool(tool, exact=True) or self.matches_name(*tool.grants, exact=True)

    def matches_subject(self, subject: str, *, exact: bool) -> bool:
        if self.subject is None:
            return True
        if subject == OPEN_SUBJECT:
            return not exact or self.subject == _ANY
        is_prefix = self.subject.endswith(_ANY)
        wanted = self.subject.removesuffix(_ANY).removesuffix(":") if is_prefix else self.subject
        if not exact:
            wanted, subject = wanted.strip().casefold(), subject.strip().casefold()
        return subject.startswith(wanted) if is_prefix else subject == wanted

    def restricts(self, call: "_CallNames") -> bool:
        """Whether the rule, as a deny or ask rule, applies to a call."""
        named = self.matches_tool(call.tool) or self.matches_name(*call.performed)
        return named and any(self.matches_subject(subject, exact=False) for subject in call.subjects)


class _CallNames(Struct, frozen=True):
    """The names of a call, for rules to match."""

    tool: PolicyEntry
    subjects: tuple[str, ...]
    performed: tuple[str, ...]


class PolicyDecision(Struct, frozen=True):
    """Whether a call is allowed. ``source`` is what decided: a flag, a file, ``mode`` or the variable."""

    allowed: bool
    decision: Literal["allow", "deny", "ask"]
    reason: str
    source: str


class Policy(Struct, frozen=True):
    """The mode and the rules. ``mode_source`` is ``flag``, the path of a settings file, or ``default``.

    ``outer`` is the policy of the caller, such as the claw that started this one: a call must pass both.
    """

    mode: Level = DEFAULT_MODE
    allow: tuple[PolicyRule, ...] = ()
    deny: tuple[PolicyRule, ...] = ()
    ask: tuple[PolicyRule, ...] = ()
    mode_source: str = "default"
    outer: "Policy | None" = None

    def decide(self, tool: PolicyEntry, params: Mapping[str, Any]) -> PolicyDecision:
        """Decide on a call. Never raises, whatever the parameters are."""
        own = self._decide(tool, params)
        return own if self.outer is None else strictest(own, self.outer.decide(tool, params))

    def _decide(self, tool: PolicyEntry, params: Mapping[str, Any]) -> PolicyDecision:
        call = _CallNames(tool, subjects_of(tool, params), _performed(tool, params))
        if rule := next((rule for rule in self.deny if rule.restricts(call)), None):
            return PolicyDecision(False, "deny", f"{tool.name} is denied by the rule {rule}", rule.source)
        if rule := next((rule for rule in self.ask if rule.restricts(call)), None):
            return PolicyDecision(
                False, "ask", f"{tool.name} requires confirmation by the rule {rule}", rule.source
            )
        first = call.subjects[0]
        granted = (rule for rule in self.allow if rule.grants(tool) and rule.matches_subject(first, exact=True))
        if rule := next(granted, None):
            return PolicyDecision(True, "allow", f"{tool.name} is allowed by the rule {rule}", rule.source)
        if _is_within(tool.level, self.mode):
            return PolicyDecision(True, "allow", f"{tool.name} is allowed in mode {self.mode}", "mode")
        reason = f"{tool.name} requires the permission mode {tool.level}; the mode is {self.mode}"
        return PolicyDecision(
            False, "deny", reason, "mode" if self.mode_source != POLICY_VARIABLE else POLICY_VARIABLE
        )

    def may_allow(self, tool: PolicyEntry, *, can_ask: bool) -> bool:
        """Whether some call of the tool can be allowed. ``can_ask``: a user can confirm calls."""
        if self.outer is not None and not self.outer.may_allow(tool, can_ask=can_ask):
            return False
        if _covers(self.deny, tool) or (not can_ask and _covers(self.ask, tool)):
            return False
        if _is_within(tool.level, self.mode):
            return True
        confirmable = can_ask and any(rule.matches_tool(tool) for rule in self.ask)
        return confirmable or any(rule.grants(tool) for rule in self.allow)

    def describe(self) -> dict[str, Any]:
        """The mode, its source, and the number of rules of each kind."""
        return {
            "mode": self.mode,
            "mode_source": self.mode_source,
            "allow_rules": len(self.allow),
            "deny_rules": len(self.deny),
            "ask_rules": len(self.ask),
        }


def strictest(*decisions: PolicyDecision) -> PolicyDecision:
    """The first of the strictest decisions."""
    return min(decisions, key=lambda decision: _STRICTEST_FIRST.index(decision.decision))


def read_level(text: str) -> Level | None:
    """Parse a level, case-insensitive; None for an unknown name."""
    wanted = text.strip().casefold()
    return next((level for level in LEVELS if level == wanted), None)


def read_rule(text: str, source: str) -> PolicyRule:
    """Parse a rule; ``ValueError`` with the reason for an invalid one."""
    rule = text.strip()
    if len(rule) > _LONGEST_RULE:
        raise ValueError(f"rule longer than {_LONGEST_RULE} characters")
    name, parenthesis, rest = rule.partition("(")
    name = name.strip()
    if not name:
        raise ValueError("rule without a tool name")
    if "*" in name[:-1] or not all(c.isalnum() or c in "_-.*" for c in name):
        raise ValueError(f"invalid tool name {name!r}: use letters, digits, _, - and ., and * only at the end")
    if not parenthesis:
        return PolicyRule(name, None, source)
    if not rest.endswith(")"):
        raise ValueError("rule without a closing parenthesis at its end")
    return PolicyRule(name, rest[:-1], source)


def subjects_of(tool: PolicyEntry, params: object) -> tuple[str, ...]:
    """The subjects of a call, for rules to match, at least one; an empty text for invalid parameters."""
    if not isinstance(params, Mapping):
        return ("",)
    try:
        if tool.subjects is not None:
            return tool.subjects(params) or ("",)
        return (msgspec.json.encode(params, order="sorted").decode(),)
    except Exception:  # noqa: BLE001 - unvalidated parameters; the tool reports what is wrong with them
        return ("",)


def _performed(tool: PolicyEntry, params: object) -> tuple[str, ...]:
    if tool.performs is None:
        return ()
    return tool.performs(params if isinstance(params, Mapping) else {})


def _is_within(level: Level, mode: Level) -> bool:
    return LEVELS.index(level) <= LEVELS.index(mode)


def _covers(rules: tuple[PolicyRule, ...], tool: PolicyEntry) -> bool:
    """Whether a rule applies to every call of the tool."""
    call = _CallNames(tool, ("",), _performed(tool, {}))
    return any(rule.subject in (None, _ANY) and rule.restricts(call) for rule in rules)


def _spelled(name: str) -> str:
    return name.casefold().replace("-", "_")


# The policy as the value of an environment variable, for child processes. Linux refuses variables of 128 KiB.
_MOST_BYTES = 100 * 1024


class _Layer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    mode: Level
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    outer: "_Layer | None" = None


def restricted(policy: Policy, outer: Policy) -> Policy:
    """The policy, restricted by the one it runs under. A layer that is there already is not repeated."""
    layers = list(_layers(outer))
    if _own(policy) in [_own(layer) for layer in layers]:
        return replace(policy, outer=_joined([layer for layer in layers if _own(layer) != _own(policy)]))
    return replace(policy, outer=outer)


def encode_policy(policy: Policy) -> str:
    """The policy as JSON; ``PERMISSION_DENIED`` when it is too long for a variable."""
    encoded = msgspec.json.encode(_layer(policy))
    if len(encoded) > _MOST_BYTES:
        message = f"the rules are longer than {_MOST_BYTES} bytes and cannot be passed to a child process"
        raise _refused(message, "Use fewer rules, or prefixes such as 'recording_*'.")
    return encoded.decode()


def decode_policy(text: str) -> Policy:
    """Read the variable. ``PERMISSION_DENIED`` when it is invalid: a restriction may be lost."""
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"longer than {_MOST_BYTES} bytes")  # noqa: TRY301 - reported like any other reason
        return _policy(msgspec.json.decode(text, type=_Layer))
    except (ValueError, RecursionError) as e:  # decoding errors are ValueErrors
        hint = f"Run 'unset {POLICY_VARIABLE}' if no claw command set it."
        raise _refused(f"{POLICY_VARIABLE} is invalid: {e}", hint) from None


def _refused(message: str, hint: str) -> ClawError:
    return ClawError("PERMISSION_DENIED", message, hint=hint, operation="check_policy", target=POLICY_VARIABLE)


def _layer(policy: Policy) -> _Layer:
    outer = None if policy.outer is None else _layer(policy.outer)
    return _Layer(policy.mode, _texts(policy.deny), _texts(policy.ask), _texts(policy.allow), outer)


def _policy(layer: _Layer) -> Policy:
    return Policy(
        layer.mode,
        allow=_rules(layer.allow),
        deny=_rules(layer.deny),
        ask=_rules(layer.ask),
        mode_source=POLICY_VARIABLE,
        outer=None if layer.outer is None else _policy(layer.outer),
    )


def _texts(rules: tuple[PolicyRule, ...]) -> tuple[str, ...]:
    return tuple(str(rule) for rule in rules)


def _rules(texts: tuple[str, ...]) -> tuple[PolicyRule, ...]:
    return tuple(read_rule(text, POLICY_VARIABLE) for text in texts)


def _layers(policy: Policy | None) -> Iterator[Policy]:
    while policy is not None:
        yield policy
        policy = policy.outer


def _joined(layers: list[Policy]) -> Policy | None:
    outer = None
    for layer in reversed(layers):
        outer = replace(layer, outer=outer)
    return outer


def _own(policy: Policy) -> tuple[Any, ...]:
    return policy.mode, _texts(policy.deny), _texts(policy.ask), _texts(policy.allow)
