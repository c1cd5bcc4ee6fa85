"""Routing: deterministic, in the order of the reference rule, with intended improvements."""

from collections.abc import Sequence
from itertools import pairwise
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.inventory.inventory import (
    InventoryEntry,
    Kind,
    PluginScan,
    command_inventory,
    tool_inventory,
)
from clawperator.agent.inventory.routing import Match, Router, tokens
from clawperator.agent.ports import Tool, ToolResult
from clawperator.contract.actions import ACTIONS

MANY = 10_000


def tool(name: str, responsibility: str, aliases: tuple[str, ...] = ()) -> Tool:
    return Tool(
        name=name,
        responsibility=responsibility,
        source_hint="clawperator/agent/tools/builtin.py",
        level="act",
        schema=dict,
        run=lambda _params, _context: ToolResult(handled=True, message=""),
        aliases=aliases,
        takes_app_name=name == "open_app",
    )


COMMANDS = command_inventory("shipped", plugins=PluginScan()).entries
TOOLS = tool_inventory([tool(row.name, row.summary, row.aliases) for row in ACTIONS.values()]).entries
ROUTER = Router((*COMMANDS, *TOOLS))
SECOND = Router((*COMMANDS, *TOOLS))


def names(prompt: str, kind: Kind = "command", limit: int = MANY) -> list[str]:
    return [match.name for match in ROUTER.route(prompt, limit) if match.kind == kind]


# The reference rule, written down from the contract. It shares nothing with the router.


def rule_a_score(prompt: str, entry: InventoryEntry) -> int:
    words = set(prompt.lower().replace("/", " ").replace("-", " ").split())
    texts = (entry.name.lower(), entry.source_hint.lower(), entry.responsibility.lower())
    return sum(any(word in text for text in texts) for word in words)


def rule_a(prompt: str, entries: Sequence[InventoryEntry]) -> list[tuple[str, str]]:
    scored = [(-rule_a_score(prompt, entry), entry.kind, entry.name) for entry in entries]
    rest = sorted(row for row in scored if row[0] < 0)
    firsts = []
    for kind in ("command", "tool"):
        best = [row for row in rest if row[1] == kind][:1]
        firsts += best
        for row in best:
            rest.remove(row)
    return [(kind, name) for _, kind, name in firsts + rest]


# Words without inflections and synonyms that are not stop words. No entry's name is one of them, so that no prompt
# begins with a command.
plain = st.text("bkqvxz01", min_size=3, max_size=5)
alike = st.text("bkqv", min_size=4, max_size=4)  # of one length: none is a part of another
prompts = st.lists(plain, min_size=1, max_size=8).map(" ".join)


@st.composite
def inventories(draw: st.DrawFn) -> list[InventoryEntry]:
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from(["command", "tool"]), plain, plain, st.lists(plain, max_size=4)), max_size=12
        )
    )
    return [
        InventoryEntry(
            "command" if kind == "command" else "tool", f"m{place}-{name}", f"room/{source}.py", " ".join(about)
        )
        for place, (kind, name, source, about) in enumerate(rows)
    ]


@pytest.mark.random
@given(inventories(), prompts)
def test_entries_matching_more_words_rank_first_as_in_the_reference(
    entries: list[InventoryEntry], prompt: str
) -> None:
    matches = Router(entries).route(prompt, MANY)
    by_name = {entry.name: rule_a_score(prompt, entry) for entry in entries}
    assert {match.name for match in matches} == {name for name, score in by_name.items() if score}
    for kind in ("command", "tool"):
        ranked = [match for match in matches if match.kind == kind]
        counts = [by_name[match.name] for match in ranked]
        assert counts == sorted(counts, reverse=True)
        for a, b in pairwise(ranked):
            assert a.score >= b.score
            assert a.score > b.score or by_name[a.name] == by_name[b.name]
    check_form(matches)


@pytest.mark.random
@given(st.data(), st.lists(alike, min_size=1, max_size=8).map(" ".join))
def test_matches_of_equal_weight_have_the_order_of_the_reference(data: st.DataObject, prompt: str) -> None:
    about = st.lists(alike, max_size=6).map(" ".join)
    rows = data.draw(st.lists(st.tuples(st.booleans(), about), max_size=12))
    entries = [
        InventoryEntry("command" if is_command else "tool", f"m{place}", "room.py", text)
        for place, (is_command, text) in enumerate(rows)
    ]
    found = [(match.kind, match.name) for match in Router(entries).route(prompt, MANY)]
    assert found == rule_a(prompt, entries)


# The place of a subcommand among those of its command.
PLACES = {entry.name: (entry.argv[1], place) for place, entry in enumerate(COMMANDS) if len(entry.argv) == 3}


def check_form(matches: list[Match], *, explicit: bool = False) -> None:
    """Best command, best tool, and the rest by score, kind and place; all scores within their bounds."""
    rest = matches[1:] if explicit else matches
    keys = [(-match.score, match.kind, PLACES.get(match.name, (match.name, 0))) for match in rest]
    leads = [next((key for key in sorted(keys) if key[1] == kind), None) for kind in ("command", "tool")]
    firsts = [key for key in leads if key is not None]
    assert keys[: len(firsts)] == firsts
    assert keys[len(firsts) :] == sorted(keys[len(firsts) :])
    assert all(0 < match.score < 1 for match in rest)


