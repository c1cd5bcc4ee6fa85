"""Reports in a real browser: they open, are usable by keyboard, stay small and quick, and run no text."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from clawperator.replay.demonstration import open_demonstration, replay
from clawperator.testing import simulated_phone
from tests.recording.samples import click, typed, window, write
from tests.replay.flows import record, settings_dark
from tests.report.samples import (
    SHOP,
    ReportedFile,
    WrittenReport,
    large,
    node,
    report_of,
    screen,
    shopping,
    written,
)
from tests.report.test_page import HOSTILE
from tests.support.browser import OpenedPage, OpenPage, traced_tasks
from tests.support.paths import REPOSITORY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MAX_NODES = 2_000
MAX_TASK_MS = 100
MAX_OPEN_MS = 2_000
MAX_BYTES = 15_000_000

Opens = Callable[..., OpenedPage]


@pytest.fixture
def opened(open_page: OpenPage) -> Opens:
    """Opens a report and waits until it shows its first row."""

    def open_(report: WrittenReport, anchor: str = "", **options: Any) -> OpenedPage:
        found = open_page(f"{report.uri}{anchor}", **options)
        ready(found.page)
        return found

    return open_


@pytest.fixture(scope="module")
def ten_thousand(tmp_path_factory: pytest.TempPathFactory) -> ReportedFile:
    """The report of 10,000 events on 500 screens."""
    return report_of(tmp_path_factory.mktemp("large"), large(10_000, 500))


def ready(page: "Page") -> None:
    page.wait_for_selector("html[data-ready]")


def reopen(page: "Page") -> None:
    page.reload()
    ready(page)


def heading(page: "Page") -> str:
    """The title of the chosen row, once it is shown."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.inner_text("#heading")


def overflow(page: "Page") -> int:
    """How many pixels the page is wider than its window."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return wider


def is_drawn(page: "Page", name: str = "screen") -> bool:
    """Whether the canvas of a screen has more than one colour."""
    script = """(name) => {
        const canvas = document.getElementById(name);
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const seen = new Set();
        for (let i = 0; i < pixels.length; i += 4 * 97) seen.add(pixels.slice(i, i + 3).join());
        return seen.size > 4;
    }"""
    drawn: bool = page.evaluate(script, name)
    return drawn


def test_a_report_opens_from_a_file_and_is_used_by_keyboard(tmp_path: Path, opened: Opens) -> None:
    shown = opened(report_of(tmp_path, shopping()))
    page = shown.page
    assert heading(page) == f"Open {SHOP}"
    page.focus("#list")
    page.keyboard.press("ArrowDown")
    assert heading(page) == 'Click "Cart"'
    assert page.get_attribute("#list", "aria-activedescendant") == "row-1"
    assert is_drawn(page)
    changes = [line.text_content() for line in page.query_selector_all("#changes .what")]
    assert changes == ["added: 2 items", "added: Note", "removed: Shop"]
    page.keyboard.press("a")
    assert page.get_attribute("#after", "aria-pressed") == "true"
    page.keyboard.press("End")
    assert heading(page) == 'Type "two bags" into a field'
    assert page.inner_text("dd.typed") == "two bags"
    for key, title in (("k", 'The screen "Cart" appears'), ("Home", f"Open {SHOP}"), ("j", 'Click "Cart"')):
        page.keyboard.press(key)
        assert heading(page) == title
    page.keyboard.press("/")
    page.keyboard.type("bags")
    assert heading(page) == 'Type "two bags" into a field'
    assert page.inner_text("#count") == "1 of 4"
    page.keyboard.press("Escape")
    assert page.inner_text("#count") == "4"
    page.click("#link")
    heading(page)
    assert page.inner_text("#position").startswith("Events")
    assert shown.problems == []
    assert [url for url in shown.requests if not url.startswith("data:")] == [page.url.partition("#")[0]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(tmp_path: Path, opened: Opens, scheme: str) -> None:
    shown = opened(report_of(tmp_path, shopping()), "#0/1", color_scheme=scheme)
    shown.page.click("#elements summary")
    shown.page.wait_for_selector("#nodes li:has-text('Cart')")
    assert shown.axe_violations() == []
    back = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(14, 17, 22)") == (scheme == "dark")
    assert shown.problems == []


def test_a_report_fits_a_window_of_380_pixels(tmp_path: Path, opened: Opens) -> None:
    shown = opened(report_of(tmp_path, shopping()), "#0/1", viewport={"width": 380, "height": 700})
    assert overflow(shown.page) <= 0
    assert is_drawn(shown.page)
    assert shown.axe_violations() == []


def test_a_comparison_opens_at_its_divergence_and_shows_all_reasons(tmp_path: Path, opened: Opens) -> None:
    run = write(tmp_path / "other.ndjson", shopping()[:2])
    report = report_of(tmp_path, shopping(), run=run)
    shown = opened(report, viewport={"width": 380, "height": 700})
    page = shown.page
    assert heading(page) == report.rows("Comparison")[report.data["selected"][1]].title
    assert page.inner_text("#status") == "missing"
    assert page.locator("#outcome").get_attribute("data-tone") == "bad"
    paths = page.evaluate(
        """() => Array.from(document.querySelectorAll("#list .icon"),
            (icon) => [icon.dataset.tone, icon.firstChild.getAttribute("d")])"""
    )
    drawn = dict(paths)
    assert set(drawn) == {"good", "bad"}
    assert drawn["good"] != drawn["bad"]  # not by colour alone
    is_whole = (
        "(id) => { const one = document.getElementById(id); return one.scrollHeight <= one.clientHeight + 1 }"
    )
    assert page.evaluate(is_whole, "reasons")
    assert overflow(page) <= 0
    assert shown.axe_violations() == []
    assert shown.problems == []


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ada.ndjson and bob.ndjson: the recordings of docs/start/testing-your-app.md."""
    folder = tmp_path_factory.mktemp("orders")
    page = (REPOSITORY / "docs" / "start" / "testing-your-app.md").read_text("utf-8")
    found = re.search(r"cat > pizza.toml <<'END'\n(.*?)\nEND", page, re.DOTALL)
    assert found is not None
    (folder / "pizza.toml").write_text(found[1])
    for name in ("Ada", "Bob"):
        with simulated_phone(apps=[folder / "pizza.toml"]) as phone:
            phone.start_recording(name)
            phone.open_app("com.example.pizza")
            phone.click("Funghi")
            phone.enter_text(name, id="customer")
            phone.click("Order")
            phone.stop_recording()
            (folder / f"{name.lower()}.ndjson").write_bytes(phone.read_recording())
    return folder


