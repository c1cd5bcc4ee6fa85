"""Shell completion: a short script per shell, and the hidden command ``__complete`` that it runs for each key.

``clawperator __complete <shell> <words>`` prints what can follow, one candidate per line, from the command rows.
Synonyms and aliases are understood, but not offered.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from clawperator.cli.command_line import Call, TextResult
from clawperator.cli.console import print_bytes
from clawperator.cli.parsing import by_name
from clawperator.contract.commands import GLOBALS, POLICY_VARIABLE, Command, Flag, all_commands, find_command
from clawperator.errors import ClawError
from clawperator.operations.call import ApprovedCall, Caller
from clawperator.operations.claw import CLAW_GLOBALS, claw_commands

# Candidates that stand for what the file system has.
FILES = "@files"
FOLDERS = "@folders"

_SERIAL_SECONDS = 3
_CURSOR = "\0"

_SCRIPTS = {
    "bash": r"""# Completion of clawperator and claw for bash, from version 3.2 on.
_clawperator() {
  local item
  COMPREPLY=()
  while IFS= read -r item; do
    COMPREPLY[${#COMPREPLY[@]}]=$item
  done < <(clawperator __complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" </dev/null 2>/dev/null)
  if [[ ${COMPREPLY[0]-} == */ ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}

complete -F _clawperator clawperator claw""",
    "zsh": r"""#compdef clawperator claw
# Completion of clawperator and claw for zsh: a file _clawperator in fpath, or sourced after compinit.
_clawperator() {
  local -a found
  found=("${(@f)$(clawperator __complete zsh "${(@Q)words[1,CURRENT]}" </dev/null 2>/dev/null)}")
  [[ $words[CURRENT] == --*=* ]] && compset -P '*='
  (( $found[(I)@files] )) && _files
  (( $found[(I)@folders] )) && _files -/
  found=(${found:#(|@files|@folders)})
  _describe argument found
}

if [[ $funcstack[1] == _clawperator ]]; then
  _clawperator "$@"
else
  compdef _clawperator clawperator claw
fi""",
    "fish": r"""# Completion of clawperator and claw for fish.
function __clawperator_complete
    type -q clawperator; or return
    set -l current (commandline -ct)
    clawperator __complete fish (commandline -opc) "$current" </dev/null 2>/dev/null
end

complete -c clawperator -f -a '(__clawperator_complete)'
complete -c claw -f -a '(__clawperator_complete)'""",
}

# A text to insert, and what it does.
Candidate = tuple[str, str]


def print_script(_: Call, approved: ApprovedCall, __: Caller) -> TextResult:
    """The command ``completion``."""
    return TextResult(_SCRIPTS[approved.params.shell])


def run(argv: list[str]) -> int:
    """The command ``__complete``: print candidates, nothing in case of an error."""
    shell, words = argv[1] if len(argv) > 1 else "", argv[2:]
    if POLICY_VARIABLE in os.environ or shell not in _SCRIPTS or len(words) < 2:
        return 1
    lines = {"bash": _bash_lines, "zsh": _zsh_lines, "fish": _fish_lines}[shell](words)
    text = "\n".join(line for line in lines if "\n" not in line)
    return print_bytes(os.fsencode(text), 0) if text else 0


def _zsh_lines(words: list[str]) -> Iterator[str]:
    """Candidates for ``_describe``, in which a colon ends the text. zsh lists the files."""
    for text, help_ in offered(words)[1]:
        yield text if text in (FILES, FOLDERS) else re.sub(r"[:\\]", r"\\\g<0>", text) + f":{help_}"


def _fish_lines(words: list[str]) -> Iterator[str]:
    prefix, found = offered(words)
    for text, help_ in _listed(found, words[-1].removeprefix(prefix)):
        yield f"{prefix}{text}\t{help_}"


def offered(words: list[str]) -> tuple[str, list[Candidate]]:
    """What can stand in place of the last word, which is being typed, and before it a text such as ``--view=``."""
    line = _Line(words[0])
    for word in words[1:-1]:
        line.read(word)
    name, equals, _ = words[-1].partition("=")
    if line.has_ended:
        return "", []
    if not line.values and name.startswith("--") and equals:
        return f"{name}=", _flag_values(line.flags[name]) if name in line.flags else []
    return "", line.offered(words[-1])


class _Line:
    """A command line, read word by word."""

    def __init__(self, program: str) -> None:
        is_claw = os.path.basename(program) == "claw"
        # claw has the command help besides its rows.
        commands = (*claw_commands(), *filter(None, [find_command("help")])) if is_claw else all_commands()
        self._commands = commands
        self._command: Command | None = None
        self._shared = CLAW_GLOBALS if is_claw else GLOBALS
        self.flags = by_name(self._shared)
        self.has_ended = False  # by "--"
        self.values = 0  # that the last flag still takes
        self._last_flag: Flag | None = None
        self._given: set[str] = set()
        self._names: list[str] = []  # of the command, and the words after it
        self._words: list[str] = []

    def read(self, word: str) -> None:
        if self.values:
            self.values -= 1
        elif word == "--":
            self.has_ended = True
        elif word.startswith("-"):
            name, equals, _ = word.partition("=")
            self._last_flag = flag = self.flags.get(name)
            if flag is not None:
                self._given.add(flag.name)
                self.values = 0 if equals else flag.values
        elif not self._words and (named := self._find(word)):
            self._command = named
            self._names.append(named.name)
            self.flags = by_name((*self._shared, *named.flags))
        else:
            self._words.append(word)

    def _find(self, word: str) -> Command | None:
        if self._command is None:
            return next((one for one in self._commands if word in (one.name, *one.synonyms)), None)
        return find_command(word, self._command) if self._command.family else None

    def offered(self, current: str) -> list[Candidate]:
        if self.values and self._last_flag:
            return _flag_values(self._last_flag)
        command = self._command
        if not current.startswith("-"):
            if command is None or command.family:
                return _described(command.subcommands if command else self._commands)
            found = self._word_values(command)
            if found:
                return found
        flags = {flag.name: flag for flag in (*(command.flags if command else ()), *self._shared)}.values()
        return [(flag.name, flag.help) for flag in flags if flag.repeats or flag.name not in self._given]

    def _word_values(self, command: Command) -> list[Candidate]:
        if command.name == "help":
            family = next((one for one in self._commands if self._words == [one.name]), None)
            return _described(family.subcommands if family else () if self._words else self._commands)
        named = _NAMED.get(" ".join((*self._names, *self._words)))
        if named or self._words:
            return list(named()) if named else []
        paths = (FILES,) if command.word_path else ()
        serials = _serials() if "<serial>" in command.usage else ()
        return [(text, "") for text in (*command.word_choices, *paths, *serials)]


def _described(commands: Iterable[Command]) -> list[Candidate]:
    return [(command.name, command.summary) for command in commands]


def _faults() -> Iterator[Candidate]:
    from clawperator.phone.core.faults import FAULTS

    return ((name, fault.description) for name, fault in FAULTS.items())


def _schemas() -> Iterator[Candidate]:
    from clawperator.schemas import list_schemas

    yield from ((row["name"], row["description"]) for row in list_schemas())
    yield "tools", "the tool schemas for function calling"


def _mcp_clients() -> Iterator[Candidate]:
    from clawperator.serve.mcp.client_config import CLIENTS

    return ((name, client.title) for name, client in CLIENTS.items())


def _skills() -> Iterator[Candidate]:
    """The skills of the registry that is used without ``--registry``."""
    from clawperator.skills.registry import open_registry

    with suppress(ClawError):
        yield from ((str(entry.get("id")), "") for entry in open_registry().entries)


def _tools() -> Iterator[Candidate]:
    from clawperator.agent.tools.builtin import builtin_tools

    return ((tool.name, tool.responsibility) for tool in builtin_tools())


# What the next word can name, by the names of the command and the words after them.
_NAMED: Mapping[str, Callable[[], Iterator[Candidate]]] = {
    "phone fault": _faults,
    "schema": _schemas,
    "mcp config": _mcp_clients,
    **dict.fromkeys(("skills get", "skills run", "skills validate", "skills compile-artifact"), _skills),
    **dict.fromkeys(("exec-tool", "show-tool"), _tools),
}


def _flag_values(flag: Flag) -> list[Candidate]:
    """The choices of a flag, files and serials. Empty when any text can follow."""
    paths = (FOLDERS if flag.metavar == "<folder>" else FILES,) if flag.path else ()
    serials = _serials() if flag.name == "--device" else ()
    return [(text, "") for text in (*flag.choices, *flag.not_paths, *paths, *serials)]


def _serials() -> list[str]:
    """The serials of the connected devices; none when they cannot be listed soon."""
    from clawperator._base.deadline import limited
    from clawperator.device.discovery import list_devices

    with suppress(ClawError, OSError), limited(_SERIAL_SECONDS):
        return [device.serial for device in list_devices()]
    return []


def _listed(candidates: Iterable[Candidate], path: str) -> Iterator[Candidate]:
    """The candidates, with the files whose names start with ``path`` in place of ``FILES`` and ``FOLDERS``.

    A folder ends in a slash, after which shells insert no space.
    """
    for text, help_ in candidates:
        if text not in (FILES, FOLDERS):
            yield text, help_
            continue
        folder, name = os.path.split(path)
        with suppress(OSError), os.scandir(os.path.expanduser(folder) or ".") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                is_named = entry.name.startswith(name) if name else not entry.name.startswith(".")
                if is_named and (text == FILES or entry.is_dir()):
                    yield os.path.join(folder, entry.name) + "/" * entry.is_dir(), ""


def _bash_lines(given: list[str]) -> Iterator[str]:
    """Candidates as bash inserts them, for ``COMP_WORDBREAKS`` and the line up to the cursor.

    Bash replaces only what follows the last ``=`` or ``:`` that breaks words, or an open quote.
    """
    word_breaks, line = given[:2]
    words: list[str] = []
    quote = ""
    for quote in ("", "'", '"'):
        with suppress(ValueError):
            words = shlex.split(line + _CURSOR + quote)
            break
    if len(words) < 2:
        return
    words[-1] = current = words[-1].removesuffix(_CURSOR)
    prefix, found = offered(words)
    typed = current.removeprefix(prefix)
    if quote:
        kept = len(prefix)
    else:
        kept = max((current.rfind(mark) + 1 for mark in "=:" if mark in word_breaks), default=0)
    for text, _ in _listed(found, typed):
        if text.startswith(typed):
            rest = (prefix + text)[kept:]
            yield rest if quote else re.sub(r"[^\w@%+=:,./~-]", r"\\\g<0>", rest)
