"""Which screens match the recorded ones, and which nodes match the recorded targets."""

from typing import Any

import pytest

from clawperator.api.snapshot import Snapshot
from clawperator.errors import ClawError
from clawperator.recording.events import ClickFacts, EventBounds
from clawperator.replay.planner import ReplayStep
from clawperator.replay.run import LocatedTarget, find_target
from clawperator.replay.screens import MIN_SIMILARITY, recorded_screen, screen_marks
from clawperator.replay.target import recorded_target

APP = "com.example.app"


def node(text: str = "", id_: str = "", top: int = 0, kind: str = "Button", inner: str = "", **flags: str) -> str:
    known = {"clickable": "true", "enabled": "true", "content-desc": "", **flags}
    named = f"{APP}:id/{id_}" if id_ and ":" not in id_ else id_
    attributes = " ".join(f'{name}="{value}"' for name, value in known.items())
    place = f"[0,{top}][100,{top + 50}]"
    return (
        f'<node text="{text}" resource-id="{named}" class="android.widget.{kind}" package="{APP}" {attributes} '
        f'bounds="{place}">{inner}</node>'
    )


def screen(*nodes: str) -> str:
    return f'<hierarchy rotation="0"><node class="a.Frame" package="{APP}" bounds="[0,0][400,900]">{"".join(nodes)}</node></hierarchy>'


def seen(xml: str) -> Snapshot:
    found = recorded_screen(xml)
    assert found is not None
    return found


def similarity(recorded: str, live: str, title: str | None = None) -> float:
    return screen_marks(seen(recorded)).similarity(screen_marks(seen(live)), title)


def sought(xml: str, live: str, *, allow_position: bool = False, **click: Any) -> LocatedTarget:
    facts = {"resourceId": None, "text": None, "contentDesc": None, "bounds": EventBounds(0, 0, 100, 50), **click}
    event = ClickFacts(ts=0, seq=1, packageName=APP, **facts)
    target = recorded_target(event, recorded_screen(xml))
    step = ReplayStep(seq=1, last_seq=1, kind="click", package=APP, target=target)
    return find_target(step, Snapshot(live, APP, None, 1), allow_position=allow_position)


def refusal(xml: str, live: str, **click: Any) -> str:
    with pytest.raises(ClawError) as refused:
        sought(xml, live, **click)
    return refused.value.code


# Screens


def test_a_feed_with_other_words_under_the_same_ids_is_the_same_screen() -> None:
    assert (
        similarity(screen(node("Old", "a"), node("News", "b")), screen(node("New", "a"), node("Tales", "b"))) == 1
    )


def test_a_page_that_lost_its_title_needs_more_than_the_ids_all_pages_share() -> None:
    display = screen(node("Display", "title"), node("Dark theme", "row"), node("Font size", "row"))
    sound = screen(node("Sound", "title"), node("Ring tone", "row"), node("Volume", "row"))
    assert similarity(display, sound) == 1
    assert similarity(display, sound, "Display") < MIN_SIMILARITY
    assert similarity(display, display, "Display") == 1


def test_another_dialog_is_not_taken_for_the_recorded_one() -> None:
    asked = [node(words, f"android:id/{name}") for words, name in (("Delete?", "t"), ("No", "b2"), ("Yes", "b1"))]
    other = [
        node(words, f"android:id/{name}") for words, name in (("Rate us!", "t"), ("Later", "b2"), ("OK", "b1"))
    ]
    assert similarity(screen(*asked), screen(*other)) < MIN_SIMILARITY


def test_what_stands_in_a_field_does_not_matter() -> None:
    typed = screen(node("Name"), node("Ann", kind="EditText"), node("Save"))
    assert similarity(typed, screen(node("Name"), node("", kind="EditText"), node("Save"))) == 1


# Targets


def test_the_best_clue_that_fits_finds_the_node() -> None:
    xml = screen(node("Save", "save"), node("Cancel", "cancel", 60))
    assert sought(xml, xml, resourceId=f"{APP}:id/save", text="Save").found_by == "id_and_text"
    moved = screen(node("Cancel", "cancel"), node("Save", "other", 60))
    assert sought(xml, moved, resourceId=f"{APP}:id/save", text="Save").found_by == "text"
    renamed = screen(node("Cancel", "cancel"), node("Keep", "save", 60))
    assert sought(xml, renamed, resourceId=f"{APP}:id/save", text="Save").found_by == "id"


def test_an_id_that_rows_share_finds_none_of_them_alone() -> None:
    xml = screen(node("Milk", "row"), node("Bread", "row", 60))
    assert (
        refusal(xml, screen(node("Bread", "row")), resourceId=f"{APP}:id/row", text="Milk")
        == "REPLAY_TARGET_NOT_FOUND"
    )


def test_the_button_of_another_dialog_is_not_pressed() -> None:
    xml, other = screen(node("Delete", "android:id/button1")), screen(node("Send", "android:id/button1"))
    assert refusal(xml, other, resourceId="android:id/button1", text="Delete") == "REPLAY_TARGET_NOT_FOUND"


def test_a_row_is_known_by_its_first_words() -> None:
    def row(name: str, top: int) -> str:
        return node("", "row", top, "LinearLayout", node(name, "name", top, "TextView", clickable="false"))

    xml = screen(row("Milk", 0), row("Bread", 60))
    found = sought(xml, screen(row("Bread", 0), row("Milk", 60)), resourceId=f"{APP}:id/row", text="Milk")
    assert found.matcher == {"textEquals": "Milk"}


def test_a_heading_of_the_same_words_is_not_the_target() -> None:
    xml = screen(node("Far away", "far"))
    heading = screen(node("Far away", "", 0, "TextView", clickable="false"))
    assert refusal(xml, heading, resourceId=f"{APP}:id/far", text="Far away") == "REPLAY_TARGET_NOT_FOUND"


def test_the_content_of_a_field_does_not_find_a_label() -> None:
    xml = screen(node("41", "limit", 0, "EditText"))
    assert (
        refusal(xml, screen(node("41", "count")), resourceId=f"{APP}:id/limit", text="41")
        == "REPLAY_TARGET_NOT_FOUND"
    )


def test_another_app_in_the_same_place_is_not_touched() -> None:
    xml = screen(node("Save", "save"))
    assert refusal(xml, xml.replace(APP, "com.example.other"), text="Save") == "REPLAY_TARGET_NOT_FOUND"


def test_the_recorded_point_is_measured_by_the_size_of_the_display() -> None:
    xml = screen(node("", "", 0, "ImageView"))
    wide = screen(node("Save")).replace("[400,900]", "[800,1800]")
    assert sought(xml, wide, allow_position=True).point == (100, 50)
