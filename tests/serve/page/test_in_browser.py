"""The page in a real browser: used by pointer, by keyboard and by touch, in all sizes, with hostile texts."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.device.run.lease import lease
from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.serve.page.conftest import LivePage, OpenLivePage
from tests.serve.page.live_states import has_label, node, shown
from tests.support.browser import OpenPage, expect
from tests.support.hanging import wait_until
from tests.support.http_client import Client, running_server

if TYPE_CHECKING:
    from playwright.sync_api import Page

NARROW = {"width": 380, "height": 760}


def command(folder: Path, *argv: str) -> Any:
    """The document of a command that succeeds in this folder."""
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "clawperator", *argv], cwd=folder, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return json.loads(ran.stdout)


def is_drawn(page: "Page", canvas: str) -> bool:
    """Whether a canvas has more than a few colours."""
    script = """id => {
        const shown = document.getElementById(id);
        const pen = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
        pen.drawImage(shown, 0, 0);
        const pixels = pen.getImageData(0, 0, shown.width, shown.height).data;
        const seen = new Set();
        for (let i = 0; i < pixels.length; i += 4 * 97) seen.add(pixels.slice(i, i + 3).join());
        return seen.size > 4;
    }"""
    drawn: bool = page.evaluate(script, canvas)
    return drawn


def test_the_page_loads_signs_in_and_asks_only_its_own_server(live: OpenLivePage, client: Client) -> None:
    shown_page = live()
    page = shown_page.page
    assert page.url == f"http://127.0.0.1:{client.port}/"
    assert page.title() == "claw-1 · Clawperator"
    assert page.locator(".device-tab").all_inner_texts() == ["claw-1\nSimulated phone"]
    shown_page.wait_for_row("Display")
    assert is_drawn(page, "glass")
    page.click("#show-drawing")
    assert page.get_attribute("#screen", "data-shown") == "tree"
    assert is_drawn(page, "glass")
    page.reload()
    page.wait_for_selector("#screen[data-picture]", state="attached")
    own = f"http://127.0.0.1:{client.port}/"
    assert [url for url in shown_page.opened.requests if not url.startswith((own, "data:"))] == []


@pytest.mark.parametrize("fragment", ["", "#used-or-old-code"])
def test_without_a_session_the_page_asks_for_the_token_and_shows_its_file(
    open_page: OpenPage, client: Client, tmp_path: Path, fragment: str
) -> None:
    opened = open_page(f"http://127.0.0.1:{client.port}/{fragment}", viewport=NARROW)
    page = opened.page
    page.get_by_role("heading", name="Not signed in").wait_for()
    assert page.is_hidden("#workspace")
    assert str(tmp_path / "home" / "serve" / "token") in page.inner_text("#start-hint")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") == 0
    assert opened.axe_violations() == []
    token = page.get_by_label("Token")
    token.fill("not-the-token-of-this-server")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#start-text")).to_contain_text("not the token")
    token.fill(client.token)
    token.press("Enter")
    expect(page.locator("#workspace")).to_be_visible()
    assert client.token not in page.content()


@pytest.mark.usefixtures("phone")
def test_a_browser_that_the_server_opens_is_signed_in(open_page: OpenPage, folder: Path) -> None:
    with running_server(folder) as running:
        page = open_page(running.server.new_page_url()).page
        expect(page.locator("#workspace")).to_be_visible()
        assert page.url == running.server.address.url


def test_settings_are_tapped_through_and_searched(live: OpenLivePage, phone: PhoneServer) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.tap("Display")
    shown_page.wait_for_row("Dark theme")
    page.get_by_role("button", name="Back").click()
    shown_page.tap("Search settings")
    page.locator(".tree-row", has_text="search_src_text").wait_for()
    assert page.inner_text("#keyboard-mode") == "Keyboard goes to the phone. Esc leaves."
    page.keyboard.type("blux")
    page.keyboard.press("Backspace")
    page.keyboard.type("e")
    shown_page.wait_for_row("blue")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent").strip() == "Back"
    page.keyboard.type("xyz")
    page.click("#tab-console")
    lines = page.locator("#console code").all_inner_texts()
    assert lines[:2] == ["clawperator click --text Display --device claw-1", "clawperator back --device claw-1"]
    assert lines[-1] == "clawperator type blue --id search_src_text --device claw-1"
    page.click("#console-json")
    first = json.loads(page.locator("#console code").first.inner_text())
    assert first == {"id": "a1", "type": "click", "params": {"matcher": {"textEquals": "Display"}}}
    assert "blue" in phone.phone.windows.xml()


def test_gestures_of_the_pointer(live: OpenLivePage, phone: PhoneServer) -> None:
    shown_page = live()
    page = shown_page.page
    page.click("#tab-console")
    first = shown(shown_page.client)
    page.mouse.move(*shown_page.point_of("Display"))
    page.mouse.wheel(0, 120)
    page.locator("#console code", has_text="clawperator swipe").first.wait_for()
    state = shown(shown_page.client, lambda now: now["screenId"] != first["screenId"])
    x, y = shown_page.point_of("Display")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=4)
    page.mouse.move(x, y + 120, steps=4)
    page.mouse.up()
    shown(shown_page.client, lambda now: now["screenId"] != state["screenId"])
    phone.phone.go_home()
    shown_page.wait_for_row("Settings")
    page.mouse.move(*shown_page.point_of("Settings"))
    page.mouse.down()
    page.wait_for_timeout(550)  # a long press is made of time
    page.mouse.up()
    page.locator("#console code", has_text="--long").first.wait_for()


def test_elements_are_highlighted_both_ways_and_have_selectors(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.wait_for_row("Display")
    page.mouse.move(*shown_page.point_of("Display"))
    expect(page.locator(".tree-row.hovered")).to_contain_text("Display")
    page.hover('.tree-row:has-text("Battery")')
    expect(page.locator(".box.hovered")).to_contain_text("Battery")
    page.locator(".tree-row").first.hover()
    expect(page.locator(".box.hovered.inside span")).to_have_text("FrameLayout")
    # Also of an element at the top of the screen. In one step, as every answer of the device draws the boxes again.
    top = "document.querySelector('{}')?.getBoundingClientRect().y"
    page.wait_for_function(f"{top.format('.box.hovered span')} + 3 >= {top.format('#screen')}")
    page.click("#pick")
    page.mouse.click(*shown_page.point_of("Display"))
    page.locator("#details-title", has_text="Display").wait_for()
    page.locator(".box.selected").wait_for()
    assert page.locator(".selectors code").first.inner_text() == "--text Display"
    assert page.locator(".attributes tr", has_text="resource-id").inner_text().split() == [
        "resource-id",
        "android:id/title",
    ]
    shown_page.wait_for_row("Battery")  # it was selected and not touched
    page.fill("#search", "display")
    expect(page.locator("#search-count")).to_contain_text(" of ")
    page.click("#tab-outline")
    matching = page.locator(".outline-row").count()
    assert matching >= 1
    assert page.inner_text("#search-count").startswith(f"{matching} of ")
    page.fill("#search", "")
    expect(page.locator("#search-count")).to_have_text(str(page.locator(".outline-row").count()))
    expect(page.locator(".outline-row .ref").first).to_have_text(re.compile(r"e\d+"))


def test_a_recording_is_made_described_reported_and_replayed_in_the_page(
    live: OpenLivePage, folder: Path, phone: PhoneServer
) -> None:
    phone.phone.go_home()
    shown_page = live()
    page = shown_page.page
    page.fill("#record-name", "demo")
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator("#rec").wait_for()
    shown_page.tap("Settings")
    shown_page.tap("Display")
    shown_page.wait_for_row("Dark theme")
    page.locator(".event", has_text="Display").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#recorded-file").wait_for()
    page.click("#describe")
    page.locator(".steps li", has_text='Click "Display"').wait_for()
    page.click("#export")
    page.locator("#recorded-result code", has_text="demo.export.json").wait_for()
    page.click("#report")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    touched_element_is_marked(popup.value, shown(shown_page.client))
    with running_phone_server("claw-2") as other:
        page.locator(".device-tab", has_text="claw-2").wait_for()
        page.select_option("#replay-device", "claw-2")
        page.click("#replay")
        page.locator("#recorded-result .good", has_text="claw-2").wait_for()
        assert other.phone.windows.xml() == phone.phone.windows.xml()
    made = folder / "recordings" / "demo.ndjson"
    assert command(folder, "recording", "parse", "--input", str(made))["stepCount"] >= 2
    assert command(folder, "recording", "export", "--input", str(made))["eventCount"] >= 3


def test_a_recording_is_replayed_on_the_same_phone_after_going_home(
    live: OpenLivePage, phone: PhoneServer
) -> None:
    phone.phone.go_home()
    phone.phone.stop_app("com.android.settings")
    shown_page = live()
    page = shown_page.page
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator("#rec").wait_for()
    for label in ("Settings", "Display", "Dark theme"):
        shown_page.tap(label)
    page.locator(".event", has_text="Dark theme").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator("#recorded-file").wait_for()
    page.get_by_role("button", name="Home", exact=True).click()
    shown_page.wait_for_row("Clock")
    page.click("#replay")
    expect(page.locator("#recorded-result .good")).to_contain_text("4 of 4 steps")
    expect(page.locator("#recorded-result")).to_contain_text("Closed first: com.android.settings.")


def test_the_app_in_front_is_closed_with_the_keyboard(live: OpenLivePage, phone: PhoneServer) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.wait_for_row("Display")
    page.focus("#close-app")
    page.keyboard.press("Enter")
    expect(page.locator("#announcer")).to_have_text("Closed com.android.settings")
    expect(page.get_by_role("button", name="Close app")).to_be_disabled()  # the home screen is shown
    assert phone.phone.foreground() != "com.android.settings"
    page.click("#tab-console")
    expect(page.locator("#console code").last).to_have_text(
        "clawperator close com.android.settings --device claw-1"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reset_is_confirmed_first(open_page: OpenPage, folder: Path, phone: PhoneServer, scheme: str) -> None:
    with running_server(folder, mode="full") as running:
        opened = open_page(f"http://127.0.0.1:{running.client.port}/#{running.client.token}", color_scheme=scheme)
        page = opened.page
        page.locator("#tree .tree-text", has_text="Display").first.wait_for()
        page.focus("#reset-phone")
        page.keyboard.press("Enter")
        question = page.get_by_role("dialog", name="Reset claw-1?")
        question.wait_for()
        assert opened.axe_violations() == []
        page.keyboard.press("Escape")
        expect(question).to_be_hidden()
        assert phone.phone.foreground() == "com.android.settings"
        assert page.evaluate("document.activeElement.id") == "reset-phone"
        page.keyboard.press("Enter")
        question.get_by_role("button", name="Reset").click()
        page.locator("#tree .tree-text", has_text="Clock").first.wait_for()
        expect(page.locator("#announcer")).to_have_text("claw-1 is reset")


def test_a_server_that_may_not_reset_names_how_to(live: OpenLivePage) -> None:
    page = live().page
    page.click("#reset-phone")
    page.get_by_role("dialog", name="This server may not reset phones").wait_for()
    expect(page.locator("#reset-text")).to_contain_text("clawperator phone reset claw-1")
    expect(page.locator("#reset-confirm")).to_be_hidden()


def touched_element_is_marked(report: "Page", state: Any) -> None:
    """Check that the report marks the place of "Display" on its screen before the click."""
    problems: list[str] = []
    report.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    report.wait_for_selector("html[data-ready]")
    report.focus("#list")
    row = report.locator('#list [role="option"]', has_text='Click "Display"')
    row.click()
    expect(report.locator("#heading")).to_contain_text("Display")
    marked: list[float] = report.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const canvas = document.getElementById("screen");
            const colour = getComputedStyle(document.documentElement).getPropertyValue("--mark").trim();
            const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
            const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let [left, top, right, bottom] = [width, height, -1, -1];
            for (let at = 0; at < data.length; at += 4) {
                if (wanted.every((value, i) => Math.abs(data[at + i] - value) < 6)) {
                    const x = (at / 4) % width, y = Math.floor(at / 4 / width);
                    left = Math.min(left, x); right = Math.max(right, x);
                    top = Math.min(top, y); bottom = Math.max(bottom, y);
                }
            }
            done([left / width, top / height, right / width, bottom / height]);
        })))"""
    )
    left, top, right, bottom = marked
    assert right > left
    assert bottom > top
    # "Display" is a row in the middle of the list, as wide as the screen.
    assert right - left > 0.8
    assert 0.3 < (top + bottom) / 2 < 0.8
    assert state["package"] == "com.android.settings"
    assert problems == []
    assert report.evaluate("window.origin") == "null"


