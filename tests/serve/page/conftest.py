"""A simulated phone, a server that finds it, and the page of that server in a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.serve.page.live_states import centre, has_label, node, shown
from tests.support.browser import OpenedPage, OpenPage, browser, open_page
from tests.support.http_client import Client, running_server

__all__ = ["browser", "open_page"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the server."""
    made = tmp_path / "served"
    made.mkdir()
    return made


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhoneServer]:
    """A simulated phone with Settings in front, which the server finds as claw-1."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_phone_server() as server:
        server.phone.launch("com.android.settings")
        yield server


@pytest.fixture
def client(phone: PhoneServer, folder: Path) -> Iterator[Client]:  # noqa: ARG001 - the phone that it finds
    with running_server(folder) as running:
        yield running.client


class LivePage:
    """The page in a browser, and the API behind it."""

    def __init__(self, opened: OpenedPage, client: Client) -> None:
        self.opened = opened
        self.page = opened.page
        self.client = client
        self.allowed = ""  # a word of the problems that a test causes

    @property
    def problems(self) -> list[str]:
        """Console errors, uncaught exceptions and refused resources that the test does not cause."""
        return [one for one in self.opened.problems if not self.allowed or self.allowed not in one]

    def wait_for_row(self, text: str) -> None:
        """Wait until the tree has an element with this text."""
        self.page.locator("#tree .tree-text").get_by_text(text, exact=True).first.wait_for()

    def point_of(self, label: str) -> tuple[float, float]:
        """Where the middle of the element with this label is in the window."""
        serial = self.page.get_attribute('.device-tab[aria-selected="true"]', "data-serial")
        state = shown(self.client, has_label(label), deviceId=serial)
        point = centre(node(state, label))
        box = self.page.locator("#screen").bounding_box()
        assert box is not None
        share = box["width"] / state["width"]
        return box["x"] + point["x"] * share, box["y"] + point["y"] * share

    def tap(self, label: str) -> None:
        """Click on the element with this label on the screen."""
        self.wait_for_row(label)
        self.page.mouse.click(*self.point_of(label))

    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return wider


OpenLivePage = Callable[..., LivePage]


@pytest.fixture
def live(open_page: OpenPage, client: Client) -> Iterator[OpenLivePage]:
    """Opens the page with the token of the server, and waits for the picture of the phone.

    A test fails when its page has a problem that it does not cause.
    """
    pages: list[LivePage] = []

    def open_(**options: Any) -> LivePage:
        opened = open_page(f"http://127.0.0.1:{client.port}/#{client.token}", **options)
        pages.append(LivePage(opened, client))
        opened.page.wait_for_selector("#screen[data-picture]", state="attached")
        return pages[-1]

    yield open_
    assert [page.problems for page in pages] == [[] for _ in pages]
