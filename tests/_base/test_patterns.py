"""Regular expressions that match a whole text in linear time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base.patterns import MAX_TEXT, compile_linear

_CHARS = "ab1 _-é\n"
_ATOMS = st.sampled_from(
    ("a", "b", "1", " ", ".", r"\d", r"\w", r"\s", r"\D", r"\W", "[ab]", "[^a]", "[a-c1]", r"[\d_-]", r"\.", "é")
)


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda p: f"(?:{p})")
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(group, group).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(group, st.sampled_from(("*", "+", "?", "{2}", "{1,2}", "{,2}", "*?", "+?"))).map("".join),
        st.tuples(st.sampled_from(("^", r"\b", r"\B")), inner).map("".join),
        inner.map(lambda p: f"{p}$"),
    )


@given(st.recursive(_ATOMS, _extend, max_leaves=8), st.text(_CHARS, max_size=6), st.booleans())
def test_a_pattern_matches_the_whole_texts_that_re_matches(
    pattern: str,
    text: str,
    folded: bool,  # noqa: FBT001 - drawn
) -> None:
    pattern = f"(?i){pattern}" if folded else pattern
    # "$" of re also matches before a line end at the end of the text.
    expected = re.fullmatch(pattern.replace("$", r"\Z"), text) is not None
    assert compile_linear(pattern).fullmatch(text) is expected


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)[^!a]", "(a?){200}a{200}"]
)
def test_a_pattern_that_hangs_others_answers(pattern: str) -> None:
    assert not compile_linear(pattern).fullmatch("a" * (MAX_TEXT - 1) + "!")


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)",
        "*a",
        "a**",
        "[a",
        "a{3,2}",
        "a{2000}",
        "(?=a)",
        "(?<!a)b",
        r"(a)\1",
        "\\",
        r"\xZZ",
        r"\x4",
        r"\u12",
        r"\x+4",
        "[b-a]",
        "((a{500}){500})",
        "(" * 60 + ")" * 60,
        "(?P<name",
    ],
)
def test_an_invalid_pattern_and_one_that_needs_backtracking_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compile_linear(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?<year>[0-9]{4})-(?P<month>\\d\\d)", "2026-11"),
        ("a{", "a{"),
        ("x{,}", "x{,}"),
        (r"\u00e9\x41\t", "éA\t"),
        ("[]a]+", "]a"),
        ("(?i)stra(?:ss|ß)e", "STRAẞE"),
        (r"\AWi-Fi\Z", "Wi-Fi"),
    ],
)
def test_the_syntax_of_other_languages_is_read(pattern: str, text: str) -> None:
    assert compile_linear(pattern).fullmatch(text)


def test_a_very_long_text_never_matches() -> None:
    assert compile_linear("a*").fullmatch("a" * MAX_TEXT)
    assert not compile_linear("a*").fullmatch("a" * (MAX_TEXT + 1))
