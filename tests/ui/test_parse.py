"""Parsing dumps: real, faulty and hostile ones."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_HIERARCHY_BYTES, MAX_HIERARCHY_DEPTH, MAX_HIERARCHY_NODES
from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, visible_nodes
from clawperator.ui.parse import parse_hierarchy
from tests.ui.trees import DUMPS, REAL_DUMPS

HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"


def reason(data: bytes | str) -> object:
    with pytest.raises(ClawError) as caught:
        parse_hierarchy(data)
    assert caught.value.code == "HIERARCHY_INVALID"
    assert caught.value.hint
    assert caught.value.details is not None
    return caught.value.details["reason"]


def text_of(data: bytes | str) -> str:
    return parse_hierarchy(data).nodes[0].text


def one(text: str) -> str:
    return f'{HEAD}\n<hierarchy rotation="0">\n  <node text="{text}" />\n</hierarchy>\n'


@pytest.mark.skipif(not REAL_DUMPS.is_dir(), reason="the shared captures are not here")
@pytest.mark.parametrize("name", [path.name for path in DUMPS])
def test_a_real_dump_is_read_whole(name: str) -> None:
    data = (REAL_DUMPS / name).read_bytes()
    tree = parse_hierarchy(data)
    assert len(tree.nodes) == data.count(b"<node ")
    assert tree.has_same_content(parse_hierarchy(data.decode()))
    assert [below for root in tree.roots for below in root.walk()] == tree.nodes
    assert all(node.bounds.width >= 0 and node.class_name for node in tree.nodes)
    assert all(child.parent is node for node in tree.nodes for child in node.children)


def test_several_roots_stand_side_by_side_and_have_no_parent() -> None:
    tree = parse_hierarchy(
        '<hierarchy rotation="1"><node text="a"><node text="b"/></node><node text="c"/></hierarchy>'
    )
    assert [node.text for node in tree.nodes] == ["a", "b", "c"]
    assert [root.text for root in tree.roots] == ["a", "c"]
    assert [root.parent for root in tree.roots] == [None, None]
    assert tree.rotation == 1


def test_an_empty_hierarchy_has_no_nodes() -> None:
    assert parse_hierarchy("<hierarchy/>").nodes == []


def test_unknown_attributes_are_kept_in_their_order() -> None:
    tree = parse_hierarchy('<hierarchy><node zeta="1" text="x" NAF="true" display-id="0"/></hierarchy>')
    assert list(tree.nodes[0].attributes) == ["zeta", "text", "NAF", "display-id"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\nb", "a\nb"),
        ("a\n  b", "a\n  b"),
        ("a\n\n[b", "a\n\n[b"),
        ("a>\nb", "a>\nb"),
        ("\ta\t", "\ta\t"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a&#10;b&#9;c&#13;d", "a\nb\tc\rd"),
        ("it's = 'x\n", "it's = 'x\n"),
    ],
)
def test_line_breaks_and_tabs_in_a_value_are_kept(written: str, read: str) -> None:
    assert text_of(one(written)) == read
    assert text_of(one(written).encode()) == read


def test_line_breaks_between_attributes_and_nodes_are_only_layout() -> None:
    tree = parse_hierarchy(
        "<hierarchy\n rotation='0'>\r\n\n\t<node\n\ttext=\n'a=\"b'\n\tclass='c'>\n\n</node></hierarchy>"
    )
    assert tree.nodes[0].attributes == {"text": 'a="b', "class": "c"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\x01b\x00", "a\ufffdb\ufffd"),
        ("\x1b[1m\n", "\ufffd[1m\n"),
        ("\ufffe\uffff", "\ufffd\ufffd"),
        ("&#1;&#x1F;", "\ufffd\ufffd"),
        ("&#9999999;", "\ufffd"),
        ("&#55357;&#56832;", "😀"),
        ("&#xD83D;&#xDE00;!", "😀!"),
        ("&#55357;", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d", "\ufffd"),
        ("\x01 &amp;#1; &#65;", "\ufffd &#1; A"),
    ],
)
def test_what_xml_cannot_hold_is_replaced_and_halves_are_joined(written: str, read: str) -> None:
    assert text_of(one(written)) == read
    assert text_of(one(written).encode("utf-8", "surrogatepass")) == read


@pytest.mark.parametrize(
    "after", ["UI hierchary dumped to: /dev/tty\n", "\r\nDumped > there\r\n", "\n\n", "<!-- bye -->"]
)
def test_text_after_the_end_is_passed_over(after: str) -> None:
    assert text_of(one("a\nb").rstrip() + after) == "a\nb"
    assert parse_hierarchy("<hierarchy/>" + after).nodes == []


def test_text_between_nodes_and_blanks_before_the_start_are_passed_over() -> None:
    assert text_of("\n " + one("x").replace("  <node", "W/Other: noise\n<node")) == "x"


APPIUM = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<hierarchy index="0" class="hierarchy" rotation="0" width="1080" height="2400">
  <android.widget.FrameLayout class="android.widget.FrameLayout" bounds="[0,0][1080,2400]" displayed="true">
    <android.widget.Button text="OK" class="android.widget.Button" clickable="true" bounds="[0,0][9,9]" />
    <com.example.Chart_Inner class="com.example.Chart$Inner" displayed="false" bounds="[0,0][9,9]" />
    <android.view.View content-desc="No class" bounds="[0,0][9,9]" />
    <View class="View" bounds="[0,0][9,9]" />
  </android.widget.FrameLayout>
</hierarchy>"""


