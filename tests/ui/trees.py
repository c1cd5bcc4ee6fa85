"""Trees for tests of the ui package: fixed and random ones."""

from hypothesis import strategies as st

from clawperator.ui.node import Hierarchy, Node
from tests.support.paths import CAPTURES

REAL_DUMPS = CAPTURES / "dumps"
DUMPS = sorted(REAL_DUMPS.glob("*.xml"))

NAMES = ("text", "resource-id", "class", "content-desc", "bounds", "clickable", "NAF", "visible-to-user", "hint")
values = st.text(max_size=12) | st.sampled_from(
    ("true", "false", "[0,0][5,5]", "a\nb\tc\rd", "<&\"'>", "%s\ud83d\x00")
)
attribute_sets = st.dictionaries(st.sampled_from(NAMES), values, max_size=len(NAMES))


def node(*children: Node, extras: tuple[str, ...] = (), **attributes: str) -> Node:
    """A node on the screen; ``content_desc`` sets ``content-desc``, ``class_`` sets ``class``."""
    written = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    made = Node({"bounds": "[0,0][100,100]", **written}, extras=frozenset(extras))
    for child in children:
        child.parent = made
        made.children.append(child)
    return made


def hierarchy(*roots: Node, rotation: str = "0") -> Hierarchy:
    return Hierarchy({"rotation": rotation}, list(roots), [below for root in roots for below in root.walk()])


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Any forest: each node hangs below one that came before it, or is a root."""
    made: list[Node] = []
    roots: list[Node] = []
    for attributes in draw(st.lists(attribute_sets, max_size=12)):
        parent = draw(st.sampled_from([None, *made]))
        new = Node(attributes, parent)
        (roots if parent is None else parent.children).append(new)
        made.append(new)
    return Hierarchy(draw(attribute_sets), roots, [below for root in roots for below in root.walk()])
