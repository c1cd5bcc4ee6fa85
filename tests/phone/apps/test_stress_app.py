"""The stress app: every scenario can be completed."""

from collections.abc import Iterator

import pytest

from clawperator.phone.apps import stress
from clawperator.phone.apps.stress import PACKAGE
from clawperator.phone.core.phone import Phone
from tests.phone.screen import find, found, reveal, tap, texts
from tests.phone.shell.scripts import output

NOTHING = "Nothing happened yet"


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    phone.launch(PACKAGE)
    yield phone
    phone.close()


def enter(phone: Phone, scenario: str) -> None:
    reveal(phone, text=scenario)
    tap(phone, text=scenario)
    assert status(phone) == NOTHING


def status(phone: Phone) -> str:
    return find(phone, id="status").text


def titles(phone: Phone) -> list[str]:
    return [node.text for node in found(phone, id="title")]


@pytest.mark.parametrize("scenario", [scenario.title for scenario in stress.SCENARIOS])
def test_every_scenario_can_be_opened_and_left(phone: Phone, scenario: str) -> None:
    enter(phone, scenario)
    tap(phone, desc="Leave")
    assert found(phone, id="scenarios")


def test_a_scenario_starts_afresh_each_time_it_is_opened(phone: Phone) -> None:
    enter(phone, "Ghost")
    tap(phone, text="Ghost", id="title")
    tap(phone, desc="Leave")
    enter(phone, "Ghost")
    assert "Ghost" in titles(phone)


def test_the_endless_list_builds_only_visible_rows(phone: Phone) -> None:
    enter(phone, "Endless list")
    assert len(phone.windows.hierarchy().nodes) < 80
    area = find(phone, id="endless").bounds
    phone.swipe((area.centre[0], area.bottom - 10), (area.centre[0], area.bottom - 10 - 147 * 5))
    tap(phone, text="Row 10")
    assert status(phone) == "Row 10"


def test_the_endless_list_has_an_end(phone: Phone) -> None:
    enter(phone, "Endless list")
    phone.swipe((500, 1500), (500, -20_000_000))
    tap(phone, text="Row 100,000")
    assert status(phone) == "Row 100,000"


def test_a_shelf_scrolls_horizontally_without_the_others(phone: Phone) -> None:
    enter(phone, "Shelves")
    x, y = find(phone, id="shelf_2").bounds.centre
    phone.swipe((x + 400, y), (x - 400, y))
    assert not found(phone, text="Book 2.1")
    assert found(phone, text="Book 1.1")
    tap(phone, text="Book 2.5")
    assert status(phone) == "Book 2.5"


def test_a_shelf_keeps_its_offset_when_it_is_scrolled_out_of_view(phone: Phone) -> None:
    enter(phone, "Shelves")
    x, y = find(phone, id="shelf_1").bounds.centre
    phone.swipe((x + 400, y), (x - 400, y))
    phone.swipe((500, 1800), (500, 300))
    assert not found(phone, id="shelf_1")
    phone.swipe((500, 400), (500, 2000))
    assert not found(phone, text="Book 1.1")


def test_the_list_in_a_page_scrolls_first_and_the_page_then(phone: Phone) -> None:
    enter(phone, "List in a page")
    area = find(phone, id="inner").bounds
    x, y = area.centre
    phone.swipe((x, y + 200), (x, y - 200))
    assert find(phone, id="inner").bounds == area
    assert "Inner 1" not in texts(phone)
    phone.swipe((x, y), (x, y - 10_000))
    assert find(phone, id="inner").bounds != area


def test_content_below_a_long_page_is_in_the_tree_but_invisible(phone: Phone) -> None:
    enter(phone, "Far away")
    assert find(phone, id="far").bounds.is_empty
    reveal(phone, id="far")
    tap(phone, id="far")
    assert status(phone) == "Far away"


def test_the_restless_list_changes_its_order_after_each_tap(phone: Phone) -> None:
    enter(phone, "Restless list")
    before = titles(phone)
    for name in ("Delta", "Delta", "Alpha"):
        tap(phone, text=name)
        assert status(phone) == name
        assert titles(phone) != before
        assert sorted(titles(phone)) == sorted(before)
        before = titles(phone)


def test_the_ghost_vanishes_when_it_is_tapped(phone: Phone) -> None:
    enter(phone, "Ghost")
    tap(phone, text="Ghost", id="title")
    assert titles(phone) == ["Before", "Behind"]


def test_unlabelled_icons_have_no_label_and_still_work(phone: Phone) -> None:
    enter(phone, "Icons without names")
    icons = [n for n in found(phone, cls="ImageButton") if not n.label]
    assert len(icons) == 12
    assert not any(icon.resource_id for icon in icons)
    phone.tap(*icons[6].bounds.centre)
    assert status(phone) == "Icon 7"


def test_rows_of_the_same_name_do_different_things(phone: Phone) -> None:
    enter(phone, "Same names")
    statuses = []
    for row in found(phone, text="Item"):
        phone.tap(*row.bounds.centre)
        statuses.append(status(phone))
    assert statuses == [f"Item, number {i}" for i in range(1, 6)]


def test_delete_deletes_its_own_row_alone(phone: Phone) -> None:
    enter(phone, "Many deletes")
    phone.tap(*found(phone, text="Delete")[2].bounds.centre)
    assert status(phone) == "Charlie deleted"
    assert titles(phone) == ["Alpha", "Bravo", "Delta", "Echo", "Foxtrot"]
    for _ in range(5):
        tap(phone, text="Delete")
    assert titles(phone) == []


