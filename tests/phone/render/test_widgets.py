"""Pictures of screens: what each kind of view looks like."""

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise, product
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageChops

from clawperator.phone.core.windows import Display
from clawperator.phone.render import raster
from clawperator.phone.render.drawing import DARK, LIGHT, Stamp
from clawperator.phone.render.fonts import ELLIPSIS, margin
from clawperator.phone.toolkit.views import (
    View,
    button,
    checkbox,
    column,
    field,
    frame,
    icon,
    image,
    item,
    listing,
    progress,
    radio,
    row,
    switch,
    tab,
    tabs,
    text,
    title,
    toolbar,
    web,
)
from clawperator.ui.node import Bounds
from tests.phone.render.pictures import (
    close_phones,
    crop,
    drawing,
    icons,
    new_phone,
    opened,
    phone_with,
    picture,
    texts,
)
from tests.phone.screen import find, found, tap
from tests.support.declared_screens import visit_declared_screens

SETTINGS, VIDEO, NOTES = "com.android.settings", "com.google.android.youtube", "com.clawperator.notes"


@pytest.fixture(autouse=True)
def phones() -> Iterator[None]:
    yield
    close_phones()


# Controls


def test_switches_check_boxes_and_radio_buttons_have_shapes_of_their_own_and_show_their_state() -> None:
    pictures = []
    for name, checked in product(("Switch", "CheckBox", "RadioButton"), (False, True)):
        phone = phone_with(View(class_name=f"android.widget.{name}", checked=checked, id="it", height=48))
        pictures.append(crop(picture(phone), find(phone, id="it").bounds))
    for one, other in combinations(pictures, 2):
        assert ImageChops.difference(one, other).getbbox() is not None


def test_a_label_is_beside_its_check_box_and_before_its_switch() -> None:
    phone = phone_with(
        checkbox("Pin", "pin", id="check"),
        radio("Work", id="radio"),
        switch("on", text="Sound", id="switch"),
        state={"pin": True, "on": True},
    )
    shown = texts(phone)
    middle = phone.windows.display.width // 2
    for label in ("Pin", "Work"):
        boxes = [op for op in drawing(phone).operations if isinstance(op, Stamp) and op.key[0] == "corner"]
        assert min(op.left for op in boxes) < shown[label].left < middle
    area = find(phone, id="switch").bounds
    track = [op.left for op in drawing(phone).operations if isinstance(op, Stamp) and op.top >= area.top]
    assert max(track) > middle > shown["Sound"].right


def test_a_hint_is_paler_than_typed_text() -> None:
    phone = phone_with(
        field("a", "Title", id="empty"), field("b", "Title", id="full"), state={"a": "", "b": "Milk"}
    )
    shown = texts(phone)
    assert shown["Title"].colour == LIGHT.hint
    assert shown["Milk"].colour == LIGHT.ink
    assert LIGHT.hint != LIGHT.ink
    assert DARK.hint != DARK.ink


