"""URI schemes that an execution may open, checked on the host before anything is sent.

http and https are always allowed. A user allows others with ``--allow-scheme``, ``CLAWPERATOR_ALLOW_SCHEMES`` or
``allow_schemes`` in clawperator.toml. ``*`` allows every scheme except those that run code or reach into apps and
files: these must be named.
"""

import os
import re
from collections.abc import Iterable
from shlex import quote

from msgspec.structs import asdict

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action, Plan
from clawperator.errors import ClawError

SCHEMES_VARIABLE = "CLAWPERATOR_ALLOW_SCHEMES"
WEB_SCHEMES = frozenset(("http", "https"))
# They start components of other apps, run scripts, or read files and content providers.
NAMED_ONLY = (
    *("intent", "android-app", "file", "content", "javascript", "vbscript", "data", "about", "blob"),
    *("filesystem", "jar", "view-source", "chrome", "android.resource", "package"),
)
_ANY = "*"
_LONGEST_SHOWN = 200
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?::(?://)?)?")
# Android reads an intent from the fragment, whatever the scheme before it.
_INTENT_FRAGMENT = "#intent;"


def read_schemes(given: Iterable[str]) -> frozenset[str]:
    """The names of schemes, in lower case; ``USAGE`` for an invalid one. ``myapp://`` means ``myapp``."""
    names = set()
    for text in given:
        found = _NAME.fullmatch(text)
        if text != _ANY and found is None:
            message = f"invalid URI scheme {text!r}"
            hint = "Give its name, such as myapp, or '*' for most schemes."
            raise ClawError("USAGE", message, hint=hint, operation="allow_scheme", target=text)
        names.add(_ANY if found is None else found[1].lower())
    return frozenset(names)


def check_uri_schemes(plan: Plan, allowed: Iterable[str]) -> None:
    """Check every URI that a plan opens; ``URI_SCHEME_NOT_ALLOWED`` for the first that may not be opened.

    ``allowed`` are schemes besides http and https. The variable and the configuration are read only when needed.
    """
    for action in plan.execution.actions:
        if param := ACTIONS[action.type].uri_param:
            uri = getattr(action.params, param)
            if not isinstance(uri, str):
                continue
            scheme = _scheme(uri)
            if scheme not in WEB_SCHEMES and not _is_allowed(scheme, allowed):
                raise _refused(uri, scheme, action)


def _scheme(uri: str) -> str:
    """The scheme that Android would act on, in lower case; empty when there is none at the start."""
    if _INTENT_FRAGMENT in uri.lower():
        return "intent"
    found = _SCHEME.match(uri)
    return found[1].lower() if found else ""


def _is_allowed(scheme: str, given: Iterable[str]) -> bool:
    if not scheme:
        return False
    from clawperator._base.config import read_config

    variable = (part.strip() for part in os.environ.get(SCHEMES_VARIABLE, "").split(","))
    allowed = read_schemes((*given, *filter(None, variable), *read_config().allow_schemes))
    return scheme in allowed or (_ANY in allowed and scheme not in NAMED_ONLY)


def _command(uri: str, action: Action) -> str:
    """The command that opens a URI as the action does."""
    shown = uri if len(uri) <= _LONGEST_SHOWN and "'" not in uri else "<uri>"  # a hint quotes the line
    if action.type == "open_uri":
        return f"open {quote(shown)}"
    given = {"component": None, "action": None, **asdict(action.params), "uri": shown}
    words = (f"--{name}={quote(given[name])}" for name in ("component", "action", "uri") if given[name])
    return f"start-activity {' '.join(words)}"


def _refused(uri: str, scheme: str, action: Action) -> ClawError:
    message, hint = f"{uri!r} has no URI scheme", "Write the URI with its scheme: https://example.com."
    if scheme:
        message = f"URI scheme {scheme!r} is not allowed"
        hint = f"Run 'clawperator {_command(uri, action)} --allow-scheme {scheme}' to allow it."
    code, details = "URI_SCHEME_NOT_ALLOWED", {"uri": uri, "actionId": action.id}
    return ClawError(code, message, hint=hint, details=details, operation=action.type, target=uri)
