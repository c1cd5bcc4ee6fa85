"""Types shared by the parts of the agent: tools, calls and results, and the ``Brain`` protocol."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.confinement import WorkingFolder
from clawperator.agent.sessions.records import DEFAULT_DIRECTORY, Usage
from clawperator.contract.commands import BackendName
from clawperator.contract.fields import Level
from clawperator.errors import ClawError
from clawperator.policy.rules import PolicyEntry

Outcome = Literal["done", "failed", "not_understood"]


class ToolCall(Struct, frozen=True):
    """A request to run a tool. ``id`` is the brain's identifier of the call.

    ``problem`` is set for a call that a model wrote wrongly: it is recorded with this error and not run.
    ``observe`` are the parameters of a snapshot after it, if the policy allows a look without a question.
    """

    name: str
    params: Mapping[str, Any]
    id: str = ""
    problem: ClawError | None = None
    observe: Mapping[str, Any] | None = None


class Evidence(Struct, frozen=True):
    """A document or file that proves what a call did, to be kept with the turn.

    ``kind`` is ``execution``, ``snapshot``, ``screenshot``, ``recording``, ``skill_run`` or ``document``.
    ``document`` is stored as a JSON file of the session; ``path`` names a file that exists elsewhere.
    """

    kind: str
    ref: str  # the command id, the skill id, or the session of a recording
    device_id: str | None = None
    document: Any = None
    path: str | None = None


class ScreenView(Struct, frozen=True):
    """The outline of a screen, or its changes since an earlier one. ``id`` is that of the snapshot."""

    id: str
    package: str | None
    text: str
    is_whole: bool = True

    @property
    def block(self) -> str:
        """The view as models get it, marked as text of apps."""
        kind = "screen" if self.is_whole else "changes"
        name = " ".join((kind, *(word for word in (self.id, self.package) if word), "untrusted"))
        return f"<{name}>\n{self.text}\n</{kind}>"


class ToolResult(Struct, frozen=True):
    """The result of a call. ``handled`` means that the work was done; otherwise ``error`` is the reason.

    ``message`` is one line for users and models, ``result`` the whole document. ``text`` is for users only, in
    place of the message. ``secrets`` are texts that must not be stored, such as text typed into a password field.
    ``screen`` is the screen after a call that observes.
    """

    handled: bool
    message: str
    result: Any = None
    error: ClawError | None = None
    evidence: tuple[Evidence, ...] = ()
    secrets: tuple[str, ...] = ()
    text: str | None = None
    screen: ScreenView | None = None


def failed_result(error: ClawError, **more: Any) -> ToolResult:
    return ToolResult(handled=False, message=error.message, error=error, **more)


def invalid_call(tool: str, message: str, hint: str | None = None) -> ClawError:
    """The error of a call with wrong parameters."""
    return ClawError("TOOL_PAYLOAD_INVALID", message, hint=hint, operation="call", target=tool)


def unknown_tool(name: str, hint: str | None = None) -> ClawError:
    return ClawError("TOOL_NOT_FOUND", f"unknown tool {name!r}", hint=hint, operation="call", target=name)


class AgentPlace(Struct, frozen=True, kw_only=True):
    """Where an agent works: its folder, phone and backend.

    ``pass_env`` are further variables that a skill receives, ``allow_schemes`` further URI schemes to open,
    ``sessions`` is the folder of the sessions.
    """

    folder: str = "."
    device: str | None = None
    operator_package: str | None = None
    backend: BackendName = "auto"
    pass_env: tuple[str, ...] = ()
    allow_schemes: tuple[str, ...] = ()
    sessions: str = DEFAULT_DIRECTORY

    @property
    def working_folder(self) -> WorkingFolder:
        return WorkingFolder(self.folder, self.sessions)


class ToolContext(AgentPlace, frozen=True):
    """The environment of a tool call.

    ``observe`` are the parameters of a snapshot after the call. ``on_progress`` receives what a long call has done
    so far.
    """

    deadline: TurnDeadline
    observe: Mapping[str, Any] | None = None
    on_progress: Callable[[str], None] = lambda _: None


class Tool(Struct, frozen=True, kw_only=True):
    """A tool. ``schema`` returns the JSON Schema of its parameters.

    ``own_entry`` returns what a policy decides on, if that is more than its name. A tool that ``is_gated`` passes
    the gate when it runs; the registry passes the others through it.
    ``model_tool`` is the tool through which models use it; models get a tool with an empty
    one as it is, and do not get one without. ``shape`` is the Struct of its parameters, if it is a tool of ours.
    """

    name: str
    responsibility: str
    source_hint: str
    level: Level
    schema: Callable[[], dict[str, Any]]
    run: Callable[[Mapping[str, Any], ToolContext], ToolResult]
    aliases: tuple[str, ...] = ()
    family: str = "action"  # action, observation, recording, skill, doctor, mcp
    own_entry: Callable[[], PolicyEntry] | None = None
    is_gated: bool = False
    takes_app_name: bool = False  # prompts with the name of an app lead to it
    model_tool: str | None = ""
    shape: Any = None

    @property
    def entry(self) -> PolicyEntry:
        """What a policy decides on."""
        return PolicyEntry(self.name, self.level, self.aliases) if self.own_entry is None else self.own_entry()


class Exchange(Struct, frozen=True):
    """An earlier turn of the session, as context for the brain."""

    prompt: str
    output: str


class BrainRequest(Struct, frozen=True):
    """The input of a brain for one turn.

    ``offered`` are the tools to offer to a model; None means all. Calls of other tools are denied.
    ``on_text`` receives the answer piece by piece. ``on_usage`` receives the usage of each reply of a model
    service before its first call is requested: a turn over its budget makes no more calls. ``on_warning`` receives
    problems that do not stop the turn.
    """

    prompt: str
    tools: tuple[Tool, ...]
    deadline: TurnDeadline
    history: tuple[Exchange, ...] = ()
    offered: tuple[Tool, ...] | None = None
    on_text: Callable[[str], None] = lambda _: None
    on_usage: Callable[[Usage], None] = lambda _: None
    on_warning: Callable[[str], None] = lambda _: None


class Answer(Struct, frozen=True):
    """The final answer of a brain. ``usage`` is None when no service counted tokens."""

    text: str
    outcome: Outcome = "done"
    error: ClawError | None = None  # set when the outcome is not "done"
    usage: Usage | None = None


class Brain(Protocol):
    """Turns a prompt into tool calls and an answer.

    The generator yields calls, receives their results, and returns the answer. It never acts by itself. A denied
    or failed call is a result like any other: the brain decides how to continue.
    """

    @property
    def name(self) -> str: ...

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]: ...
