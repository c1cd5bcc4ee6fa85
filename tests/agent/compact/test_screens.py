"""Screens for models: whole outlines, changed lines, and text that cannot end its block."""

from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.compact.screens import ScreenMemory, changed_lines
from clawperator.agent.ports import ScreenView

ROWS = tuple(f' e{at} button "Row {at}"' for at in range(1, 11))


def view(*lines: str, name: str = "s1", package: str = "com.example") -> ScreenView:
    return ScreenView(name, package, lines)


def test_a_whole_screen_is_a_block_with_its_id_and_app() -> None:
    shown = ScreenMemory().whole(view(*ROWS[:2]))
    assert shown.is_whole
    assert shown.text == f"<screen s1 com.example>\n{ROWS[0]}\n{ROWS[1]}\n</screen>"


def test_the_first_screen_is_shown_whole() -> None:
    assert ScreenMemory().changes(view(*ROWS)).is_whole


def test_changes_are_shown_by_their_lines() -> None:
    memory = ScreenMemory()
    memory.whole(view(*ROWS))
    shown = memory.changes(view(*ROWS[:8], ' e9 button "Row 9" checked', ' e11 button "New"', name="s2"))
    assert not shown.is_whole
    assert shown.text.splitlines() == [
        "<changes s2 com.example>",
        '~ e9 button "Row 9" checked',
        '+ e11 button "New"',
        "-e10",
        "</changes>",
    ]


def test_an_unchanged_screen_is_one_line() -> None:
    memory = ScreenMemory()
    memory.whole(view(*ROWS))
    assert memory.changes(view(*ROWS, name="s2")).text == "The screen is the same as before."


def test_another_app_or_another_page_is_shown_whole() -> None:
    memory = ScreenMemory()
    memory.whole(view(*ROWS))
    assert memory.changes(view(*ROWS, package="com.other")).is_whole
    assert memory.changes(view(' e20 button "Else"', ' e21 "text"', package="com.other")).is_whole


def test_changes_refer_to_the_screen_that_was_shown_last() -> None:
    memory = ScreenMemory()
    memory.whole(view(*ROWS))
    memory.changes(view(*ROWS[:9]))
    assert memory.changes(view(*ROWS[:9])).text == "The screen is the same as before."


LINES = st.lists(st.integers(1, 9).flatmap(lambda n: st.sampled_from([f'e{n} "a"', f' e{n} "b"', f'"t{n}"'])))


@given(LINES, LINES)
def test_the_changes_lead_from_one_screen_to_the_other(before: list[str], after: list[str]) -> None:
    """Whatever is new or different is in the changes, and whatever is gone is named."""
    changes = changed_lines(before, after)
    shown = {line[1:].strip() for line in changes if line[0] in "+~"}
    kept = {line.strip() for line in before}
    assert {line.strip() for line in after} <= shown | kept
    assert shown <= {line.strip() for line in after}
    keys = {line.split()[0] for line in after}
    for line in changes:
        if line.startswith("-"):
            assert line[1:].split()[0] not in keys


def test_a_line_that_moved_is_no_change() -> None:
    assert changed_lines(['e1 "a"', 'e2 "b"'], ['  e2 "b"', 'e1 "a"']) == []
