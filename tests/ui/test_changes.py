"""Changes between two outlines."""

from hypothesis import given
from hypothesis import strategies as st

from clawperator.ui.changes import EarlierLine, changed_lines, earlier_lines, has_other_order
from clawperator.ui.node import Bounds
from clawperator.ui.outline import Outline, outline_of
from tests.ui.trees import hierarchy, node

FRAME = Bounds(0, 0, 100, 100)


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