def canvas_label(page: "Page", name: str) -> str:
    return page.get_attribute(f"#{name}", "aria-label") or ""


@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_text_that_differs_is_shown_in_its_row_and_on_both_screens(
    orders: Path, opened: Opens, scheme: str, width: int
) -> None:
    report = written(orders / "ada.ndjson", str(orders / "bob.ndjson"))
    shown = opened(report, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = shown.page
    assert page.get_attribute("#outcome", "data-tone") == "bad"
    assert page.inner_text("#summary").endswith("expected 'Ada', found 'Bob'.")
    failing = page.locator('#list .row:has([data-tone="bad"])')
    assert failing.count() == 1
    assert failing.get_attribute("aria-selected") == "true"
    assert "Typed 'Ada'" in failing.inner_text()
    assert "expected 'Ada', found 'Bob'" in failing.inner_text()
    assert page.locator("figcaption").all_inner_texts() == ["Recorded", "Observed"]
    assert canvas_label(page, "screen").startswith("Recorded screen: ")
    assert "Ada" in canvas_label(page, "screen")
    assert "Bob" in canvas_label(page, "observed")
    assert [is_drawn(page, name) for name in ("screen", "observed")] == [True, True]
    boxes = [page.locator(f"#{name}").bounding_box() for name in ("screen", "observed")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"], "side by side"
    assert page.locator("#changes .what").all_inner_texts() == ["expected 'Ada', found 'Bob'"]
    assert overflow(page) <= 0
    assert shown.axe_violations() == []
    assert shown.problems == []


def test_one_of_two_screens_can_be_shown_alone(orders: Path, opened: Opens) -> None:
    page = opened(written(orders / "ada.ndjson", str(orders / "bob.ndjson"))).page
    page.get_by_role("button", name="Observed").click()
    assert page.is_hidden("#observed")
    assert "Bob" in canvas_label(page, "screen")
    page.keyboard.press("a")
    assert page.is_visible("#observed")
    page.focus("#list")
    page.keyboard.press("Home")
    page.locator("#before", has_text="Before").wait_for()
    assert page.is_hidden("#observed")


def test_a_failed_replay_shows_the_recorded_and_the_observed_screen(tmp_path: Path, opened: Opens) -> None:
    demonstration = open_demonstration(record(settings_dark, tmp_path))
    with simulated_phone() as phone, phone.connected() as connected:
        phone.fault("dialog", 1)
        document = replay(demonstration, connected)
    assert not document.ok
    (tmp_path / "replay.json").write_bytes(msgspec.json.encode(document))
    shown = opened(written(tmp_path / "replay.json"))
    page = shown.page
    failed = next(step for step in document.steps if step.status == "failed")
    assert page.get_attribute("#outcome", "data-tone") == "bad"
    assert "a dialog" in page.inner_text("#summary")
    assert "skill" not in page.inner_text("body").lower()
    assert page.inner_text("#status") == "failed"
    assert heading(page).lower().replace("'", "") == failed.description.lower()
    assert "Settings" in canvas_label(page, "screen")
    assert "System UI isn't responding" in canvas_label(page, "observed")
    assert shown.axe_violations() == []
    assert shown.problems == []


def test_no_text_runs_and_the_layout_holds(tmp_path: Path, opened: Opens) -> None:
    texts = [*(text.encode("utf-8", "replace").decode() for text in HOSTILE), "W" * 1_000_000, "\u05d0" * 500]
    events: list[dict[str, Any]] = []
    for text in texts:
        visible = "".join(c for c in text if c.isprintable())
        tree = screen(
            node(visible, resource_id=text[:60].replace("\x00", "").replace("\x07", "").replace("\x1b", ""))
        )
        events += [
            window(len(events), text[:300], title=text, className=text, snapshot=tree),
            click(len(events) + 1, text, text[:300], contentDesc=text, resourceId=text, snapshot=tree),
            typed(len(events) + 2, text, text[:300]),
        ]
    shown = opened(report_of(tmp_path, events), viewport={"width": 900, "height": 700})
    page = shown.page
    page.click("#elements summary")
    for tab, step in ((1, 1), (2, 2)):
        page.click(f"#tabs button:nth-child({tab})")
        page.focus("#list")
        for _ in range(0, len(events), step):
            for _ in range(step):
                page.keyboard.press("ArrowDown")
            heading(page)
        assert overflow(page) <= 0
        assert page.evaluate(
            "document.getElementById('list').scrollWidth <= document.getElementById('list').clientWidth"
        )
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.querySelectorAll('img, iframe, object, script').length") == 2
    assert shown.problems == []


def test_ten_thousand_events_are_small_and_quick(
    ten_thousand: ReportedFile, opened: Opens, browser: "Browser"
) -> None:
    assert ten_thousand.result.screenCount == 500
    assert ten_thousand.result.bytes <= MAX_BYTES
    shown = opened(ten_thousand)
    page = shown.page
    assert sum(traced_tasks(browser, page, lambda: reopen(page))) < MAX_OPEN_MS
    page.mouse.move(100, 500)

    def scroll() -> None:
        for turn in range(30):
            page.mouse.wheel(0, 4_000 if turn % 2 else 700)
        page.focus("#list")
        for key in ("End", "PageUp", "PageUp", "Home", "PageDown", "ArrowDown"):
            page.keyboard.press(key)

    assert max(traced_tasks(browser, page, scroll)) < MAX_TASK_MS
    page.keyboard.press("End")
    heading(page)
    assert page.inner_text("#position").replace(",", "") == "Steps · {0} of {0}".format(
        len(ten_thousand.rows("Steps"))
    )
    in_order = "Array.from(document.querySelectorAll('.row'), row => Number(row.dataset.position))"
    positions = page.evaluate(in_order)
    assert positions == sorted(positions)
    page.click("#tabs button:nth-child(2)")
    page.keyboard.press("/")
    page.keyboard.type("word 9999")
    assert heading(page) == "Text word 9999"
    assert shown.node_count() <= MAX_NODES
    assert shown.problems == []
