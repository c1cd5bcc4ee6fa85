"""Configuration of a model service from the environment: base URL, model, key, proxy, options and prices.

There is no default base URL: no request is ever sent to a paid service that was not configured.

CLAW_MAX_TOKENS                        longest reply, in tokens
CLAW_THINKING                          low, medium or high; for Anthropic also a number of tokens
CLAW_TEMPERATURE                       0 to 2; not sent when it is not set
CLAW_IMAGES                            on: send screenshots and images of MCP tools to the model
CLAW_INPUT_USD_PER_MILLION             price of a million input tokens
CLAW_OUTPUT_USD_PER_MILLION            price of a million output tokens
CLAW_CACHED_INPUT_USD_PER_MILLION      price of a million input tokens that the service read from its cache
CLAW_CACHE_WRITE_USD_PER_MILLION       price of a million input tokens that the service wrote to its cache

``https_proxy`` is used for https, ``http_proxy`` for plain http, both also in upper case; the lower case comes
first. ``no_proxy`` lists hosts that are reached directly, as do all hosts on this machine. The user and the
password of a proxy are sent to the proxy only and are in no message.
"""

import re
from collections.abc import Mapping
from typing import Literal, NoReturn
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from clawperator._base.text import printable
from clawperator.agent.sessions.records import Usage
from clawperator.errors import ClawError, ClawperatorException

Kind = Literal["openai", "anthropic"]

MODEL_VARIABLE = "CLAW_MODEL"
_LOOPBACK = re.compile(r"localhost|::1|127(\.\d{1,3}){3}")
_KEY = re.compile(r"[!-~]+")
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


