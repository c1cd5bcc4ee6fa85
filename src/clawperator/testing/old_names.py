"""Names and calls of earlier versions, kept for one release. Each of them warns and names its replacement."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from clawperator.api.phone import AndroidPhone
from clawperator.api.results import FoundNode
from clawperator.api.selectors import SelectorKwargs
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import ShellAnswer

# Of the module.
RENAMED = {"BoxedPhone": "SimulatedPhone", "start_phone": "simulated_phone"}
_KEYWORDS = {
    "textEquals": "text",
    "textContains": "text_contains",
    "resourceId": "id",
    "contentDescEquals": "desc",
    "contentDescContains": "desc_contains",
}
# A command has none of these in its name; a script without any of them is a command.
_OF_SCRIPTS = frozenset(" \t\n;&|<>$`\"'()*?[]#~=\\")


class ShellResult(Struct, frozen=True):
    """The exit code and output of a shell script, as ``shell`` returned it in earlier versions."""

    code: int
    stdout: str
    stderr: str


def warn_of(old: str, new: str, *, stacklevel: int = 3) -> None:
    warnings.warn(f"{old} is an old name; use {new}", DeprecationWarning, stacklevel=stacklevel)


def new_keywords(text: str | None, selector: Mapping[str, Any]) -> tuple[str | None, SelectorKwargs]:
    """A text and selector keywords with old ones renamed."""
    renamed = dict(selector)
    for old, new in _KEYWORDS.items():
        if old in renamed:
            warn_of(f"the selector keyword {old}", f"{new}=", stacklevel=4)
            renamed[new] = renamed.pop(old)
    return renamed.pop("text", text), cast("SelectorKwargs", renamed)


if TYPE_CHECKING:
    # Type checkers see the new calls only.
    C = TypeVar("C", bound=Callable[..., ShellAnswer])

    class OldCalls(AndroidPhone):
        """The methods of a simulated phone in earlier versions, as calls of the new ones."""

    def also_runs_scripts(shell: C) -> C: ...

else:

    class OldCalls(AndroidPhone):
        """The methods of a simulated phone in earlier versions, as calls of the new ones."""

        def launch(self, package: str) -> None:
            warn_of("launch", "open_app")
            self.open_app(package)

        def execute(self, document: Mapping[str, Any]) -> ResultEnvelope:
            warn_of("execute", "run")
            return self.run(document)

        @wraps(AndroidPhone.run)
        def run(
            self,
            plan: Mapping[str, Any] | Sequence[Mapping[str, Any]],
            *more: Mapping[str, Any],
            timeout: float | None = None,
            timeout_ms: int | None = None,
        ) -> ResultEnvelope:
            if more:
                warn_of("run(a, b)", "run([a, b])")
                plan = [cast("Mapping[str, Any]", plan), *more]
            if timeout_ms is not None:
                warn_of("timeout_ms", "timeout, in seconds")
                timeout = timeout_ms / 1000
            return super().run(plan, timeout=timeout)

        @wraps(AndroidPhone.wait)
        def wait(self, text: str | float | None = None, *, timeout: float = 10, **selector: Any) -> FoundNode:
            if isinstance(text, float | int):
                warn_of("wait(seconds)", "sleep(seconds)")
                self.sleep(text)
                return FoundNode("", "")
            text, selector = new_keywords(text, selector)
            return super().wait(text, timeout=timeout, **selector)

        @wraps(AndroidPhone.find)
        def find(self, text: str | None = None, *, timeout: float | None = None, **selector: Any) -> Any:
            text, selector = new_keywords(text, selector)
            return super().find(text, timeout=timeout, **selector)

        @wraps(AndroidPhone.find_all)
        def find_all(self, text: str | None = None, *, timeout: float | None = None, **selector: Any) -> list[Any]:
            text, selector = new_keywords(text, selector)
            return super().find_all(text, timeout=timeout, **selector)

        @wraps(AndroidPhone.shows)
        def shows(self, text: str | None = None, *, timeout: float | None = None, **selector: Any) -> bool:
            text, selector = new_keywords(text, selector)
            return super().shows(text, timeout=timeout, **selector)

    def also_runs_scripts(shell: Callable[..., ShellAnswer]) -> Callable[..., Any]:
        """A method ``shell`` that also takes a script, standard input and a limit of bytes."""

        @wraps(shell)
        def call(self: Any, command: str | bytes, *arguments: Any, **options: Any) -> Any:
            is_script = isinstance(command, bytes) or (not arguments and not _OF_SCRIPTS.isdisjoint(command))
            if not is_script and options.keys() <= {"timeout"}:
                return shell(self, command, *arguments, **options)
            warn_of("shell(script)", "shell_script(script)")
            ran = self.shell_script(command, *arguments, **options)
            return ShellResult(ran.code, ran.text, ran.stderr.decode(errors="replace"))

        return call
