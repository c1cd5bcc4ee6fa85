"""Configuration of a model service: base URL, model and key, from the environment.

There is no default base URL: no request is ever sent to a paid service that was not configured.
"""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from clawperator.agent.models.options import ModelOptions, read_options
from clawperator.agent.models.proxy import Proxy, ProxyUrlError, bracketed, proxy_for
from clawperator.errors import ClawError

Kind = Literal["openai", "anthropic"]

MODEL_VARIABLE = "CLAW_MODEL"
_LOOPBACK = re.compile(r"localhost|::1|127(\.\d{1,3}){3}")
_KEY = re.compile(r"[!-~]+")


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


class _Variables(Struct, frozen=True):
    """Variables of a kind: for the base URL, and for keys in order of precedence, True for bearer tokens."""

    base_url: str
    keys: tuple[tuple[str, bool], ...]


_KINDS: Mapping[Kind, _Variables] = {
    "openai": _Variables("OPENAI_BASE_URL", (("OPENAI_API_KEY", True),)),
    "anthropic": _Variables("ANTHROPIC_BASE_URL", (("ANTHROPIC_API_KEY", False), ("ANTHROPIC_AUTH_TOKEN", True))),
}


def model_config(kind: Kind, *, model: str | None, environ: Mapping[str, str]) -> ModelConfig:
    """Read the configuration; ``BRAIN_NOT_CONFIGURED`` names the missing variables.

    ``model`` overrides ``CLAW_MODEL``. A service on this machine needs no key. A key is never sent over plain http
    to another host; a service that needs none may be used there.
    """
    variables = _KINDS[kind]
    base = environ.get(variables.base_url, "").strip()
    chosen = (model or environ.get(MODEL_VARIABLE, "")).strip()
    found = next(((name, bearer) for name, bearer in variables.keys if environ.get(name, "").strip()), None)
    if not (base and chosen):
        wanted = {variables.base_url: base, variables.keys[0][0]: base or found, MODEL_VARIABLE: chosen}
        unset = " and ".join(word for word, given in (("base URL", base), ("model", chosen)) if not given)
        raise _not_configured(kind, f"{unset} not set", [name for name, given in wanted.items() if not given])
    base_url = _parse_base_url(kind, variables.base_url, base)
    config = ModelConfig(
        kind=kind,
        base_url=base_url,
        model=chosen,
        proxy=_proxy(kind, base_url, environ),
        options=read_options(kind, environ),
    )
    if found is None:
        if base_url.secure and not base_url.is_loopback:
            raise _not_configured(kind, f"no key for {base_url}", [variables.keys[0][0]])
        return config
    name, bearer = found
    if not base_url.secure and not base_url.is_loopback:
        raise _not_configured(
            kind,
            f"{name} is not sent over plain http to {base_url.host}",
            [variables.base_url],
            hint=f"Set {variables.base_url} to an https URL, or run 'unset {name}' if the service needs no key.",
        )
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
        raise _not_configured(
            kind, f"{variable} must be an http or https URL without query and fragment", [variable]
        )
    secure = parts.scheme == "https"
    return BaseUrl(secure, host, port or (443 if secure else 80), path)


_EXAMPLES = {
    "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:8080",
    MODEL_VARIABLE: "NAME",
}


def key_variable(config: ModelConfig) -> str:
    """The environment variable for the key."""
    names = _KINDS[config.kind].keys
    return next(name for name, bearer in names if config.key is None or bearer == config.bearer)


def base_url_variable(kind: Kind) -> str:
    return _KINDS[kind].base_url


def _not_configured(kind: Kind, message: str, names: list[str], *, hint: str | None = None) -> ClawError:
    if hint is None:
        wanted = " ".join(f"{name}={_EXAMPLES.get(name, 'KEY')}" for name in names)
        hint = f"Run 'export {wanted}' with your own values"
        hint += ", or add --model." if MODEL_VARIABLE in names else "."
    return ClawError(
        "BRAIN_NOT_CONFIGURED",
        f"brain {kind} is not configured: {message}",
        hint=hint,
        details={"variables": names},
        operation="configure",
        target=kind,
    )
