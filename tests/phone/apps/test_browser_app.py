"""The browser, and the chooser for links."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.apps.browser import CHOOSER, PACKAGE
from clawperator.phone.core.phone import Phone
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, text
from clawperator.ui.parse import parse_hierarchy
from tests.phone.screen import execute, find, found, reveal, tap, texts, tree, wander

READER = "org.example.reader"


def reader() -> App:
    """A second app for links to one site."""
    app = App(READER, "Reader", links=("https://news.example.com/",), link_screen="story")

    @app.screen("home")
    def home(_: AppContext) -> View:
        return text("No story")

    @app.screen("story")
    def story(context: AppContext) -> View:
        return column(text("Story"), text(context.args["uri"], id="uri"))

    return app


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone(apps=[reader()])
    yield phone
    phone.close()


def shown(phone: Phone, uri: str) -> list[str]:
    assert phone.view(uri)
    phone.clock.sleep(0.3)
    return texts(phone)


def type_address(phone: Phone, words: str) -> None:
    tap(phone, id="url_bar")
    phone.type_text(words + "\n")
    phone.clock.sleep(0.3)


def test_a_link_is_shown_after_it_has_loaded(phone: Phone) -> None:
    phone.view("https://clawperator.com")
    assert phone.foreground() == PACKAGE
    assert found(phone, cls="ProgressBar")
    phone.clock.sleep(0.3)
    assert not found(phone, cls="ProgressBar")
    assert find(phone, cls="WebView").text == "Clawperator"
    assert find(phone, id="url_bar").text == "https://clawperator.com"


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com",
        "http://example.com/",
        "HTTPS://EXAMPLE.COM",
        "https://www.example.com",
        "https://a:b@example.com:8443/",
    ],
)
def test_a_page_is_selected_by_its_host(phone: Phone, uri: str) -> None:
    assert "Example Domain" in shown(phone, uri)


def test_parts_of_a_page_have_no_ids_and_no_widget_classes(phone: Phone) -> None:
    shown(phone, "https://clawperator.com")
    page = find(phone, cls="WebView")
    assert {(node.class_name, node.resource_id) for node in page.walk() if node is not page} == {
        ("android.view.View", "")
    }


def test_an_unknown_page_shows_its_host_and_path(phone: Phone) -> None:
    labels = shown(phone, "https://nobody.example/some/where?x=1#y")
    assert "nobody.example" in labels
    assert "You are at /some/where?x=1#y" in labels


def test_a_missing_host_can_be_reloaded(phone: Phone) -> None:
    assert "This site can't be reached" in shown(phone, "https://nowhere.invalid/")
    tap(phone, text="Reload")
    assert found(phone, cls="ProgressBar")


def test_a_link_on_a_page_is_followed_and_back_returns(phone: Phone) -> None:
    shown(phone, "https://clawperator.com")
    tap(phone, text="Documentation")
    phone.clock.sleep(0.3)
    assert "Clawperator documentation" in texts(phone)
    phone.go_back()
    assert find(phone, id="url_bar").text == "https://clawperator.com"
    assert find(phone, cls="WebView").text == "Clawperator"


def test_a_page_left_while_it_loads_has_loaded_on_return(phone: Phone) -> None:
    phone.view("https://example.com")
    phone.go_home()
    phone.clock.sleep(1)
    phone.launch(PACKAGE)
    assert "Example Domain" in texts(phone)


def test_a_long_page_scrolls(phone: Phone) -> None:
    phone.launch(PACKAGE)
    tap(phone, text="The Daily Example")
    phone.clock.sleep(0.3)
    assert find(phone, text="Story 30").bounds.is_empty
    reveal(phone, text="Story 30")
    assert not find(phone, text="Story 30").bounds.is_empty


@pytest.mark.parametrize(
    ("typed", "leads_to"),
    [
        ("example.com", "https://example.com"),
        ("example.com/a b", "https://search.example.com/?q=example.com%2Fa+b"),
        ("http://example.com", "http://example.com"),
        ("crab", "https://search.example.com/?q=crab"),
        ("javascript:alert(1.5)", "https://search.example.com/?q=javascript%3Aalert%281.5%29"),
        ("  example.com ", "https://example.com"),
    ],
)
def test_a_typed_address_opens_a_host_or_a_search(phone: Phone, typed: str, leads_to: str) -> None:
    phone.launch(PACKAGE)
    type_address(phone, typed)
    assert find(phone, id="url_bar").text == leads_to


def test_an_empty_address_opens_nothing(phone: Phone) -> None:
    phone.launch(PACKAGE)
    type_address(phone, "  ")
    assert found(phone, id="tiles")


def test_a_search_shows_its_words_and_its_results_can_be_opened(phone: Phone) -> None:
    phone.launch(PACKAGE)
    type_address(phone, "who holds the phone?")
    assert "4 results for who holds the phone?" in texts(phone)
    tap(phone, text="Example Domain")
    phone.clock.sleep(0.3)
    assert find(phone, id="url_bar").text == "https://example.com/"


def test_each_page_of_the_history_keeps_its_own_address(phone: Phone) -> None:
    shown(phone, "https://example.com")
    tap(phone, id="url_bar")
    phone.type_text("/half")
    phone.go_back()  # puts the keyboard away
    phone.view("https://clawperator.com")
    assert find(phone, id="url_bar").text == "https://clawperator.com"
    phone.go_back()
    assert find(phone, id="url_bar").text == "https://example.com/half"


@pytest.mark.random
@given(st.text(max_size=60))
def test_no_link_breaks_the_browser(rest: str) -> None:
    phone = Phone()
    try:
        assert phone.view(f"https://{rest}")
        phone.clock.sleep(0.3)
        assert find(phone, id="url_bar").text.startswith("https://")
        assert all(node.text.isprintable() for node in tree(phone))
        assert len(parse_hierarchy(phone.windows.xml()).nodes) == len(tree(phone))
    finally:
        phone.close()


def test_a_long_link_is_truncated(phone: Phone) -> None:
    labels = shown(phone, "https://example.com/" + "x" * 100_000)
    assert max(len(words) for words in labels) <= 2_048 + len("You are at /")


def ask(phone: Phone, uri: str = "https://news.example.com/story/1") -> None:
    assert phone.view(uri)
    assert phone.foreground() == CHOOSER


def test_a_link_with_two_apps_opens_the_chooser(phone: Phone) -> None:
    ask(phone)
    assert [node.text for node in found(phone, id="android:id/title")] == ["Chrome", "Reader"]
    assert not find(phone, id="android:id/button_once", text="Just once").flag("enabled")
    assert not find(phone, id="android:id/button_always", text="Always").flag("enabled")
    tap(phone, text="Just once")
    assert phone.foreground() == CHOOSER


def test_just_once_opens_the_chosen_app_and_shows_the_chooser_again_next_time(phone: Phone) -> None:
    ask(phone)
    tap(phone, text="Chrome")
    tap(phone, text="Reader")
    assert [node.flag("selected") for node in found(phone, id="resolver_item")] == [False, True]
    tap(phone, text="Just once")
    assert phone.foreground() == READER
    assert find(phone, id="uri").text == "https://news.example.com/story/1"
    ask(phone)


def test_always_is_stored_for_the_site(phone: Phone) -> None:
    ask(phone)
    tap(phone, text="Chrome")
    tap(phone, text="Always")
    assert phone.foreground() == PACKAGE
    phone.view("https://news.example.com/story/2")
    assert phone.foreground() == PACKAGE


def test_back_closes_the_chooser(phone: Phone) -> None:
    phone.launch("com.android.settings")
    ask(phone)
    phone.go_back()
    assert phone.foreground() == "com.android.settings"


def test_a_tap_beside_the_chooser_closes_it(phone: Phone) -> None:
    phone.launch("com.android.settings")
    ask(phone)
    phone.tap(500, 300)
    assert phone.foreground() == "com.android.settings"


def test_a_chooser_that_was_left_is_not_shown_again(phone: Phone) -> None:
    ask(phone)
    phone.show_recents()
    assert "Open with" not in texts(phone)
    ask(phone, "https://news.example.com/story/2")
    phone.go_back()
    assert phone.foreground() != CHOOSER


def test_a_link_that_another_app_handles_opens_the_chooser(phone: Phone) -> None:
    shown(phone, "https://example.com")
    type_address(phone, "")
    phone.launch(PACKAGE)
    ask(phone)
    tap(phone, text="Chrome")
    tap(phone, text="Just once")
    phone.clock.sleep(0.3)
    tap(phone, text="Home of news.example.com")
    assert phone.foreground() == CHOOSER


def test_an_execution_opens_a_link_and_waits_for_its_page(phone: Phone) -> None:
    steps = execute(
        phone,
        ("open_uri", {"uri": "https://clawperator.com"}),
        ("wait_for_node", {"matcher": {"textEquals": "Documentation"}}),
        ("click", {"matcher": {"textEquals": "Documentation"}}),
        ("wait_for_node", {"matcher": {"textContains": "Chapter 1"}}),
    )
    assert [step.success for step in steps] == [True] * 4


def test_a_removed_app_is_not_offered(phone: Phone) -> None:
    ask(phone)
    tap(phone, text="Reader")
    phone.packages.remove(READER)
    phone.windows.invalidate()
    assert [node.text for node in found(phone, id="android:id/title")] == ["Chrome"]
    tap(phone, text="Just once")
    assert phone.foreground() != READER


@pytest.mark.parametrize("seed", range(4))
def test_random_input_does_not_crash_the_app(phone: Phone, seed: int) -> None:
    wander(phone, PACKAGE, 80, seed)
