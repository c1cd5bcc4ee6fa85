"""Every command of ``clawperator``: parsing, suggestions, ``--help`` and the command reference derive from it.

The table of names is data, so that a command line imports only the rows of its own command.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from clawperator.contract.fields import LEVELS, Level, PathKind

# Passes the policy of a claw command to its child processes.
POLICY_VARIABLE = "CLAWPERATOR_POLICY"
# The subject of a call that leaves open what it is about. Any deny or ask rule about a subject applies to it.
OPEN_SUBJECT = "\0"

BackendName = Literal["auto", "operator", "adb"]
BACKENDS: tuple[BackendName, ...] = ("auto", "operator", "adb")


OPERATION = "clawperator.cli.operation:run_operation"  # the handler of operations
ACTIONS = "clawperator.operations.actions"  # the rows of the commands of actions
DERIVED = "clawperator.operations.commands"  # makes commands from rows


class Flag(Struct, frozen=True):
    """A flag with ``values`` values. One that ``repeats`` may be given several times.

    A ``literal`` flag refuses a value that begins with a dash, unless it is written with ``=``. ``path`` is the
    kind of path that its value is, except for the values ``not_paths``. ``choices`` are all its values, in any
    case; the parser refuses others.
    """

    name: str
    help: str
    metavar: str = "<value>"
    aliases: tuple[str, ...] = ()
    values: int = 1
    literal: bool = False
    repeats: bool = False
    path: PathKind = ""
    not_paths: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


class Command(Struct, frozen=True):
    """One command of ``clawperator`` or ``claw``, or the ``family`` of several.

    ``usage`` lists the arguments, one per word; if it ends in ``...]`` any number of words and flags follows.
    ``handler`` names the function that runs the command, as ``module:function``. ``tools`` are the claw tools that
    do the same: a policy rule about them also applies to the command. ``raised_by`` holds the flags that need a
    higher level than ``level``. ``word_path`` is the kind of path that its words are, ``word_choices`` what its
    first word can be. ``replaces`` are removed commands that this one replaces. A prompt with an app's name leads
    to commands that ``takes_app_name``. ``source`` is the module of the row that the command is made from.
    """

    name: str
    summary: str
    usage: str = ""
    synonyms: tuple[str, ...] = ()
    derive_flags: Callable[[], tuple[Flag, ...]] = tuple
    examples: tuple[str, ...] = ()
    notes: str = ""
    handler: str = ""
    level: Level = "full"
    raised_by: Mapping[str, Level] = {}
    tools: tuple[str, ...] = ()
    word_path: PathKind = ""
    word_choices: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    takes_app_name: bool = False
    family: str = ""
    source: str = ""

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flags, made when they are first asked for: lists of commands need none."""
        return self.derive_flags()

    @property
    def subcommands(self) -> tuple["Command", ...]:
        """Every command of the family."""
        found: tuple[Command, ...] = resolve_handler(f"{DERIVED}:subcommands")(self.family) if self.family else ()
        return found

    @property
    def is_action(self) -> bool:
        """Whether the command runs an action, or an execution."""
        return self.source == ACTIONS

    @property
    def is_operation(self) -> bool:
        """Whether the command is made from the row of an operation."""
        return self.handler == OPERATION

    @property
    def module(self) -> str:
        """The module that implements the command: of its operation or action, or its handler."""
        return self.source or self.handler.partition(":")[0]

    def level_with(self, flags: Iterable[str]) -> Level:
        """The level needed when these flags are given, by their own names."""
        needed = [self.level, *(self.raised_by[flag] for flag in flags if flag in self.raised_by)]
        return max(needed, key=LEVELS.index)

    @property
    def highest_level(self) -> Level:
        """The level needed whatever flags are given."""
        return self.level_with(self.raised_by)


def resolve_handler(reference: str) -> Any:
    """Import the function or type that a row names as ``module:name``."""
    module, _, function = reference.partition(":")
    # importlib would cost every command a quarter of a millisecond.
    return getattr(__import__(module, fromlist=(function,)), function)


def switch(name: str, help_: str, *aliases: str) -> Flag:
    return Flag(name, help_, "", aliases, values=0)


BACKEND = Flag(
    "--backend", "execution backend: auto, operator or adb (default: auto)", "<backend>", choices=BACKENDS
)
GLOBALS = (
    Flag("--device", "device serial", "<serial>", ("--device-id",)),
    Flag("--operator-package", "package of the Operator app", "<package>", ("--receiver-package",)),
    switch("--json", "print JSON (the default)"),
    Flag(
        "--output",
        "json (one line), pretty (indented JSON) or text (for people)",
        "<json|pretty|text>",
        ("--format",),
        choices=("json", "pretty", "text"),
    ),
    Flag(
        "--timeout",
        "timeout in ms; also how long a command looks for its element (default: about 6500)",
        "<ms>",
        ("--timeout-ms",),
    ),
    Flag(
        "--log-level",
        "minimum level printed to stderr: debug, info, warn or error (default: info)",
        "<level>",
        choices=("debug", "info", "warn", "error"),
    ),
    switch("--verbose", "print what happens to stderr and to the host log (--log-level debug)"),
    switch("--help", "print help", "-h"),
    switch("--version", "print the version"),
)

