"""Every command of ``clawperator``: parsing, suggestions, ``--help`` and the command reference derive from it.

The table of names is data, so that a command line imports only the rows of its own command.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from clawperator.commands.model import Command, Flag, resolve_handler, switch

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
    ("commands.actions", "snapshot screenshot click open type read wait query press back close sleep scroll"),
    ("commands.actions", "scroll-until scroll-and-click wait-for-nav read-value"),
    ("commands.gestures", "swipe drag double-tap submit"),
    (
        "commands.device_actions",
        "rotate start-activity install-apk uninstall-app clear-data grant revoke logcat",
    ),
    ("commands.general", "exec"),
    ("operations.recordings", "recording"),
    ("operations.reports", "report"),
    ("operations.skills", "skills"),
    ("operations.phones", "phone"),
    ("operations.devices", "watch devices pair packages"),
    ("operations.setup", "operator setup grant-device-permissions doctor"),
    ("operations.emulators", "emulator provision"),
    ("operations.devices", "logs"),
    ("commands.servers", "serve mcp"),
    ("operations.program", "config"),
    ("commands.agents", "agents"),
    ("operations.program", "schema completion version help"),
)
MODULES: Mapping[str, str] = {name: f"clawperator.{module}" for module, names in _ROWS for name in names.split()}
_SYNONYMS = (
    ("snapshot", "snapshot-ui snapshot_ui"),
    ("screenshot", "take-screenshot take_screenshot capture-screenshot"),
    ("click", "tap"),
    ("open", "open-uri open-url open-app open_app open_uri open_url"),
    ("type", "fill enter-text enter_text"),
    ("read", "read-text read_text"),
    ("wait", "wait-for wait_for wait-for-node wait_for_node find find-node find_node"),
    ("press", "press-key press_key"),
    ("close", "close-app close_app"),
    ("scroll-until", "scroll_until"),
    ("scroll-and-click", "scroll_and_click"),
    ("wait-for-nav", "wait-for-navigation wait_for_navigation"),
    ("read-value", "read-kv read-key-value-pair read_key_value_pair"),
    ("double-tap", "double_tap"),
    ("submit", "submit-text submit_text"),
    ("start-activity", "start_activity"),
    ("uninstall-app", "uninstall uninstall_app"),
    ("clear-data", "clear-app-data clear_app_data"),
    ("grant", "grant-permission grant_permission"),
    ("revoke", "revoke-permission revoke_permission"),
    ("logcat", "read-logcat read_logcat"),
    ("exec", "execute"),
    ("recording", "record"),
    ("setup", "install"),
)
SYNONYMS: Mapping[str, str] = {word: name for name, words in _SYNONYMS for word in words.split()}


@cache
def _load(name: str) -> Command:
    """The row of a name of the top level."""
    module = MODULES[name]
    if module.startswith("clawperator.operations."):
        made: Command = resolve_handler("clawperator.operations.commands:top_command")(name)
        return made
    rows: tuple[Command, ...] = resolve_handler(f"{module}:COMMANDS")
    return next(row for row in rows if row.name == name)


@cache
def all_commands() -> tuple[Command, ...]:
    """Every command of the top level. Imports all rows."""
    return tuple(map(_load, MODULES))


def find_command(name: str, among: tuple[Command, ...] | None = None) -> Command | None:
    """The command of that name or synonym, of the top level or of subcommands; names come first."""
    if among is None:
        own = name if name in MODULES else SYNONYMS.get(name)
        return None if own is None else _load(own)
    for command in among:
        if command.name == name:
            return command
    return next((command for command in among if name in command.synonyms), None)


def find_by_path(path: list[str]) -> Command | None:
    """The command with this full name: ``["recording", "parse"]``."""
    command = find_command(path[0])
    return find_command(path[1], command.subcommands) if command and len(path) > 1 else command


def command_names(path: str) -> tuple[str, ...]:
    """Every other name of the command with this full name, in claw: with synonyms, by spaces and by dashes."""
    family, *verb = path.split()
    command = find_by_path([family])
    if command is None:
        return ()
    families = (command.name, *command.synonyms)
    if not verb:
        return command.synonyms
    found = find_command(verb[0], command.subcommands)
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