def test_odd_texts_reach_the_tree_unchanged(phone: Phone) -> None:
    enter(phone, "Odd texts")
    for label in stress._TEXTS:
        reveal(phone, text=label)
        tap(phone, text=label, id="title")
        assert status(phone) == label


def test_late_content_arrives_in_its_time(phone: Phone) -> None:
    enter(phone, "Late content")
    counts = []
    for seconds in (0.3, 0.2, 1.1, 2.0, 0.5):
        phone.clock.sleep(seconds)
        counts.append(len(titles(phone)))
    assert counts == [0, 1, 2, 2, 3]


def test_the_late_button_does_nothing_until_it_is_enabled(phone: Phone) -> None:
    enter(phone, "Late content")
    tap(phone, id="ready")
    assert status(phone) == NOTHING
    phone.clock.sleep(2.1)
    tap(phone, id="ready")
    assert status(phone) == "Gone on"


def test_the_spinner_does_not_let_the_screen_settle_for_three_seconds(phone: Phone) -> None:
    enter(phone, "Late content")
    seen = set()
    for _ in range(29):
        phone.clock.sleep(0.1)
        seen.add(find(phone, id="spinner").text)
    assert len(seen) == 29
    phone.clock.sleep(0.2)
    assert find(phone, id="spinner").text == "Done"


@pytest.mark.parametrize("way", ["button", "back", "beside"])
def test_the_ambush_covers_the_screen_until_it_is_dismissed(phone: Phone, way: str) -> None:
    enter(phone, "Ambush")
    phone.clock.sleep(0.8)
    assert not found(phone, id="claim")
    if way == "button":
        tap(phone, text="Not now")
    elif way == "back":
        phone.go_back()
    else:
        phone.tap(500, 200)
    tap(phone, id="claim")
    assert status(phone) == "Claimed"


def test_the_ambush_does_not_cover_another_screen(phone: Phone) -> None:
    enter(phone, "Ambush")
    tap(phone, desc="Leave")
    phone.clock.sleep(1)
    assert found(phone, id="scenarios")


def test_the_siege_ends_only_when_the_terms_are_accepted(phone: Phone) -> None:
    for _ in range(2):
        enter(phone, "Siege")
        phone.clock.sleep(0.8)
        phone.go_back()
        phone.tap(500, 200)
        tap(phone, text="Accept")
        assert "Terms" in texts(phone)
        tap(phone, id="agree")
        tap(phone, text="Accept")
        tap(phone, id="claim")
        assert status(phone) == "Claimed"
        tap(phone, desc="Leave")


def test_the_hole_is_clickable_and_exposes_no_nodes(phone: Phone) -> None:
    enter(phone, "Hole")
    hole = find(phone, cls="WebView")
    assert not hole.children
    assert not hole.label
    assert hole.bounds.height > 1_000
    phone.tap(*hole.bounds.centre)
    assert status(phone) == "The hole was touched"


@pytest.mark.parametrize(
    ("name", "expected"), [("idle", NOTHING), ("disabled", NOTHING), ("ancestor", "Far ancestor")]
)
def test_each_odd_button_does_only_what_it_supports(phone: Phone, name: str, expected: str) -> None:
    enter(phone, "Odd buttons")
    tap(phone, id=name)
    assert status(phone) == expected


def test_the_label_is_five_levels_below_its_clickable_ancestor(phone: Phone) -> None:
    enter(phone, "Odd buttons")
    label = find(phone, text="Tap my far ancestor")
    steps = [node.flag("clickable") for node in (label, *label.ancestors())]
    assert steps.index(True) == 5
    phone.tap(*label.bounds.centre)
    assert status(phone) == "Far ancestor"


def test_a_long_press_does_what_a_tap_does_not(phone: Phone) -> None:
    enter(phone, "Odd buttons")
    tap(phone, id="long")
    assert status(phone) == NOTHING
    phone.tap(*find(phone, id="long").bounds.centre, hold_ms=700)
    assert status(phone) == "Pressed long"


def test_gestures_have_their_effects(phone: Phone) -> None:
    enter(phone, "Gestures")
    x, y = find(phone, id="double").bounds.centre
    phone.tap(x, y)
    assert status(phone) == NOTHING
    phone.tap(x, y)
    assert status(phone) == "Tapped twice"
    start, end = (find(phone, id=name).bounds.centre for name in ("parcel", "box"))
    output(phone, f"input draganddrop {start[0]} {start[1]} {end[0]} {end[1]} 200")
    assert status(phone) == "Parcel in the box"


def test_views_without_a_size_are_in_the_tree(phone: Phone) -> None:
    enter(phone, "Slivers")
    assert all(find(phone, id=name).bounds.is_empty for name in ("flat", "thin", "empty"))
    tap(phone, id="visible")
    assert status(phone) == "Visible"


def test_every_tiny_target_can_be_hit(phone: Phone) -> None:
    enter(phone, "Canvas")
    dots = find(phone, id="canvas")
    targets = [node for node in dots.walk() if node.content_desc]
    assert len(targets) == 144
    for node in targets[::13]:
        phone.tap(*node.bounds.centre)
        assert status(phone) == node.content_desc
