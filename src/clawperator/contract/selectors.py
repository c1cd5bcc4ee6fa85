"""NodeMatcher: selects a node of the screen. All given fields must match."""

from collections.abc import Iterator, Mapping
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator._text import utf16_length
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH

Value = Annotated[str, Meta(max_length=MAX_MATCHER_VALUE_LENGTH)]
# The path below the checked value, and the message.
Problem = tuple[str, str]

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
}


class NodeMatcher(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first node, depth first, that matches every given field."""

    resourceId: Annotated[Value, Meta(description="exact, package:id/name")] | UnsetType = UNSET
    role: Annotated[Value, Meta(description="inferred role, any case")] | UnsetType = UNSET
    textEquals: Annotated[Value, Meta(description="exact label")] | UnsetType = UNSET
    textContains: Annotated[Value, Meta(description="part of the label, any case")] | UnsetType = UNSET
    contentDescEquals: Annotated[Value, Meta(description="exact content description")] | UnsetType = UNSET
    contentDescContains: (
        Annotated[Value, Meta(description="part of the content description, any case")] | UnsetType
    ) = UNSET

    def problems(self) -> Iterator[Problem]:
        given = [(name, getattr(self, name)) for name in self.__struct_fields__]
        given = [(name, value) for name, value in given if value is not UNSET]
        if not any(value for _, value in given):
            yield "", "a selector needs at least one non-empty field: " + ", ".join(self.__struct_fields__)
        for name, value in given:
            if utf16_length(value) > MAX_MATCHER_VALUE_LENGTH:
                yield name, f"is longer than {MAX_MATCHER_VALUE_LENGTH} characters"
