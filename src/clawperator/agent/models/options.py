"""Options of model requests, and prices of tokens, from the environment.

CLAW_MAX_TOKENS                        longest reply, in tokens
CLAW_THINKING                          low, medium or high; for Anthropic also a number of tokens
CLAW_TEMPERATURE                       0 to 2; not sent when it is not set
CLAW_IMAGES                            on: send screenshots and images of MCP tools to the model
CLAW_INPUT_USD_PER_MILLION             price of a million input tokens
CLAW_OUTPUT_USD_PER_MILLION            price of a million output tokens
CLAW_CACHED_INPUT_USD_PER_MILLION      price of a million input tokens that the service read from its cache
CLAW_CACHE_WRITE_USD_PER_MILLION       price of a million input tokens that the service wrote to its cache
"""

from collections.abc import Mapping
from typing import Literal, NoReturn

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.agent.sessions.records import Usage
from clawperator.errors import ClawError

Effort = Literal["low", "medium", "high"]

# The budgets that the efforts mean where a service takes a number, and the least it accepts.
THINKING_TOKENS: Mapping[Effort, int] = {"low": 2_048, "medium": 8_192, "high": 16_384}
_LEAST_THINKING_TOKENS = 1_024
_MOST_TOKENS = 10_000_000
_MAX_PRICE = 1e12
_LONGEST_SHOWN = 40
_ON, _OFF = ("on", "1", "true", "yes"), ("off", "0", "false", "no")
_INPUT, _OUTPUT = "CLAW_INPUT_USD_PER_MILLION", "CLAW_OUTPUT_USD_PER_MILLION"
_CACHED, _WRITTEN = "CLAW_CACHED_INPUT_USD_PER_MILLION", "CLAW_CACHE_WRITE_USD_PER_MILLION"
# Prices of cached input as a part of the input price, where they are not set: reading, writing.
_CACHE_PRICES = {"anthropic": (0.1, 1.25), "openai": (0.5, 1.0)}


class ModelOptions(Struct, frozen=True, kw_only=True):
    """Options of each request. None means that the service decides."""

    max_tokens: int | None = None
    thinking: Effort | int | None = None
    temperature: float | None = None
    images: bool = False

    @property
    def thinking_tokens(self) -> int:
        """The budget for thinking; 0 for none."""
        if isinstance(self.thinking, int) or self.thinking is None:
            return self.thinking or 0
        return THINKING_TOKENS[self.thinking]


class Prices(Struct, frozen=True):
    """Prices of a million tokens in US dollars."""

    input: float
    output: float
    cached: float
    written: float

    def cost(self, usage: Usage) -> float:
        """The cost of a usage. ``input_tokens`` includes the cached and the written ones."""
        plain = max(usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens, 0)
        total = (
            plain * self.input
            + usage.cached_tokens * self.cached
            + usage.cache_write_tokens * self.written
            + usage.output_tokens * self.output
        )
        return round(total / 1_000_000, 6)


def read_options(kind: str, environ: Mapping[str, str]) -> ModelOptions:
    """The options of a kind of service; ``USAGE`` for an invalid value."""
    thinking = _thinking(kind, environ)
    temperature = _number(environ, "CLAW_TEMPERATURE", 0.0, 2.0, "0.2")
    if temperature is not None and thinking is not None and kind == "anthropic":
        _refuse("CLAW_TEMPERATURE", environ, "cannot be combined with CLAW_THINKING", "unset CLAW_TEMPERATURE")
    most = _whole(environ, "CLAW_MAX_TOKENS", 1, "8192")
    options = ModelOptions(
        max_tokens=most, thinking=thinking, temperature=temperature, images=_switch(environ, "CLAW_IMAGES")
    )
    if kind == "anthropic" and most is not None and most <= options.thinking_tokens:
        problem = f"must be above the {options.thinking_tokens} tokens of CLAW_THINKING"
        _refuse("CLAW_MAX_TOKENS", environ, problem, "unset CLAW_MAX_TOKENS")
    return options


def read_prices(kind: str, environ: Mapping[str, str]) -> Prices | None:
    """The prices, if those of input and output are set; ``USAGE`` for an invalid one."""
    values = {name: _number(environ, name, 0.0, _MAX_PRICE, "3") for name in (_INPUT, _OUTPUT, _CACHED, _WRITTEN)}
    price, output = values[_INPUT], values[_OUTPUT]
    if price is None or output is None:
        return None
    cached, written = (price * part for part in _CACHE_PRICES[kind])
    given = values[_CACHED], values[_WRITTEN]
    return Prices(price, output, *(b if a is None else a for a, b in zip(given, (cached, written), strict=True)))


def _thinking(kind: str, environ: Mapping[str, str]) -> Effort | int | None:
    text = _text(environ, "CLAW_THINKING").casefold()
    if not text or text in _OFF:
        return None
    for effort in THINKING_TOKENS:
        if text == effort:
            return effort
    if kind != "anthropic":
        _refuse("CLAW_THINKING", environ, "must be low, medium or high", "export CLAW_THINKING=low")
    return _whole(environ, "CLAW_THINKING", _LEAST_THINKING_TOKENS, "2048")


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = _text(environ, name).casefold()
    if text in _ON:
        return True
    if text and text not in _OFF:
        _refuse(name, environ, "must be on or off", f"export {name}=on")
    return False


def _whole(environ: Mapping[str, str], name: str, least: int, example: str) -> int | None:
    text = _text(environ, name)
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or not least <= int(text[:20]) <= _MOST_TOKENS:
        problem = f"must be a whole number from {least} to {_MOST_TOKENS}"
        _refuse(name, environ, problem, f"export {name}={example}")
    return int(text)


def _number(environ: Mapping[str, str], name: str, least: float, most: float, example: str) -> float | None:
    text = _text(environ, name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        _refuse(name, environ, f"must be a number from {least:g} to {most:g}", f"export {name}={example}")
    return value


def _text(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip()


def _refuse(name: str, environ: Mapping[str, str], problem: str, command: str) -> NoReturn:
    shown = printable(_text(environ, name)[:_LONGEST_SHOWN])
    raise ClawError(
        "USAGE",
        f"{name}={shown}: it {problem}",
        hint=f"Run '{command}'.",
        operation="price" if name in (_INPUT, _OUTPUT, _CACHED, _WRITTEN) else "configure",
        target=name,
    )
