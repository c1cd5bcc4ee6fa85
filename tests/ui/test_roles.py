"""Inferred roles of nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.ui import node as nodes
from clawperator.ui.node import Node, role_of, role_test, takes_click
from tests.ui.trees import node

CLASSES = [
    "android.widget.TextView",
    "android.view.View",
    "android.widget.ImageView",
    "androidx.viewpager2.widget.ViewPager2",
    "android.widget.RadioButton",
    "android.widget.LinearLayout",
    "androidx.recyclerview.widget.RecyclerView",
    "Toolbar",
    "com.google.android.material.tabs.TabLayout",
    "android.widget.Switch",
    "GridView",
]
EXTRAS = ("heading", "collection_item", "columns", "horizontal", "vertical", "screen_reader_focusable")
ALL = [
    "container",
    "row",
    "column",
    "toolbar",
    "tabbar",
    "list",
    "grid",
    "listitem",
    "pager",
    "tab",
    "card",
    "button",
    "textfield",
    "switch",
    "checkbox",
    "radio",
    "toggle",
    "icon",
    "image",
    "chip",
    "menu",
    "menuitem",
    "text",
    "label",
    "title",
    "unknown",
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("androidx.viewpager.widget.ViewPager", "pager"),
        ("androidx.viewpager2.widget.ViewPager2", "pager"),
        ("android.widget.Button", "button"),
        ("android.widget.RadioButton", "button"),
        ("android.widget.ToggleButton", "button"),
        ("android.widget.ImageButton", "button"),
        ("com.google.FloatingActionButton", "button"),
        ("android.widget.EditText", "textfield"),
        ("x.TextInputEditText", "textfield"),
        ("android.widget.AutoCompleteTextView", "textfield"),
        ("android.widget.Switch", "switch"),
        ("androidx.appcompat.widget.SwitchCompat", "switch"),
        ("ANDROID.WIDGET.CHECKBOX", "checkbox"),
        ("androidx.recyclerview.widget.RecyclerView", "list"),
        ("android.widget.ListView", "list"),
        ("android.widget.GridView", "grid"),
        ("androidx.appcompat.widget.Toolbar", "toolbar"),
        ("com.google.android.material.tabs.TabLayout", "tabbar"),
        ("com.google.BottomNavigationView", "tabbar"),
        ("android.widget.ImageView", "image"),
        ("com.google.android.material.chip.Chip", "chip"),
        ("android.widget.LinearLayout", "container"),
        ("android.widget.FrameLayout", "container"),
        ("androidx.constraintlayout.widget.ConstraintLayout", "container"),
        ("androidx.coordinatorlayout.widget.CoordinatorLayout", "container"),
        ("android.widget.RelativeLayout", "unknown"),
        ("android.view.View", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_class_determines_most_roles(name: str, expected: str) -> None:
    assert role_of(node(class_=name)) == expected


@pytest.mark.parametrize(
    ("attributes", "extras", "expected"),
    [
        ({"class_": "x.RecyclerView"}, ("columns",), "grid"),
        ({"class_": "x.LinearLayout"}, ("horizontal",), "row"),
        ({"class_": "x.LinearLayout"}, ("vertical",), "column"),
        ({"class_": "x.LinearLayout"}, ("vertical", "collection_item"), "listitem"),
        ({"class_": "x.LinearLayout", "content_desc": "A"}, ("heading",), "title"),
        ({"class_": "x.LinearLayout"}, ("heading",), "container"),
        ({"class_": "x.Button"}, ("collection_item", "heading"), "button"),
        ({"class_": "x.ImageView", "clickable": "true"}, (), "icon"),
        ({"class_": "x.TextView", "text": "A"}, (), "text"),
        ({"class_": "x.TextView", "text": " "}, (), "unknown"),
        ({"class_": "x.TextView", "text": "A"}, ("heading",), "title"),
        ({"class_": "x.TextView", "text": "A"}, ("screen_reader_focusable",), "label"),
        ({"class_": "x.TextView", "text": "A", "clickable": "true"}, ("screen_reader_focusable",), "button"),
        ({"class_": "x.TextView", "text": "A" * 30, "clickable": "true"}, (), "button"),
        ({"class_": "x.TextView", "text": "twenty characters, ok", "clickable": "true"}, (), "text"),
        ({"class_": "x.TextView", "text": "twenty characters ok", "clickable": "true"}, (), "button"),
        ({"class_": "x.TextView", "text": "smile " + "😀" * 8, "clickable": "true"}, (), "text"),
        ({"class_": "x.View", "content_desc": "a description of many words", "clickable": "true"}, (), "button"),
        ({"class_": "x.View", "clickable": "true"}, (), "unknown"),
    ],
)
def test_parent_and_extras_determine_the_other_roles(
    attributes: dict[str, str], extras: tuple[str, ...], expected: str
) -> None:
    made = node(**attributes)  # type: ignore[arg-type] # none of the keys is extras
    made.extras = frozenset(extras)
    assert role_of(made) == expected


@pytest.mark.parametrize(
    ("parent", "text", "expected"),
    [
        ({"class_": "x.TabLayout"}, "Home", "tab"),
        ({"class_": "x.BottomNavigationView"}, "Home", "tab"),
        ({"resource_id": "a:id/main_TABS"}, "Home", "tab"),
        ({"resource_id": "a:id/navigation"}, "Home", "tab"),
        ({"resource_id": "a:id/bottomBar"}, "Home", "tab"),
        ({"class_": "x.TabLayout"}, "", "button"),
        ({"class_": "x.Toolbar"}, "Home", "button"),
        ({}, "Home", "button"),
    ],
)
def test_a_labelled_child_of_tabs_is_a_tab_whatever_its_class(
    parent: dict[str, str], text: str, expected: str
) -> None:
    child = node(class_="x.Button", text=text)
    node(child, **parent)  # type: ignore[arg-type] # none of the keys is extras
    assert role_of(child) == expected


def test_a_text_in_a_toolbar_is_its_title_unless_it_takes_clicks() -> None:
    child = node(class_="x.TextView", text="Settings")
    bar = node(child, class_="androidx.appcompat.widget.Toolbar")
    assert role_of(child) == "title"
    bar.attributes["clickable"] = "true"
    assert role_of(child) == "button"


def test_a_click_is_taken_up_to_three_levels_above() -> None:
    leaf = node(class_="x.ImageView")
    third = node(node(node(leaf)))
    top = node(third, clickable="true")
    assert not takes_click(leaf)
    assert role_of(leaf) == "image"
    third.attributes["clickable"] = "true"
    assert takes_click(leaf)
    assert role_of(leaf) == "icon"
    assert takes_click(top)


def test_what_is_remembered_of_names_has_a_limit() -> None:
    for i in range(5_000):
        role_of(node(class_=f"a.Class{i}"))
    role_of(node(class_="x" * 10_000))
    assert len(nodes._KIND_OF_CLASS) <= 4_096
    assert max(map(len, nodes._KIND_OF_CLASS)) <= 256
    assert role_of(node(class_="after.that.a.Button")) == "button"


@pytest.mark.random
@given(data=st.data())
def test_a_test_for_a_role_agrees_with_the_role(data: st.DataObject) -> None:
    parent = None
    for _ in range(data.draw(st.integers(1, 4))):
        written = {
            "class": data.draw(st.sampled_from(CLASSES)),
            "text": data.draw(st.sampled_from(("", "Home", "a text that is quite long"))),
            "clickable": data.draw(st.sampled_from(("true", "false"))),
            "resource-id": data.draw(st.sampled_from(("", "a:id/tabs"))),
        }
        parent = Node(written, parent, data.draw(st.frozensets(st.sampled_from(EXTRAS))))
        found = role_of(parent)
        assert [name for name in ALL if role_test(name)(parent)] == [found]
