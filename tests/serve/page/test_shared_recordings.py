"""Recordings that the page shares with others: another window, the command line, files that are there already."""

from pathlib import Path

from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.serve.page.conftest import OpenLivePage
from tests.serve.page.live_states import shown
from tests.support.browser import expect
from tests.support.http_client import Client


def test_a_recording_that_another_client_stops_can_be_copied(
    live: OpenLivePage, folder: Path, client: Client
) -> None:
    shown_page = live()
    page = shown_page.page
    client.post("/recordings/start", {"sessionId": "theirs"})
    page.locator("#rec").wait_for()
    expect(page.locator("#record-label")).to_have_text("Stop")
    shown_page.tap("Display")
    page.locator(".event", has_text="Display").first.wait_for()
    client.post("/recordings/stop")
    expect(page.locator("#record-status")).to_have_text("Recording theirs was stopped by another client.")
    expect(page.locator("#record-label")).to_have_text("Record")
    page.click("#pull")
    expect(page.locator("#record-status")).to_have_text("Copied to recordings/theirs.ndjson")
    assert (folder / "recordings" / "theirs.ndjson").is_file()
    expect(page.locator("#recorded-file option")).to_have_text(["theirs"])
    expect(page.locator("#pull")).to_be_hidden()


def test_two_windows_of_a_phone_show_the_same_recording(live: OpenLivePage) -> None:
    first, second = live(), live()
    first.page.fill("#record-name", "shared")
    first.page.get_by_role("button", name="Record", exact=True).click()
    second.page.locator("#rec").wait_for()
    second.tap("Display")
    for one in (first, second):
        one.wait_for_row("Dark theme")
        one.page.locator(".event", has_text="Display").first.wait_for()
    second.page.get_by_role("button", name="Stop").click()
    for one in (first, second):
        expect(one.page.locator("#recorded-file option")).to_have_text(["shared"])
        expect(one.page.locator("#pull")).to_be_hidden()


def test_a_name_that_exists_is_refused_and_keeps_the_file(
    live: OpenLivePage, folder: Path, client: Client
) -> None:
    shown_page = live()
    page = shown_page.page
    for status in ("Recorded ", "recordings/demo.ndjson exists already. Choose another name."):
        page.fill("#record-name", "demo")
        page.get_by_role("button", name="Record", exact=True).click()
        if "exists" not in status:
            page.get_by_role("button", name="Stop").click()
        expect(page.locator("#record-status")).to_contain_text(status)
    kept = (folder / "recordings" / "demo.ndjson").read_bytes()
    with running_phone_server("claw-2"):
        page.locator('[data-serial="claw-2"]').click()
        page.wait_for_selector("#screen[data-picture]", state="attached")
        page.fill("#record-name", "demo")
        page.get_by_role("button", name="Record", exact=True).click()
        expect(page.locator("#record-status")).to_contain_text("exists already")
        assert shown(client, deviceId="claw-2")["recording"] is None
        assert (folder / "recordings" / "demo.ndjson").read_bytes() == kept
        shown_page.allowed = "Failed to load resource"  # of a device that has gone


def test_a_recording_that_cannot_be_written_is_copied_later(live: OpenLivePage, folder: Path) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.allowed = "Failed to load resource"
    (folder / "recordings").write_text("a file where the folder should be")
    page.get_by_role("button", name="Record", exact=True).click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#record-status.bad")).to_contain_text("recordings")
    expect(page.locator("#record-label")).to_have_text("Record")
    (folder / "recordings").unlink()
    page.click("#pull")
    expect(page.locator("#recorded-file option")).to_have_count(1)


def test_a_replay_that_stops_has_its_report_and_the_comparison(live: OpenLivePage, phone: PhoneServer) -> None:
    phone.phone.go_home()
    shown_page = live()
    page = shown_page.page
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator("#rec").wait_for()
    shown_page.tap("Settings")
    shown_page.tap("Display")
    shown_page.wait_for_row("Dark theme")
    page.locator(".event", has_text="Display").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#recorded-file").wait_for()
    phone.phone.set_fault("dialog", "1")
    page.click("#replay")
    page.locator("#recorded-result .bad").wait_for()
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Compare it with the recording").click()
    report = popup.value
    report.wait_for_selector("html[data-ready]")
    expect(report.locator("#outcome")).to_have_attribute("data-tone", "bad")
    assert report.locator("#tabs button").first.inner_text().startswith("Comparison")
