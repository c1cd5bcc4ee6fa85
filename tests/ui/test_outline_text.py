"""Outlines as text: their size, and the lines that changed between two."""

import re
from functools import cache
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.ui.node import Bounds, visible_nodes
from clawperator.ui.outline import (
    EarlierLine,
    Outline,
    changed_lines,
    earlier_lines,
    has_other_order,
    outline_of,
    quote,
    render_outline,
    screen_frame,
)
from clawperator.ui.parse import parse_hierarchy
from tests.support.built_in_screens import built_in_screens
from tests.support.paths import REPOSITORY
from tests.ui.trees import DUMPS, hierarchy, node

MAX_MEDIAN = 0.07
MAX_WORST = 0.12
PAGE = REPOSITORY / "docs" / "guides" / "snapshots.md"
_ROW = re.compile(r"\| ([^|]+) \| ([0-9.]+) % \| ([0-9.]+) % \|")
# The numbers in the documentation are rounded, and apps change a little.
_ROUNDED = 0.006
FRAME = Bounds(0, 0, 100, 100)


def rendered(xml: str) -> str:
    """The outline with references of three digits."""
    hierarchy = parse_hierarchy(xml)
    made = outline_of(hierarchy, screen_frame(hierarchy))
    for number, element in enumerate(made.elements, 100):
        element.ref = f"e{number}"
    return render_outline(made)


def ratio(xml: str) -> float:
    return len(rendered(xml).encode()) / len(xml.encode())


@cache
def built_in_ratios() -> dict[str, list[float]]:
    """By app."""
    ratios: dict[str, list[float]] = {}
    for screen in built_in_screens()[0]:
        ratios.setdefault(screen.name.partition(" > ")[0], []).append(ratio(screen.xml))
    return ratios


@cache
def capture_ratios() -> list[float]:
    return [ratio(path.read_text("utf-8", "replace")) for path in DUMPS]


def test_outlines_of_the_built_in_screens_are_small() -> None:
    ratios = [one for of_app in built_in_ratios().values() for one in of_app]

    assert len(ratios) > 200
    assert median(ratios) <= MAX_MEDIAN
    assert max(ratios) <= MAX_WORST


@pytest.mark.skipif(not DUMPS, reason="no captures")
def test_outlines_of_captures_are_small() -> None:
    assert median(capture_ratios()) <= MAX_MEDIAN
    assert max(capture_ratios()) <= MAX_WORST


def test_no_visible_text_of_a_built_in_screen_is_lost() -> None:
    for screen in built_in_screens()[0]:
        hierarchy = parse_hierarchy(screen.xml)
        shown = rendered(screen.xml)
        for one in visible_nodes(hierarchy, screen_frame(hierarchy)):
            if one.label and not one.flag("password"):
                assert quote(one.label.strip())[1:-1] in shown, f"{screen.name} lost {one.label!r}"


def test_the_table_in_the_documentation_is_true() -> None:
    table = {
        name: (float(middle) / 100, float(worst) / 100)
        for name, middle, worst in _ROW.findall(PAGE.read_text("utf-8"))
    }
    measured = dict(built_in_ratios())
    if DUMPS:
        measured["captures of real phones"] = capture_ratios()

    assert set(built_in_ratios()) <= set(table)
    for name, ratios in measured.items():
        assert table[name] == pytest.approx((median(ratios), max(ratios)), abs=_ROUNDED), name


def numbered(*labels: tuple[int, str]) -> Outline:
    """An outline of buttons with these references and labels."""
    made = outline_of(
        hierarchy(*(node(class_="android.widget.Button", text=label, clickable="true") for _, label in labels)),
        FRAME,
    )
    for element, (number, _) in zip(made.elements, labels, strict=True):
        element.ref = f"e{number}"
    return made


def test_added_changed_and_removed_lines_have_their_own_marks() -> None:
    before = earlier_lines(numbered((1, "A"), (2, "B"), (3, "C")))
    after = numbered((1, "A"), (4, "D"), (3, "New"))

    assert changed_lines(before, after) == ['+e4 button "D"', '~e3 button "New"', '-e2 button "B"']


def test_a_line_whose_depth_alone_changed_is_the_same() -> None:
    before = earlier_lines(numbered((1, "A")))
    after = numbered((1, "A"))
    after.elements[0].depth = 3

    assert changed_lines(before, after) == []


def test_the_content_of_a_field_is_not_kept() -> None:
    field = node(class_="android.widget.EditText", text="typed-secret", clickable="true")
    made = outline_of(hierarchy(field), FRAME)

    assert "typed-secret" not in repr(earlier_lines(made))


def test_a_removed_line_without_a_label_has_its_reference_and_role() -> None:
    assert changed_lines([EarlierLine("e7", 1, "button", "")], numbered()) == ["-e7 button"]


_LINES = st.dictionaries(st.integers(1, 9), st.sampled_from(("A", "B", "C")))


@given(_LINES, _LINES)
def test_the_changes_lead_from_one_outline_to_the_other(first: dict[int, str], second: dict[int, str]) -> None:
    before, after = numbered(*first.items()), numbered(*second.items())
    lines = changed_lines(earlier_lines(before), after)

    assert {line for line in lines if line[0] == "+"} == {
        f'+e{number} button "{label}"' for number, label in second.items() if number not in first
    }
    assert {line for line in lines if line[0] == "~"} == {
        f'~e{number} button "{label}"' for number, label in second.items() if first.get(number, label) != label
    }
    assert {line.split()[0] for line in lines if line[0] == "-"} == {
        f"-e{number}" for number in first.keys() - second
    }
    kept = [number for number in first if number in second]
    assert has_other_order(earlier_lines(before), after) == (
        kept != [number for number in second if number in first]
    )
