"""Regular expressions: no pattern is slow, and ordinary ones match as re does."""

import re
import threading
import time
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator._base import patterns
from clawperator._base.patterns import MAX_TEXT, RegexError, compile_linear, compile_literal, compile_regex
from tests.support.hanging import HANG_SECONDS

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


@given(
    st.recursive(_ATOMS, _extend, max_leaves=8),
    st.text(_CHARS, max_size=6),
    st.booleans(),
    st.sampled_from((0, 1e9)),
)
def test_a_pattern_matches_the_whole_texts_that_re_matches(
    pattern: str,
    text: str,
    folded: bool,  # noqa: FBT001 - drawn
    limit: float,
) -> None:
    pattern = f"(?i){pattern}" if folded else pattern
    # "$" of re also matches before a line end at the end of the text.
    expected = re.fullmatch(pattern.replace("$", r"\Z"), text) is not None
    compile_linear.cache_clear()
    with mock.patch.object(patterns, "_MAX_RE_STEPS", limit):
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
        "{2}a",
        "(?:a?){1000}b{1000}",
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


COSTLY = [
    "(a+)+b",
    "(a|a)*b",
    "(a*)*b",
    "(x*(a+))+b",
    "(.|a)+b",
    r"(\w|a)*z",
    "(a?a?)*b",
    "(aa?)*b",
    "(a{0,9}){0,9}b",
    "a*a*a*a*a*a*a*a*b",
    ".*.*.*.*=x",
    "(a|aa)+$x",
    "(((a*)*)*)*b",
    "a{1,500}b",
]


@pytest.mark.parametrize("pattern", COSTLY)
def test_a_costly_pattern_finds_nothing_quickly(pattern: str) -> None:
    began = time.thread_time()
    assert compile_regex(pattern, "extended").search("a" * 2_000) is None
    assert time.thread_time() - began < 20  # a fraction of a second; with backtracking it takes for ever


@pytest.mark.parametrize("pattern", COSTLY)
def test_a_costly_pattern_still_finds_its_match(pattern: str) -> None:
    wanted = "a" * 40 + {"z": "z", "x": "x"}.get(pattern[-1], "b")
    wanted = wanted.replace("x", "=x") if "=x" in pattern else wanted
    found = compile_regex(pattern, "extended").search(wanted)
    assert (found is not None) is (not pattern.endswith("$x"))


def test_other_threads_run_during_a_costly_search() -> None:
    turns: list[None] = []
    running, done = threading.Event(), threading.Event()

    def tick() -> None:
        while not done.is_set():
            turns.append(None)
            running.set()
            time.sleep(0.001)

    costly = compile_regex("(a*)*(a*)*(a*)*b", "extended")
    thread = threading.Thread(target=tick)
    thread.start()
    assert running.wait(HANG_SECONDS)
    before = len(turns)
    try:
        costly.search("a" * 8_000)
        meanwhile = len(turns) - before
    finally:
        done.set()
        thread.join()
    assert meanwhile > 3


def test_a_regex_that_takes_too_long_ends_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_STEPS", 10_000)
    with pytest.raises(RegexError) as caught:
        compile_regex("(a*)(a*)(a*)b", "extended").search("a" * 5_000)
    assert str(caught.value) == "regex used up its time"


def test_groups_and_assertions_count_as_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_MAX_RE_STEPS", 0)
    monkeypatch.setattr(patterns, "MAX_STEPS", 5_000)
    for pattern in ("(a)" * 400 + "b", r"a\B" * 400 + "b"):
        with pytest.raises(RegexError) as caught:
            compile_regex(pattern, "extended").search("a" * 450)
        assert str(caught.value) == "regex used up its time"


def test_a_back_reference_that_might_take_too_long_is_refused() -> None:
    regex = compile_regex(r"(a*)(a*)(a*)\1\2\3b", "extended")
    assert regex.search("aaab") is not None
    with pytest.raises(RegexError) as caught:
        regex.search("a" * 5_000)
    assert str(caught.value) == "regex with a back-reference is too complex for this line"


@pytest.mark.parametrize(
    "pattern",
    [
        "(((a{900}){900}){900}){900}",
        "(" * 5_000,
        "(a",
        "a)",
        r"\1",
        r"(\1)",
        "a{2,1}",
        "(a{0,99}){0,99}b",
        "a{5000}",
    ],
)
def test_invalid_and_oversized_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        compile_regex(pattern, "extended").search("a" * 50_000)


@pytest.mark.parametrize("pattern", ["(foo|bar)+", "a+b+", "[a-z]+@[a-z]+", "(ab)*c", "^(one|two)$", "x{2,3}"])
def test_an_ordinary_regex_is_quick(pattern: str) -> None:
    began = time.thread_time()
    compile_regex(pattern, "extended").search("a" * 20_000)
    assert time.thread_time() - began < 20


_PIECES = st.sampled_from(["a", "b", ".", "[ab]", "^", "$", r"\b", "(a)", "(a|b)", "(ab|a)", "(b?)", "()"])
_SIGNS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,}"])
_PATTERNS = st.lists(st.tuples(_PIECES, _SIGNS), min_size=1, max_size=5)


@pytest.mark.random
@given(_PATTERNS, st.text("ab ", max_size=8))
def test_both_matchers_find_the_same(parts: list[tuple[str, str]], text: str) -> None:
    pattern = "|".join(
        "".join(p + ("" if p in {"^", "$", r"\b"} else s) for p, s in part)
        for part in (parts[:3], parts[3:])
        if part
    )
    regex = compile_regex(pattern, "extended")
    theirs = re.compile(pattern).search(text)
    with mock.patch.object(patterns, "_MAX_RE_STEPS", 0):
        ours = compile_regex(pattern, "extended").search(text)
    assert (ours and (ours.start, ours.end)) == (theirs and theirs.span())
    quick = regex.search(text)
    assert (quick and (quick.start, quick.end)) == (theirs and theirs.span())


@pytest.mark.random
@given(st.text(max_size=20), st.text(max_size=20))
def test_a_literal_is_found_at_its_position(before: str, text: str) -> None:
    found = compile_literal(text).search(before + text)
    assert found is not None
    assert found[0] == text
    assert found.start == (before + text).find(text)


def test_a_negated_empty_bracket_matches_every_character_in_ecmascript() -> None:
    for pattern in ("[^]", "[^]]*|[a]"):
        found = compile_regex(pattern, "ecma").search("x]" * 2_000)
        assert found is not None
        assert found[0][:1] == "x"
