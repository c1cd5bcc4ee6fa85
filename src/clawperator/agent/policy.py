"""What may be done: a mode, and rules that go before it.

    click                     the tool, by its name or another of its names, in any case
    recording_*, *            every tool whose name begins so
    open_app(com.example)     the tool, when it is about just this
    open_uri(https://a.b/*)   the tool, when it is about something that begins so; :* at the end means the same

What a tool is about is its subject: the app, the URI, the key, the label of the node, the id of the skill; where
it has none, its parameters as JSON. What denies or asks is compared in any case, what allows is compared exactly:
a different spelling never gets more than it was given. A node can also be found by other marks than its label, so
what must not be touched is better kept by denying the tool.

A rule that denies goes before one that asks, that before one that allows, and all of them before the mode.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clawperator.agent.ports import Tool
from clawperator.commands.levels import LEVELS, Level
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.settings import Settings

DEFAULT_MODE: Level = "act"
_LONGEST_RULE = 1_024
_ANY = "*"


class Rule(Struct, frozen=True):
    """Which calls are meant. ``name`` may end in a star; without a ``subject`` all calls of the tool are.

    ``source`` is where it was written: a flag, or the path of a settings file.
    """

    name: str
    subject: str | None = None
    source: str = ""

    def __str__(self) -> str:
        return self.name if self.subject is None else f"{self.name}({self.subject})"

    def names(self, tool: Tool) -> bool:
        name = self.name.casefold()
        if name.endswith("*"):
            return tool.name.casefold().startswith(name[:-1])
        return name in (tool.name.casefold(), *(alias.casefold() for alias in tool.aliases))

    def covers(self, subject: str, *, exactly: bool) -> bool:
        """Whether the rule is about this subject."""
        if self.subject is None:
            return True
        is_open = self.subject.endswith(_ANY)
        wanted = self.subject.removesuffix(_ANY).removesuffix(":") if is_open else self.subject
        if not exactly:
            wanted, subject = wanted.strip().casefold(), subject.strip().casefold()
        return subject.startswith(wanted) if is_open else subject == wanted


class Verdict(Struct, frozen=True):
    """May it be done? ``source`` says who decided: a flag, a settings file, or ``mode``."""

    allowed: bool
    decision: Literal["allow", "deny", "ask"]
    reason: str
    source: str


class Policy(Struct, frozen=True):
    """``mode_source`` is ``flag``, the path of a settings file, or ``default``."""

    mode: Level = DEFAULT_MODE
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    mode_source: str = "default"

    def judge(self, tool: Tool, params: Mapping[str, Any]) -> Verdict:
        """Whether a call may be made. Never raises, whatever the parameters are."""
        about = subject_of(tool, params)
        if rule := _first(self.deny, tool, about):
            return Verdict(False, "deny", f"the rule {rule} denies {tool.name}", rule.source)
        if rule := _first(self.ask, tool, about):
            return Verdict(
                False, "ask", f"the rule {rule} wants somebody to be asked for {tool.name}", rule.source
            )
        if rule := _first(self.allow, tool, about, exactly=True):
            return Verdict(True, "allow", f"the rule {rule} allows {tool.name}", rule.source)
        if LEVELS.index(tool.level) <= LEVELS.index(self.mode):
            return Verdict(True, "allow", f"the mode {self.mode} allows {tool.name}", "mode")
        reason = f"{tool.name} needs the level {tool.level} and the mode is {self.mode}; "
        return Verdict(False, "deny", f"{reason}--permission-mode {tool.level} would allow it", "mode")

    def describe(self) -> dict[str, Any]:
        """The mode, who chose it, and how many rules there are."""
        return {
            "mode": self.mode,
            "mode_source": self.mode_source,
            "allow_rules": len(self.allow),
            "deny_rules": len(self.deny),
            "ask_rules": len(self.ask),
        }


def make_policy(  # noqa: PLR0913 - the flags of a command line
    settings: "Settings",
    *,
    mode: Level | None = None,
    deny_tools: Iterable[str] = (),
    deny_prefixes: Iterable[str] = (),
    allow_tools: Iterable[str] = (),
    ask_tools: Iterable[str] = (),
) -> Policy:
    """The policy of settings and flags. A flag's mode goes before a file's; rules of both count.

    ``ARGUMENTS_INVALID`` when a flag holds no rule.
    """
    written = settings.permissions
    chosen, source = DEFAULT_MODE, "default"
    if mode is not None:
        chosen, source = mode, "flag"
    elif written.doubtful:
        chosen, source = LEVELS[0], written.doubtful
    elif written.default_mode is not None:
        chosen, source = written.default_mode, written.mode_source
    # A prefix of nothing would deny everything, which is rather a slip than a wish.
    prefixes = (f"{prefix.strip()}*" if prefix.strip() else "" for prefix in deny_prefixes)
    return Policy(
        chosen,
        allow=(*written.allow, *_flag_rules(allow_tools, "--allow-tool")),
        deny=(*written.deny, *_flag_rules(deny_tools, "--deny-tool"), *_flag_rules(prefixes, "--deny-prefix")),
        ask=(*written.ask, *_flag_rules(ask_tools, "--ask-tool")),
        mode_source=source,
    )


def read_level(text: str) -> Level | None:
    """The level of that name, in any case; None when there is none."""
    wanted = text.strip().casefold()
    return next((level for level in LEVELS if level == wanted), None)


def read_rule(text: str, source: str) -> Rule:
    """The rule that is written there; ``ValueError`` says why it is none."""
    written = text.strip()
    if len(written) > _LONGEST_RULE:
        raise ValueError(f"a rule has at most {_LONGEST_RULE} characters")
    name, bracket, rest = written.partition("(")
    name = name.strip()
    if not name:
        raise ValueError("a rule begins with the name of a tool")
    if "*" in name[:-1] or not all(c.isalnum() or c in "_-.*" for c in name):
        raise ValueError("the name of a tool holds letters, digits, _ and -, and may end in *")
    if not bracket:
        return Rule(name, None, source)
    if not rest.endswith(")"):
        raise ValueError("the bracket is not closed at the end")
    return Rule(name, rest[:-1], source)


def subject_of(tool: Tool, params: object) -> str:
    """What a call is about, as rules see it. A call that cannot be read is about nothing."""
    if not isinstance(params, Mapping):
        return ""
    try:
        if tool.subject is not None:
            return tool.subject(params)
        return msgspec.json.encode(params, order="sorted").decode()
    except Exception:  # noqa: BLE001 - the parameters may be anything; the tool will say what is wrong with them
        return ""


def _first(rules: tuple[Rule, ...], tool: Tool, about: str, *, exactly: bool = False) -> Rule | None:
    return next((rule for rule in rules if rule.names(tool) and rule.covers(about, exactly=exactly)), None)


def _flag_rules(texts: Iterable[str], flag: str) -> tuple[Rule, ...]:
    try:
        return tuple(read_rule(text, flag) for text in texts)
    except ValueError as e:
        raise ClawError(
            "ARGUMENTS_INVALID",
            f"argument {flag}: {e}",
            hint=f"Use {flag} with a name, as in {flag} click.",
            operation="argparse",
            target=flag,
        ) from None
