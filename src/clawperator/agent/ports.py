"""What the parts of the agent say to each other: tools, calls and their results, and the port for brains."""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.sessions.records import Denial, Usage
from clawperator.commands.levels import LEVELS, Level
from clawperator.commands.model import BackendName
from clawperator.errors import ClawError

__all__ = [
    "LEVELS",
    "Answer",
    "Brain",
    "BrainRequest",
    "Denial",
    "Evidence",
    "Exchange",
    "Level",
    "Outcome",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "Usage",
]

Outcome = Literal["done", "failed", "not_understood"]


class ToolCall(Struct, frozen=True):
    """A wish to run a tool. ``id`` is whatever the brain tells calls apart by."""

    name: str
    params: Mapping[str, Any]
    id: str = ""


class Evidence(Struct, frozen=True):
    """Something a call brought back that proves what happened: to be kept with the turn.

    ``kind`` is ``execution``, ``snapshot``, ``screenshot``, ``recording``, ``skill_run`` or ``document``.
    ``document`` is kept as a JSON file of the session; ``path`` names a file that lies elsewhere already.
    """

    kind: str
    ref: str  # the command id, the skill id, the session of a recording
    device_id: str | None = None
    document: Any = None
    path: str | None = None


class ToolResult(Struct, frozen=True):
    """What came of a call. ``handled`` says whether the work was done; if not, ``error`` says why.

    ``message`` is one line for people and models, ``result`` the whole document. ``secrets`` are texts that must
    not be written down: what went into a password field.
    """

    handled: bool
    message: str
    result: Any = None
    error: ClawError | None = None
    evidence: tuple[Evidence, ...] = ()
    secrets: tuple[str, ...] = ()


class ToolContext(Struct, frozen=True):
    """Where tools do their work: which phone and by which way, which folder, and until when."""

    deadline: TurnDeadline
    folder: str = "."
    device: str | None = None
    operator_package: str | None = None
    backend: BackendName = "auto"


class Tool(Struct, frozen=True, kw_only=True):
    """One thing that can be done. ``schema`` is the JSON Schema of its parameters.

    ``subject`` names the parameter that rules of a policy look at; without one they look at the whole of them.
    """

    name: str
    responsibility: str
    source_hint: str
    level: Level
    schema: Callable[[], dict[str, Any]]
    run: Callable[[Mapping[str, Any], ToolContext], ToolResult]
    aliases: tuple[str, ...] = ()
    family: str = "action"  # action, observation, recording, skill, doctor, mcp
    subject: Callable[[Mapping[str, Any]], str] | None = None


class Exchange(Struct, frozen=True):
    """An earlier turn, as a brain remembers it."""

    prompt: str
    output: str


class BrainRequest(Struct, frozen=True):
    """What a brain is asked.

    ``say`` takes text as it is made, piece by piece. ``count`` takes what a service counted, reply by reply, so
    that it is known also when the turn is broken off.
    """

    prompt: str
    tools: tuple[Tool, ...]
    deadline: TurnDeadline
    history: tuple[Exchange, ...] = ()
    on_text: Callable[[str], None] = lambda _: None
    on_usage: Callable[[Usage], None] = lambda _: None


class Answer(Struct, frozen=True):
    """What a brain says in the end. ``usage`` is None when nobody but us counts."""

    text: str
    outcome: Outcome = "done"
    error: ClawError | None = None  # set when the outcome is not "done"
    usage: Usage | None = None


class Brain(Protocol):
    """Turns a prompt into calls and an answer.

    The generator yields a call, is sent its result, and returns the answer. It never acts by itself. A denied or
    failed call is a result like any other: what to do about it is the brain's to decide.
    """

    @property
    def name(self) -> str: ...

    def respond(self, request: BrainRequest) -> Generator[ToolCall, ToolResult, Answer]: ...