def test_the_page_source_of_appium_is_a_hierarchy() -> None:
    tree = parse_hierarchy(APPIUM)

    assert [node.class_name.rpartition(".")[2] for node in tree.nodes] == [
        "FrameLayout",
        "Button",
        "Chart$Inner",
        "View",
        "View",
    ]
    assert [node.label for node in tree.nodes] == ["", "OK", "", "No class", ""]
    assert [node.text for node in visible_nodes(tree, Bounds(0, 0, 1080, 2400)) if node.clickable] == ["OK"]
    assert len(visible_nodes(tree, Bounds(0, 0, 1080, 2400))) == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r"])
def test_any_line_ends_give_the_same_tree(end: str) -> None:
    plain = one("a&#10;b  c")
    assert parse_hierarchy(plain.replace("\n", end)).has_same_content(parse_hierarchy(plain))


def test_a_byte_order_mark_is_accepted() -> None:
    assert text_of(b"\xef\xbb\xbf" + one("é").encode()) == "é"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (f"{HEAD}<!DOCTYPE hierarchy><hierarchy/>", "dtd"),
        ('<!DOCTYPE h [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><hierarchy><node text="&c;"/></hierarchy>', "dtd"),
        ('<!DOCTYPE h SYSTEM "file:///etc/passwd"><hierarchy/>', "dtd"),
        ('<hierarchy><node text="&a;"/></hierarchy>', "syntax"),
        ("<node/>", "root"),
        ("<html></html>", "root"),
        ("<hierarchy><view/></hierarchy>", "element"),
        ("<hierarchy><hierarchy/></hierarchy>", "element"),
        ("<hierarchy><x:node/></hierarchy>", "element"),
        ("", "truncated"),
        (" \n", "truncated"),
        (HEAD, "truncated"),
        ("<hierarchy><node>", "truncated"),
        ("<hierarchy><node></node>", "truncated"),
        ('<hierarchy><node text="a', "truncated"),
        ("<hierarchy></hierarchy", "truncated"),
        (one("é").encode()[:-27], "truncated"),
        ('<hierarchy><node text="é'.encode()[:-1], "truncated"),
        ("<hierarchy/><hierarchy/>", "trailing"),
        (one("x") + one("x"), "trailing"),
        ("<hierarchy/>more <node/>", "trailing"),
        ("<hierarchy></node>", "syntax"),
        ('<hierarchy><node text="<"/></hierarchy>', "syntax"),
        ('<hierarchy><node text="1" text="2"/></hierarchy>', "syntax"),
        ("ERROR: could not get idle state.", "syntax"),
        (b"<hierarchy><node text='\xe9'/></hierarchy>", "encoding"),
        ("<hierarchy/>".encode("utf-16"), "encoding"),
        ("<hierarchy/>".encode("utf-16-be"), "encoding"),
    ],
)
def test_an_invalid_hierarchy_is_rejected_with_a_reason(data: bytes | str, why: str) -> None:
    assert reason(data) == why


def test_a_fault_is_located() -> None:
    with pytest.raises(ClawError) as caught:
        parse_hierarchy("<hierarchy>\n  <node></x>")
    assert caught.value.details == {"reason": "syntax", "line": 2, "column": 10}


def nested(depth: int) -> str:
    return "<hierarchy>" + "<node>" * depth + "</node>" * depth + "</hierarchy>"


def test_depth_has_a_limit() -> None:
    assert len(parse_hierarchy(nested(MAX_HIERARCHY_DEPTH)).nodes) == MAX_HIERARCHY_DEPTH
    assert reason(nested(MAX_HIERARCHY_DEPTH + 1)) == "depth"
    assert reason(nested(100_000)[:500_000]) in ("depth", "nodes")


def test_the_number_of_nodes_has_a_limit() -> None:
    assert (
        len(parse_hierarchy(f"<hierarchy>{'<node/>' * MAX_HIERARCHY_NODES}</hierarchy>").nodes)
        == MAX_HIERARCHY_NODES
    )
    assert reason(f"<hierarchy>{'<node/>' * (MAX_HIERARCHY_NODES + 1)}</hierarchy>") == "nodes"
    assert reason(f"<hierarchy>{'<a.B/>' * (MAX_HIERARCHY_NODES + 1)}</hierarchy>") == "nodes"


def test_size_has_a_limit_in_bytes() -> None:
    assert reason(" " * (MAX_HIERARCHY_BYTES + 1)) == "size"
    assert reason("é" * (MAX_HIERARCHY_BYTES // 2 + 1)) == "size"


@pytest.mark.random
@given(data=st.binary(max_size=80) | st.text(max_size=80), at=st.integers(0, 90))
def test_any_input_is_a_tree_or_a_typed_refusal(data: bytes | str, at: int) -> None:
    whole = one("&#55357;é")
    mixed = (
        whole.encode()[:at] + data + whole.encode()[at:]
        if isinstance(data, bytes)
        else whole[:at] + data + whole[at:]
    )
    for candidate in (data, mixed):
        with suppress(ClawError):
            parse_hierarchy(candidate)


@pytest.mark.random
@given(cut=st.integers(0, 400))
def test_every_beginning_of_a_dump_is_refused(cut: int) -> None:
    whole = one("é😀\n").encode().rstrip()
    assert reason(whole[: cut % len(whole)]) in ("truncated", "syntax")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (f"<{'a' * 60} />", f"the document is a <{'a' * 40}>, not a <hierarchy>"),
        (f"<hierarchy><{'a' * 60} /></hierarchy>", f"the hierarchy has a <{'a' * 40}>; only nodes are allowed"),
    ],
)
def test_the_name_of_another_element_is_cut_after_40_characters(document: str, message: str) -> None:
    with pytest.raises(ClawError) as caught:
        parse_hierarchy(document)
    assert caught.value.message == message
