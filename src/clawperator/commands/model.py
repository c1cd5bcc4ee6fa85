"""A command row: names, flags, help, examples, handler and permission level."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

# ``read-only`` observes. ``act`` acts on a device, starts and stops what can be started again, and writes the
# files it is given. ``full`` deletes, resets, installs, provisions, grants, or runs a program that a flag names.
Level = Literal["read-only", "act", "full"]
LEVELS: tuple[Level, ...] = ("read-only", "act", "full")  # from the least to the most

# Passes the policy of a claw command to its child processes.
POLICY_VARIABLE = "CLAWPERATOR_POLICY"

# A path that a command reads (a file, a file or JSON, a session folder) or writes (a file or folder, a registry).
PathKind = Literal["", "in", "payload", "sessions", "out", "registry"]

BackendName = Literal["auto", "operator", "adb"]
BACKENDS: tuple[BackendName, ...] = ("auto", "operator", "adb")


OPERATION = "clawperator.cli.operation:run_operation"  # the handler of operations


class Flag(Struct, frozen=True):
    """A flag with ``values`` values. One that ``repeats`` may be given several times.

    A ``literal`` flag refuses a value that begins with a dash, unless it is written with ``=``. ``path`` is the
    kind of path that its value is, except for the values ``not_paths``. Without the flag the output is beside the
    file of the flag ``beside``, or of the first word, if ``beside`` is the ``usage`` of the command. ``choices``
    are all its values, in any case; the parser refuses others.
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
    beside: str = ""
    choices: tuple[str, ...] = ()


class Command(Struct, frozen=True):
    """One command of ``clawperator`` or ``claw``, or a family of subcommands.

    ``usage`` lists the arguments, one per word; if it ends in ``...]`` any number of words and flags follows.
    ``handler`` names the function that runs the command, ``execution`` the one that builds the execution it stands
    for, both as ``module:function``. ``tools`` are the claw tools that do the same: a policy rule about them also
    applies to the command. ``raised_by`` holds the flags that need a higher level than ``level``. ``subject`` is
    the flag, or else the first word, with what the command is about. ``word_path`` is the kind of path that its
    words are, ``word_choices`` what its first word can be, for shell completion.
    ``replaces`` are removed commands that this one replaces. A prompt with an app's name leads to commands that
    ``takes_app_name``. A command ``for_users`` is in no inventory: agents cannot run it. ``source`` is the module
    of the operation that the command is made from.
    """

    name: str
    summary: str
    usage: str = ""
    synonyms: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    examples: tuple[str, ...] = ()
    notes: str = ""
    handler: str = ""
    execution: str = ""
    level: Level = "full"
    raised_by: Mapping[str, Level] = {}
    tools: tuple[str, ...] = ()
    subject: str = ""
    word_path: PathKind = ""
    word_choices: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    takes_app_name: bool = False
    for_users: bool = False
    subcommands: tuple["Command", ...] = ()
    source: str = ""

    @property
    def is_operation(self) -> bool:
        """Whether the command is made from the row of an operation."""
        return self.handler == OPERATION

    @property
    def module(self) -> str:
        """The module that implements the command: of its operation, its execution builder, or its handler."""
        return self.source or (self.execution or self.handler).partition(":")[0]

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
USER = Flag("--user", "Android user or profile: a number, or current (the default)", "<user>")
ANY_USER = Flag("--user", "Android user or profile: a number, or current (default: every user)", "<user>")
PASS_ENV = Flag(
    "--pass-env", "variable that skills and MCP servers also receive; may be repeated", "<name>", repeats=True
)
ALLOW_SCHEME = Flag(
    "--allow-scheme", "URI scheme to open besides http and https; may be repeated", "<scheme>", repeats=True
)
EVIDENCE = Flag(
    "--evidence",
    "keep the document, and tree and picture before and after, in a new folder in this one",
    "<folder>",
    path="out",
)
DENY_TOOL = Flag("--deny-tool", "deny this tool; may be repeated", "<name>", repeats=True)
DENY_PREFIX = Flag(
    "--deny-prefix", "deny every tool whose name starts with this; may be repeated", "<prefix>", repeats=True
)
# The permissions of an agent: of a claw command, or of the clients of a server.
POLICY = (
    Flag(
        "--permission-mode",
        "read-only observes, act also acts, full also deletes and installs (default: act)",
        "<read-only|act|full>",
        choices=LEVELS,
    ),
    Flag("--allow-tool", "allow this tool in every mode; may be repeated", "<name>", repeats=True),
    DENY_TOOL,
    DENY_PREFIX,
    Flag("--ask-tool", "require confirmation for this tool; may be repeated", "<name>", repeats=True),
)
# An agent must not be able to allow itself, by a command, what its caller was denied.
RAISED_BY: Mapping[str, Level] = dict.fromkeys(
    ("--permission-mode", "--allow-tool", "--allow-scheme", "--pass-env"), "full"
)
PLAN = (
    BACKEND,
    EVIDENCE,
    switch("--validate-only", "validate and print the execution; needs no device"),
    switch("--dry-run", "validate and print the plan; needs no device"),
)
