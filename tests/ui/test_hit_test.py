"""Points to touch: each belongs to the element that was asked for, or nothing is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.scripted import FRAME, node, tree
from clawperator.ui.hit_test import HitTest
from clawperator.ui.node import Node
from clawperator.ui.outline import screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.write import write_hierarchy
from tests.support.built_in_screens import built_in_screens
from tests.support.painted_screens import PaintedScreen
from tests.support.paths import CAPTURES

DUMPS = sorted((CAPTURES / "dumps").glob("*.xml"))


def touch(
    *roots: Node, at: Node, holder: Node | None = None, inside: bool = False
) -> tuple[int, int] | Node | None:
    """The point, or what covers the node."""
    found = HitTest(tree(*roots), FRAME).find(at, holder, inside=inside)
    return found.cover if found.point is None else found.point


def button(text: str, bounds: str, *children: Node) -> Node:
    return node(text, *children, bounds=bounds, clickable="true")


def test_an_element_by_itself_is_touched_in_its_centre() -> None:
    save = button("Save", "[100,200][300,400]", node("Save", bounds="[100,200][200,300]"))
    assert touch(save, at=save, holder=save) == (200, 300)


def test_a_card_with_a_button_in_its_centre_is_touched_on_its_label() -> None:
    title = node("Fastest", bounds="[20,20][220,60]")
    disconnect = button("Disconnect", "[0,100][1000,200]")
    card = button("", "[0,0][1000,300]", title, disconnect)
    assert touch(card, at=card, holder=card) == (120, 40)


def test_without_a_label_a_covered_card_is_touched_at_a_free_point_near_its_centre() -> None:
    card = button("", "[0,0][900,900]", button("Rate", "[400,400][500,500]"))
    x, y = touch(card, at=card, holder=card)  # type: ignore[misc]
    assert not (400 <= x < 500 and 400 <= y < 500)
    assert abs(x - 450) <= 100
    assert abs(y - 450) <= 100


def test_a_label_in_a_row_is_touched_itself() -> None:
    label = node("Wi-Fi", bounds="[0,0][200,100]")
    row = button("", "[0,0][1000,100]", label)
    assert touch(row, at=label, holder=row) == (100, 50)


def test_a_covered_label_is_touched_elsewhere_in_its_row() -> None:
    label = node("Wi-Fi", bounds="[0,0][200,100]")
    row = button("", "[0,0][1000,100]", label)
    bubble = button("1", "[0,0][300,100]")
    x, y = touch(node("", row, bubble), at=label, holder=row)  # type: ignore[misc]
    assert 300 <= x < 1000
    assert 0 <= y < 100


@pytest.mark.parametrize("is_child", [True, False])
def test_what_is_covered_everywhere_has_no_point(is_child: bool) -> None:  # noqa: FBT001 - pytest names it
    cover = button("Cover", "[0,0][1000,300]")
    card = button("Card", "[0,0][1000,300]", *([cover] if is_child else []))
    root = node("", card, *([] if is_child else [cover]))
    assert touch(root, at=card, holder=card) is cover


def test_a_point_that_no_other_element_shares_comes_first() -> None:
    """An earlier sibling may be raised above a later one."""
    raised = button("Raised", "[0,0][600,300]")
    card = button("Card", "[0,0][1000,300]")
    x, _ = touch(node("", raised, card), at=card, holder=card)  # type: ignore[misc]
    assert x >= 600


def test_where_all_is_shared_the_document_order_decides() -> None:
    scrim, card = button("Scrim", "[0,0][1080,2400]"), button("Card", "[0,0][1000,300]")
    assert touch(node("", scrim, card), at=card, holder=card) == (500, 150)


def test_a_point_below_the_text_of_another_element_is_a_second_choice() -> None:
    """The selected tab of a bar is not clickable, but lies above the list."""
    headline = button("Headline", "[0,0][1000,100]")
    home = node("Home", bounds="[400,0][600,100]")
    x, _ = touch(node("", headline, home), at=headline, holder=headline)  # type: ignore[misc]
    assert not 400 <= x < 600


def test_the_only_control_in_a_container_is_touched_for_it() -> None:
    switch = button("", "[0,0][1000,100]")
    around = node("", switch, bounds="[0,0][1000,100]", id="around")
    assert touch(around, at=around) == (500, 50)
    two = node("", button("A", "[0,0][500,100]"), button("B", "[500,0][1000,100]"), bounds="[0,0][1000,100]")
    cover = touch(two, at=two)
    assert isinstance(cover, Node)
    assert cover.text == "B"


def test_a_label_that_is_drawn_on_a_button_is_touched() -> None:
    below, label = button("", "[0,0][1000,300]"), node("Following", bounds="[400,100][600,200]")
    assert touch(node("", below, label), at=label) == (500, 150)


def test_a_label_that_lies_above_an_element_elsewhere_is_not_touched() -> None:
    """The selected tab of a bar is not clickable. A touch of it would open what is scrolled below the bar."""
    headline = button("Headline", "[0,0][1000,300]")
    tab = node("Home", bounds="[400,100][600,200]")
    root = node("", node("", headline, scrollable="true"), node("", tab))
    assert touch(root, at=tab) is headline


def test_a_disabled_button_takes_the_touch() -> None:
    disabled = node("Off", bounds="[0,0][1000,300]", clickable="true", enabled="false")
    card = button("Card", "[0,0][1000,300]", disabled)
    assert touch(card, at=card, holder=card) is disabled


def test_a_row_that_is_scrolled_half_out_is_touched_inside_the_list() -> None:
    row = button("Row", "[0,0][1000,200]")
    around = node("", row, bounds="[0,100][1000,900]", scrollable="true")
    assert touch(around, at=row, holder=row) == (500, 150)


def test_what_is_inside_counts_as_the_node_where_a_movement_begins() -> None:
    rows = [button(str(n), f"[0,{n * 100}][1000,{n * 100 + 100}]") for n in range(9)]
    around = node("", *rows, bounds="[0,0][1000,900]", scrollable="true")
    assert touch(around, at=around, inside=True) == (500, 450)


BOXES = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 5), st.integers(1, 5)).map(
    lambda box: f"[{box[0] * 90},{box[1] * 90}][{(box[0] + box[2]) * 90},{(box[1] + box[3]) * 90}]"
)
NODES = st.recursive(
    st.builds(node, st.sampled_from(["", "Text"]), bounds=BOXES, clickable=st.sampled_from(["true", "false"])),
    lambda inner: st.builds(
        lambda box, flag, children: node("", *children, bounds=box, clickable=flag),
        BOXES,
        st.sampled_from(["true", "false"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@given(st.lists(NODES, min_size=1, max_size=4))
def test_every_point_belongs_to_its_element_on_any_screen(children: list[Node]) -> None:
    check_screen(write_hierarchy(tree(node("", *children))))


def check_screen(xml: str) -> tuple[int, int]:
    """How many touchable elements a screen has, and how many of them have no point. Every point is checked."""
    screen = parse_hierarchy(xml)
    painted = PaintedScreen(xml)
    hits = HitTest(screen, screen_frame(screen))
    refused = 0
    for number in painted.touchable:
        target = screen.nodes[number]
        found = hits.find(target, target)
        if found.point is None:
            refused += 1
            assert found.cover is not None
        else:
            assert painted.on_top(*found.point) == number, (target, found.point)
    return len(painted.touchable), refused


@pytest.mark.skipif(not DUMPS, reason="no captures")
def test_on_captures_every_point_belongs_to_its_element_and_few_are_refused() -> None:
    counts = [check_screen(dump.read_text(encoding="utf-8")) for dump in DUMPS]
    elements, refused = (sum(column) for column in zip(*counts, strict=True))
    assert elements > 200
    assert refused <= elements / 100


def test_on_the_simulated_phone_every_point_belongs_to_its_element_and_few_are_refused() -> None:
    screens, _ = built_in_screens()
    counts = [check_screen(screen.xml) for screen in screens]
    elements, refused = (sum(column) for column in zip(*counts, strict=True))
    assert elements > 500
    # A web page full of links has no point of its own.
    assert refused <= elements / 100


@pytest.mark.parametrize(
    ("dump", "label", "cover"),
    [
        ("vpn-compose.xml", "[42,1523][1038,2032]", "[84,1717][996,1843]"),
        ("store-search-cards.xml", "[63,923][1080,1445]", "[431,1180][712,1351]"),
    ],
)
def test_a_card_is_not_touched_on_a_button_inside_it(dump: str, label: str, cover: str) -> None:
    path = CAPTURES / "dumps" / dump
    if not path.exists():
        pytest.skip("no captures")
    screen = parse_hierarchy(path.read_text(encoding="utf-8"))
    card = next(one for one in screen.nodes if str(one.bounds) == label and one.clickable)
    found = HitTest(screen, screen_frame(screen)).find(card, card)
    inside = next(one for one in screen.nodes if str(one.bounds) == cover)
    assert found.point is not None
    assert not inside.bounds.contains(*found.point)
