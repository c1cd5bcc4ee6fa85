"""Regular expressions: no pattern is slow, and ordinary ones match as re does."""

import re
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.core.phone import Phone
from clawperator.phone.log.logcat_options import read_options
from clawperator.phone.shell.regex import match as matching
from clawperator.phone.shell.regex.match import Program, ProgramRun, Regex, compile_literal, compile_regex
from clawperator.phone.shell.toybox.options import OptionError
from tests.phone.shell.scripts import run
from tests.support.hanging import HANG_SECONDS

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


@pytest.fixture
def phone(tmp_path: object) -> Phone:
    return Phone(folder=str(tmp_path))


@pytest.mark.parametrize("pattern", COSTLY)
def test_a_costly_pattern_finds_nothing_quickly(pattern: str) -> None:
    began = time.thread_time()
    assert compile_regex(pattern, extended=True).search("a" * 2_000) is None
    assert time.thread_time() - began < 20  # a fraction of a second; with backtracking it takes for ever


@pytest.mark.parametrize("pattern", COSTLY)
def test_a_costly_pattern_still_finds_its_match(pattern: str) -> None:
    wanted = "a" * 40 + {"z": "z", "x": "x"}.get(pattern[-1], "b")
    wanted = wanted.replace("x", "=x") if "=x" in pattern else wanted
    found = compile_regex(pattern, extended=True).search(wanted)
    assert (found is not None) is (not pattern.endswith("$x"))


def test_other_threads_run_during_a_costly_search() -> None:
    turns: list[None] = []
    running, done = threading.Event(), threading.Event()

    def tick() -> None:
        while not done.is_set():
            turns.append(None)
            running.set()
            time.sleep(0.001)

    costly = compile_regex("(a*)*(a*)*(a*)*b", extended=True)
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
    monkeypatch.setattr(matching, "MAX_STEPS", 10_000)
    with pytest.raises(OptionError) as caught:
        compile_regex("(a*)(a*)(a*)b", extended=True).search("a" * 5_000)
    assert str(caught.value) == "regex used up its time"


def test_groups_and_assertions_count_as_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "_MAX_RE_STEPS", 0)
    monkeypatch.setattr(matching, "MAX_STEPS", 5_000)
    for pattern in ("(a)" * 400 + "b", r"a\B" * 400 + "b"):
        with pytest.raises(OptionError) as caught:
            compile_regex(pattern, extended=True).search("a" * 450)
        assert str(caught.value) == "regex used up its time"


def test_a_back_reference_that_might_take_too_long_is_refused() -> None:
    regex = compile_regex(r"(a*)(a*)(a*)\1\2\3b", extended=True)
    assert regex.search("aaab") is not None
    with pytest.raises(OptionError) as caught:
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
    with pytest.raises(OptionError):
        compile_regex(pattern, extended=True).search("a" * 50_000)


@pytest.mark.parametrize("pattern", ["(foo|bar)+", "a+b+", "[a-z]+@[a-z]+", "(ab)*c", "^(one|two)$", "x{2,3}"])
def test_an_ordinary_regex_is_quick(pattern: str) -> None:
    began = time.thread_time()
    compile_regex(pattern, extended=True).search("a" * 20_000)
    assert time.thread_time() - began < 20


def test_a_long_line_of_a_hierarchy_is_searched(phone: Phone) -> None:
    nodes = "".join(f'<node text="t{i}" bounds="[{i},0][{i},9]"/>' for i in range(800))
    phone.storage.write("/sdcard/ui.xml", nodes.encode() + b"\n")
    found = run(phone, 'grep -o \'text="[^"]*"\' /sdcard/ui.xml')
    assert found.out.splitlines()[-1] == 'text="t799"'
    script = r's/.*text="t700" bounds="\[\([0-9]*\),\([0-9]*\)\]\[\([0-9]*\),\([0-9]*\)\]".*/\1 \2 \3 \4/p'
    assert run(phone, f"sed -n '{script}' /sdcard/ui.xml").out == "700 0 700 9\n"


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("echo abxd | sed 's/x*/-/g'", "-a-b-d-\n"),
        ("echo aaa | sed 's/a/b/2'", "aba\n"),
        ("echo aaa | sed 's/a/b/2g'", "abb\n"),
        (r"echo 'a.b*c' | grep -Fo '.b*'", ".b*\n"),
        ("echo 'cat concat' | grep -wo cat", "cat\n"),
        ("printf 'ab\\nabc\\n' | grep -x 'ab\\|x'", "ab\n"),
        (r"echo abab | sed 's/\(ab\)\1/[\1]/'", "[ab]\n"),
        ("echo ABC | grep -io b", "B\n"),
        ("echo 'a**' | sed -E 's/a\\*+/x/'", "x\n"),
        ("echo aab | grep -oE '(a*)+b'", "aab\n"),
        ("echo '$5' | grep -oF '$5'", "$5\n"),
    ],
)
def test_grep_and_sed_use_posix_syntax(phone: Phone, script: str, out: str) -> None:
    assert run(phone, script).out == out


@pytest.mark.parametrize(
    ("pattern", "found"), [(r"[\d.]+s", "1.5s"), (r"(?:took|in) \d+", "took 1"), (r"[^\]\s]+\]", "[a]")]
)
def test_logcat_uses_ecmascript_syntax(pattern: str, found: str) -> None:
    options = read_options(["-e", pattern], {}, 0, 0)
    assert options.pattern is not None
    match = options.pattern.search("[a] took 1.5s")
    assert match is not None
    assert match[0] == found


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
    regex: Regex = compile_regex(pattern, extended=True)
    theirs = re.compile(pattern).search(text)
    ours = ProgramRun(Program(regex._tree, regex.groups, 0), text).search(0)
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
        found = compile_regex(pattern, extended=True, ecma=True).search("x]" * 2_000)
        assert found is not None
        assert found[0][:1] == "x"