@pytest.mark.random
@given(
    st.lists(
        st.sampled_from(sorted({w for e in (*COMMANDS, *TOOLS) for w in e.responsibility.split()})), max_size=9
    )
)
def test_every_match_of_the_reference_by_a_significant_word_is_found(words: list[str]) -> None:
    prompt = "zzz " + " ".join(words)
    counted = " ".join(token for token in tokens(prompt) if len(token) > 2)
    matches = ROUTER.route(prompt, MANY)
    assert {m.name for m in matches} >= {e.name for e in (*COMMANDS, *TOOLS) if rule_a_score(counted, e)}
    check_form(matches)


# Where it is meant to differ.


def test_single_letters_and_stop_words_match_nothing() -> None:
    assert rule_a("a the i", COMMANDS)
    for prompt in ("", "   ", "a", "a b c", "the of and to", "please", "?!", "-", "/", "claw", "x" * 100):
        assert ROUTER.route(prompt) == []


def test_short_words_match_whole_words_only() -> None:
    assert "skills-for-app" not in names("ap")
    assert names("ui", "tool") == ["snapshot_ui"]


@pytest.mark.parametrize(
    ("prompt", "first"),
    [
        ("take a screenshot", "screenshot"),
        ("launch settings", "open"),
        ("clicking the button", "click"),
        ("typing into a field", "type"),
        ("scrolled to the end", "scroll"),
        ("recordings compared", "recording-compare"),
        ("delete the session", "delete-session"),
        ("what apps are installed", "packages-list"),
        ("swipe upwards", "swipe"),
        ("search youtube for cats", "com.google.android.youtube.search"),
        ("youtube", "com.google.android.youtube.search"),
        ("Solar!", "com.solaxcloud.starter.set-discharge-limit"),
        ("set the discharge limit to 40", "com.solaxcloud.starter.set-discharge-limit"),
        ("the settings' battery", "com.android.settings.overview"),
        ("show me the phones", "phone-list"),
        ("replay what I recorded", "recording-replay"),
        ("record what I do", "recording-start"),
        ("skill", "skills-list"),
    ],
)
def test_the_first_match_of_common_prompts(prompt: str, first: str) -> None:
    assert names(prompt)[0] == first


def test_the_name_of_an_app_matches_its_skills_and_open() -> None:
    for app, package in (("youtube", "com.google"), ("settings", "com.android"), ("solar", "com.solax")):
        found = names(app)
        assert found[0].startswith(package)
        assert "open" in found
        assert "open_app" in names(app, "tool")


def test_tools_are_found_by_their_aliases_and_by_synonyms() -> None:
    assert names("touch it", "tool")[0] == "click"
    assert "wait_for_node" in names("locate it", "tool")
    assert names("take a picture", "tool")[0] == "take_screenshot"


# Explicit commands.


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("tap Wi-Fi", "click"),
        ("/doctor", "doctor"),
        ("  /DOCTOR now", "doctor"),
        ("recording parse demo.ndjson", "recording-parse"),
        ("record-parse demo.ndjson", "recording-parse"),
        ("/recording-parse", "recording-parse"),
        ("list sessions", "list-sessions"),
        ("wait for nav", "wait-for-nav"),
        ("snapshot.", "snapshot"),
        ("com.android.settings.overview", "com.android.settings.overview"),
        ("help", "help"),
    ],
)
def test_a_command_at_the_start_of_the_prompt_is_first(prompt: str, name: str) -> None:
    matches = ROUTER.route(prompt, MANY)
    assert (matches[0].kind, matches[0].name, matches[0].score) == ("command", name, 1.0)
    assert [m.name for m in matches if m.kind == "command"].count(name) == 1
    check_form(matches, explicit=True)
    assert [match.name for match in ROUTER.route(prompt, 1)] == [name]


def test_a_command_later_in_the_prompt_and_a_tool_are_not_explicit() -> None:
    assert ROUTER.route("now doctor")[0].score < 1
    assert ROUTER.route("snapshot_ui")[0].name == "snapshot"  # the command's own alias
    assert all(match.score < 1 for match in ROUTER.route("read_key_value_pairs"))
    assert all(match.score < 1 for match in Router(TOOLS).route("click"))


# Limits, forms and hostile prompts.


def test_the_limit_applies_and_zero_is_empty() -> None:
    every = ROUTER.route("list the phones", MANY)
    assert len(every) > 10
    for limit in (0, 1, 2, 5, 10):
        assert ROUTER.route("list the phones", limit) == every[:limit]
    assert ROUTER.route("doctor", 0) == []


def test_an_empty_inventory_matches_nothing() -> None:
    assert Router(()).route("open settings") == []


@pytest.mark.random
@given(st.text(max_size=200), st.integers(0, 7))
def test_any_prompt_gives_valid_and_repeatable_matches(prompt: str, limit: int) -> None:
    matches = ROUTER.route(prompt, limit)
    assert len(matches) <= limit
    assert all(0 < match.score <= 1 for match in matches)
    assert len({(match.kind, match.name) for match in matches}) == len(matches)
    assert matches == SECOND.route(prompt, limit)


HOSTILE = {
    "one word": "a" * 1_000_000,
    "letters": "a " * 500_000,
    "many words": " ".join(f"word{n} list phones" for n in range(40_000)),
    "control characters": "\x00\x1b[31m\n" * 150_000,
    "slashes": "/" * 1_000_000,
    "punctuation": "x" + "!" * 1_000_000 + "y",
    "punctuated words": ("x" + "!" * 126 + "y ") * 8_000,
    "spaces": " " * 1_000_000,
    "half of a pair": "\ud800 " * 500_000,
    "grows in lower case": "İ" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_prompt_is_not_slower_than_a_long_one(name: str) -> None:
    start = thread_time()
    assert len(ROUTER.route(HOSTILE[name])) <= 5
    assert thread_time() - start < 1  # a few ms; what grows with the square takes minutes