# The names of the top level in the order of lists, by the module that has their rows.
_ROWS = (
    ("operations.actions", "snapshot screenshot click open type read wait query press back close sleep scroll"),
    ("operations.actions", "scroll-until scroll-and-click wait-for-nav read-value swipe drag double-tap submit"),
    ("operations.actions", "rotate start-activity install-apk uninstall-app clear-data grant revoke logcat exec"),
    ("operations.recordings", "recording"),
    ("operations.reports", "report"),
    ("operations.skills", "skills"),
    ("operations.phones", "phone"),
    ("operations.devices", "watch devices pair packages"),
    ("operations.setup", "operator setup grant-device-permissions doctor"),
    ("operations.emulators", "emulator provision"),
    ("operations.devices", "logs"),
    ("operations.servers", "serve mcp"),
    ("operations.program", "config"),
    ("operations.servers", "agents"),
    ("operations.program", "schema completion version help"),
)
MODULES: Mapping[str, str] = {name: f"clawperator.{module}" for module, names in _ROWS for name in names.split()}
# Other words for them. A name or a synonym may be written with underscores instead of dashes.
_SYNONYMS = (
    ("snapshot", "snapshot-ui"),
    ("screenshot", "take-screenshot capture-screenshot"),
    ("click", "tap"),
    ("open", "open-uri open-url open-app"),
    ("type", "fill enter-text"),
    ("read", "read-text"),
    ("wait", "wait-for wait-for-node find find-node"),
    ("press", "press-key"),
    ("close", "close-app"),
    ("wait-for-nav", "wait-for-navigation"),
    ("read-value", "read-kv read-key-value-pair"),
    ("submit", "submit-text"),
    ("uninstall-app", "uninstall"),
    ("clear-data", "clear-app-data"),
    ("grant", "grant-permission"),
    ("revoke", "revoke-permission"),
    ("logcat", "read-logcat"),
    ("exec", "execute"),
    ("recording", "record"),
    ("setup", "install"),
)
SYNONYMS: Mapping[str, str] = {word: name for name, words in _SYNONYMS for word in words.split()}


def own_name(word: str) -> str | None:
    """The name of the top level that a word is a spelling or a synonym of."""
    spelled = word.replace("_", "-")
    return spelled if spelled in MODULES else SYNONYMS.get(spelled)


def synonyms_of(name: str) -> tuple[str, ...]:
    return tuple(word for word, own in SYNONYMS.items() if own == name)


@cache
def _load(name: str) -> Command:
    """The row of a name of the top level."""
    made: Command = resolve_handler(f"{DERIVED}:top_command")(name)
    return made


@cache
def all_commands() -> tuple[Command, ...]:
    """Every command of the top level. Imports all rows."""
    return tuple(map(_load, MODULES))


def find_command(name: str, family: Command | None = None) -> Command | None:
    """The command of that name or synonym, of the top level or of a family; names come first."""
    if family is None:
        own = own_name(name)
        return None if own is None else _load(own)
    found: Command | None = resolve_handler(f"{DERIVED}:subcommand")(family.name, name)
    return found


def find_by_path(path: list[str]) -> Command | None:
    """The command with this full name: ``["recording", "parse"]``."""
    command = find_command(path[0])
    return find_command(path[1], command) if command and command.family and len(path) > 1 else command


def command_names(path: str) -> tuple[str, ...]:
    """Every other name of the command with this full name, in claw: with synonyms, by spaces and by dashes."""
    family, *verb = path.split()
    command = find_by_path([family])
    if command is None:
        return ()
    families = (command.name, *command.synonyms)
    if not verb:
        spelled = (name.replace("-", "_") for name in families)
        return tuple(dict.fromkeys(name for name in (*command.synonyms, *spelled) if name != command.name))
    found = find_command(verb[0], command)
    verbs = (found.name, *found.synonyms) if found else ()
    names = (mark.join((one, two)) for one in families for two in verbs for mark in (" ", "-"))
    return tuple(name for name in names if name != path.replace(" ", "-"))


def replacement(words: list[str]) -> tuple[str, str | None] | None:
    """The removed command that ``words`` begin with, and its replacement if there is one; None for any other."""
    removed = {old: command.name for command in all_commands() for old in command.replaces}
    old = " ".join(words[:2])
    if old in removed:
        return old, removed[old]
    return (words[0], None) if any(name.split()[0] == words[0] for name in removed) else None


def leaves(commands: tuple[Command, ...] | None = None, prefix: str = "") -> Iterator[tuple[str, Command]]:
    """Every command that can be run, with its full name: ``recording parse``."""
    for command in all_commands() if commands is None else commands:
        if command.subcommands:
            yield from leaves(command.subcommands, f"{prefix}{command.name} ")
        else:
            yield prefix + command.name, command
