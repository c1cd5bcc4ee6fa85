"""Errors of model services: from HTTP replies, from streams, and from replies that break the protocol.

Text of a service is shown on one line, shortened, and without our key.
"""

from typing import Any

from clawperator._base.text import printable
from clawperator.agent.lenient_json import read_json
from clawperator.agent.models.config import ModelConfig, base_url_variable, key_variable
from clawperator.errors import ClawError, ClawperatorException

_LONGEST_MESSAGE = 500
_SHORTEST_SECRET = 8  # local services accept any word as a key, and a short word occurs in other text
# Kinds of errors that services name in a stream, where there is no HTTP status.
_AUTH_KINDS = ("authentication_error", "permission_error", "invalid_api_key")
_REFUSED_KINDS = ("invalid_request_error", "not_found_error", "request_too_large", "billing_error")
_STOPPED_FOR_CONTENT = ("refusal", "content_filter", "safety", "recitation")


class UnavailableError(ClawperatorException):
    """A failed attempt, which may succeed later. ``pause`` is the wait that the service asks for."""

    def __init__(self, message: str, status: int | None = None, pause: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.pause = pause


def error_message(body: bytes) -> str:
    """The message of an error body, in either protocol, or its text."""
    try:
        return _parse_error(read_json(body))[1]
    except ValueError:
        return body.decode("utf-8", "replace")


def _parse_error(document: Any) -> tuple[str, str]:
    """The kind and the message of an error object."""
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return "", str(error)
    message = next((error[name] for name in ("message", "detail", "error") if error.get(name)), "")
    kinds = (error.get("type"), error.get("code"))
    return next((kind for kind in kinds if isinstance(kind, str) and kind != "error"), ""), str(message)


def stream_error(config: ModelConfig, document: Any) -> ClawError | UnavailableError:
    """An error that the service sent in the middle of its reply. An overloaded service may be asked again."""
    kind, message = _parse_error(document)
    reason = f"reply broken off: {message or kind}".removesuffix(": ")
    if kind in _AUTH_KINDS:
        return auth_error(config, reason)
    if kind in _REFUSED_KINDS:
        return refused_error(config, reason, None)
    return UnavailableError(reason)


def stopped_reply(config: ModelConfig, reason: str) -> ClawError:
    """A reply that the service ended early, for its length or its content."""
    message = f"reply stopped before its end ({reason})"
    if reason.casefold() in _STOPPED_FOR_CONTENT:
        return refused_error(config, message, None)
    hint = "Ask for less in one turn, or choose another --model."
    return _error("BRAIN_ANSWER_INVALID", config, message, hint=hint)


def empty_answer(config: ModelConfig) -> ClawError:
    """A model that ended its turn without a text: what it did, and whether it is done, is not known."""
    hint = "Ask what was done in a new turn of the session, or choose another --model."
    return _error("BRAIN_ANSWER_INVALID", config, "the model ended its turn without an answer", hint=hint)


def invalid_reply(config: ModelConfig, reason: str, data: bytes = b"") -> ClawError:
    """A reply that breaks the protocol. The start of ``data`` goes to the details."""
    details = {"received": _sanitize(config, data.decode("utf-8", "replace"), 200)} if data else {}
    return _error("BRAIN_ANSWER_INVALID", config, f"invalid reply: {reason}", details=details)


def unavailable_error(
    config: ModelConfig, message: str, *, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    return _error("BRAIN_UNAVAILABLE", config, message, hint=hint, details=details)


def auth_error(config: ModelConfig, message: str) -> ClawError:
    hint = f"Run 'export {key_variable(config)}=KEY' with a key of this service."
    return _error("BRAIN_AUTH_FAILED", config, message, hint=hint)


def refused_error(config: ModelConfig, message: str, status: int | None) -> ClawError:
    hint = (
        f"Check {base_url_variable(config.kind)} and --model {config.model}; for a long session, start a new one."
    )
    details = {} if status is None else {"status": status}
    return _error("BRAIN_REQUEST_REFUSED", config, message, hint=hint, details=details)


def _error(
    code: str, config: ModelConfig, message: str, *, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    target = str(config.base_url)
    if hint is None:
        hint = f"Check that the service at {target} is running, then run the command again."
    return ClawError(
        code,
        f"model service at {target} failed: {_sanitize(config, message, _LONGEST_MESSAGE)}",
        hint=hint,
        details={"model": config.model, **(details or {})},
        operation="ask",
        target=target,
    )


def _sanitize(config: ModelConfig, text: str, longest: int) -> str:
    if config.key is not None and len(config.key.reveal()) >= _SHORTEST_SECRET:
        text = text.replace(config.key.reveal(), "[key]")
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else text[:longest] + "…"
