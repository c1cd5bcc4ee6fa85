"""Password fields and entered secrets: recognise and mask them."""

from collections.abc import Iterable, Mapping

from clawperator._base.secret_text import literal_pattern
from clawperator._base.text import is_blank
from clawperator.ui.node import HIDDEN, Hierarchy, Node

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


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text with four dots for each secret; for one of fewer than four characters only where it is a word."""
    pattern = literal_pattern(secrets)
    return text if pattern is None else pattern.sub(HIDDEN, text)


def mask_step_data(data: Mapping[str, str], secrets: Iterable[str]) -> dict[str, str]:
    """The data of a step with four dots for each secret."""
    known = list(secrets)
    return {
        name: value if name in _OWN_VALUES else HIDDEN if value in known else mask_secrets(value, known)
        for name, value in data.items()
    }
