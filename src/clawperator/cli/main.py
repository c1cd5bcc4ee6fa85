"""The console commands ``clawperator`` and ``claw``: parse argv, call one handler, print one document, exit.

This module is imported at every start, so it imports only what every start needs.
"""

import os
import sys

TYPE_CHECKING = False  # known to type checkers by its name; importing typing would slow down every start
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

# How long to wait before a dropped interrupt is raised again: the callback that dropped it must have returned.
_REPEAT_SECONDS = 0.01
_COMPLETE = "__complete"  # a hidden command, which completion scripts run
_UNSUPPORTED = "Clawperator runs on Linux and macOS; on Windows, install it in WSL and run it there."


def main() -> int:
    """The ``clawperator`` command. Ends the process; programs call ``clawperator.cli.dispatch.run``.

    ``--version`` is answered before anything else is imported.
    """
    for token in sys.argv[1:]:
        if token in ("--", _COMPLETE):
            break
        if token == "--version":
            return _print_version()
    return _run("clawperator.cli.dispatch")


def claw() -> int:
    """The ``claw`` command. Ends the process, even while a worker thread is running."""
    if sys.argv[1:] in (["--version"], ["-V"]) and not os.environ.get("CLAW_OUTPUT_FORMAT"):
        return _print_version()
    return _run("clawperator.cli.claw.dispatch")


def _run(module: str) -> int:
    """Call the module's ``run`` with argv and end the process with the exit code it returns."""
    _leave_out_working_folder()
    try:
        import fcntl  # noqa: F401 - locks of devices and sessions need it
    except ImportError:
        sys.stderr.write(f"{_UNSUPPORTED}\n")
        return 1
    import gc
    import signal

    gc.disable()  # what modules create stays; searching it for garbage would add a twentieth to the time
    # While modules load there is nothing to clean up, and some imports do not survive an interrupt: Ctrl-C ends
    # the process. Once ``run`` is loaded, it turns Ctrl-C into an answer.
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _import_msgspec()
    if sys.argv[1:2] == [_COMPLETE]:
        module = "clawperator.cli.handlers.completion"
    # importlib would cost every command a quarter of a millisecond.
    run = __import__(module, fromlist=("run",)).run
    gc.freeze()
    gc.enable()
    sys.unraisablehook = repeat_dropped_interrupt
    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # after the answer was printed
        code = 130
    # Everything is written, flushed and closed. Taking the interpreter apart would add a sixth to the time.
    os._exit(code)


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which it loads where it is installed but does not need."""
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # its import fails
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


def repeat_dropped_interrupt(unraisable: "UnraisableHookArgs") -> None:
    """Raise an interrupt again that arrived in a finalizer or in a weak reference's callback. A hook of ``sys``.

    Python prints an exception that such code raises and continues, so the interrupt would be lost. Every import
    runs such a callback.
    """
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    import _thread
    import signal
    import time

    main_thread = _thread.get_ident()  # Python handles signals there

    def interrupt() -> None:
        time.sleep(_REPEAT_SECONDS)
        for number in (signal.SIGINT, signal.SIGTERM):
            if callable(signal.getsignal(number)):
                signal.pthread_kill(main_thread, number)  # also ends a system call that the thread waits in
                return

    _thread.start_new_thread(interrupt, ())


def _leave_out_working_folder() -> None:
    """Import nothing from the working folder: ``python -m`` and an empty part of PYTHONPATH put it on the path."""
    try:
        folder = os.getcwd()
    except OSError:  # it was deleted
        folder = ""
    if folder in sys.path or "" in sys.path:
        ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path[:] = [entry for entry in sys.path if entry not in ("", folder) or entry == ours]


def _print_version() -> int:
    from clawperator import __version__

    try:
        sys.stdout.write(__version__ + "\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # closed, or not there at all
        os._exit(1)  # the interpreter would try to flush it again
    return 0
