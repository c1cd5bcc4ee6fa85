"""Every exception of the package, and the table of error codes.

    ClawperatorException
      x ClawError             a failure with a code
          UsageError          unknown command, missing argument, unknown name
          ValidationError     an invalid execution, hierarchy or pattern
          PolicyError         denied by a policy, or by the device's own rules
          DeadlineError       a timeout: of an execution, a skill, a turn
          HostError           this computer: adb, files, tools
          DeviceError         the device is missing, busy, offline or asleep
            OperatorError     the Operator app is missing, stopped or incompatible
          DeliveryError       a command or its result was lost on the way
          ActionError         an action failed on the screen
            TargetError       its target was not found or did not react
            ReplayError       a replayed step did not repeat what was recorded
          EmulatorError       an Android emulator or a build for it
          SimulatedPhoneError a simulated phone
          RecordingError      a recording, its files, or a comparison
          SkillError          a skill or the skills registry
          AgentError          a turn, a tool or a plugin
            SessionError      a saved session
            ModelError        the service of a model
            McpError          an MCP server
          InternalError       a defect, or an interruption
      x RefusedError          the peer of a protocol refused a request
        ...                   signals inside one package, each beside its user

``ClawError("NODE_NOT_FOUND", ...)`` makes a ``TargetError``: the code decides the class. A ``ClawError`` is raised
once, where the failure is known, rendered by an entry point, and never changed on the way: ``with_`` copies it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from clawperator._base.codes import GROUPS, HINTS, Code
from clawperator._base.text import encodable

CODES: Mapping[str, Code] = {code: row for rows in GROUPS.values() for code, row in rows.items()}


def default_hint(code: str) -> str:
    """The hint of an error that has none of its own."""
    return CODES[code].hint or HINTS[code]


_GROUP_OF = {code: group for group, rows in GROUPS.items() for code in rows}


class ClawperatorException(Exception):  # noqa: N818 - the base of signals too, which are no errors
    """The base of every exception class of this package."""


class RefusedError(ClawperatorException):
    """The peer of a protocol refused a request; the message is its own."""


class ClawError(ClawperatorException):
    """A failure with a code from ``CODES``.

    ``message`` is one sentence about what is wrong, with the value; ``hint`` is the next thing to do. An error
    without a hint of its own, ``own_hint``, has that of its code.
    ``operation`` and ``target`` name what was being done to what. ``extra`` holds further members of the
    rendered object, for codes whose contract has them. ``after_effect`` means that something on the device may
    have changed before the failure; such an error is never ``retryable``, because a retry could do it twice.
    Every text in an error can be encoded as UTF-8, whatever bytes the caller quoted in it.
    """

    _classes: "dict[str, type[ClawError]]" = {}  # noqa: RUF012 - filled by the subclasses below

    def __init_subclass__(cls, group: str) -> None:
        cls._classes[group] = cls

    def __new__(cls, code: str, *_: object, **__: object) -> "ClawError":  # noqa: PYI034 - the code decides
        return super().__new__(cls._classes[_GROUP_OF[code]] if cls is ClawError else cls)

    def __init__(  # noqa: PLR0913 - the fields of one error object
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        operation: str = "",
        target: str = "",
        extra: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
        after_effect: bool = False,
    ) -> None:
        row = CODES[code]
        message = encodable(message)
        super().__init__(code, message)
        self.code: Final = code
        self.message: Final = message
        self.own_hint: Final[str | None] = encodable(row.hint if hint is None else hint)
        self.details: Final[Mapping[str, Any] | None] = encodable(details)
        self.kind: Final = row.kind
        self.after_effect: Final = after_effect
        self.retryable: Final = (row.retryable if retryable is None else retryable) and not after_effect
        self.operation: Final[str] = encodable(operation)
        self.target: Final[str] = encodable(target)
        self.extra: Final[Mapping[str, Any]] = encodable(extra or {})

    @property
    def hint(self) -> str:
        return default_hint(self.code) if self.own_hint is None else self.own_hint

    def __str__(self) -> str:
        """Code, message and hint in one line."""
        text = f"{self.code}: {self.message}"
        return f"{text}{' ' if text.endswith('.') else '. '}Hint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ClawError, **self._optional()), (self.code, self.message)

    def with_(self, **changes: Any) -> "ClawError":
        """A copy with another message, or other values for keyword arguments of the constructor."""
        return ClawError(self.code, changes.pop("message", self.message), **{**self._optional(), **changes})

    def _optional(self) -> dict[str, Any]:
        names = ("details", "operation", "target", "extra", "retryable", "after_effect")
        return {"hint": self.own_hint, **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ClawError":
        """The error that another process of ours rendered."""
        code = str(document.get("code"))
        hint, details = document.get("hint"), document.get("details")
        message = str(document.get("message", ""))
        return ClawError(code if code in CODES else "UNKNOWN", message, hint=hint, details=details)

    def document(self) -> dict[str, Any]:
        """The object that an entry point prints."""
        out: dict[str, Any] = {"code": self.code, "message": self.message, "hint": self.hint}
        if self.details is not None:
            out["details"] = self.details
        out.update(self.extra)
        return out


class UsageError(ClawError, group="usage"):
    """The caller used an unknown name, or left an argument out."""


class ValidationError(ClawError, group="validation"):
    """An execution, a hierarchy or a pattern is invalid."""


class PolicyError(ClawError, group="policy"):
    """A policy, or the device's own rules, do not allow this."""


class DeadlineError(ClawError, group="deadline"):
    """A timeout was reached."""


class HostError(ClawError, group="host"):
    """This computer lacks a tool, or refused to read or write a file."""


class DeviceError(ClawError, group="device"):
    """The device is missing, busy, offline, asleep or not authorized."""


class OperatorError(DeviceError, group="operator"):
    """The Operator app is missing, stopped or incompatible."""


class DeliveryError(ClawError, group="delivery"):
    """A command did not reach the device, or its result did not come back whole."""


class ActionError(ClawError, group="action"):
    """An action failed on the screen."""


class TargetError(ActionError, group="target"):
    """The target of an action was not found or did not react."""


class ReplayError(ActionError, group="replay"):
    """A replayed step did not repeat what was recorded."""


class EmulatorError(ClawError, group="emulator"):
    """An Android emulator, or a build for it, failed."""


class SimulatedPhoneError(ClawError, group="simulated_phone"):
    """A simulated phone is missing, stopped, or was given an invalid file."""


class RecordingError(ClawError, group="recording"):
    """A recording could not be made, read, exported or compared."""


class SkillError(ClawError, group="skill"):
    """A skill, or the skills registry, is invalid or failed."""


class AgentError(ClawError, group="agent"):
    """A turn, a tool or a plugin failed."""


class SessionError(AgentError, group="session"):
    """A saved session is missing, busy or damaged."""


class ModelError(AgentError, group="model"):
    """The service of a model is not configured, or failed."""


class McpError(AgentError, group="mcp"):
    """An MCP server or one of its tools failed."""


class InternalError(ClawError, group="internal"):
    """A defect, or an interruption."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Import packages of an extra in this block: ``HOST_DEPENDENCY_MISSING`` when one is not installed."""
    try:
        yield
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] == "clawperator":
            raise
        message = f"the extra {name!r} is not installed: there is no module {e.name}"
        hint = f"Run \"pip install 'clawperator[{name}]'\", or \"pip install '.[{name}]'\" in a clone."
        raise ClawError("HOST_DEPENDENCY_MISSING", message, hint=hint, operation="import", target=name) from None
