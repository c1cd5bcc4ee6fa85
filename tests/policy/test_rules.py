"""What rules match of a call."""

from collections.abc import Mapping
from typing import Any

import pytest

from clawperator.commands.model import Level
from clawperator.policy.rules import subjects_of


class SampleTool:
    """A tool with, by default, no subjects of its own."""

    name = "sample"
    level: Level = "act"
    aliases = ()
    performs = None
    grants = ()

    def __init__(self, subjects: Any = None) -> None:
        self.subjects = subjects


def label_of(params: Mapping[str, Any]) -> tuple[str, ...]:
    return (params["label"].strip(),) if "label" in params else ()


@pytest.mark.parametrize(
    ("tool", "params", "subjects"),
    [
        (SampleTool(label_of), {"label": " Delete "}, ("Delete",)),
        (SampleTool(label_of), {}, ("",)),
        (SampleTool(label_of), {"label": 5}, ("",)),  # it cannot be read: the tool reports that
        (SampleTool(label_of), ["label"], ("",)),
        (SampleTool(), {"b": 1, "a": 2}, ('{"a":2,"b":1}',)),
        (SampleTool(), {"a": object()}, ("",)),
        (SampleTool(), None, ("",)),
    ],
)
def test_a_call_has_at_least_one_subject(tool: SampleTool, params: Any, subjects: tuple[str, ...]) -> None:
    assert subjects_of(tool, params) == subjects
