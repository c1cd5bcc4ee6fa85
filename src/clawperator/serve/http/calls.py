"""One call of a route: the policy and the folder in force, and what handlers share."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.deadline import Deadline, limited
from clawperator.agent.cancellation import TurnCancelledError, TurnDeadline
from clawperator.agent.confinement import Use, WorkingFolder, confine, confining
from clawperator.agent.ports import ToolCall, ToolContext, ToolResult
from clawperator.commands.registry import find_by_path
from clawperator.errors import ClawError
from clawperator.policy.commands import command_entry
from clawperator.policy.gate import PolicyGate, check_calls, enforcing
from clawperator.policy.rules import GovernedCall
from clawperator.serve.access import ServerAccess
from clawperator.serve.http.sse import EventHub
from clawperator.serve.http.workers import Workers
from clawperator.serve.page.live_recordings import LiveRecordings
from clawperator.serve.page.watched_screens import WatchedScreens

T = TypeVar("T")


class Services(Struct, frozen=True):
    """What the calls of a server share."""

    access: ServerAccess
    events: EventHub
    workers: Workers
    screens: WatchedScreens
    recordings: LiveRecordings

    @property
    def folder(self) -> WorkingFolder:
        return WorkingFolder(self.access.options.folder, self.access.options.sessions)


class CommandRule(Struct, frozen=True):
    """The command that a route equals: a policy decides on the route as on that command.

    ``words`` are the fields that are its words; ``flags`` are those that are its flags, by their flags' names.
    """

    command: str
    words: tuple[str, ...] = ()
    flags: Mapping[str, str] = {}

    def call(self, request: Struct) -> GovernedCall:
        command = find_by_path(self.command.split())
        assert command is not None, self.command
        words = tuple(text for name in self.words for text in _texts(getattr(request, name)))
        values = {
            flag: texts for name, flag in self.flags.items() if (texts := tuple(_texts(getattr(request, name))))
        }
        return command_entry(command, self.command, words, values), {}


def _texts(value: Any) -> Iterator[str]:
    """The value of a field as a command line has it; nothing when it was not given."""
    if value is UNSET or value is False:
        return
    if isinstance(value, dict):
        yield from (f"{name}={setting}" for name, setting in value.items())
    elif isinstance(value, list):
        yield from map(str, value)
    else:
        yield str(value)


class HttpCall(Struct, frozen=True):
    """One call. ``deadline`` ends with the time of the route, or when the server stops.

    ``turn`` is the time of a request that only reads, and whose turn has come: it may wait for the device.
    """

    services: Services
    deadline: TurnDeadline
    turn: Deadline | None = None

    @property
    def access(self) -> ServerAccess:
        return self.services.access

    def is_stopping(self) -> bool:
        return self.services.workers.stopping.is_set()

    def serial(self, given: str | UnsetType) -> str | None:
        """The device of the request, or the one that the server was started with."""
        return self.access.options.device if given is UNSET else given

    def package(self, given: str | UnsetType) -> str | None:
        """The Operator package: of the request, of the server, or of the settings; None when none names one."""
        from clawperator.device.settings import named_operator

        return named_operator(self.access.options.operator_package if given is UNSET else given)

    def path(self, path: str, operation: str, use: Use) -> str:
        """A path that the client named, resolved. ``PERMISSION_DENIED`` outside the folder of the server."""
        return confine(self.services.folder, path, operation, use)

    def tool(self, name: str, params: Mapping[str, Any], device: str | UnsetType = UNSET) -> Any:
        """The result of a tool, under the policy. Raises its error."""
        result = self.run_tool(name, params, device)
        if result.error is not None:
            raise result.error
        return result.result

    def run_tool(self, name: str, params: Mapping[str, Any], device: str | UnsetType = UNSET) -> ToolResult:
        """Run a tool under the policy. Its result may have an error."""
        context: ToolContext = replace(self.access.context(self.deadline), device=self.serial(device))
        try:
            return self.access.registry.call(ToolCall(name, dict(params)), context)
        except TurnCancelledError:
            raise ClawError("INTERRUPTED", f"{name} was interrupted", operation=name) from None


def perform(  # noqa: PLR0913 - the facts of one call
    services: Services,
    rule: CommandRule | None,
    request: Struct,
    work: Callable[[Any, HttpCall], T],
    seconds: float,
    *,
    turn: Deadline | None = None,
) -> T:
    """Run the work of a route in this thread: under the policy, in the folder, and within its time."""
    call = HttpCall(services, TurnDeadline(seconds), turn)
    with enforcing(PolicyGate(services.access.policy)), confining(services.folder), limited(seconds):
        if rule is not None:
            check_calls([rule.call(request)])
        return work(request, call)


def given(value: T | UnsetType) -> T | None:
    """The value of a field, or None when the client did not send it."""
    return None if value is UNSET else value
