"""Take the pictures of the page and of a report: ``docs/pictures/page.png`` and ``report.png``.

It starts a simulated phone and a server of its own, uses the page in chromium, and stops both.
"""

import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from clawperator import start_phone
from clawperator.agent.turns.assembly import AgentOptions
from clawperator.serve.access import open_access
from clawperator.serve.http.server import HttpServer, ServeOptions

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
MAX_BYTES = 300_000
_BROWSER = "/usr/bin/chromium"
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
_SIZE: ViewportSize = {"width": 1280, "height": 800}
_START_SECONDS = 30


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLAWPERATOR_HOME"] = str(Path(folder) / "home")
        served = Path(folder) / "served"
        served.mkdir()
        with (
            start_phone("claw-1"),
            start_phone("claw-2"),
            _serving(served) as server,
            sync_playwright() as browsers,
        ):
            browser = browsers.chromium.launch(executable_path=_BROWSER, args=[*_ARGUMENTS])
            page = browser.new_page(viewport=_SIZE, color_scheme="light")
            page.goto(server.new_page_url())
            _use(page)
            _save(page, "page.png")
            _save(_report(page), "report.png")
            browser.close()
    return 0


@contextmanager
def _serving(folder: Path) -> Iterator[HttpServer]:
    access = open_access(AgentOptions(folder=str(folder), include_mcp=False))
    server = HttpServer(access, ServeOptions(port=0))
    started = threading.Event()
    thread = threading.Thread(target=server.run, args=(started.set,), daemon=True)
    thread.start()
    try:
        if not started.wait(_START_SECONDS):
            raise TimeoutError("the server did not start")
        yield server
    finally:
        server.stop()
        thread.join(_START_SECONDS)


def _use(page: Page) -> None:
    """Record a way through Settings, and select an element."""
    page.wait_for_selector("#screen[data-picture]")
    page.fill("#record-name", "display")
    page.click("#record")
    page.locator("#rec").wait_for()
    way = ("Settings", "Battery"), ("Display", "Dark theme"), ("Adaptive brightness", "Dark theme")
    for label, after in way:
        _tap(page, label)
        page.locator("#tree .tree-text").get_by_text(after, exact=True).first.wait_for()
        page.locator(".event", has_text=label).first.wait_for()
    page.click("#tree .tree-row:has-text('Font size')")
    page.locator(".selectors li").first.wait_for()
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)  # the last picture of the phone


def _tap(page: Page, label: str) -> None:
    """Touch an element, as a user of the keyboard does."""
    page.locator("#tree .tree-text").get_by_text(label, exact=True).first.click()
    page.locator("#details-title", has_text=label).wait_for()
    page.locator("#details button", has_text="Tap").click()


def _report(page: Page) -> Page:
    """The report of the recording, at the click that opened a page."""
    page.click("#record")
    page.locator("#recorded-file").wait_for()
    page.click("#report")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    report = popup.value
    report.set_viewport_size(_SIZE)
    report.wait_for_selector("html[data-ready]")
    report.locator('#list [role="option"]', has_text='Click "Display"').click()
    report.mouse.move(0, 0)
    report.wait_for_timeout(500)
    return report


def _save(page: Page, name: str) -> None:
    """Write a picture as small as it can be without a loss."""
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        PICTURES.mkdir(exist_ok=True)
        path = PICTURES / name
        picture.convert("RGB").save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path}: {size} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"{path} has more than {MAX_BYTES} bytes")


if __name__ == "__main__":
    sys.exit(main())