def test_a_field_of_many_lines_begins_at_its_top() -> None:
    phone = phone_with(
        field("a", "One line", id="one", height=160), field("b", "Many", id="many", height=160, multiline=True)
    )
    for name, label, is_at_top in (("one", "One line", False), ("many", "Many", True)):
        area, line = find(phone, id=name).bounds, texts(phone)[label]
        assert ((line.top + line.bottom) // 2 < area.top + area.height // 3) == is_at_top


def test_the_focused_field_has_a_cursor_that_follows_the_text() -> None:
    phone = phone_with(field("a", id="field"), state={"a": ""})
    tap(phone, id="field")
    pictures = [picture(phone)]
    for typed in ("m", "ilk"):
        phone.type_text(typed)
        pictures.append(picture(phone))
    phone.key(21)  # left: only the cursor moves
    pictures.append(picture(phone))
    for one, other in combinations(pictures, 2):
        assert ImageChops.difference(one, other).getbbox() is not None


def test_a_password_is_drawn_as_dots() -> None:
    phone = phone_with(field("a", id="field", edits="password"), state={"a": "secret"})
    area = find(phone, id="field").bounds
    assert texts(phone, area) == {}
    assert "secret" not in str(drawing(phone).operations)
    fewer = phone_with(field("a", id="field", edits="password"), state={"a": "sec"})
    assert crop(picture(phone), area) != crop(picture(fewer), area)


def test_a_long_text_in_a_focused_field_shows_its_end() -> None:
    words = " ".join(f"word{number}" for number in range(60))
    phone = phone_with(field("a", id="field"), state={"a": words})
    tap(phone, id="field")
    shown = "".join(str(op.key[1]) for op in texts(phone).values())
    assert "word59" in shown
    phone.windows.hide_keyboard()


# Texts


def test_labels_of_apps_and_buttons_are_centred() -> None:
    phone = new_phone()
    names = {"Clawperator Operator": "Operator"}  # its last line
    for node in found(phone, id="icon"):
        line = texts(phone)[names.get(node.text, node.text)]
        assert abs((line.left + line.right) / 2 - node.bounds.centre[0]) <= 1
    phone = phone_with(button("Save", id="save"))
    line = texts(phone)["Save"]
    assert abs((line.left + line.right) / 2 - find(phone, id="save").bounds.centre[0]) <= 1


def test_a_text_that_does_not_fit_ends_in_an_ellipsis() -> None:
    phone = phone_with(row(text("An endless title " * 20, height=30, weight=1)), text("short"))
    cut = next(line for line in texts(phone) if line.startswith("An endless"))
    assert cut.endswith(ELLIPSIS)
    assert "short" in texts(phone)


def test_a_text_is_wrapped_into_the_height_of_its_view() -> None:
    phone = phone_with(text("many words that need more than one line of the screen to be read at all", id="long"))
    area = find(phone, id="long").bounds
    lines = texts(phone, area)
    assert len(lines) == 2
    assert not any(ELLIPSIS in line for line in lines)


def test_a_word_is_drawn_smaller_rather_than_broken() -> None:
    phone = phone_with(text("Incomprehensible", id="it", width=116, height=48))
    assert "Incomprehensible" in texts(phone)


def test_a_view_is_cut_off_at_the_edge_of_the_view_around_it() -> None:
    phone = phone_with(column(text("Much too high", height=200), height=20, id="low"), text("below"))
    edge = find(phone, id="low").bounds.bottom
    assert all(
        op.bottom <= edge for op in drawing(phone).operations if isinstance(op, Stamp) and "high" in str(op.key)
    )


def test_a_row_that_is_partly_scrolled_away_keeps_the_place_of_its_text() -> None:
    rows = [item(f"Row {number}", "Summary") for number in range(30)]
    phone = phone_with(listing(*rows, id="list"))
    tops = [line.y for words, line in texts(phone).items() if words.startswith("Row")]
    steps = {after - before for before, after in pairwise(tops)}
    assert len(steps) == 1


@pytest.mark.parametrize(
    "label",
    [
        "👩‍👩‍👧 family, 🇳🇴 flag, 👍🏽",
        "中文字符、日本語、한국어",
        "مرحبا بالعالم",
        "שלום, world",
        "e\u0301 é Ünïcödé ñ å",
        "\u0000\u0007\u200b\u202e\ufeff",
        "\ud800 lone",
        "\t tab \r return",
        "\U0010ffff\ue660",
        "   ",
        "\n\n\n",
    ],
)
def test_any_script_can_be_drawn(label: str) -> None:
    phone = phone_with(
        text(label), button(label), item(label, label), icon(label), field("a", label), tabs(tab(label))
    )
    assert picture(phone).size == (1080, 2400)


def test_characters_that_the_font_does_not_have_are_visible_boxes() -> None:
    phone = phone_with(text("日本", id="it"))
    area = find(phone, id="it").bounds
    assert crop(picture(phone), area).getextrema() != ((0xFF, 0xFF),) * 3


@pytest.mark.parametrize("make", [text, button, lambda label: item(label, label), lambda label: field("a", label)])
def test_a_label_of_a_megabyte_takes_little_longer_than_a_page(make: Callable[[str], View]) -> None:
    def seconds(label: str) -> float:
        phone = phone_with(make(label))
        drawing(phone)
        began = process_time()
        drawing(phone)
        return process_time() - began

    page = "word " * 2_000
    assert seconds("word " * 200_000) < 5 * seconds(page) + 0.2
    assert seconds("w" * 1_000_000) < 5 * seconds(page) + 0.2


# Icons and pictures


def test_toolbars_have_icons_instead_of_words() -> None:
    phone = opened(SETTINGS)
    bar = find(phone, id="settings_toolbar").bounds
    assert icons(phone, bar) == ["search"]
    assert list(texts(phone, bar)) == ["Settings"]
    tap(phone, text="Display")
    assert icons(phone, find(phone, id="settings_toolbar").bounds) == ["back"]
    phone = opened(NOTES)
    assert icons(phone, phone.windows.display.content) == ["account", "add"]


def test_the_player_has_a_button_with_an_icon() -> None:
    phone = opened(VIDEO)
    tap(phone, id="video_card")
    button_area = find(phone, id="player_control_play_pause_replay_button").bounds
    assert icons(phone, button_area) == ["pause"]
    phone.tap(*button_area.centre)
    assert icons(phone, button_area) == ["play"]


def test_videos_have_different_thumbnails() -> None:
    phone = opened(VIDEO)
    image_of_all = picture(phone)
    shown = [crop(image_of_all, node.bounds) for node in found(phone, id="thumbnail")][:5]
    assert all(len(part.getcolors(100_000) or ()) > 3 for part in shown)
    assert any(ImageChops.difference(one, other).getbbox() for one, other in combinations(shown, 2))


def test_a_floating_button_is_round() -> None:
    phone = phone_with(
        frame(column(weight=1), icon("Add", id="add", width=56, height=56, corner=True, tone="accent"))
    )
    area = find(phone, id="add").bounds
    part = crop(picture(phone), area)
    page, accent = LIGHT.page.to_bytes(3), LIGHT.accent.to_bytes(3)
    assert bytes(part.getpixel((0, 0))) == page  # type: ignore[arg-type]
    assert bytes(part.getpixel((area.width // 2, 4))) == accent  # type: ignore[arg-type]


def test_buttons_without_a_name_look_different() -> None:
    phone = phone_with(row(*(icon("", lambda _: None) for _ in range(4))))
    assert len(set(icons(phone, phone.windows.display.content))) == 4


def test_an_icon_without_a_shape_shows_its_first_letter() -> None:
    phone = phone_with(icon("Quux", id="it"))
    assert list(texts(phone, find(phone, id="it").bounds)) == ["Q"]


# The system


def test_the_status_bar_shows_time_connections_and_battery() -> None:
    phone = new_phone()
    bar = phone.windows.display.status_bar
    assert list(texts(phone, bar)) == ["10:13"]
    assert set(icons(phone, bar)) == {"signal", "wifi"}
    phone.settings.put("global", "airplane_mode_on", "1")
    phone.settings.put("global", "wifi_on", "0")
    phone.settings.put("system", "status_bar_show_battery_percent", "1")
    assert icons(phone, bar) == ["airplane"]
    assert "100%" in texts(phone, bar)


def test_the_clock_of_the_home_screen_shows_time_and_date() -> None:
    phone = new_phone()
    area = find(phone, id="clock").bounds
    assert list(texts(phone, area)) == ["10:13", "Tue, Nov 14"]
    phone.settings.put("system", "time_12_24", "24")
    assert "22:13" in texts(phone, area)


def test_navigation_keys_are_shapes() -> None:
    phone = opened(SETTINGS)
    assert icons(phone, phone.windows.display.navigation_bar) == ["nav_back", "nav_home", "nav_recents"]


def test_the_keyboard_has_icons_for_keys_that_are_no_characters() -> None:
    phone = phone_with(field("a", id="field"), state={"a": ""})
    tap(phone, id="field")
    keyboard = phone.windows.display.keyboard
    assert sorted(icons(phone, keyboard)) == ["backspace", "enter", "shift"]
    assert set("qwertyuiop,.") < set(texts(phone, keyboard))


def test_a_dark_theme_has_other_colours() -> None:
    phone = opened(SETTINGS)
    light = picture(phone)
    phone.settings.put("secure", "ui_night_mode", "2")
    dark = picture(phone)
    middle = (540, 1_600)
    assert light.getpixel(middle) == (0xFF, 0xFF, 0xFF)
    assert bytes(dark.getpixel(middle)) == DARK.page.to_bytes(3)  # type: ignore[arg-type]
    assert texts(phone)["Display"].colour == DARK.ink


def test_a_dialog_is_above_a_darker_screen() -> None:
    phone = opened(SETTINGS)
    before = picture(phone).getpixel((20, 1_600))
    phone.show_alert()
    assert picture(phone).getpixel((20, 1_600)) < before  # type: ignore[operator]


def test_a_toast_is_near_the_bottom_and_goes_away() -> None:
    phone = opened(SETTINGS)
    without = picture(phone)
    phone.windows.toast("Saved")
    assert "Saved" in texts(phone)
    assert picture(phone) != without
    phone.clock.sleep(3)
    assert "Saved" not in texts(phone)


def test_a_sleeping_phone_is_black() -> None:
    phone = new_phone()
    phone.windows.awake = False
    assert picture(phone).getextrema() == ((0, 0),) * 3


# Any screen


def test_every_screen_of_the_built_in_apps_is_drawn() -> None:
    from clawperator.testing import simulated_phone

    drawn = set()
    with simulated_phone() as phone:
        declared = {(p.app.package, name) for p in phone.phone.packages.all() for name in p.app.screens}
        for screen in visit_declared_screens(phone):
            drawn.add((screen.app, screen.screen))
            made = drawing(phone.phone)
            assert len(made.operations) > 5, screen
    system = {"android", "com.android.systemui", "com.google.android.inputmethod.latin"}
    assert drawn == {each for each in declared if each[0] not in system}


_LABELS = st.text(max_size=30)
_VIEWS = st.one_of(
    _LABELS.map(text),
    _LABELS.map(title),
    _LABELS.map(button),
    _LABELS.map(icon),
    _LABELS.map(toolbar),
    _LABELS.map(lambda label: image(label, width=100, height=70)),
    _LABELS.map(lambda label: checkbox(label, "")),
    _LABELS.map(radio),
    _LABELS.map(progress),
    _LABELS.map(lambda label: View(class_name="android.widget.SeekBar", text=label, height=30)),
    _LABELS.map(lambda label: item(label, label, lambda _: None, end=icon(label))),
    _LABELS.map(lambda label: field("", label, multiline=len(label) % 2 == 0)),
    _LABELS.map(lambda label: tabs(tab(label, selected=True), tab(label))),
    _LABELS.map(lambda label: web(text(label), text(label, on_click=lambda _: None), weight=0)),
    st.builds(
        lambda label, tone, enabled, selected: View(
            text=label, tone=tone, enabled=enabled, selected=selected, on_click=lambda _: None, padding=8
        ),
        _LABELS,
        st.sampled_from(("", "surface", "accent", "muted", "danger", "dark")),
        st.booleans(),
        st.booleans(),
    ),
)


@pytest.mark.random
@settings(deadline=None, max_examples=40)
@given(
    st.lists(_VIEWS, min_size=1, max_size=4),
    st.integers(200, 1_400),
    st.integers(200, 1_400),
    st.integers(72, 640),
    st.integers(0, 3),
)
def test_any_views_are_drawn_inside_their_bounds_on_any_display(
    views: list[View], width: int, height: int, density: int, rotation: int
) -> None:
    phone = phone_with(*views)
    phone.windows.resize(Display(width, height, density, rotation))
    display = phone.windows.display
    made = drawing(phone)
    nodes = [node.bounds for node in phone.windows.active().nodes[3:]]
    bars = (display.status_bar, display.navigation_bar)
    for op in made.operations[1:]:
        area = Bounds(*op[:4])
        assert area.intersection(display.bounds) == area
        around = [each for each in (*nodes, *bars) if each.intersection(area) == area]
        assert around, (op, nodes)
    assert sum(band.height for band in raster.bands(made)) == display.height
    close_phones()


@pytest.mark.random
@settings(deadline=None, max_examples=10)
@given(
    st.integers(200, 700), st.integers(200, 700), st.integers(72, 640), st.integers(0, 3), st.sampled_from("12")
)
def test_a_picture_has_the_size_of_any_display(
    width: int, height: int, density: int, rotation: int, night: str
) -> None:
    phone = opened(SETTINGS)
    phone.settings.put("secure", "ui_night_mode", night)
    phone.windows.resize(Display(width, height, density, rotation))
    assert picture(phone).size == ((height, width) if rotation % 2 else (width, height))
    close_phones()


def test_a_line_starts_where_its_view_starts() -> None:
    phone = phone_with(text("Start", id="it", padding=10))
    line = texts(phone)["Start"]
    assert line.x + margin(int(line.key[2])) == find(phone, id="it").bounds.left + round(10 * 2.625)
