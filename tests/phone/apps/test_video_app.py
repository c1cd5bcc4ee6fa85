"""The video app: the feed, a search with suggestions, and the player page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.apps.video import PACKAGE, VIDEOS, found_videos, suggestions_for, video_in
from clawperator.phone.core.phone import Phone
from tests.phone.screen import find, found, reveal, tap, texts

if TYPE_CHECKING:
    from clawperator.phone.core.events import AccessibilityEvent

SONG = "linkin park waiting for the end"


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    phone.launch(PACKAGE)
    yield phone
    phone.close()


def search(phone: Phone, typed: str) -> None:
    tap(phone, desc="Search", id="menu_item_1")
    tap(phone, id="search_edit_text")
    phone.type_text(typed)


def suggested(phone: Phone) -> list[str]:
    return [node.text for node in found(phone, id="text")]


def test_the_feed_scrolls_through_all_its_videos(phone: Phone) -> None:
    first, *_, last = VIDEOS.values()
    assert first.title in texts(phone)
    assert last.title not in texts(phone)
    reveal(phone, text=last.title)
    assert first.title not in texts(phone)


def test_suggestions_come_a_moment_after_the_last_letter(phone: Phone) -> None:
    search(phone, "linkin park")
    assert suggested(phone) == []
    phone.clock.sleep(0.1)
    assert suggested(phone) == []
    phone.clock.sleep(0.1)
    assert suggested(phone)[0] == SONG


def test_suggestions_for_an_outdated_query_are_dropped(phone: Phone) -> None:
    search(phone, "piano")
    phone.clock.sleep(0.1)
    phone.type_text("x")
    phone.clock.sleep(0.1)
    assert suggested(phone) == []
    phone.clock.sleep(0.1)
    assert suggested(phone) == ["piano for beginners", "waiting for the end piano cover"]


def test_clearing_the_field_removes_the_suggestions(phone: Phone) -> None:
    search(phone, "piano")
    phone.clock.sleep(0.2)
    tap(phone, desc="Clear")
    phone.clock.sleep(0.2)
    assert suggested(phone) == []
    phone.type_text("how")
    assert find(phone, id="search_edit_text").text == "how"


def test_an_edited_suggestion_leaves_the_cursor_at_its_end(phone: Phone) -> None:
    events: list[AccessibilityEvent] = []
    search(phone, "linking park")
    phone.clock.sleep(0.2)
    phone.listeners.append(events.append)
    tap(phone, desc=f"Edit suggestion {SONG}")
    phone.type_text("emily")
    click, *changes = [e for e in events if e.kind in ("view_clicked", "view_text_changed")]
    assert (click.resource_id, click.text, click.content_desc) == (
        f"{PACKAGE}:id/edit_suggestion",
        f"Edit suggestion {SONG}",
        f"Edit suggestion {SONG}",
    )
    assert [change.text for change in changes] == [f"{SONG} {'emily'[: i + 1]}" for i in range(5)]


def test_a_tap_on_a_suggestion_searches_for_it(phone: Phone) -> None:
    search(phone, "linking park")
    phone.clock.sleep(0.2)
    tap(phone, text=SONG)
    assert find(phone, id="search_query").text == SONG
    assert found(phone, id="title")[0].text == "Linkin Park - Waiting For The End"


def test_back_from_the_results_shows_the_field_with_the_cursor_at_its_end(phone: Phone) -> None:
    search(phone, "li")
    phone.clock.sleep(0.2)
    tap(phone, text=SONG)
    phone.go_back()
    tap(phone, id="search_edit_text")
    phone.type_text("!")
    assert find(phone, id="search_edit_text").text == f"{SONG}!"


def test_the_enter_key_searches_and_a_result_is_watched(phone: Phone) -> None:
    search(phone, "waiting emily\n")
    tap(phone, text="Waiting For The End, piano cover by Emily")
    assert find(phone, id="title").text == "Waiting For The End, piano cover by Emily"
    assert "Pause video" in texts(phone)


def test_an_empty_search_is_ignored(phone: Phone) -> None:
    search(phone, "  \n")
    assert found(phone, id="search_edit_text")


def test_a_search_without_results_shows_a_message(phone: Phone) -> None:
    search(phone, "xyzzy\n")
    assert "No results found" in texts(phone)


def test_play_and_pause_alternate(phone: Phone) -> None:
    phone.open_with(PACKAGE, "https://youtu.be/wfte0000001")
    tap(phone, desc="Pause video")
    assert "Play video" in texts(phone)
    tap(phone, desc="Play video")
    assert "Pause video" in texts(phone)


def test_a_like_survives_a_stop_and_can_be_removed(phone: Phone) -> None:
    for label, then in (("Like", "Unlike"), ("Unlike", "Like")):
        phone.open_with(PACKAGE, "vnd.youtube:numb0000001")
        tap(phone, desc=label)
        phone.stop_app(PACKAGE)
        phone.open_with(PACKAGE, "vnd.youtube:numb0000001")
        assert find(phone, id="like_button").content_desc == then


def test_the_comments_scroll_under_a_player_that_stays(phone: Phone) -> None:
    phone.open_with(PACKAGE, "vnd.youtube:numb0000001")
    reveal(phone, text="@viewer60")
    assert "Pause video" in texts(phone)


@pytest.mark.parametrize(
    "uri",
    [
        "https://www.youtube.com/watch?v=numb0000001&t=3",
        "https://www.youtube.com/shorts/numb0000001/",
        "https://youtu.be/numb0000001?si=x",
        "vnd.youtube:numb0000001",
        "vnd.youtube://numb0000001?t=1",
        "VND.YouTube:numb0000001",
    ],
)
def test_a_link_opens_its_video(phone: Phone, uri: str) -> None:
    phone.open_with(PACKAGE, uri)
    assert find(phone, id="title").text == "Linkin Park - Numb"


@pytest.mark.parametrize(
    "uri", ["https://www.youtube.com/", "https://youtu.be/none", "vnd.youtube:", "https://youtu.be/[::x"]
)
def test_a_link_without_a_video_offers_the_feed(phone: Phone, uri: str) -> None:
    phone.open_with(PACKAGE, uri)
    assert "This video isn't available" in texts(phone)
    tap(phone, text="Go to the feed")
    assert found(phone, id="menu_item_1")


@pytest.mark.parametrize(
    "typed", ["linkin park", "linking park", "LINKIN  park ", "linkn park wait", "waiting for linkin"]
)
def test_the_song_is_suggested_for_a_similar_query(typed: str) -> None:
    assert SONG in suggestions_for(typed)


@pytest.mark.parametrize("typed", ["", " ", "lnk park", "linkin parc deluxe", "zz"])
def test_the_song_is_not_suggested_for_another_query(typed: str) -> None:
    assert SONG not in suggestions_for(typed)


@pytest.mark.random
@given(
    st.text(max_size=300),
    st.sampled_from(["", "https://youtu.be/", "https://www.youtube.com/watch?v=", "vnd.youtube:", "https://["]),
)
def test_any_text_can_be_searched_and_any_link_opened(words: str, link: str) -> None:
    assert len(suggestions_for(words)) <= 8
    assert len(found_videos(words)) <= len(VIDEOS)
    assert isinstance(video_in(link + words), str)


def test_media_keys_play_and_pause(phone: Phone) -> None:
    phone.view("vnd.youtube:numb0000001")
    seen = []
    for key in (85, 85, 127, 127, 126, 86):
        phone.key(key)
        process = phone.process_of(PACKAGE)
        assert process is not None
        seen.append(process.state["playing"])
    assert seen == [False, True, False, False, True, False]


def test_the_search_field_has_the_focus_so_that_text_can_be_typed_at_once(phone: Phone) -> None:
    tap(phone, desc="Search", id="menu_item_1")
    assert find(phone, id="search_edit_text").flag("focused")
    assert phone.windows.keyboard() is not None
    phone.type_text("cats")
    assert find(phone, id="search_edit_text").text == "cats"
