"""One row of the table of routes."""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from clawperator.serve.http.calls import CommandRule, HttpCall
from clawperator.serve.http.documents import NoFields, Nothing

Method = Literal["GET", "POST", "DELETE"]
Special = Literal["", "page", "asset", "health", "openapi", "events", "open session", "close session"]

# How long a call may take before its deadlines end. An execution takes 120 seconds at most.
SHORT_SECONDS, EXECUTION_SECONDS = 60.0, 130.0


class HttpRoute(Struct, frozen=True, kw_only=True):
    """One route. ``answer`` is the type of a successful answer, without its ``ok``; ``errors`` are typical codes.

    ``work`` runs in a thread, for at most ``seconds``. A ``special`` route is answered in the event loop.
    ``rule`` is the command under which the policy decides; a route without one checks inside its work. A
    ``public`` route needs no token. ``read_seconds`` returns how long a request that only reads a device may wait
    for its turn, or None for a request that acts. An answer of another ``media_type`` than JSON has no ``answer``.
    """

    method: Method
    path: str
    summary: str
    request: type[Struct] = NoFields
    answer: type[Struct] = Nothing
    work: Callable[[Any, HttpCall], Any] | None = None
    rule: CommandRule | None = None
    errors: tuple[str, ...] = ()
    seconds: float = SHORT_SECONDS
    read_seconds: Callable[[Any], float | None] = lambda _: None
    special: Special = ""
    media_type: str = "application/json"
    public: bool = False

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The fields of the request that are in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @property
    def has_body(self) -> bool:
        return self.method == "POST"
