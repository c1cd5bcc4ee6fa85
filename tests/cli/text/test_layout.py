"""Lines, tables and fields: alignment, cutting, colours, and text that tries to break them."""

import io
import os
import pty
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.text import printable
from clawperator.cli.text.layout import Fields, Painted, Part, Table, Terminal, cut, display_width, state
from clawperator.cli.text.values import document_blocks, scalar, words

PIPE = Terminal()
HOSTILE = st.text(
    st.sampled_from(list("ab \n\r\t\x00\x07\x1b[31m\x9b\u202e\u2066\u200f\u2028\ud800\U0001f600漢é"))
)
ANY_TEXT = st.one_of(st.text(max_size=30), HOSTILE)
OUR_COLOUR = re.compile(r"\x1b\[(?:0|1|2|31|32|33)m")


def is_safe(line: str) -> bool:
    """Whether a terminal shows every character of a line, and nothing else happens."""
    return all(c.isprintable() for c in line)


def test_columns_are_aligned_and_empty_ones_left_out() -> None:
    table = Table(("NAME", "EMPTY", "STATE"), [("a", "", "ok"), ("longer", "", "failed")])
    assert PIPE.render([table]).splitlines() == ["NAME    STATE", "a       ok", "longer  failed"]


def test_nothing_follows_the_last_text_of_a_row() -> None:
    table = Table(("A", "B", "C"), [("1", "2", "3"), ("1", "", ""), ("long", "2", "")])
    assert all(line == line.rstrip() for line in PIPE.render([table]).splitlines())


def test_wide_characters_take_two_columns() -> None:
    lines = PIPE.render([Table(("", ""), [("漢字", "x"), ("abcd", "y")])]).splitlines()
    assert lines == ["漢字  x", "abcd  y"]


def test_fields_are_aligned_and_empty_ones_left_out() -> None:
    assert PIPE.render([Fields([("a", "1"), ("longer", "2"), ("none", "")], 2)]) == "  a:      1\n  longer: 2"


def test_a_table_is_cut_to_the_width_of_a_terminal_and_never_in_a_pipe() -> None:
    table = Table(("ID", "TEXT"), [("one", "x" * 100), ("two", "short")])
    cut_lines = Terminal(width=40).render([table]).splitlines()
    assert max(map(len, cut_lines)) == 40
    assert cut_lines[1].endswith("x…")
    assert "x" * 100 in PIPE.render([table])


def test_the_widest_column_is_cut_first() -> None:
    table = Table(("A", "B"), [("a" * 10, "b" * 100)])
    line = Terminal(width=60).render([table]).splitlines()[1]
    assert line.startswith("a" * 10 + "  ")
    assert len(line) == 60


def test_fields_are_never_cut() -> None:
    assert "x" * 200 in Terminal(width=20).render([Fields([("path", "x" * 200)])])


def test_colours_are_written_only_where_they_are_shown() -> None:
    line = (state("ok"), ": ", Painted("done", "dim"))
    assert PIPE.render([line]) == "ok: done"
    assert Terminal(colour=True).render([line]) == "\x1b[32mok\x1b[0m: \x1b[2mdone\x1b[0m"


def test_cells_with_colours_are_aligned_as_without() -> None:
    table = Table(("A", "B"), [(state("ok"), "x"), (state("failed"), "y")])
    coloured = Terminal(colour=True).render([table])
    assert OUR_COLOUR.sub("", coloured) == PIPE.render([table])


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_a_terminal_has_colours_unless_the_user_wants_none(
    monkeypatch: pytest.MonkeyPatch, *, variables: dict[str, str], coloured: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    with open(theirs, "w") as stream:
        terminal = Terminal.of(stream)
    os.close(ours)
    assert (terminal.colour, terminal.width) == (coloured, 80)


def test_a_pipe_and_a_missing_stream_are_no_terminals() -> None:
    assert Terminal.of(io.StringIO()) == Terminal.of(None) == PIPE


@given(
    rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5),
    colour=st.booleans(),
    width=st.integers(20, 100),
)
def test_hostile_text_cannot_break_a_table(rows: list[tuple[str, str]], *, colour: bool, width: int) -> None:
    painted: list[tuple[Part, ...]] = [(Painted(a, "red"), b, "end") for a, b in rows]
    table = Table(("FIRST", "SECOND", "LAST"), painted)
    for terminal in (PIPE, Terminal(colour, width)):
        text = terminal.render([table])
        lines = [OUR_COLOUR.sub("", line) if terminal.colour else line for line in text.split("\n")]
        assert len(lines) == len(rows) + 1
        assert all(map(is_safe, lines))
        ends = {display_width(line) - len("end") for line in lines[1:]}
        assert len(ends) == 1, "the last column is aligned"
        text.encode()


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), ANY_TEXT), lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner, max_size=4)
), max_leaves=20))  # fmt: skip
def test_any_document_is_rendered_safely(document: object) -> None:
    for line in PIPE.render(document_blocks(document)).split("\n"):
        assert is_safe(line)


@given(ANY_TEXT, st.integers(1, 50))
def test_a_cut_text_fits(text: str, width: int) -> None:
    shown = printable(text)
    made = cut(shown, width)
    assert display_width(made) <= width
    assert made == shown or made.endswith("…")


def test_values_are_words() -> None:
    assert words("operatorPackage") == "operator package"
    assert words("allow_schemes") == "allow schemes"
    assert scalar({"matcher": {"textEquals": "Wi Fi"}, "empty": None}) == 'matcher.textEquals="Wi Fi"'
    assert scalar([True, False, 1.5, None]) == "yes, no, 1.5, "


def test_a_document_without_a_renderer_is_fields_and_tables() -> None:
    document = {"ok": True, "names": ["a", "b"], "rows": [{"id": 1, "state": "ok"}, {"id": 2}], "in": {"x": 1}}
    assert PIPE.render(document_blocks(document)).splitlines() == [
        "ok:    yes",
        "names: a, b",
        "rows:",
        "  ID  STATE",
        "  1   ok",
        "  2",
        "in:",
        "  x: 1",
    ]
