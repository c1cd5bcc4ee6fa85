"""Layout: views become nodes with bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.core.windows import Display
from clawperator.phone.toolkit.app import App, AppProcess, BackStackEntry
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.layout import LayoutPass, PlacedView
from clawperator.phone.toolkit.views import (
    Rows,
    View,
    column,
    field,
    frame,
    item,
    listing,
    row,
    scroll,
    strip,
    text,
)
from clawperator.ui.node import Bounds, Node

AREA = Bounds(0, 136, 1080, 2274)


def placed(view: View, area: Bounds = AREA, scrolled: dict[str, tuple[int, int]] | None = None) -> LayoutPass:
    app = App("com.example.layout", "Layout")

    @app.screen("home")
    def home(_: AppContext) -> View:
        return view

    entry = BackStackEntry(AppProcess(app, 1, {}, app.fresh_state()), app.screens["home"], {})
    entry.scroll.update(scrolled or {})
    layout = LayoutPass(Display().scale, entry)
    layout.lay_out(view, area, Node({}))
    return layout


def bounds_of(layout: LayoutPass, label: str) -> Bounds:
    return next(node.bounds for node in layout.nodes if node.text == label)


def test_a_column_stacks_its_children_and_gives_the_rest_to_those_with_a_weight() -> None:
    layout = placed(column(text("a", height=100), text("b", weight=1), text("c", height=100), weight=1))
    a, b, c = (bounds_of(layout, name) for name in "abc")
    assert (a.top, a.bottom, b.top, b.bottom, c.top) == (136, 136 + 262, 398, c.top, b.bottom)
    assert c.bottom <= AREA.bottom
    assert b.height > a.height


def test_a_row_shares_its_width_by_weight() -> None:
    layout = placed(row(text("a", weight=1), text("b", weight=2)))
    assert bounds_of(layout, "a").width == 360
    assert bounds_of(layout, "b").width == 720


def test_a_button_in_the_corner_is_on_top_of_the_page_with_a_margin() -> None:
    layout = placed(
        frame(text("page", weight=1), View(text="+", width=56, height=56, corner=True), weight=1, height=500)
    )
    corner, page = bounds_of(layout, "+"), bounds_of(layout, "page")
    assert (page.right - corner.right, page.bottom - corner.bottom) == (42, 42)
    assert page.contains(*corner.centre)


def test_a_view_that_is_partly_scrolled_away_keeps_its_whole_area() -> None:
    rows = [text(f"row {i}", height=100) for i in range(30)]
    views = placed(column(listing(*rows, height=399))).views.values()
    areas = {view.node.text: view.area for view in views}
    assert areas["row 0"] is None
    last = areas["row 3"]
    assert last is not None
    assert last.height == 262
    assert (
        last.bottom
        > 136 + round(399 * 2.625)
        >= bounds_of(placed(column(listing(*rows, height=399))), "row 3").bottom
    )


def test_a_list_drops_what_is_scrolled_away_and_a_page_keeps_it_hidden() -> None:
    rows = [text(f"row {i}", height=100) for i in range(30)]
    shown = [node.text for node in placed(column(listing(*rows, height=399))).nodes if node.text]
    assert shown == [f"row {i}" for i in range(4)]
    kept = placed(column(scroll(*rows, height=399))).nodes
    assert sum(node.text.startswith("row") for node in kept) == 30
    hidden = [node for node in kept if "invisible" in node.extras]
    assert len(hidden) == 26
    assert all(node.bounds.is_empty for node in hidden)


def test_a_row_at_the_edge_is_clipped_to_its_visible_part() -> None:
    layout = placed(
        column(listing(*(text(f"row {i}", height=100) for i in range(9)), height=250, id="list")),
        scrolled={"list": (0, 131)},
    )
    first, last = bounds_of(layout, "row 0"), bounds_of(layout, "row 2")
    assert first.top == AREA.top
    assert first.height < last.height


def test_scrolling_stops_at_the_end() -> None:
    layout = placed(
        column(listing(*(text(f"row {i}", height=100) for i in range(9)), height=250, id="list")),
        scrolled={"list": (0, 10**9)},
    )
    assert bounds_of(layout, "row 8").bottom == AREA.top + 656
    place = layout.views["list"]
    assert place.offset == place.extent


def test_an_endless_list_builds_only_visible_rows() -> None:
    built: list[int] = []

    def build(i: int) -> View:
        built.append(i)
        return text(f"row {i}")

    placed(listing(rows=Rows(1_000_000, 100, build), height=500, id="list"), scrolled={"list": (0, 262 * 500_000)})
    assert built
    assert set(built) <= set(range(499_990, 500_020))


def test_a_strip_scrolls_horizontally() -> None:
    layout = placed(strip(*(text(f"card {i}", width=200, height=80) for i in range(9)), height=80, id="strip"))
    assert layout.views["strip"].extent[0] > 0
    assert layout.views["strip"].extent[1] == 0


def test_a_fields_state_is_keyed_by_its_name_wherever_it_moves() -> None:
    before = placed(column(field("query", id="search")))
    after = placed(column(text("a banner came"), field("query", id="search")))
    assert "query" in before.views
    assert "query" in after.views


def test_resource_ids_get_the_package_prefix_unless_they_are_complete() -> None:
    nodes = placed(
        column(text("a", id="save"), text("b", id="android:id/title"), text("c", id="van-field-1-input"))
    ).nodes
    names = {node.text: node.resource_id for node in nodes}
    assert names["a"] == "com.example.layout:id/save"
    assert names["b"] == "android:id/title"
    assert names["c"] == "com.example.layout:id/van-field-1-input"


sizes = st.sampled_from([0, 0, 0, 1, 20, 48, 300, 5_000])
leaves = st.builds(
    lambda words, width, height, weight, pad: View(
        text=words, width=width, height=height, weight=weight, padding=pad
    ),
    st.text(max_size=60),
    sizes,
    sizes,
    st.sampled_from([0, 0, 1, 2]),
    st.sampled_from([0, 4, 400]),
)


def groups(children: st.SearchStrategy[View]) -> st.SearchStrategy[View]:
    kinds = st.sampled_from([column, row, frame, scroll, listing, strip])
    return st.builds(
        lambda make, kids, height, pad: make(*kids, height=height, padding=pad),
        kinds,
        st.lists(children, max_size=5),
        sizes,
        st.sampled_from([0, 8, 900]),
    )


@pytest.mark.random
@given(st.recursive(leaves, groups, max_leaves=25), st.integers(1, 3_000), st.integers(1, 3_000))
def test_no_node_exceeds_its_area(view: View, width: int, height: int) -> None:
    area = Bounds(0, 0, width, height)
    layout = placed(view, area)
    for node in layout.nodes:
        box = node.bounds
        assert area.left <= box.left <= box.right <= area.right
        assert area.top <= box.top <= box.bottom <= area.bottom
        assert isinstance(node.source, PlacedView)


def test_an_item_is_one_clickable_row_with_its_texts_inside() -> None:
    nodes = placed(listing(item("Display", "Dark theme", lambda _: None))).nodes
    touchable = [node for node in nodes if node.flag("clickable")]
    assert len(touchable) == 1
    assert [node.text for node in touchable[0].walk() if node.text] == ["Display", "Dark theme"]
