"""A real browser for tests: Debian's chromium, driven by playwright.

The fixtures are for a ``conftest.py`` to import. A browser serves the tests of one module: while it runs, no other
test in the process can run an event loop of its own.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.required_programs import skip_without

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

# Without a sandbox, because tests may run as root; without services that look for the network.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_START_MS = 60_000
# How long a page may take to show something, on a busy machine.
WAIT_MS = 30_000
_MAIN_THREAD = "CrRendererMain"


class OpenedPage:
    """A page, and what went wrong on it: console errors, uncaught exceptions, refused resources."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._request)

    def _console(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _request(self, request: "Request") -> None:
        self.requests.append(request.url)

    def node_count(self) -> int:
        """The number of nodes in the document, texts and comments included."""
        script = "n => { const w = document.createTreeWalker(document); while (w.nextNode()) n++; return n }"
        count: int = self.page.evaluate(script, 1)
        return count

    def axe_violations(self) -> list[str]:
        """What axe-core reports, one line each."""
        self.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then(results => results.violations)")
        return [f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:3]}" for one in found]


OpenPage = Callable[..., OpenedPage]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The browser of a module."""
    program = shutil.which("chromium") or skip_without("no chromium on this machine")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_without("playwright is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS], timeout=_START_MS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[OpenPage]:
    """Opens an address in a new window. Keywords are those of playwright's ``new_context``."""
    contexts = []

    def open_(address: str, **options: Any) -> OpenedPage:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        opened = OpenedPage(context.new_page())
        opened.page.goto(address)
        return opened

    yield open_
    for context in contexts:
        context.close()


def expect(locator: "Locator") -> Any:
    """A condition of a locator that is waited for. Without playwright the tests that need it are skipped."""
    from playwright.sync_api import expect as expect_

    expect_.set_options(timeout=WAIT_MS)
    return expect_(locator)


def traced_tasks(browser: "Browser", page: "Page", act: Callable[[], object]) -> list[float]:
    """The processor time in ms of each task on the main thread of a page while something is done to it.

    Processor time and not time: other processes must not make a test fail.
    """
    browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline"])
    act()
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (event["pid"], event["tid"]) for event in events if event.get("args", {}).get("name") == _MAIN_THREAD
    }
    tasks = [
        event["tdur"] / 1000
        for event in events
        if event["name"].endswith("RunTask") and "tdur" in event and (event["pid"], event["tid"]) in threads
    ]
    assert tasks, "nothing was traced"
    return tasks
