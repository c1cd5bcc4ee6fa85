"""Parsing prompts into instructions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.agent.offline.grammar import mask
from clawperator.agent.offline.instructions import (
    CheckDeviceInstruction,
    CheckInstruction,
    ClearInstruction,
    CloseInstruction,
    CreateInstruction,
    DeleteInstruction,
    DescribeScreenInstruction,
    FindAppInstruction,
    ForegroundAppInstruction,
    GoToInstruction,
    HelpInstruction,
    Instruction,
    IsForegroundInstruction,
    ListAppsInstruction,
    ListDevicesInstruction,
    ListSkillsInstruction,
    MentionsInstruction,
    OpenInstruction,
    OpenPageInstruction,
    PauseInstruction,
    PressButtonInstruction,
    PressKeyInstruction,
    PullRecordingInstruction,
    ReadInstruction,
    RunSkillInstruction,
    ScreenshotInstruction,
    ScrollInstruction,
    ScrollToInstruction,
    SearchInstruction,
    SetSwitchInstruction,
    SettleInstruction,
    SetValueInstruction,
    StartRecordingInstruction,
    StopRecordingInstruction,
    TapAtInstruction,
    TapInstruction,
    TargetPhrase,
    TypeInstruction,
    UseToolInstruction,
    WaitForInstruction,
)
from clawperator.agent.offline.parser import MAX_CHARACTERS, MAX_INSTRUCTIONS, parse_prompt
from clawperator.agent.offline.sentences import split_sentences


def named(name: str) -> TargetPhrase:
    return TargetPhrase(name, name)


def of_device(name: str) -> TargetPhrase:
    return TargetPhrase(name, name, of_device=True)


def exactly(name: str) -> TargetPhrase:
    return TargetPhrase(name, name, exact=True)


def parse(prompt: str) -> list[Instruction]:
    parsed = parse_prompt(prompt)
    assert parsed.not_understood == ()
    return [part.instruction for part in parsed.parts]


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("open Settings", OpenInstruction("Settings")),
        ("Launch the YouTube app", OpenInstruction("YouTube")),
        ("open com.android.chrome", OpenInstruction("com.android.chrome")),
        ('start "Salt and Pepper"', OpenInstruction("Salt and Pepper")),
        ("visit https://example.com/a?b=c", OpenInstruction("https://example.com/a?b=c")),
        ("go to Display", GoToInstruction(named("Display"))),
        ("kill chrome", CloseInstruction("chrome")),
        ("close the app", CloseInstruction("")),
        ("tap Save", TapInstruction(named("Save"))),
        ("click on the second Save", TapInstruction(TargetPhrase("second Save", "Save", 2))),
        ("press the Save button", TapInstruction(TargetPhrase("Save button", "Save", role="button"))),
        ('select the last "Item"', TapInstruction(TargetPhrase('last "Item"', "Item", -1, exact=True))),
        ("choose the 3rd row", TapInstruction(TargetPhrase("3rd row", "row", 3, "row"))),
        ("tap First name", TapInstruction(TargetPhrase("First name", "name", 1))),
        ("tap Terms and conditions", TapInstruction(named("Terms and conditions"))),
        ("long-press Milk", TapInstruction(named("Milk"), hold=True)),
        ("press and hold Milk", TapInstruction(named("Milk"), hold=True)),
        ("type hello into Title", TypeInstruction("hello", named("Title"))),
        (
            "type 'a into b' into the search box",
            TypeInstruction("a into b", TargetPhrase("search box", "search", role="textfield")),
        ),
        ("type tea in the kitchen into Title", TypeInstruction("tea in the kitchen", named("Title"))),
        ("enter 40 and press enter", TypeInstruction("40", submit=True)),
        ("type x into Name and submit", TypeInstruction("x", named("Name"), submit=True)),
        ("fill in Title with a list", TypeInstruction("a list", named("Title"))),
        ("search for cats in boxes", SearchInstruction("cats in boxes")),
        ("search for cats in YouTube", SearchInstruction("cats", "YouTube")),
        ("search YouTube for cats in boxes", SearchInstruction("cats in boxes", "YouTube")),
        ("clear the search box", ClearInstruction(TargetPhrase("search box", "search", role="textfield"))),
        ("turn on Dark theme", SetSwitchInstruction(named("Dark theme"), True)),
        (
            "switch the Wi-Fi switch off",
            SetSwitchInstruction(TargetPhrase("Wi-Fi switch", "Wi-Fi", role="switch"), False),
        ),
        ("untick Pin to top", SetSwitchInstruction(named("Pin to top"), False)),
        ("scroll", ScrollInstruction("down")),
        ("scroll up 3 times", ScrollInstruction("up", 3)),
        ("scroll down to the bottom", ScrollInstruction("down", 0)),
        ("scroll down until you see About phone", ScrollToInstruction(named("About phone"))),
        ("find About phone", ScrollToInstruction(named("About phone"))),
        ("go back", PressKeyInstruction("back")),
        ("press the back button twice", PressKeyInstruction("back", 2)),
        ("go to the home screen", PressKeyInstruction("home")),
        ("show recent apps", PressKeyInstruction("recents")),
        ("wait for Done to appear", WaitForInstruction(CheckInstruction(named("Done"), required=True))),
        ("wait up to 2 minutes for Done", None),
        ("wait up to 90 seconds for Done", WaitForInstruction(CheckInstruction(named("Done"), required=True), 90)),
        ("wait half a second", PauseInstruction(0.5)),
        ("wait 250 ms", PauseInstruction(0.25)),
        ("what's on the screen?", DescribeScreenInstruction()),
        ("what\u2019s on the screen?", DescribeScreenInstruction()),
        ("describe the screen", DescribeScreenInstruction()),
        ("what is the Android version of this phone?", ReadInstruction(of_device("Android version"))),
        ("which Android version is this?", ReadInstruction(of_device("Android version"))),
        ("what does Status say", ReadInstruction(named("Status"))),
        ("tell me the battery level", ReadInstruction(named("battery level"))),
        ("is Save on the screen?", CheckInstruction(named("Save"), is_literal=True)),
        (
            "is there a Save button on the screen",
            CheckInstruction(TargetPhrase("Save button", "Save", role="button")),
        ),
        ("is Bluetooth on?", CheckInstruction(named("Bluetooth"), "on")),
        ("check whether Wi-Fi is turned off", CheckInstruction(named("Wi-Fi"), "off")),
        ("check that Save is visible", CheckInstruction(named("Save"), required=True)),
        ("check that Save is not on the screen", CheckInstruction(named("Save"), holds=False, required=True)),
        ("verify that Model is box", CheckInstruction(named("Model"), value="box", required=True)),
        ("check that Save", CheckInstruction(named("Save"), required=True)),
        ("take a screenshot", ScreenshotInstruction()),
        ("take a screenshot as a b.png", ScreenshotInstruction("a b.png")),
        ("record this as my demo", StartRecordingInstruction("my-demo")),
        ("start recording", StartRecordingInstruction()),
        ("stop the recording", StopRecordingInstruction()),
        ("pull it", PullRecordingInstruction()),
        ("run the discharge skill with 40", RunSkillInstruction("discharge", "40")),
        ("run com.example.do-it with a and b", RunSkillInstruction("com.example.do-it", "a and b")),
        ("list skills", ListSkillsInstruction()),
        ("which phones are connected", ListDevicesInstruction()),
        ("check the phone", CheckDeviceInstruction()),
        (
            'use click {"matcher": {"textEquals": "a, then b"}}',
            UseToolInstruction("click", {"matcher": {"textEquals": "a, then b"}}),
        ),
        ("use the snapshot_ui tool", UseToolInstruction("snapshot_ui", {})),
        ("hello", HelpInstruction()),
        ("what can you do?", HelpInstruction()),
        (
            "tap the option called Display",
            TapInstruction(TargetPhrase("option called Display", "Display", role="row")),
        ),
        (
            'tap the button called "OK"',
            TapInstruction(TargetPhrase('button called "OK"', "OK", role="button", exact=True)),
        ),
        ("tap Delete next to Milk", TapInstruction(TargetPhrase("Delete next to Milk", "Delete", beside="Milk"))),
        ("tap at 500, 600", TapAtInstruction(500, 600)),
        ("press search", TapInstruction(named("search"))),
        ("type x and press search", TypeInstruction("x", submit=True)),
        ("enter hello as the title", TypeInstruction("hello", named("title"))),
        ("open the first note", GoToInstruction(TargetPhrase("first note", "note", 1))),
        ("open the app called Notes", OpenInstruction("Notes")),
        ("in Settings", OpenInstruction("Settings")),
        ("go back to YouTube", OpenInstruction("YouTube")),
        ("go back to the home screen", PressKeyInstruction("home")),
        ("toggle Dark theme", SetSwitchInstruction(named("Dark theme"), None)),
        ("scroll all the way up", ScrollInstruction("up", 0)),
        ("wait for it to load", SettleInstruction()),
        (
            "wait until Loading disappears",
            WaitForInstruction(CheckInstruction(named("Loading"), holds=False, required=True)),
        ),
        (
            "wait up to 5 seconds until Next is enabled",
            WaitForInstruction(CheckInstruction(named("Next"), "on", required=True, state_kind="enabled"), 5),
        ),
        ("can you see Save?", CheckInstruction(named("Save"))),
        ("is Wi-Fi on or off?", ReadInstruction(named("Wi-Fi"))),
        ("is Large selected?", CheckInstruction(named("Large"), "on", state_kind="selected")),
        ("check that Loading is gone", CheckInstruction(named("Loading"), holds=False, required=True)),
        ("how much battery is left?", ReadInstruction(named("battery"))),
        ("how much storage is free?", ReadInstruction(named("free storage"))),
        ("what model is this phone?", ReadInstruction(of_device("model"))),
        ("whats the house load right now", ReadInstruction(named("house load"))),
        ("search on YouTube for cats", SearchInstruction("cats", "YouTube")),
        ("search linkin park", SearchInstruction("linkin park")),
        ("take a screenshot and save it as a.png", ScreenshotInstruction("a.png")),
        ("list the apps", ListAppsInstruction()),
        ("is Chrome installed?", FindAppInstruction("Chrome")),
        ("which app is open?", ForegroundAppInstruction()),
        ("tell me which app is in front", ForegroundAppInstruction()),
        ("swipe up", ScrollInstruction("down")),
        ("scroll back up", ScrollInstruction("up")),
        ("take me home", PressKeyInstruction("home")),
        ("hey claw, open notes", OpenInstruction("notes")),
        ("set the font size to large", SetValueInstruction(named("font size"), "large")),
        ("choose Work as the category", SetValueInstruction(named("category"), "Work")),
        ("open Display settings", OpenPageInstruction(("Display",), "Display")),
        ("go to the Wi-Fi settings", OpenPageInstruction(("Network & internet", "Internet"), "Internet")),
        ("Bluetooth off", SetSwitchInstruction(named("Bluetooth"), False)),
        ("put my phone on do not disturb", SetSwitchInstruction(named("do not disturb"), True)),
        ("set the phone to silent", SetSwitchInstruction(named("silent"), True)),
        ("Bluetooth on?", CheckInstruction(named("Bluetooth"), "on")),
        ("isn't Bluetooth on?", CheckInstruction(named("Bluetooth"), "on", is_plain=True)),
        ("would you mind turning on Bluetooth?", SetSwitchInstruction(named("Bluetooth"), True)),
        ("I'd like to know whether Wi-Fi is on", CheckInstruction(named("Wi-Fi"), "on")),
        ("What's my phone's serial number?", ReadInstruction(of_device("serial number"))),
        ("how much battery does my phone have left?", ReadInstruction(of_device("battery"))),
        ("is the screen timeout 5 minutes?", CheckInstruction(named("screen timeout"), value="5 minutes")),
        ("is the battery above 50%?", CheckInstruction(named("battery"), value="50%", order="above")),
        ("create a note called Shopping list", CreateInstruction("Shopping list")),
        ("delete the note Milk", DeleteInstruction(named("Milk"), is_note=True)),
        ("pause the video", PressButtonInstruction(("Pause video", "Pause"))),
        ("play the second video", TapInstruction(TargetPhrase("second video", "video", 2))),
        ("is there a note about Milk?", MentionsInstruction("Milk")),
        ("is there anything about Bluetooth here?", MentionsInstruction("Bluetooth")),
        ("is Bluetooth mentioned on the screen?", MentionsInstruction("Bluetooth", is_literal=True)),
        ("check that Bluetooth is mentioned", MentionsInstruction("Bluetooth", required=True)),
        ("is YouTube open?", IsForegroundInstruction("YouTube")),
        ("search for cats and dogs", SearchInstruction("cats and dogs")),
    ],
)
def test_a_sentence_is_parsed_into_one_instruction(prompt: str, expected: Instruction | None) -> None:
    if expected is None:
        assert parse_prompt(prompt).not_understood
    else:
        assert parse(prompt) == [expected]


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
def test_prompts_are_split_into_sentences(prompt: str, parts: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(prompt)] == parts


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
        "go back. " * (MAX_INSTRUCTIONS + 1),
        "don't tap Save",
        "do not open Settings",
        "never tap Save",
        "tap Save if it is there",
        "if Save is there, tap Save",
        "type hello. how are you into Title",
        "tap Save but nothing else",
        "close it",
        "select all",
        "tap the second to last Item",
        "tap Save twice",
        "go back 500 times",
        "turn off the phone",
        "enter my password",
        "type tea and tap water into Title",
        "type Hello! How are you into Title",
        "open Settings without tapping Display",
        "open https://example.com/a b",
        "find cats on YouTube",
        "search YouTube",
        "go back to Display",
        "in Frobnicator, tap Save",
        "See all apps",
        "is there a note?",
        "is there no note?",
        "are there any notes?",
        "is there a way to turn on dark mode?",
        "is there an update available?",
        "is there an internet connection?",
        "is there an error message?",
        "is Bluetooth not on?",
        "Bluetooth is on, is it?",
        "is it going to rain?",
        "what is the time?",
        "check whether Milk is in the list",
        "enter hello and dance",
        "search for bread and like it",
        "search for bread and dance with me",
        "look for lighthouse and watch the first one",
        "check whether Bluetooth is on and, if so, turn it off",
        "open Dispaly settings",
        "type something",
        "write a poem",
        "delete everything",
        "delete Chrome",
        "I want dark mode",
        "tap a" + " " * MAX_CHARACTERS,
    ],
)
def test_a_sentence_without_a_rule_is_not_understood(prompt: str) -> None:
    parsed = parse_prompt(prompt)
    assert parsed.not_understood
    assert all(part.reason for part in parsed.not_understood)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("tap Display > Dark theme", [TapInstruction(named("Display")), TapInstruction(named("Dark theme"))]),
        ("open Settings > Display", [OpenInstruction("Settings"), TapInstruction(named("Display"))]),
        ("go to Settings \u2192 Display", [GoToInstruction(named("Settings")), TapInstruction(named("Display"))]),
        ('tap "a > b"', [TapInstruction(exactly("a > b"))]),
        (
            "turn on Wi-Fi, Bluetooth and dark mode",
            [SetSwitchInstruction(named(n), True) for n in ("Wi-Fi", "Bluetooth", "dark mode")],
        ),
        ("turn on Color and motion", [SetSwitchInstruction(named("Color and motion"), True)]),
        (
            "turn Wi-Fi off and turn it back on",
            [SetSwitchInstruction(named("Wi-Fi"), False), SetSwitchInstruction(named("Wi-Fi"), True)],
        ),
        (
            'type "a" into Title and "b" into Body',
            [TypeInstruction("a", named("Title")), TypeInstruction("b", named("Body"))],
        ),
        (
            "turn Wi-Fi off and Bluetooth on",
            [SetSwitchInstruction(named("Wi-Fi"), False), SetSwitchInstruction(named("Bluetooth"), True)],
        ),
        (
            "Are Bluetooth and Wi-Fi on?",
            [CheckInstruction(named("Bluetooth"), "on"), CheckInstruction(named("Wi-Fi"), "on")],
        ),
        ("enter 35 and confirm", [TypeInstruction("35"), PressButtonInstruction(("Confirm",))]),
        ("tap Milk and delete it", [DeleteInstruction(named("Milk"))]),
        ("go to Settings, then Battery", [GoToInstruction(named("Settings")), TapInstruction(named("Battery"))]),
    ],
)
def test_a_sentence_may_hold_several_instructions(prompt: str, expected: list[Instruction]) -> None:
    assert parse(prompt) == expected


def test_every_part_that_is_not_understood_is_reported() -> None:
    parsed = parse_prompt("open Settings, then frob, then tap it")
    assert [part.text for part in parsed.not_understood] == ["frob", "tap it"]


def test_an_unclosed_quotation_mark_is_ignored() -> None:
    assert [sentence.text for sentence in split_sentences('tap "Save and go back')] == ['tap "Save', "go back"]


@pytest.mark.random
@given(st.text() | st.text(alphabet="tap open and then , . ; \"'{}it\n"))
def test_any_text_is_parsed_deterministically(prompt: str) -> None:
    first = parse_prompt(prompt)
    assert first == parse_prompt(prompt)
    assert first.parts or first.not_understood
    assert len(mask(prompt)) == len(prompt)


# Random instructions: a label is any text without quotation marks.
LABELS = st.text(
    alphabet=st.characters(exclude_characters='"„“', exclude_categories=["Cs"]), min_size=1, max_size=40
)
INSTRUCTIONS = st.one_of(
    LABELS.map(lambda name: (f'tap "{name}"', TapInstruction(exactly(name)))),
    LABELS.map(lambda name: (f'long press "{name}"', TapInstruction(exactly(name), hold=True))),
    LABELS.map(lambda name: (f'turn on "{name}"', SetSwitchInstruction(exactly(name), True))),
    LABELS.map(lambda name: (f'read "{name}"', ReadInstruction(exactly(name)))),
    LABELS.map(
        lambda name: (f'check that "{name}" is off', CheckInstruction(exactly(name), "off", required=True))
    ),
    LABELS.map(
        lambda name: (f'wait for "{name}"', WaitForInstruction(CheckInstruction(exactly(name), required=True)))
    ),
    st.tuples(LABELS, LABELS).map(
        lambda t: (f'type "{t[0]}" into "{t[1]}"', TypeInstruction(t[0], exactly(t[1])))
    ),
    st.tuples(LABELS, LABELS).map(
        lambda t: (f'check that "{t[0]}" is "{t[1]}"', CheckInstruction(exactly(t[0]), value=t[1], required=True))
    ),
    LABELS.map(lambda text: (f'search for "{text}"', SearchInstruction(text))),
    st.integers(2, 20).map(lambda n: (f"scroll up {n} times", ScrollInstruction("up", n))),
    st.integers(1, 115).map(lambda n: (f"wait {n} seconds", PauseInstruction(n))),
    st.dictionaries(LABELS, LABELS, max_size=3).map(
        lambda params: (f"use click {json.dumps(params)}", UseToolInstruction("click", params))
    ),
)


@pytest.mark.random
@given(
    st.lists(INSTRUCTIONS, min_size=1, max_size=6),
    st.sampled_from([", ", " and ", "; ", ". ", " then ", ", and then "]),
)
def test_joined_instructions_are_parsed_as_they_were_written(
    drawn: list[tuple[str, Instruction]], between: str
) -> None:
    assert parse(between.join(prompt for prompt, _ in drawn)) == [expected for _, expected in drawn]
