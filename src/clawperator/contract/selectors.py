"""Selectors of a node on the screen. All given fields must match.

``NodeMatcher`` has the six fields that an Operator knows. ``NodeSelector`` adds those that the host resolves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from clawperator._base.text import Grammar, is_blank, utf16_length
from clawperator.contract.fields import ParamField, about, fields_of
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH

Value = Annotated[str, Meta(max_length=MAX_MATCHER_VALUE_LENGTH)]
# The path below the checked value, the message, and a hint where the type of the field gives none. ``{name}`` in a
# text is a parameter beside the checked one: each entry point spells it.
Problem = tuple[str, ...]
NAMED = r"\{(\+?)([A-Za-z_][\w.]*)\}"
# A reference of a snapshot, alone or with the id of its snapshot.
REFERENCE = Grammar(r"(e[1-9][0-9]{0,8})(?:@([A-Za-z0-9_-]{1,64}))?")
MAX_SELECTOR_DEPTH = 4
ID_SEPARATOR = ":id/"

Related = Union["NodeSelector", UnsetType]
Alternatives = Annotated[tuple["NodeSelector", ...], Meta(min_length=1, max_length=10)]
Index = Annotated[int, Meta(ge=0, le=9_999)]


def _state(on: str, off: str) -> Meta:
    """A state of a node, which command lines name by one of two words."""
    return about(f"whether it is {on}", flag="--state", switches=((on, "true", ""), (off, "false", "")))


def _related(description: str) -> Meta:
    return about(description, metavar="<label|json>")


class NodeMatcher(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first node, depth first, that matches every given field."""

    resourceId: Annotated[
        Value | UnsetType,
        about(
            "resource id, package:id/name, or only its name if it is unique",
            flag="--id",
            aliases=("--resource-id",),
        ),
    ] = UNSET
    role: Annotated[Value | UnsetType, about("role, such as button or textfield")] = UNSET
    textEquals: Annotated[Value | UnsetType, about("exact label", flag="--text")] = UNSET
    textContains: Annotated[Value | UnsetType, about("part of the label, any case", metavar="<text>")] = UNSET
    contentDescEquals: Annotated[
        Value | UnsetType,
        about("exact content description", flag="--desc", aliases=("--content-desc",), metavar="<text>"),
    ] = UNSET
    contentDescContains: Annotated[
        Value | UnsetType,
        about(
            "part of the content description",
            flag="--desc-contains",
            aliases=("--content-desc-contains",),
            metavar="<text>",
        ),
    ] = UNSET

    def problems(self) -> Iterator[Problem]:
        given = [(name, getattr(self, name)) for name in NodeMatcher.__struct_fields__]
        given = [(name, value) for name, value in given if value is not UNSET]
        if not any(value for _, value in given):
            names = (f"{{{field.encode_name}}}" for field in fields(type(self)))
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

    ref: Annotated[
        Value | UnsetType, about("reference of a snapshot, e12 or e12@snapshotId; alone", metavar="<ref>")
    ] = UNSET
    shortId: Annotated[Value | UnsetType, Meta(description="resource id without package:id/; must be unique")] = (
        UNSET
    )
    className: Annotated[
        Value | UnsetType, about("class, full or after its last dot", flag="--class", aliases=("--class-name",))
    ] = UNSET
    textMatches: Annotated[
        Value | UnsetType,
        about("regular expression for the whole label", metavar="<regex>"),
    ] = UNSET
    contentDescMatches: Annotated[
        Value | UnsetType,
        about("regular expression for the content description", flag="--desc-matches", metavar="<regex>"),
    ] = UNSET
    checked: Annotated[bool | UnsetType, _state("checked", "unchecked")] = UNSET
    enabled: Annotated[bool | UnsetType, _state("enabled", "disabled")] = UNSET
    focused: Annotated[bool | UnsetType, _state("focused", "unfocused")] = UNSET
    selected: Annotated[bool | UnsetType, _state("selected", "unselected")] = UNSET
    scrollable: Annotated[bool | UnsetType, _state("scrollable", "unscrollable")] = UNSET
    password: Annotated[bool | UnsetType, _state("password", "not-password")] = UNSET
    ancestor: Annotated[Related, _related("inside this node")] = UNSET
    descendant: Annotated[Related, _related("contains this node")] = UNSET
    sibling: Annotated[Related, _related("has the same parent as this node")] = UNSET
    below: Annotated[Related, _related("below this node, the nearest first")] = UNSET
    above: Annotated[Related, _related("above this node, the nearest first")] = UNSET
    leftOf: Annotated[Related, _related("left of this node, the nearest first")] = UNSET
    rightOf: Annotated[Related, _related("right of this node, the nearest first")] = UNSET
    not_: Annotated[Related, _related("does not match this selector")] = UNSET
    anyOf: Annotated[Alternatives | UnsetType, _related("matches one of these")] = UNSET
    index: Annotated[Index | UnsetType, about("which of the matches, from 0", metavar="<n>")] = UNSET
    unique: Annotated[bool, about("fail when several nodes match")] = False

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
            yield "", "{index} and {unique} need another field to choose from"
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


