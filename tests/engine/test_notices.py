"""Error and validation messages that appear after an action."""

import pytest
from hypothesis import given

from clawperator.engine.settle import appeared_notices
from clawperator.ui.node import Hierarchy, Node
from tests.ui.trees import hierarchies, hierarchy, node

FIELD = "[40,400][1040,520]"
BELOW = "[40,524][1040,570]"
ELSEWHERE = "[40,1400][1040,1450]"


def text(label: str, bounds: str = ELSEWHERE, resource_id: str = "", clickable: str = "false") -> Node:
    return node(
        text=label, bounds=bounds, class_="android.widget.TextView", resource_id=resource_id, clickable=clickable
    )


def form(*more: Node, entered: str = "Milk") -> Hierarchy:
    """A form with a title, a field and a button, and what appeared on it."""
    return hierarchy(
        node(
            text("New note", "[40,100][1040,160]"),
            text("Title", "[40,340][1040,390]"),
            node(class_="android.widget.EditText", bounds=FIELD, text=entered),
            node(class_="android.widget.Button", text="Save", clickable="true", bounds="[40,2000][1040,2100]"),
            *more,
            bounds="[0,0][1080,2400]",
        )
    )


def test_a_text_that_appears_below_a_field_is_a_notice() -> None:
    assert appeared_notices(form(), form(text("Use letters only", BELOW))) == ["Use letters only"]
    assert appeared_notices(form(), form(text("Bitte ausfüllen", BELOW))) == ["Bitte ausfüllen"]


@pytest.mark.parametrize(
    "worded",
    [
        "Title is required",
        "Enter a whole number from 10 to 100",
        "Wrong password",
        "Couldn't save the setting",
        "No internet connection",
        "Must be at least 8 characters",
    ],
)
def test_a_text_that_is_worded_like_an_error_is_a_notice_anywhere_on_the_page(worded: str) -> None:
    assert appeared_notices(form(), form(text(worded))) == [worded]


@pytest.mark.parametrize("name", ["com.app:id/snackbar_text", "com.app:id/textinput_error", "title_error"])
def test_a_text_whose_id_names_an_error_or_a_snackbar_is_a_notice(name: str) -> None:
    assert appeared_notices(form(), form(text("Offline", resource_id=name))) == ["Offline"]


def test_a_text_that_was_there_before_is_no_notice() -> None:
    shown = form(text("Title is required", BELOW))
    assert appeared_notices(shown, shown) == []


def test_other_new_texts_are_no_notices() -> None:
    assert appeared_notices(form(), form(text("Saved 3 minutes ago"))) == []
    assert appeared_notices(form(), form(text("4/40", BELOW))) == []
    assert appeared_notices(form(), form(text("3 results", BELOW), entered="Milk shake")) == []
    assert appeared_notices(form(), form(text("milk shake", BELOW, clickable="true"))) == []
    row = node(text("Enter the code", BELOW), clickable="true", bounds=BELOW)
    assert appeared_notices(form(), form(row)) == []


def test_a_page_that_was_replaced_has_no_notices() -> None:
    other = hierarchy(node(text("Help"), text("What to do when a title is required"), text("Enter a title")))
    assert appeared_notices(form(), other) == []
    assert appeared_notices(hierarchy(node()), form(text("Title is required", BELOW))) == []


def test_repeated_and_many_notices_are_limited() -> None:
    more = [text(f"Line {number} is required") for number in range(9)]
    assert len(appeared_notices(form(), form(*more[:4], more[0]))) == 3
    assert appeared_notices(form(), form(text("Required", BELOW), text("Required"))) == ["Required"]
    assert len(appeared_notices(form(), form(text("must " * 1_000)))[0]) == 200


@given(hierarchies(), hierarchies())
def test_any_two_trees_can_be_compared(before: Hierarchy, after: Hierarchy) -> None:
    labels = {node.label for node in before.nodes}
    assert all(notice not in labels for notice in appeared_notices(before, after))
    assert appeared_notices(after, after) == []
