"""Selectors of a node on the screen. All given fields must match.

``NodeMatcher`` has the six fields that an Operator knows. ``NodeSelector`` adds those that the host resolves.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from clawperator._base.text import is_blank, utf16_length
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH

Value = Annotated[str, Meta(max_length=MAX_MATCHER_VALUE_LENGTH)]
# The path below the checked value, and the message.
Problem = tuple[str, str]
# A reference of a snapshot, alone or with the id of its snapshot.
REFERENCE = re.compile(r"(e[1-9][0-9]{0,8})(?:@([A-Za-z0-9_-]{1,64}))?")
MAX_SELECTOR_DEPTH = 4
ID_SEPARATOR = ":id/"

MATCHER_ALIASES: Mapping[str, str] = {
    "resource_id": "resourceId",
    "id": "resourceId",
    "text": "textEquals",
    "text_equals": "textEquals",
    "text_contains": "textContains",
    "content_desc": "contentDescEquals",
    "content_desc_equals": "contentDescEquals",
    "description": "contentDescEquals",
    "accessibility_label": "contentDescEquals",
    "content_desc_contains": "contentDescContains",
    "description_contains": "contentDescContains",
    "accessibility_label_contains": "contentDescContains",
    "short_id": "shortId",
    "class_name": "className",
    "class": "className",
    "text_matches": "textMatches",
    "content_desc_matches": "contentDescMatches",
    "left_of": "leftOf",
    "right_of": "rightOf",
    "any_of": "anyOf",
}


class NodeMatcher(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first node, depth first, that matches every given field."""

    resourceId: Annotated[Value, Meta(description="package:id/name, or only its name")] | UnsetType = UNSET
    role: Annotated[Value, Meta(description="inferred role, any case")] | UnsetType = UNSET
    textEquals: Annotated[Value, Meta(description="exact label")] | UnsetType = UNSET
    textContains: Annotated[Value, Meta(description="part of the label, any case")] | UnsetType = UNSET
    contentDescEquals: Annotated[Value, Meta(description="exact content description")] | UnsetType = UNSET
    contentDescContains: (
        Annotated[Value, Meta(description="part of the content description, any case")] | UnsetType
    ) = UNSET

    def problems(self) -> Iterator[Problem]:
        given = [(name, getattr(self, name)) for name in NodeMatcher.__struct_fields__]
        given = [(name, value) for name, value in given if value is not UNSET]
        if not any(value for _, value in given):
            names = (field.encode_name for field in fields(type(self)))
            yield "", "a selector needs at least one non-empty field: " + ", ".join(names)
        for name, value in given:
            if utf16_length(value) > MAX_MATCHER_VALUE_LENGTH:
                yield name, f"is longer than {MAX_MATCHER_VALUE_LENGTH} characters"


