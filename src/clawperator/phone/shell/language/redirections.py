"""Where the streams of a command lead: device files, other streams, or nowhere."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from clawperator.phone.shell.language.expansion import expand_text
from clawperator.phone.shell.language.script import Redirection
from clawperator.phone.shell.pipes import Nothing, Text
from clawperator.phone.shell.process import Process, Sink, Source, encode, reason

if TYPE_CHECKING:
    from clawperator.phone.shell.language.interpreter import Shell

Streams: TypeAlias = dict[int, Source | Sink]

_MODES = {"<": "rb", ">": "wb", ">|": "wb", "&>": "wb", ">>": "ab", "<>": "r+b"}


class RedirectionError(Exception):
    """What the shell says of a stream it cannot lead there; the command does not run."""


def run_redirected(shell: "Shell", redirections: tuple[Redirection, ...], run: Callable[[], int]) -> int:
    """Run something with other streams, which are closed and put back behind it."""
    if not redirections:
        return run()
    before = shell.streams
    try:
        with _redirected(shell, redirections) as shell.streams:
            return run()
    except RedirectionError as e:
        shell.streams = before
        shell.complain(str(e))
        return 1
    finally:
        shell.streams = before


def redirect_for_good(shell: "Shell", redirections: tuple[Redirection, ...]) -> None:
    """What ``exec`` with no command does. The files stay open until the script is forgotten."""
    streams = dict(shell.streams)
    for redirection in redirections:
        _apply(shell, redirection, streams, None)
    shell.streams = streams


@contextmanager
def _redirected(shell: "Shell", redirections: tuple[Redirection, ...]) -> Iterator[Streams]:
    streams = dict(shell.streams)
    with ExitStack() as files:
        for redirection in redirections:
            _apply(shell, redirection, streams, files)
        yield streams


def _apply(shell: "Shell", redirection: Redirection, streams: Streams, files: ExitStack | None) -> None:
    text = expand_text(shell, redirection.word)
    if redirection.operator == "<<":
        streams[redirection.fd] = Text(encode(text))
    elif redirection.operator in {"<&", ">&"}:
        if text == "-":
            streams[redirection.fd] = Nothing()
        elif text.isdigit() and int(text[:4]) in streams:
            streams[redirection.fd] = streams[int(text[:4])]
        else:
            raise RedirectionError(f"{text}: bad file descriptor")
    else:
        mode = _MODES[redirection.operator]
        try:
            # A dash is stdin to a command, and a name like any other here.
            file = process_of(shell, [], streams).open("./-" if text == "-" else text, mode)
        except OSError as e:
            verb = "open" if mode == "rb" else "create"
            raise RedirectionError(f"can't {verb} {text}: {reason(e)}") from None
        if files:
            files.enter_context(file)
        streams[redirection.fd] = file
        if redirection.operator == "&>":
            streams[2] = file


def process_of(shell: "Shell", argv: list[str], streams: Streams | None = None) -> Process:
    """A command as this shell would start it."""
    chosen = shell.streams if streams is None else streams
    return Process(
        argv or [""],
        phone=shell.phone,
        stdin=chosen.get(0, Nothing()),  # type: ignore[arg-type] # a stream the script put there
        stdout=chosen.get(1, Nothing()),  # type: ignore[arg-type] # likewise
        stderr=chosen.get(2, Nothing()),  # type: ignore[arg-type] # likewise
        cancelled=shell.command_cancelled,
        env={name: value for name, value in shell.variables.items() if name in shell.exported},
        cwd=shell.cwd,
        depth=shell.depth,
    )
