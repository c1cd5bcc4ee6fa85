"""The page when it is used roughly: long texts, gestures that are interrupted, devices that are slow or many."""

from typing import TYPE_CHECKING

from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.serve.page.conftest import OpenLivePage
from tests.serve.page.live_states import has_label, shown
from tests.support.browser import expect
from tests.support.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

PASTE = """text => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.getElementById("screen").dispatchEvent(paste);
}"""


def show_device(page: "Page", serial: str) -> None:
    """Click the tab of a device without a pointer."""
    page.evaluate("serial => document.querySelector(`[data-serial=${serial}]`).click()", serial)


def test_a_long_pasted_text_is_typed_whole(live: OpenLivePage, phone: PhoneServer) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.tap("Search settings")
    page.locator(".tree-row", has_text="search_src_text").wait_for()
    text = f"{'x' * 399}\N{GRINNING FACE}{'y' * 700}"
    page.evaluate(PASTE, text)
    page.click("#tab-console")
    expect(page.locator("#console code").last).to_contain_text("yyy")
    shown(shown_page.client, lambda _: text in phone.phone.windows.xml())
    page.evaluate(PASTE, "z" * 2_100)
    expect(page.locator("#messages")).to_contain_text("Typed the first 2000 of 2100 characters.")


def test_a_gesture_ends_with_the_device_that_it_began_on(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    page.click("#tab-console")
    with running_phone_server("claw-2"):
        page.locator('[data-serial="claw-2"]').wait_for()
        page.mouse.move(*shown_page.point_of("Display"))
        page.mouse.down()
        show_device(page, "claw-2")
        page.mouse.up()
        page.wait_for_selector("#screen[data-picture]", state="attached")
        page.evaluate(
            """() => {
                const wheel = { deltaY: 300, bubbles: true, cancelable: true, clientX: 180, clientY: 400 };
                document.getElementById("screen").dispatchEvent(new WheelEvent("wheel", wheel));
            }"""
        )
        show_device(page, "claw-1")
        page.wait_for_selector("#screen[data-picture]", state="attached")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Home").click()
        shown(shown_page.client, has_label("Chrome"), deviceId="claw-1")
        lines = page.locator("#console code")
        expect(lines).to_have_text(["clawperator press home --device claw-1"])
        shown_page.allowed = "Failed to load resource"  # of a device that has gone


def test_a_slow_device_is_reported_while_a_touch_waits(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    held: list[Route] = []
    page.route("**/press", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks it
    page.get_by_role("button", name="Home").click()
    expect(page.locator("#phone-note")).to_have_text("Waiting for claw-1.")
    held[0].continue_()
    shown_page.wait_for_row("Chrome")
    expect(page.locator("#phone-note")).to_have_text("")


def test_twenty_devices_fit_a_narrow_window(live: OpenLivePage) -> None:
    devices = [{"serial": f"claw-{n}", "state": "device"} for n in range(1, 21)]
    shown_page = live(viewport={"width": 380, "height": 760})
    page = shown_page.page
    page.route("**/devices", lambda route: route.fulfill(json={"ok": True, "devices": devices}))
    expect(page.locator(".device-tab")).to_have_count(20)
    page.focus('.device-tab[aria-selected="true"]')
    shown_page.allowed = "Failed to load resource"  # of devices that are not there
    page.keyboard.press("End")
    expect(page.locator('[data-serial="claw-20"]')).to_be_in_viewport(ratio=1)
    page.keyboard.press("Home")
    expect(page.locator('[data-serial="claw-1"]')).to_be_in_viewport(ratio=1)
    for part in ("#screen", "#views", ".bar"):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 380


def test_a_session_that_has_ended_begins_again_in_the_open_page(live: OpenLivePage, client: Client) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.allowed = "Failed to load resource"  # 401 without a session
    page.context.clear_cookies()
    page.get_by_role("heading", name="Not signed in").wait_for()
    expect(page.locator(".device-tab")).to_have_count(0)
    assert page.inner_text("#connection") == ""
    page.evaluate("token => { location.hash = token }", client.token)
    expect(page.locator("#workspace")).to_be_visible()
    shown_page.wait_for_row("Display")
    assert page.url == f"http://127.0.0.1:{client.port}/"


def test_the_message_of_a_failed_touch_goes_when_the_next_one_succeeds(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.allowed = "Failed to load resource"
    failure = {"ok": False, "error": {"code": "DEVICE_OFFLINE", "message": "claw-1 is offline", "hint": "Wait."}}
    page.route("**/press", lambda route: route.fulfill(status=503, json=failure), times=1)
    page.get_by_role("button", name="Recents").click()
    expect(page.locator("#messages .message")).to_contain_text("claw-1 is offline")
    page.get_by_role("button", name="Recents").click()
    expect(page.locator("#messages .message")).to_have_count(0)
