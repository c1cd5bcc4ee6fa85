"""What rules match of a call."""

from collections.abc import Mapping
from typing import Any

import pytest

from clawperator.policy.rules import Names, PolicyEntry, subjects_of


def sample(subjects: Names | None = None) -> PolicyEntry:
    return PolicyEntry("sample", "act", subjects=subjects)


def label_of(params: Mapping[str, Any]) -> tuple[str, ...]:
    return (params["label"].strip(),) if "label" in params else ()


@pytest.mark.parametrize(
    ("tool", "params", "subjects"),
    [
        (sample(label_of), {"label": " Delete "}, ("Delete",)),
        (sample(label_of), {}, ("",)),
        (sample(label_of), {"label": 5}, ("",)),  # it cannot be read: the tool reports that
        (sample(label_of), ["label"], ("",)),
        (sample(), {"b": 1, "a": 2}, ('{"a":2,"b":1}',)),
        (sample(), {"a": object()}, ("",)),
        (sample(), None, ("",)),
    ],
)
def test_a_call_has_at_least_one_subject(tool: PolicyEntry, params: Any, subjects: tuple[str, ...]) -> None:
    assert subjects_of(tool, params) == subjects