class NodeSelector(
    NodeMatcher, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename={"not_": "not"}
):
    """A selector with the fields that the host resolves. An Operator receives only those of ``NodeMatcher``.

    A relation such as ``ancestor`` holds when some node in that relation matches the selector given for it. An
    ancestor that is given by a descendant is the nearest one.
    """

    ref: (
        Annotated[Value, Meta(description="reference of a snapshot: e12 or e12@snapshotId; alone")] | UnsetType
    ) = UNSET
    shortId: Annotated[Value, Meta(description="resource id without package:id/; must be unique")] | UnsetType = (
        UNSET
    )
    className: Annotated[Value, Meta(description="class, full or after its last dot")] | UnsetType = UNSET
    textMatches: Annotated[Value, Meta(description="regular expression for the whole label")] | UnsetType = UNSET
    contentDescMatches: (
        Annotated[Value, Meta(description="regular expression for the whole content description")] | UnsetType
    ) = UNSET
    checked: Annotated[bool, Meta(description="whether it is checked or on")] | UnsetType = UNSET
    enabled: Annotated[bool, Meta(description="whether it is enabled")] | UnsetType = UNSET
    focused: Annotated[bool, Meta(description="whether it has the input focus")] | UnsetType = UNSET
    selected: Annotated[bool, Meta(description="whether it is selected")] | UnsetType = UNSET
    scrollable: Annotated[bool, Meta(description="whether it scrolls")] | UnsetType = UNSET
    password: Annotated[bool, Meta(description="whether it is a password field")] | UnsetType = UNSET
    ancestor: Annotated["NodeSelector", Meta(description="a node around it")] | UnsetType = UNSET
    descendant: Annotated["NodeSelector", Meta(description="a node inside it")] | UnsetType = UNSET
    sibling: Annotated["NodeSelector", Meta(description="another child of its parent")] | UnsetType = UNSET
    below: Annotated["NodeSelector", Meta(description="a node that it is below")] | UnsetType = UNSET
    above: Annotated["NodeSelector", Meta(description="a node that it is above")] | UnsetType = UNSET
    leftOf: Annotated["NodeSelector", Meta(description="a node that it is left of")] | UnsetType = UNSET
    rightOf: Annotated["NodeSelector", Meta(description="a node that it is right of")] | UnsetType = UNSET
    not_: Annotated["NodeSelector", Meta(description="a selector that it must not match")] | UnsetType = UNSET
    anyOf: (
        Annotated[tuple["NodeSelector", ...], Meta(min_length=1, max_length=10, description="one must match")]
        | UnsetType
    ) = UNSET
    index: Annotated[int, Meta(ge=0, le=9_999, description="which of the matches, from 0")] | UnsetType = UNSET
    unique: Annotated[bool, Meta(description="fail when several nodes match")] = False

    @property
    def for_operator(self) -> bool:
        """Whether an Operator finds the same as the host: it has no other fields, and no ids without a package."""
        if self.short_resource_id:
            return False
        return not self.unique and all(getattr(self, name) is UNSET for name in HOST_FIELDS if name != "unique")

    @property
    def short_resource_id(self) -> str:
        """A resource id without a package: an exact one, as Compose has, or else a short one. Empty for others."""
        written = self.resourceId
        return written if isinstance(written, str) and ID_SEPARATOR not in written else ""

    def problems(self, depth: int = 0) -> Iterator[Problem]:
        if self.for_operator:
            yield from super().problems()
            return
        given = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
        if not self.unique:
            del given["unique"]
        if "ref" in given:
            yield from self._ref_problems(given)
            return
        if given.keys() <= {"unique", "index"}:
            yield "", "index and unique need another field to choose from"
        for name, value in given.items():
            written = name.rstrip("_")
            if isinstance(value, NodeSelector):
                yield from _nested_problems(value, written, depth)
            elif isinstance(value, tuple):
                for number, below in enumerate(value):
                    yield from _nested_problems(below, f"{written}.{number}", depth)
            elif isinstance(value, str):
                yield from _value_problems(written, value)

    def _ref_problems(self, given: Mapping[str, object]) -> Iterator[Problem]:
        assert isinstance(self.ref, str)
        if not REFERENCE.fullmatch(self.ref):
            yield "ref", "is not a reference such as e12 or e12@s1a2b3c4d5"
        elif len(given) > 1:
            yield "ref", "a reference cannot be combined with other fields"


HOST_FIELDS: tuple[str, ...] = NodeSelector.__struct_fields__[len(NodeMatcher.__struct_fields__) :]


def _nested_problems(selector: NodeSelector, path: str, depth: int) -> Iterator[Problem]:
    if depth + 1 > MAX_SELECTOR_DEPTH:
        yield path, f"selectors may be nested {MAX_SELECTOR_DEPTH} levels deep"
        return
    if selector.ref is not UNSET:
        yield f"{path}.ref", "a reference cannot be used inside a selector"
        return
    for below, message in selector.problems(depth + 1):
        yield f"{path}.{below}".rstrip("."), message


def _value_problems(name: str, value: str) -> Iterator[Problem]:
    if utf16_length(value) > MAX_MATCHER_VALUE_LENGTH:
        yield name, f"is longer than {MAX_MATCHER_VALUE_LENGTH} characters"
    elif name in HOST_FIELDS and is_blank(value):
        yield name, "must not be blank"
    elif name in ("textMatches", "contentDescMatches"):
        from clawperator._base.patterns import compile_linear

        try:
            compile_linear(value)
        except ValueError as e:
            yield name, f"is not a regular expression: {e}"
