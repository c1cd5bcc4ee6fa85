"""Password fields: whether one holds a text, or shows its hint."""

from clawperator._base.text import is_blank
from clawperator.ui.node import Node

# Words of which one is in most hints of password fields.
_HINT_WORDS = (
    *("password", "passcode", "passphrase", "passwort", "kennwort", "wachtwoord", "lösenord", "hasło", "пароль"),
    *("contraseña", "mot de passe", "senha", "palavra-passe", "密码", "密碼", "パスワード", "비밀번호"),
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
