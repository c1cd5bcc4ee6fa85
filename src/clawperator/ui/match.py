"""Selector matching."""

from collections.abc import Callable
from functools import lru_cache

from msgspec import UNSET

from clawperator._base.text import is_blank
from clawperator.contract.selectors import NodeMatcher
from clawperator.ui.node import Node
from clawperator.ui.roles import role_test

Test = Callable[[Node], bool]


def matches(node: Node, matcher: NodeMatcher) -> bool:
    """Whether the node matches every field of the matcher. Visibility is not checked."""
    return compile_matcher(matcher)(node)


@lru_cache(maxsize=64)
def compile_matcher(matcher: NodeMatcher) -> Test:
    """The matcher as one function, cheapest tests first.

    An empty field is a condition too: an empty ``textEquals`` matches nodes without a label, an empty
    ``textContains`` or ``contentDescContains`` matches any label or description, and an empty ``resourceId``,
    ``contentDescEquals`` or ``role`` matches nothing.
    """
    makers: tuple[tuple[str, Callable[[str], Test]], ...] = (
        ("resourceId", _has_id),
        ("contentDescEquals", _is_described_as),
        ("textEquals", _is_labelled),
        ("contentDescContains", _description_contains),
        ("textContains", _label_contains),
        ("role", _has_role),
    )
    tests = [make(value) for name, make in makers if (value := getattr(matcher, name)) is not UNSET]
    if len(tests) == 1:
        return tests[0]
    return lambda node: all(test(node) for test in tests)


def _has_id(wanted: str) -> Test:
    return _is_attribute("resource-id", wanted)


def _is_described_as(wanted: str) -> Test:
    return _is_attribute("content-desc", wanted)


def _is_attribute(name: str, wanted: str) -> Test:
    if not wanted:
        return _never
    return lambda node: node.attributes.get(name) == wanted


def _is_labelled(wanted: str) -> Test:
    if not wanted:
        return lambda node: not node.label
    if is_blank(wanted):
        return _never

    def is_labelled(node: Node) -> bool:
        attributes = node.attributes
        if attributes.get("text") == wanted:
            return True
        return attributes.get("content-desc") == wanted and is_blank(attributes.get("text", ""))

    return is_labelled


def _description_contains(wanted: str) -> Test:
    folded = wanted.casefold()

    def description_contains(node: Node) -> bool:
        described = node.attributes.get("content-desc", "")
        return described != "" and folded in described.casefold()

    return description_contains


def _label_contains(wanted: str) -> Test:
    folded = wanted.casefold()
    if is_blank(folded):
        return lambda node: folded in node.label.casefold()

    # A text that contains the words is not blank, so only a match in the description needs the second test.
    def label_contains(node: Node) -> bool:
        attributes = node.attributes
        text = attributes.get("text", "")
        if text and folded in text.casefold():
            return True
        described = attributes.get("content-desc", "")
        return described != "" and folded in described.casefold() and is_blank(text)

    return label_contains


def _has_role(wanted: str) -> Test:
    return role_test(wanted.casefold())


def _never(_node: Node) -> bool:
    return False