class ProxyUrlError(ClawperatorException, ValueError):
    """A proxy variable with an address that cannot be used. The text does not contain the address."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"{variable} {reason}")
        self.variable = variable


class Proxy(Struct, frozen=True):
    """A proxy. ``credentials`` is the value of its authorization header; it is not part of ``repr`` or ``str``."""

    host: str
    port: int
    credentials: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Proxy-Authorization": self.credentials} if self.credentials else {}

    def __str__(self) -> str:
        return f"{bracketed(self.host)}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self})"


def bracketed(host: str) -> str:
    """The host as it is written in a URL."""
    return f"[{host}]" if ":" in host else host


def proxy_for(*, secure: bool, host: str, port: int, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy of an address; None when it is reached directly. ``ProxyUrlError`` for an unusable one."""
    name = "https_proxy" if secure else "http_proxy"
    found = [variable for variable in (name, name.upper()) if environ.get(variable, "").strip()]
    if not found or _is_exempt(host, port, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    return _parse_proxy(found[0], environ[found[0]].strip())


def _parse_proxy(variable: str, text: str) -> Proxy:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or 80
    except ValueError:
        raise ProxyUrlError(variable, "is not a URL") from None
    if parts.scheme != "http":
        raise ProxyUrlError(variable, f"names a proxy for {printable(parts.scheme)}; only http proxies work")
    if not parts.hostname or not parts.hostname.isascii() or not parts.hostname.isprintable():
        raise ProxyUrlError(variable, "has no host")
    if parts.username is None:
        return Proxy(parts.hostname, port)
    from base64 import b64encode

    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return Proxy(parts.hostname, port, f"Basic {b64encode(user).decode()}")


def _is_exempt(host: str, port: int, listed: str) -> bool:
    """Whether an entry of ``no_proxy`` covers the host: a name and all below it, an address, a network, or all."""
    for entry in listed.replace(",", " ").split():
        name, own_port = _split_port(entry)
        if own_port and own_port != str(port):
            continue
        plain = name.removeprefix("*").lstrip(".").casefold()
        if not plain and name.startswith("*"):
            return True
        if plain and (host.casefold() == plain or host.casefold().endswith(f".{plain}")):
            return True
        if "/" in name and _is_in_network(host, name):
            return True
    return False


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _is_in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


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
    if text and not (text.isascii() and text.isdecimal() and least <= int(text[:20]) <= _MOST_TOKENS):
        problem = f"must be a whole number from {least} to {_MOST_TOKENS}"
        _refuse(name, environ, problem, f"export {name}={example}")
    return int(text) if text else None


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
    operation = "price" if name in (_INPUT, _OUTPUT, _CACHED, _WRITTEN) else "configure"
    message, hint = f"{name}={shown}: it {problem}", f"Run '{command}'."
    raise ClawError("USAGE", message, hint=hint, operation=operation, target=name)


class Secret:
    """A text that is not shown by ``repr``; ``reveal`` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(...)"


class BaseUrl(Struct, frozen=True):
    """A base URL in its parts. ``path`` has no slash at its end."""

    secure: bool
    host: str
    port: int
    path: str

    @property
    def is_loopback(self) -> bool:
        return _LOOPBACK.fullmatch(self.host) is not None

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{bracketed(self.host)}:{self.port}{self.path}"


class ModelConfig(Struct, frozen=True, kw_only=True):
    """The configuration of a model service. ``bearer`` selects the header for the key.

    ``proxy`` is the proxy to reach it through, if there is one.
    """

    kind: Kind
    base_url: BaseUrl
    model: str
    key: Secret | None = None
    bearer: bool = True
    proxy: Proxy | None = None
    options: ModelOptions = ModelOptions()


# Variables of each kind: for the base URL, and for keys in order of precedence, True for bearer tokens.
_KINDS: Mapping[Kind, tuple[str, tuple[tuple[str, bool], ...]]] = {
    "openai": ("OPENAI_BASE_URL", (("OPENAI_API_KEY", True),)),
    "anthropic": ("ANTHROPIC_BASE_URL", (("ANTHROPIC_API_KEY", False), ("ANTHROPIC_AUTH_TOKEN", True))),
}


def model_config(kind: Kind, *, model: str | None, environ: Mapping[str, str]) -> ModelConfig:
    """Read the configuration; ``BRAIN_NOT_CONFIGURED`` names the missing variables.

    ``model`` overrides ``CLAW_MODEL``. A service on this machine needs no key. A key is never sent over plain http
    to another host; a service that needs none may be used there.
    """
    variable, keys = _KINDS[kind]
    base = environ.get(variable, "").strip()
    chosen = (model or environ.get(MODEL_VARIABLE, "")).strip()
    found = next(((name, bearer) for name, bearer in keys if environ.get(name, "").strip()), None)
    if not (base and chosen):
        wanted = {variable: base, keys[0][0]: base or found, MODEL_VARIABLE: chosen}
        unset = " and ".join(word for word, given in (("base URL", base), ("model", chosen)) if not given)
        raise _not_configured(kind, f"{unset} not set", [name for name, given in wanted.items() if not given])
    base_url = _parse_base_url(kind, variable, base)
    config = ModelConfig(
        kind=kind,
        base_url=base_url,
        model=chosen,
        proxy=_proxy(kind, base_url, environ),
        options=read_options(kind, environ),
    )
    if found is None:
        if base_url.secure and not base_url.is_loopback:
            raise _not_configured(kind, f"no key for {base_url}", [keys[0][0]])
        return config
    name, bearer = found
    if not base_url.secure and not base_url.is_loopback:
        problem = f"{name} is not sent over plain http to {base_url.host}"
        hint = f"Set {variable} to an https URL, or run 'unset {name}' if the service needs no key."
        raise _not_configured(kind, problem, [variable], hint=hint)
    key = environ[name].strip()
    if not _KEY.fullmatch(key):
        raise _not_configured(kind, f"{name} contains characters that are not allowed in a key", [name])
    return replace(config, key=Secret(key), bearer=bearer)


def _proxy(kind: Kind, base_url: BaseUrl, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy of the environment. A service on this machine needs none: a proxy could not reach it."""
    if base_url.is_loopback:
        return None
    try:
        return proxy_for(secure=base_url.secure, host=base_url.host, port=base_url.port, environ=environ)
    except ProxyUrlError as e:
        hint = f"Run 'export {e.variable}=http://HOST:PORT' with your proxy, or 'unset {e.variable}'."
        raise _not_configured(kind, str(e), [e.variable], hint=hint) from None


def _parse_base_url(kind: Kind, variable: str, text: str) -> BaseUrl:
    """Parse a base URL, with or without a final ``/v1``."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _not_configured(kind, f"{variable} is not a URL", [variable]) from None
    if parts.username is not None or parts.password is not None:
        raise _not_configured(kind, f"{variable} must not contain a user or password", [variable])
    host = parts.hostname or ""
    readable = host.isascii() and host.isprintable() and not set(host) & set(" \\%")
    path = parts.path.rstrip("/")
    fits = parts.scheme in ("http", "https") and host and readable and _KEY.fullmatch(path or "/")
    if not fits or parts.query or parts.fragment:
        problem = f"{variable} must be an http or https URL without query and fragment"
        raise _not_configured(kind, problem, [variable])
    secure = parts.scheme == "https"
    return BaseUrl(secure, host, port or (443 if secure else 80), path)


_EXAMPLES = {
    "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080",
    MODEL_VARIABLE: "NAME",
}


def key_variable(config: ModelConfig) -> str:
    """The environment variable for the key."""
    names = _KINDS[config.kind][1]
    return next(name for name, bearer in names if config.key is None or bearer == config.bearer)


def base_url_variable(kind: Kind) -> str:
    return _KINDS[kind][0]


def _not_configured(kind: Kind, message: str, names: list[str], *, hint: str | None = None) -> ClawError:
    if hint is None:
        wanted = " ".join(f"{name}={_EXAMPLES.get(name, 'KEY')}" for name in names)
        hint = f"Run 'export {wanted}' with your own values"
        hint += ", or add --model." if MODEL_VARIABLE in names else "."
    message, details = f"brain {kind} is not configured: {message}", {"variables": names}
    return ClawError(
        "BRAIN_NOT_CONFIGURED", message, hint=hint, details=details, operation="configure", target=kind
    )
