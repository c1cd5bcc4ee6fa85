"""Prompts and the instructions in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.offline.grammar import mask, sentences
from clawperator.agent.offline.instructions import (
    Check,
    CheckPhone,
    Clear,
    Close,
    Describe,
    FindApp,
    GoTo,
    Help,
    Instruction,
    ListApps,
    ListPhones,
    ListSkills,
    Open,
    Pause,
    Press,
    PullRecording,
    Read,
    Record,
    RunSkill,
    Screenshot,
    Scroll,
    Search,
    Seek,
    Settle,
    StopRecording,
    Tap,
    TapAt,
    Target,
    TellFront,
    Turn,
    Type,
    Use,
    WaitFor,
)
from clawperator.agent.offline.parser import MOST_CHARACTERS, MOST_INSTRUCTIONS, read_prompt


def named(name: str) -> Target:
    return Target(name, name)


def exactly(name: str) -> Target:
    return Target(name, name, exact=True)


def understood(prompt: str) -> list[Instruction]:
    reading = read_prompt(prompt)
    assert reading.not_understood == ()
    return [part.instruction for part in reading.parts]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("open Settings", Open("Settings")),
        ("Launch the YouTube app", Open("YouTube")),
        ("open com.android.chrome", Open("com.android.chrome")),
        ('start "Salt and Pepper"', Open("Salt and Pepper")),
        ("visit https://example.com/a?b=c", Open("https://example.com/a?b=c")),
        ("go to Display", GoTo(named("Display"))),
        ("kill chrome", Close("chrome")),
        ("close the app", Close("")),
        ("tap Save", Tap(named("Save"))),
        ("click on the second Save", Tap(Target("second Save", "Save", 2))),
        ("press the Save button", Tap(Target("Save button", "Save", role="button"))),
        ('select the last "Item"', Tap(Target('last "Item"', "Item", -1, exact=True))),
        ("choose the 3rd row", Tap(Target("3rd row", "row", 3, "row"))),
        ("tap First name", Tap(Target("First name", "name", 1))),
        ("tap Terms and conditions", Tap(named("Terms and conditions"))),
        ("long-press Milk", Tap(named("Milk"), hold=True)),
        ("press and hold Milk", Tap(named("Milk"), hold=True)),
        ("type hello into Title", Type("hello", named("Title"))),
        (
            "type 'a into b' into the search box",
            Type("a into b", Target("search box", "search", role="textfield")),
        ),
        ("type tea in the kitchen into Title", Type("tea in the kitchen", named("Title"))),
        ("enter 40 and press enter", Type("40", submit=True)),
        ("type x into Name and submit", Type("x", named("Name"), submit=True)),
        ("fill in Title with a list", Type("a list", named("Title"))),
        ("search for cats in boxes", Search("cats in boxes")),
        ("search for cats in YouTube", Search("cats", "YouTube")),
        ("search YouTube for cats in boxes", Search("cats in boxes", "YouTube")),
        ("clear the search box", Clear(Target("search box", "search", role="textfield"))),
        ("turn on Dark theme", Turn(named("Dark theme"), True)),
        ("switch the Wi-Fi switch off", Turn(Target("Wi-Fi switch", "Wi-Fi", role="switch"), False)),
        ("untick Pin to top", Turn(named("Pin to top"), False)),
        ("scroll", Scroll("down")),
        ("scroll up 3 times", Scroll("up", 3)),
        ("scroll down to the bottom", Scroll("down", 0)),
        ("scroll down until you see About phone", Seek(named("About phone"))),
        ("find About phone", Seek(named("About phone"))),
        ("go back", Press("back")),
        ("press the back button twice", Press("back", 2)),
        ("go to the home screen", Press("home")),
        ("show recent apps", Press("recents")),
        ("wait for Done to appear", WaitFor(Check(named("Done"), must=True))),
        ("wait up to 2 minutes for Done", None),
        ("wait up to 90 seconds for Done", WaitFor(Check(named("Done"), must=True), 90)),
        ("wait half a second", Pause(0.5)),
        ("wait 250 ms", Pause(0.25)),
        ("what's on the screen?", Describe()),
        ("what\u2019s on the screen?", Describe()),
        ("describe the screen", Describe()),
        ("what is the Android version of this phone?", Read(named("Android version"))),
        ("which Android version is this?", Read(named("Android version"))),
        ("what does Status say", Read(named("Status"))),
        ("tell me the battery level", Read(named("battery level"))),
        ("is Save on the screen?", Check(named("Save"))),
        ("is there a Save button on the screen", Check(Target("Save button", "Save", role="button"))),
        ("is Bluetooth on?", Check(named("Bluetooth"), "on")),
        ("check whether Wi-Fi is turned off", Check(named("Wi-Fi"), "off")),
        ("check that Save is visible", Check(named("Save"), must=True)),
        ("check that Save is not on the screen", Check(named("Save"), holds=False, must=True)),
        ("verify that Model is box", Check(named("Model"), value="box", must=True)),
        ("check that Save", Check(named("Save"), must=True)),
        ("take a screenshot", Screenshot()),
        ("take a screenshot as a b.png", Screenshot("a b.png")),
        ("record this as my demo", Record("my-demo")),
        ("start recording", Record()),
        ("stop the recording", StopRecording()),
        ("pull it", PullRecording()),
        ("run the discharge skill with 40", RunSkill("discharge", "40")),
        ("run com.example.do-it with a and b", RunSkill("com.example.do-it", "a and b")),
        ("list skills", ListSkills()),
        ("which phones are connected", ListPhones()),
        ("check the phone", CheckPhone()),
        (
            'use click {"matcher": {"textEquals": "a, then b"}}',
            Use("click", {"matcher": {"textEquals": "a, then b"}}),
        ),
        ("use the snapshot_ui tool", Use("snapshot_ui", {})),
        ("hello", Help()),
        ("what can you do?", Help()),
        ("tap the option called Display", Tap(Target("option called Display", "Display", role="row"))),
        ('tap the button called "OK"', Tap(Target('button called "OK"', "OK", role="button", exact=True))),
        ("tap Delete next to Milk", Tap(Target("Delete next to Milk", "Delete", beside="Milk"))),
        ("tap at 500, 600", TapAt(500, 600)),
        ("press search", Tap(named("search"))),
        ("type x and press search", Type("x", submit=True)),
        ("enter hello as the title", Type("hello", named("title"))),
        ("open the first note", GoTo(Target("first note", "note", 1))),
        ("open the app called Notes", Open("Notes")),
        ("in Settings", Open("Settings")),
        ("go back to YouTube", Open("YouTube")),
        ("go back to the home screen", Press("home")),
        ("toggle Dark theme", Turn(named("Dark theme"), None)),
        ("scroll all the way up", Scroll("up", 0)),
        ("wait for it to load", Settle()),
        ("wait until Loading disappears", WaitFor(Check(named("Loading"), holds=False, must=True))),
        (
            "wait up to 5 seconds until Next is enabled",
            WaitFor(Check(named("Next"), "on", must=True, sense="enabled"), 5),
        ),
        ("can you see Save?", Check(named("Save"))),
        ("is Wi-Fi on or off?", Read(named("Wi-Fi"))),
        ("is Large selected?", Check(named("Large"), "on", sense="selected")),
        ("check that Loading is gone", Check(named("Loading"), holds=False, must=True)),
        ("how much battery is left?", Read(named("battery"))),
        ("how much storage is free?", Read(named("free storage"))),
        ("what model is this phone?", Read(named("model"))),
        ("whats the house load right now", Read(named("house load"))),
        ("search on YouTube for cats", Search("cats", "YouTube")),
        ("search linkin park", Search("linkin park")),
        ("take a screenshot and save it as a.png", Screenshot("a.png")),
        ("list the apps", ListApps()),
        ("is Chrome installed?", FindApp("Chrome")),
        ("which app is open?", TellFront()),
    ],
)
def test_a_sentence_asks_for_one_thing(said: str, meant: Instruction | None) -> None:
    if meant is None:
        assert read_prompt(said).not_understood
    else:
        assert understood(said) == [meant]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("open Settings, then tap Display; go back.", ["open Settings", "tap Display", "go back"]),
        ("open Settings. Tap Display! Go back", ["open Settings", "Tap Display", "Go back"]),
        ("tap A, B and C and tap D", ["tap A, B and C", "tap D"]),
        ("tap Save and go back, and then go home", ["tap Save", "go back", "go home"]),
        (
            'type "a, then b. And open c" into Title and tap Save',
            ['type "a, then b. And open c" into Title', "tap Save"],
        ),
        ("open com.android.settings and wait 1.5 seconds", ["open com.android.settings", "wait 1.5 seconds"]),
        ("Hello, can you please open Settings for me, thank you.", ["open Settings"]),
        ("I want you to tap Display and, please, go back", ["tap Display", "go back"]),
        ("open Settings\ntap Display", ["open Settings", "tap Display"]),
        ("don't, tap Save", ["don't", "tap Save"]),
        ("open Settings & tap Display", ["open Settings", "tap Display"]),
        ("1. open Settings 2. tap Display\n3. go home", ["open Settings", "tap Display", "go home"]),
        ("- open Settings\n* tap Display", ["open Settings", "tap Display"]),
        ("tap No thanks", ["tap No thanks"]),
        ("open Settings thanks", ["open Settings"]),
        ("pls open Settings and I'd like to tap Display", ["open Settings", "tap Display"]),
        ("please. thank you!", []),
    ],
)
def test_prompts_are_cut_into_sentences(prompt: str, parts: list[str]) -> None:
    assert sentences(prompt) == parts


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   ",
        "please",
        "make me a sandwich",
        "tap",
        "tap it",
        "type that into Title",
        "open this",
        "open Settings and make coffee",
        "wait 3 hours",
        "wait 1000 seconds",
        "press enter",
        "submit",
        "check Save",
        "use click {not json}",
        "use click [1]",
        "search Frobnicator for cats",
        "tap " + "x" * 300,
        "go back. " * (MOST_INSTRUCTIONS + 1),
        "don't tap Save",
        "do not open Settings",
        "never tap Save",
        "tap Save if it is there",
        "if Save is there, tap Save",
        "type hello. how are you into Title",
        "tap Save but nothing else",
        "turn Wi-Fi off and turn it back on",
        "close it",
        "select all",
        "tap the second to last Item",
        "tap Save twice",
        "go back 500 times",
        "turn off the phone",
        "swipe up",
        "set the font size to large",
        "enter my password",
        'type "a" into Title and "b" into Body',
        "type tea and tap water into Title",
        "type Hello! How are you into Title",
        "open Settings without tapping Display",
        "open https://example.com/a b",
        "find cats on YouTube",
        "search YouTube",
        "go back to Display",
        "in Frobnicator, tap Save",
        "See all apps",
        "tap a" + " " * MOST_CHARACTERS,
    ],
)
def test_what_no_rule_fits_is_not_understood(prompt: str) -> None:
    reading = read_prompt(prompt)
    assert reading.not_understood
    assert all(part.reason for part in reading.not_understood)


@pytest.mark.parametrize(
    ("prompt", "meant"),
    [
        ("tap Display > Dark theme", [Tap(named("Display")), Tap(named("Dark theme"))]),
        ("open Settings > Display", [Open("Settings"), Tap(named("Display"))]),
        ("go to Settings \u2192 Display", [GoTo(named("Settings")), Tap(named("Display"))]),
        ('tap "a > b"', [Tap(exactly("a > b"))]),
        (
            "turn on Wi-Fi, Bluetooth and dark mode",
            [Turn(named(n), True) for n in ("Wi-Fi", "Bluetooth", "dark mode")],
        ),
        ("turn on Color and motion", [Turn(named("Color and motion"), True)]),
    ],
)
def test_a_sentence_may_ask_for_several_things(prompt: str, meant: list[Instruction]) -> None:
    assert understood(prompt) == meant


def test_every_part_that_is_not_understood_is_told() -> None:
    reading = read_prompt("open Settings, then frob, then tap it")
    assert [part.said for part in reading.not_understood] == ["frob", "tap it"]


def test_a_quotation_without_an_end_is_no_quotation() -> None:
    assert sentences('tap "Save and go back') == ['tap "Save', "go back"]


@pytest.mark.random
@given(st.text() | st.text(alphabet="tap open and then , . ; \"'{}it\n"))
def test_any_text_is_read_and_always_the_same_way(prompt: str) -> None:
    first = read_prompt(prompt)
    assert first == read_prompt(prompt)
    assert first.parts or first.not_understood
    assert len(mask(prompt)) == len(prompt)


# What instructions are made of when they are drawn at random: a label may be any text without quotation marks.
LABELS = st.text(
    alphabet=st.characters(exclude_characters='"„“', exclude_categories=["Cs"]), min_size=1, max_size=40
)
DRAWN = st.one_of(
    LABELS.map(lambda name: (f'tap "{name}"', Tap(exactly(name)))),
    LABELS.map(lambda name: (f'long press "{name}"', Tap(exactly(name), hold=True))),
    LABELS.map(lambda name: (f'turn on "{name}"', Turn(exactly(name), True))),
    LABELS.map(lambda name: (f'read "{name}"', Read(exactly(name)))),
    LABELS.map(lambda name: (f'check that "{name}" is off', Check(exactly(name), "off", must=True))),
    LABELS.map(lambda name: (f'wait for "{name}"', WaitFor(Check(exactly(name), must=True)))),
    st.tuples(LABELS, LABELS).map(lambda t: (f'type "{t[0]}" into "{t[1]}"', Type(t[0], exactly(t[1])))),
    st.tuples(LABELS, LABELS).map(
        lambda t: (f'check that "{t[0]}" is "{t[1]}"', Check(exactly(t[0]), value=t[1], must=True))
    ),
    LABELS.map(lambda text: (f'search for "{text}"', Search(text))),
    st.integers(2, 20).map(lambda n: (f"scroll up {n} times", Scroll("up", n))),
    st.integers(1, 115).map(lambda n: (f"wait {n} seconds", Pause(n))),
    st.dictionaries(LABELS, LABELS, max_size=3).map(
        lambda params: (f"use click {json.dumps(params)}", Use("click", params))
    ),
)


@pytest.mark.random
@given(
    st.lists(DRAWN, min_size=1, max_size=6), st.sampled_from([", ", " and ", "; ", ". ", " then ", ", and then "])
)
def test_instructions_are_read_as_they_were_written(drawn: list[tuple[str, Instruction]], between: str) -> None:
    assert understood(between.join(said for said, _ in drawn)) == [meant for _, meant in drawn]
