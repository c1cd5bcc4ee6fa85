"""Masking of passwords in recordings: bullets in place of the text of password fields, in events and snapshots.

Declared secrets are masked in both, whatever field they are in: four dots in place of each.

A recorder may write what was typed into a password field. A text change does not name its field, so the field is
the one that was clicked last, or the focused one on the last screen. A field that was a password field once stays
one: its text may be shown later.
"""

import re
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Raw

from clawperator.recording.events import ClickFacts, Event, EventFacts, ScrollFacts, TextChangeFacts, has_snapshot
from clawperator.recording.heuristics import is_masked

_BULLET = "•"
_NODE = re.compile(r'<node((?:\s+[\w:.-]+="[^"]*")*)')
_ATTRIBUTE = re.compile(r'\s([\w:.-]+)="([^"]*)"')
_TEXT = re.compile(r'(\stext=")([^"]*)"')
_MARK = 'password="true"'
# The same in the JSON string of a snapshot.
_RAW_MARK = b'password=\\"true\\"'
_MOST_KEPT = 1_000

# A snapshot as JSON or as text; None where there is none.
Screen = Raw | str | None


def mask_text(text: str) -> str:
    """A bullet for each character."""
    return _BULLET * len(text)


def is_hint(text: str) -> bool:
    """Whether the text of a password field may be its hint, such as "Password" or "4 to 8 digits".

    An empty field has its hint as text. A hint is words; a password that looks like a word is known only if it was
    typed.
    """
    word = text.strip().rstrip("*:.…")
    return (
        not word or len(word.split()) > 1 or (word.isalpha() and word[1:] in (word[1:].lower(), word[1:].upper()))
    )


def mask_screen(xml: str) -> str:
    """A hierarchy with bullets in its password fields, hints excepted; the same object when there are none."""
    if _MARK not in xml:
        return xml
    return _mask_nodes(xml, lambda node: node.get("password") == "true" and not is_hint(_text_of(node)))


class PasswordMasker:
    """Masks the events of one recording, which come in order. ``count`` is how many texts it has masked.

    ``declared`` are further secrets, which are masked in every field.
    """

    def __init__(self, declared: Iterable[str] = ()) -> None:
        self.count = 0
        self._declared = tuple(declared)
        self._click: ClickFacts | None = None
        self._screen: Screen = None
        self._is_password: bool | None = False  # whether text goes to a password field; None when not looked up
        self._fields: dict[str, None] = {}  # ids of password fields
        self._secrets: dict[str, None] = {}  # what was typed into them

    def mask_event(self, event: EventFacts, screen: Screen) -> None:
        """Mask the texts of an event in place. ``screen`` is its snapshot, as JSON or as text."""
        self._mask_password(event, screen)
        if self._declared:
            for name in event.__struct_fields__:
                if isinstance(text := getattr(event, name), str):
                    setattr(event, name, self._without_declared(text))

    def _mask_password(self, event: EventFacts, screen: Screen) -> None:
        if isinstance(event, TextChangeFacts):
            if self._is_password is None:
                self._is_password = self._types_password()
            if self._is_password and event.text:
                if not is_masked(event.text):
                    _keep(self._secrets, event.text)
                    self.count += 1
                event.text = mask_text(event.text)
        elif not isinstance(event, ScrollFacts):
            self._click = event if isinstance(event, ClickFacts) else None
            self._screen, self._is_password = screen, None
            clicked = self._click
            # Most texts of clicks are words, so the screen is looked at last.
            if clicked and clicked.text and self._may_be_typed(clicked.text) and self._types_password():
                clicked.text = mask_text(clicked.text)
                self.count += 1

    def mask(self, event: Event) -> None:
        """Mask an event of a recording in place, without its snapshot."""
        self.mask_event(event, event.snapshot if has_snapshot(event) else None)

    def mask_snapshot(self, event: Event) -> None:
        """Mask the snapshot of an event that was masked before."""
        if has_snapshot(event) and (self._secrets or self._declared or _RAW_MARK in bytes(event.snapshot)):
            xml = msgspec.json.decode(event.snapshot, type=str)
            masked = self.mask_xml(xml)
            if masked is not xml:
                event.snapshot = Raw(msgspec.json.encode(masked))

    def mask_xml(self, xml: str) -> str:
        """A snapshot with bullets in password fields and for texts that were typed into them."""
        if _MARK in xml or self._secrets:
            masked = _mask_nodes(xml, self._hides)
            if masked != xml:
                self.count += 1
                xml = masked
        return self._without_declared(xml) if self._declared else xml

    def _without_declared(self, text: str) -> str:
        from clawperator.ui.privacy import mask  # most users declare none

        masked = mask(text, self._declared)
        if masked == text:
            return text
        self.count += 1
        return masked

    def _hides(self, node: dict[str, str]) -> bool:
        text = _text_of(node)
        if self._is_field(node):
            return text in self._secrets or not is_hint(text)
        return _is_editable(node) and text in self._secrets

    def _may_be_typed(self, text: str) -> bool:
        """Whether the text of a password field may be its content; most texts of clicks are words."""
        return not is_masked(text) and (text in self._secrets or not is_hint(text))

    def _types_password(self) -> bool:
        """Whether the last screen shows that the clicked or focused field is a password field."""
        xml = self._screen
        if xml is None:
            return False
        # Decoding is slow, and most screens have no password field.
        if not self._fields and not (_MARK in xml if isinstance(xml, str) else _RAW_MARK in bytes(xml)):
            return False
        xml = xml if isinstance(xml, str) else msgspec.json.decode(xml, type=str)
        nodes = [dict(_ATTRIBUTE.findall(found[1])) for found in _NODE.finditer(xml)]
        passwords = [node for node in nodes if self._is_field(node)]
        for node in passwords:
            if name := node.get("resource-id"):
                _keep(self._fields, name)
        if self._click is not None:
            box, name = self._click.bounds, self._click.resourceId
            bounds = f"[{box.left},{box.top}][{box.right},{box.bottom}]"
            clicked = [n for n in nodes if n.get("bounds") == bounds or (name and n.get("resource-id") == name)]
            fields = [node for node in clicked if _is_editable(node) or node in passwords]
            if fields:
                return any(node in passwords for node in fields)
        return any(node.get("focused") == "true" for node in passwords)

    def _is_field(self, node: dict[str, str]) -> bool:
        return node.get("password") == "true" or node.get("resource-id") in self._fields


def _text_of(node: dict[str, str]) -> str:
    return _unescape(node.get("text", ""))


def _unescape(text: str) -> str:
    from html import unescape  # loading its table of entities takes a millisecond

    return unescape(text)


def _is_editable(node: dict[str, str]) -> bool:
    name = node.get("class", "")
    return "EditText" in name or "TextField" in name or "AutoComplete" in name


def _keep(known: dict[str, None], value: str) -> None:
    known[value] = None
    if len(known) > _MOST_KEPT:
        del known[next(iter(known))]


def _mask_nodes(xml: str, hides: Callable[[dict[str, str]], bool]) -> str:
    def masked(found: re.Match[str]) -> str:
        attributes = found[1]
        if not hides(dict(_ATTRIBUTE.findall(attributes))):
            return found[0]
        return "<node" + _TEXT.sub(lambda text: f'{text[1]}{mask_text(_unescape(text[2]))}"', attributes, count=1)

    return _NODE.sub(masked, xml)
