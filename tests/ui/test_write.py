"""Writing trees as XML, and parsing them again."""

import pytest
from hypothesis import given

from clawperator.ui.node import Hierarchy, Node
from clawperator.ui.parse import NOT_XML, parse_hierarchy
from clawperator.ui.write import ATTRIBUTES, write_hierarchy
from tests.ui.trees import DUMPS, REAL_DUMPS, hierarchies, hierarchy, node


def test_the_form_is_the_phones() -> None:
    full = Node({**dict.fromkeys(ATTRIBUTES, ""), "bounds": "[0,0][1,1]"})
    tree = hierarchy(node(full, text="a"), node(text="b"))
    plain = " ".join(f'{name}=""' for name in ATTRIBUTES[:-1])
    assert write_hierarchy(tree) == (
        "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
        '<hierarchy rotation="0">\n'
        '  <node bounds="[0,0][100,100]" text="a">\n'
        f'    <node {plain} bounds="[0,0][1,1]" />\n'
        "  </node>\n"
        '  <node bounds="[0,0][100,100]" text="b" />\n'
        "</hierarchy>\n"
    )


def test_the_attributes_keep_their_order() -> None:
    written = '<node NAF="true" index="0" text="x" visible-to-user="true" bounds="[0,0][1,1]" hint="" />'
    assert written in write_hierarchy(parse_hierarchy(f"<hierarchy>{written}</hierarchy>"))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<&\"'>", "&lt;&amp;&quot;&apos;&gt;"),
        ("a\nb\tc\rd", "a&#10;b&#9;c&#13;d"),
        ("\x00\x1b\ufffe\ud83d", "\ufffd" * 4),
        ("é 😀 %s %(a)s", "é 😀 %s %(a)s"),
    ],
)
def test_values_are_escaped_so_that_they_come_back(text: str, written: str) -> None:
    out = write_hierarchy(hierarchy(node(text=text)))
    assert f'text="{written}"' in out
    assert out.count("\n") == 4
    assert parse_hierarchy(out).nodes[0].text == NOT_XML.sub("\ufffd", text)


def test_a_tree_without_nodes_is_written() -> None:
    assert write_hierarchy(hierarchy()).endswith('<hierarchy rotation="0">\n</hierarchy>\n')


def test_a_deep_tree_is_written_without_recursion() -> None:
    inner = node()
    for _ in range(5_000):
        inner = node(inner)
    assert write_hierarchy(hierarchy(inner)).count("</node>") == 5_000


@pytest.mark.skipif(not REAL_DUMPS.is_dir(), reason="the shared captures are not here")
@pytest.mark.parametrize("name", [path.name for path in DUMPS])
def test_a_real_dump_survives_the_round_trip(name: str) -> None:
    tree = parse_hierarchy((REAL_DUMPS / name).read_bytes())
    written = write_hierarchy(tree)
    back = parse_hierarchy(written)
    assert back.has_same_content(tree)
    assert [list(each.attributes) for each in back.nodes] == [list(each.attributes) for each in tree.nodes]
    assert write_hierarchy(parse_hierarchy(written.encode())) == written


@pytest.mark.random
@given(tree=hierarchies())
def test_any_tree_survives_the_round_trip(tree: Hierarchy) -> None:
    written = write_hierarchy(tree)
    for attributes in (tree.attributes, *(each.attributes for each in tree.nodes)):
        attributes.update({name: NOT_XML.sub("\ufffd", value) for name, value in attributes.items()})
    back = parse_hierarchy(written)
    assert back.has_same_content(tree)
    assert write_hierarchy(back) == written
