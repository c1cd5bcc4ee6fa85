"""``pm install`` and its sessions: an APK from a file or a stream, at once or in steps."""

from collections.abc import Callable

from clawperator.phone.shell.android.base import Arguments, Handler, ServiceError, read_whole, say_error
from clawperator.phone.shell.android.install import InstallError, Sessions, sessions
from clawperator.phone.shell.process import ShellProcess

_WITH_VALUE = ("-i", "-S", "--user", "--abi", "--pkg", "--originating-uri", "--referrer", "--install-location")


def _install(process: ShellProcess, arguments: Arguments) -> int:
    options = _install_options(arguments)
    size = read_whole(options["-S"]) if "-S" in options else None
    place = arguments.next()
    if place in {None, "-"} and size is None:
        say_error(process, "Error: must either specify a package size or an APK file")
        return 1

    def run(queue: Sessions) -> str:
        number = queue.create(size)
        try:
            _write_file(process, queue, number, "base.apk", size, place)
            _commit(queue, number, options)
        finally:
            queue.abandon(number)
        return "Success"

    return _answer(process, run)


def _install_create(process: ShellProcess, arguments: Arguments) -> int:
    options = _install_options(arguments)
    size = read_whole(options["-S"]) if "-S" in options else None

    def run(queue: Sessions) -> str:
        number = queue.create(size)
        queue.options[number] = options
        return f"Success: created install session [{number}]"

    return _answer(process, run)


def _install_write(process: ShellProcess, arguments: Arguments) -> int:
    size = None
    while (option := arguments.option()) is not None:
        if option != "-S":
            raise ServiceError(f"Unknown option: {option}")
        size = arguments.whole()
    number, name, place = arguments.whole(), arguments.required(), arguments.next()
    return _answer(
        process,
        lambda queue: f"Success: streamed {_write_file(process, queue, number, name, size, place)} bytes",
    )


def _install_commit(process: ShellProcess, arguments: Arguments) -> int:
    number = arguments.whole()

    def run(queue: Sessions) -> str:
        _commit(queue, number, queue.options.get(number, {}))
        return "Success"

    return _answer(process, run)


def _install_abandon(process: ShellProcess, arguments: Arguments) -> int:
    number = arguments.whole()

    def run(queue: Sessions) -> str:
        queue.abandon(number)
        return "Success"

    return _answer(process, run)


def _answer(process: ShellProcess, run: Callable[[Sessions], str]) -> int:
    """The one line a client reads: what was done, or ``Failure`` and why not."""
    try:
        line, code = run(sessions(process.phone)), 0
    except InstallError as e:
        line, code = f"Failure [{e}]", 1
    process.write(f"{line}\n")
    return code


def _install_options(arguments: Arguments) -> dict[str, str]:
    options = {}
    while (option := arguments.option()) is not None:
        options[option] = arguments.required() if option in _WITH_VALUE else ""
    return options


def _commit(queue: Sessions, number: int, options: dict[str, str]) -> None:
    queue.commit(number, replace="-R" not in options, downgrade="-d" in options, grant="-g" in options)


def _write_file(  # noqa: PLR0913, PLR0917 - where a file comes from and where it goes
    process: ShellProcess, queue: Sessions, number: int, name: str, size: int | None, place: str | None
) -> int:
    if place is None or place == "-":
        return queue.write(number, name, process.stdin, size)
    try:
        file = process.open(place)
    except OSError:
        say_error(process, f"Error: Unable to open file: {place}\nConsider using a file under /data/local/tmp/")
        raise ServiceError(f"Error: Can't open file: {place}") from None
    with file:
        return queue.write(number, name, file, size)


INSTALL_HANDLERS: dict[str, Handler] = {
    "install": _install,
    "install-create": _install_create,
    "install-write": _install_write,
    "install-commit": _install_commit,
    "install-abandon": _install_abandon,
}