def test_each_device_has_a_tab_which_comes_and_goes(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    with running_phone_server("claw-2"):
        page.locator(".device-tab", has_text="claw-2").click()
        shown_page.wait_for_row("Settings")
        expect(page.locator("#screen")).to_have_attribute("aria-label", "Screen of claw-2")
        shown_page.tap("Settings")
        shown_page.wait_for_row("Display")
        page.keyboard.press("Escape")
        page.focus('.device-tab[aria-selected="true"]')
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#screen")).to_have_attribute("aria-label", "Screen of claw-1")
        page.click("#tab-console")
        expect(page.locator("#console code")).to_have_count(0)  # each device has a console of its own
        page.locator(".device-tab", has_text="claw-2").click()
        expect(page.locator("#console code")).to_have_text(["clawperator click --desc Settings --device claw-2"])
        shown_page.allowed = "Failed to load resource"  # of a device that has gone
    expect(page.locator(".device-tab")).to_have_count(1)
    expect(page.locator("#screen")).to_have_attribute("aria-label", "Screen of claw-1")


def test_the_page_is_read_only_while_another_command_uses_the_phone(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    with lease("claw-1", "skill-7", 0, action="click"):
        page.locator("#phone-note", has_text="Read-only").wait_for()
        assert page.is_disabled('[data-key="home"]')
        page.mouse.click(*shown_page.point_of("Display"))
        page.click("#show-drawing")  # looking goes on
        assert is_drawn(page, "glass")
    expect(page.locator("[data-key=home]")).to_be_enabled()
    assert page.inner_text("#phone-note") == ""
    page.click("#tab-console")
    assert page.locator("#console code").count() == 0


def test_a_server_without_permission_to_touch_has_a_read_only_page(
    open_page: OpenPage, phone: PhoneServer, folder: Path
) -> None:
    with running_server(folder, mode="read-only") as running:
        page = open_page(f"http://127.0.0.1:{running.client.port}/#{running.client.token}").page
        page.wait_for_selector("#screen[data-picture]", state="attached")
        page.locator("#phone-note", has_text="Read-only: the server was started without permission").wait_for()
        assert page.is_disabled('[data-key="home"]')
        page.click("#tab-record")
        assert page.is_disabled("#record")
    assert phone.phone.foreground() == "com.android.settings"


@pytest.mark.usefixtures("phone")
def test_nothing_can_be_recorded_by_plain_adb_and_the_page_names_the_reason(
    open_page: OpenPage, folder: Path
) -> None:
    with running_server(folder, backend="adb") as running:
        page = open_page(running.server.new_page_url()).page
        expect(page.locator("#record-status")).to_contain_text("needs the Operator")
        expect(page.locator("#record")).to_be_disabled()


def test_faults_are_switches(live: OpenLivePage, phone: PhoneServer) -> None:
    shown_page = live()
    page = shown_page.page
    page.click("#tab-faults")
    page.get_by_role("switch", name="latency").check()
    expect(page.locator("#fault-latency-value")).to_be_enabled()
    wait_until(lambda: phone.phone.faults.value("latency") == 200)
    page.fill("#fault-latency-value", "5")
    page.keyboard.press("Enter")
    expect(page.locator("#fault-latency-value")).to_have_value("5")
    wait_until(lambda: phone.phone.faults.value("latency") == 5)
    page.get_by_role("switch", name="latency").uncheck()
    expect(page.locator("#fault-latency-value")).to_be_disabled()
    wait_until(lambda: phone.phone.faults.value("latency") == 0)
    page.get_by_role("switch", name="rotation").check()
    state = shown(shown_page.client, lambda now: now["width"] > now["height"])
    expect(page.locator("#screen")).to_have_attribute("data-state", state["stateId"])
    box = page.locator("#screen").bounding_box()
    assert box is not None
    assert box["width"] > box["height"]


def test_everything_can_be_done_with_the_keyboard(live: OpenLivePage) -> None:
    shown_page = live()
    page = shown_page.page
    shown_page.wait_for_row("Display")
    page.focus("#search")
    page.keyboard.type("display")
    page.keyboard.press("ArrowDown")
    for _ in range(12):
        if "Display" in page.evaluate("document.activeElement.textContent"):
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#details-title", has_text="Display").wait_for()
    page.locator("#details button", has_text="Tap").wait_for()
    # The dot is where the tap will be.
    dot, row = page.locator(".touch-dot").bounding_box(), page.locator(".box.selected").bounding_box()
    assert dot is not None
    assert row is not None
    assert row["x"] < dot["x"] + dot["width"] / 2 < row["x"] + row["width"]
    assert row["y"] < dot["y"] + dot["height"] / 2 < row["y"] + row["height"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Tap"
    page.keyboard.press("Enter")
    page.fill("#search", "")
    shown_page.wait_for_row("Dark theme")
    # The screen takes the keyboard and gives it back; Tab is never taken.
    page.focus("#screen")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.key") == "back"
    page.keyboard.press("Enter")
    shown_page.wait_for_row("Battery")
    page.focus("#record-name")
    page.keyboard.type("keys")
    page.keyboard.press("Enter")
    page.locator("#rec").wait_for()
    page.focus('[data-key="back"]')
    page.keyboard.press("Enter")
    page.locator(".event", has_text="back").wait_for()
    page.focus("#record")
    page.keyboard.press("Enter")
    expect(page.locator("#recorded-file option")).to_have_text(["keys"])
    page.focus("#describe")
    page.keyboard.press("Enter")
    expect(page.locator(".steps li").first).to_contain_text("back")
    assert shown_page.opened.axe_violations() == []
    page.focus("#tab-record")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-console"
    assert page.is_visible("#panel-console")
    reached = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.dataset.key || ''"))
    assert {
        "screen",
        "pick",
        "show-drawing",
        "search",
        "type-text",
        "tab-tree",
        "tab-console",
        "back",
        "home",
    } <= reached


@pytest.mark.parametrize(
    ("scheme", "size"),
    [("light", {}), ("dark", {}), ("light", {"viewport": NARROW})],
    ids=["light", "dark", "380"],
)
def test_axe_finds_nothing(live: OpenLivePage, scheme: str, size: dict[str, Any]) -> None:
    shown_page = live(color_scheme=scheme, **size)
    page = shown_page.page
    if not size:
        shown_page.wait_for_row("Display")
        page.click('.tree-row:has-text("Display")')
        page.locator(".selectors li").first.wait_for()
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == {"light": "rgb(244, 245, 247)", "dark": "rgb(14, 17, 22)"}[scheme]
    assert shown_page.opened.axe_violations() == []
    for view in ("view-inspect", "view-work") if size else ("tab-console", "tab-faults"):
        page.click(f"#{view}")
        assert shown_page.opened.axe_violations() == []
    if size:
        assert shown_page.overflow() == 0


def test_a_narrow_window_shows_one_region_at_a_time(live: OpenLivePage) -> None:
    shown_page = live(viewport=NARROW, has_touch=True)
    page = shown_page.page
    visible = "['phone', 'inspect', 'work'].filter((id) => document.getElementById(id).offsetParent)"
    assert page.evaluate(visible) == ["phone"]
    page.touchscreen.tap(*shown_page.point_of("Display"))
    page.tap("#view-inspect")
    assert page.evaluate(visible) == ["inspect"]
    shown_page.wait_for_row("Dark theme")
    page.tap("#view-work")
    assert page.evaluate(visible) == ["work"]
    page.tap("#tab-console")
    assert page.locator("#console code").all_inner_texts() == ["clawperator click --text Display --device claw-1"]
    assert shown_page.overflow() == 0


@pytest.mark.parametrize("width", [1280, 1140, 900, 680, 380])
def test_nothing_is_cut_at_any_width(live: OpenLivePage, client: Client, width: int) -> None:
    page = live(viewport={"width": width, "height": 800}).page
    client.post("/recordings/start", {"sessionId": "wide"})
    page.locator("#rec").wait_for()
    cut = """() => [...document.querySelectorAll(".region-head, .bar, .phone-keys button, #type-form, #pick")]
        .filter((one) => one.offsetParent && one.scrollWidth > one.clientWidth + 1).map((one) => one.id || one.className)"""
    assert page.evaluate(cut) == []
    client.post("/recordings/stop")


HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "javascript:document.title='owned'",
    "\u202eevil\u2066 text\u2069",
    "`document.title='owned'` %3Cscript%3E &lt;b&gt;",
    "'\"><svg onload=document.title='owned'>",
    "W" * 1_000_000,
]


def hostile_app(folder: Path) -> str:
    """An app whose title, labels and descriptions are hostile texts."""
    views = "".join(
        f"[[screen.view]]\nkind = {json.dumps(kind)}\ntext = {json.dumps(text)}\ndesc = {json.dumps(text[:40])}\n"
        for kind, text in zip(("button", "text", "item", "button", "text", "button", "text"), HOSTILE, strict=True)
    )
    screen = f'[[screen]]\nname = "home"\ntitle = {json.dumps(HOSTILE[0])}\n'
    path = folder / "hostile.toml"
    path.write_text(f'package = "com.example.hostile"\nlabel = "Hostile"\n{screen}{views}')
    return str(path)


@pytest.mark.parametrize("size", [{}, {"viewport": NARROW}], ids=["1280", "380"])
def test_no_text_of_an_app_runs_or_breaks_the_layout(
    open_page: OpenPage, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: dict[str, Any]
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_phone_server(apps=(hostile_app(tmp_path),)) as server, running_server(folder) as running:
        server.phone.launch("com.example.hostile")
        client = running.client
        opened = open_page(f"http://127.0.0.1:{client.port}/#{client.token}", **size)
        shown_page, page = LivePage(opened, client), opened.page
        page.wait_for_selector("#screen[data-picture]", state="attached")
        state = shown(client, has_label(HOSTILE[0]))
        if size:
            page.click("#view-inspect")
        page.locator(".tree-text", has_text="onerror").first.wait_for()
        assert max(len(one["text"]) for one in state["nodes"]) <= 300
        assert "\u202e" not in json.dumps(state, ensure_ascii=False)
        client.post("/recordings/start", {"sessionId": "hostile"})
        at = node(state, HOSTILE[5])["bounds"]
        client.post("/touch", {"kind": "tap", "x": at[0] + 5, "y": at[1] + 5})
        if size:
            page.click("#view-work")
        page.locator(".event", has_text="onload").first.wait_for()
        client.post("/recordings/stop")
        page.click("#tab-console")
        if size:
            page.click("#view-inspect")
        for row in page.locator(".tree-row").all()[-8:]:
            row.click()
            expect(page.locator("#details.empty")).to_have_count(0)
        page.click("#tab-outline")
        assert page.locator("script").count() == 2
        assert page.locator("svg[onload], img[onerror]").count() == 0
        assert page.title() == "claw-1 · Clawperator"
        assert shown_page.overflow() == 0
        assert shown_page.problems == []
