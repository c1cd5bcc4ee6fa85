"""Password fields and entered secrets: recognise and mask them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from clawperator._base.text import edited_patterns, is_blank, literal_pattern
from clawperator.errors import ClawError
from clawperator.ui.node import HIDDEN, Hierarchy, Node

_T = TypeVar("_T")

# Words of which one is in most hints of password fields.
_HINT_WORDS = (
    *("password", "passcode", "passphrase", "passwort", "kennwort", "wachtwoord", "lösenord", "hasło", "пароль"),
    *("contraseña", "mot de passe", "senha", "palavra-passe", "密码", "密碼", "パスワード", "비밀번호"),
)
# Values that are our own words and numbers. A secret such as "4" or "true" must not hide them.
_OWN_VALUES = frozenset(
    ("append", "candidate_count", "dispatch_method", "effect", "line_count", "settled_ms", "submit")
)


def has_password(node: Node) -> bool:
    """Whether the node is a password field that holds a text. The text of an empty one is its hint."""
    return node.flag("password") and not is_blank(node.text) and not shows_password_hint(node)


def shows_password_hint(node: Node) -> bool:
    """Whether the text of a password field is its hint. A text that may be a password is not.

    The simulated phone and Android 16 state the hint. Otherwise the text must name a password.
    """
    if "hint" in node.extras:
        return True
    if "hint" in node.attributes:
        return node.attributes["hint"] == node.text
    words = node.text.casefold()
    return any(word in words for word in _HINT_WORDS) and all(c.isalpha() or c in " -.:*…" for c in words)


def shown_label(node: Node) -> str:
    """The label to report: four dots for the text of a password field."""
    return HIDDEN if has_password(node) else node.label


def mask_passwords(hierarchy: Hierarchy) -> Hierarchy:
    """The tree with four dots in each password field; the same object when there is none."""
    if not any(has_password(node) for node in hierarchy.nodes):
        return hierarchy
    copies: dict[int, Node] = {}
    for node in hierarchy.nodes:
        attributes = {**node.attributes, "text": HIDDEN} if has_password(node) else node.attributes
        parent = None if node.parent is None else copies[id(node.parent)]
        copy = copies[id(node)] = Node(attributes, parent, node.extras, node.source)
        if parent is not None:
            parent.children.append(copy)
    nodes = list(copies.values())
    return Hierarchy(hierarchy.attributes, [node for node in nodes if node.parent is None], nodes)


def mask(document: _T, secrets: Iterable[str]) -> _T:
    """Copy a document with four dots for each secret in its texts; the same object when there are no secrets.

    A secret of four characters and more is masked wherever it stands, a shorter one where it is a whole value: a
    whole text, or all that stands in quotes in one. So is a whole value that is no longer than a secret and begins
    or ends with 60 % of it, and four characters at least: what is left of one that was edited or cut off.

    Names of members, numbers and our own words are kept. A Struct keeps its type, a tuple becomes a list. The
    document may be nested to any depth.
    """
    secrets = tuple(secrets)
    if _pattern(secrets) is None:
        return document
    root: list[Any] = [document]
    todo: list[tuple[Any, Callable[[Any], None]]] = [(document, partial(root.__setitem__, 0))]
    while todo:
        value, store = todo.pop()
        if isinstance(value, str):
            store(_mask_text(value, secrets))
        elif isinstance(value, Mapping):
            members = dict(value)
            store(members)
            todo += [(members[k], partial(members.__setitem__, k)) for k in members if k not in _OWN_VALUES]
        elif isinstance(value, list | tuple):
            values = list(value)
            store(values)
            todo += [(one, partial(values.__setitem__, at)) for at, one in enumerate(values)]
        elif isinstance(value, Struct):
            fields = replace(value)
            store(fields)
            todo += [(getattr(value, k), partial(force_setattr, fields, k)) for k in value.__struct_fields__]
    masked: _T = root[0]
    return masked


def mask_error(error: ClawError, secrets: Sequence[str]) -> ClawError:
    """The error with four dots for each secret in its texts; the same object when it has none."""
    shown = [error.message, error.own_hint, error.details, error.extra, error.target]
    masked = mask(shown, secrets)
    if masked == shown:
        return error
    message, hint, details, extra, target = masked
    return error.with_(message=message, hint=hint, details=details, extra=extra, target=target)


def _mask_text(text: str, secrets: tuple[str, ...]) -> str:
    pattern = _pattern(secrets)
    assert pattern is not None
    text = pattern.sub(HIDDEN, text)
    for end, edited in _edited_patterns(secrets):
        if end in text:  # which is fast to search for
            text = re.sub(edited, HIDDEN, text)
    return text


@lru_cache(maxsize=16)
def _edited_patterns(secrets: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple(edited_patterns(secrets))


@lru_cache(maxsize=16)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    return literal_pattern(secrets, whole=True)