def with_underscores(names: Iterable[str]) -> dict[str, str]:
    """The names in camel case, each by its spelling in lower case with underscores."""
    spelled = {"".join(f"_{c.lower()}" if c.isupper() else c for c in name): name for name in names}
    return {spelling: name for spelling, name in spelled.items() if spelling != name}


MATCHER_ALIASES: Mapping[str, str] = {
    **with_underscores(NodeSelector.__struct_fields__),
    "id": "resourceId",
    "text": "textEquals",
    "content_desc": "contentDescEquals",
    "description": "contentDescEquals",
    "accessibility_label": "contentDescEquals",
    "description_contains": "contentDescContains",
    "accessibility_label_contains": "contentDescContains",
    "class": "className",
}
HOST_FIELDS: tuple[str, ...] = NodeSelector.__struct_fields__[len(NodeMatcher.__struct_fields__) :]


def problems_below(name: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of the value of a field, as those of the value that has the field."""
    for path, *texts in problems:
        yield (f"{name}.{path}".rstrip("."), *(re.sub(NAMED, rf"{{\g<1>{name}.\2}}", text) for text in texts))


def _nested_problems(selector: NodeSelector, path: str, depth: int) -> Iterator[Problem]:
    if depth + 1 > MAX_SELECTOR_DEPTH:
        yield path, f"selectors may be nested {MAX_SELECTOR_DEPTH} levels deep"
        return
    if selector.ref is not UNSET:
        yield f"{path}.ref", "a reference cannot be used inside a selector"
        return
    yield from problems_below(path, selector.problems(depth + 1))


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


STATE = "--state"


def selector_fields(prefix: str = "") -> list[ParamField]:
    """The fields that have a flag, except for states. With a prefix they are those that an Operator knows."""
    shape = NodeMatcher if prefix else NodeSelector
    return [field for field in fields_of(shape) if field.has_flag and field.flag != STATE]


@cache
def states() -> Mapping[str, tuple[str, bool]]:
    """The field and the value that each state means."""
    fields = (field for field in fields_of(NodeSelector) if field.flag == STATE)
    return {word: (field.name, value == "true") for field in fields for word, value, _ in field.use.switches}


def render_flags(selector: Mapping[str, Any]) -> list[str]:
    """A selector as flags of a command. A nested selector with only a label is written as that label."""
    words: list[str] = []
    for name, value in selector.items():
        for flag, text in _flags_of(name, value):
            # A value that begins with a dash must be written with "=".
            words += [f"{flag}={text}"] if text.startswith("-") else [flag, text] if text else [flag]
    return words


def _flags_of(name: str, value: Any) -> list[tuple[str, str]]:
    if name == "unique":
        return [("--unique", "")] if value else []
    if isinstance(value, bool):
        return [(STATE, next(word for word, state in states().items() if state == (name, value)))]
    flag = next(field.flag for field in fields_of(NodeSelector) if field.name == _FLAG_OF.get(name, name))
    if isinstance(value, list | tuple):
        return [(flag, _nested(one)) for one in value]
    return [(flag, _nested(value) if isinstance(value, Mapping) else str(value))]


# A short id is given by the flag of resource ids.
_FLAG_OF = {"shortId": "resourceId"}


def _nested(selector: Mapping[str, Any]) -> str:
    if selector.keys() == {"textEquals"} and not selector["textEquals"].startswith(("{", "[")):
        return str(selector["textEquals"])
    return msgspec.json.encode(selector).decode()
