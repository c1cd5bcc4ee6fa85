"""The policy as the value of an environment variable, for child processes."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clawperator.commands.model import POLICY_VARIABLE, Level
from clawperator.errors import ClawError
from clawperator.policy.rules import Policy, PolicyRule, read_rule

# Linux refuses variables of 128 KiB.
_MOST_BYTES = 100 * 1024


class _Layer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    mode: Level
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    outer: "_Layer | None" = None


def restricted(policy: Policy, outer: Policy) -> Policy:
    """The policy, restricted by the one it runs under. A layer that is there already is not repeated."""
    layers = list(_layers(outer))
    if _own(policy) in [_own(layer) for layer in layers]:
        return replace(policy, outer=_joined([layer for layer in layers if _own(layer) != _own(policy)]))
    return replace(policy, outer=outer)


def encode_policy(policy: Policy) -> str:
    """The policy as JSON; ``PERMISSION_DENIED`` when it is too long for a variable."""
    encoded = msgspec.json.encode(_layer(policy))
    if len(encoded) > _MOST_BYTES:
        raise ClawError(
            "PERMISSION_DENIED",
            f"the rules are longer than {_MOST_BYTES} bytes and cannot be passed to a child process",
            hint="Use fewer rules, or prefixes such as 'recording_*'.",
            operation="check_policy",
            target=POLICY_VARIABLE,
        )
    return encoded.decode()


def decode_policy(text: str) -> Policy:
    """Read the variable. ``PERMISSION_DENIED`` when it is invalid: a restriction may be lost."""
    try:
        if len(text) > _MOST_BYTES:
            raise ValueError(f"longer than {_MOST_BYTES} bytes")  # noqa: TRY301 - reported like any other reason
        return _policy(msgspec.json.decode(text, type=_Layer))
    except (ValueError, RecursionError) as e:  # decoding errors are ValueErrors
        raise ClawError(
            "PERMISSION_DENIED",
            f"{POLICY_VARIABLE} is invalid: {e}",
            hint=f"Run 'unset {POLICY_VARIABLE}' if no claw command set it.",
            operation="check_policy",
            target=POLICY_VARIABLE,
        ) from None


def _layer(policy: Policy) -> _Layer:
    outer = None if policy.outer is None else _layer(policy.outer)
    return _Layer(policy.mode, _texts(policy.deny), _texts(policy.ask), _texts(policy.allow), outer)


def _policy(layer: _Layer) -> Policy:
    return Policy(
        layer.mode,
        allow=_rules(layer.allow),
        deny=_rules(layer.deny),
        ask=_rules(layer.ask),
        mode_source=POLICY_VARIABLE,
        outer=None if layer.outer is None else _policy(layer.outer),
    )


def _texts(rules: tuple[PolicyRule, ...]) -> tuple[str, ...]:
    return tuple(str(rule) for rule in rules)


def _rules(texts: tuple[str, ...]) -> tuple[PolicyRule, ...]:
    return tuple(read_rule(text, POLICY_VARIABLE) for text in texts)


def _layers(policy: Policy | None) -> Iterator[Policy]:
    while policy is not None:
        yield policy
        policy = policy.outer


def _joined(layers: list[Policy]) -> Policy | None:
    outer = None
    for layer in reversed(layers):
        outer = replace(layer, outer=outer)
    return outer


def _own(policy: Policy) -> tuple[Any, ...]:
    return policy.mode, _texts(policy.deny), _texts(policy.ask), _texts(policy.allow)
