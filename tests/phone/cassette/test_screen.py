"""Recorded screens: which node a click meant, and what a field held before the first recorded key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.cassette.player import fields, find_target, one_edit_apart, text_before
from clawperator.recording.events import ClickFacts, EventBounds
from clawperator.ui.parse import parse_hierarchy

ROWS = """<hierarchy rotation="0">
<node package="p" class="List" bounds="[0,0][100,300]">
  <node package="p" class="Row" resource-id="p:id/row" clickable="true" bounds="[0,0][100,100]">
    <node package="p" class="Text" text="Lights" bounds="[0,0][50,50]"/>
    <node package="p" class="EditText" resource-id="p:id/level" text="5" bounds="[50,0][100,50]"/>
  </node>
  <node package="p" class="Row" resource-id="p:id/row" clickable="true" bounds="[0,100][100,200]">
    <node package="p" class="Text" text="Doors" bounds="[0,100][50,150]"/>
    <node package="p" class="EditText" resource-id="p:id/level" text="7" bounds="[50,100][100,150]"/>
  </node>
  <node package="p" class="Icon" content-desc="Add" clickable="true" bounds="[0,200][100,300]"/>
</node></hierarchy>"""
NOWHERE = EventBounds(0, 0, 0, 0)


def click(
    *, name: str | None = None, text: str | None = None, desc: str | None = None, bounds: EventBounds = NOWHERE
) -> ClickFacts:
    return ClickFacts(ts=0, seq=0, packageName="p", resourceId=name, text=text, contentDesc=desc, bounds=bounds)


@pytest.mark.parametrize(
    ("facts", "area"),
    [
        (click(name="p:id/row", text="Doors", bounds=EventBounds(0, 100, 100, 200)), "[0,100][100,200]"),
        (click(text="Doors"), "[0,100][100,200]"),  # the words lie in what takes the click
        (click(name="p:id/row", text="Doors"), "[0,100][100,200]"),
        (click(name="p:id/row"), "[0,0][100,100]"),  # of equals the first
        (click(desc="Add"), "[0,200][100,300]"),
        (click(text="Add", desc="Add"), "[0,200][100,300]"),
        (click(bounds=EventBounds(0, 200, 100, 300)), "[0,200][100,300]"),
    ],
)
def test_a_click_matches_the_node_that_agrees_with_most_of_its_fields(facts: ClickFacts, area: str) -> None:
    target = find_target(parse_hierarchy(ROWS), 3, facts)
    assert target is not None
    assert str(target.area) == area
    assert target.key.startswith("3.")


def test_a_click_that_agrees_with_nothing_means_nothing() -> None:
    for facts in (click(), click(text="Garage"), click(name="p:id/other", bounds=EventBounds(1, 2, 3, 4))):
        assert find_target(parse_hierarchy(ROWS), 0, facts) is None


def test_fields_of_one_name_are_distinguished_and_keep_their_names_on_the_next_screen() -> None:
    names = [[key for key, _ in fields(parse_hierarchy(xml))] for xml in (ROWS, ROWS.replace("Lights", "Fans"))]
    assert names[0] == names[1]
    assert len(set(names[0])) == 2


@pytest.mark.parametrize(
    ("shown", "first", "second", "before"),
    [
        ("41", "4", "", "41"),  # a key took one away
        ("4", "40", None, "4"),
        ("Search", "l", "li", ""),  # a hint
        ("Amount", "5", None, ""),
        ("linking park", "linkin park e", "linkin park em", "linkin park "),  # the app had put in a text itself
        ("41", "forty", None, ""),  # the whole text at once
    ],
)
def test_what_a_field_held_before_the_first_key(shown: str, first: str, second: str | None, before: str) -> None:
    assert text_before(shown, first, second) == before


@pytest.mark.random
@given(text=st.text(max_size=8), at=st.integers(0, 8), key=st.characters())
def test_one_more_key_is_one_edit_and_equal_texts_are_none(text: str, at: int, key: str) -> None:
    longer = text[:at] + key + text[at:]
    assert one_edit_apart(text, longer)
    assert one_edit_apart(longer, text)
    assert not one_edit_apart(text, text)
    assert not one_edit_apart(text, longer + key)
