"""References: which element of a later screen is the same one, and that no other one is ever located."""

from typing import Any, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.outline import outline_of
from clawperator.ui.refs import MAX_ALIKE, ElementFingerprint, Located, fingerprints, locate
from tests.ui.trees import hierarchy, node

FRAME = Bounds(0, 0, 1_000, 2_000)
LAYOUT = "android.widget.LinearLayout"
TEXT = "android.widget.TextView"
BUTTON = "android.widget.Button"
LIST = "androidx.recyclerview.widget.RecyclerView"


def text(label: str, **attributes: str) -> Node:
    written: Any = {"class_": TEXT, "text": label, **attributes}
    return node(**written)


def button(label: str, **attributes: str) -> Node:
    written: Any = {"class_": BUTTON, "text": label, "clickable": "true", **attributes}
    return node(**written)


def row(*children: Node, clickable: str = "true") -> Node:
    return node(*children, class_=LAYOUT, clickable=clickable)


def page(*nodes: Node, title: str = "Page") -> Hierarchy:
    """A screen with a title and a list of rows, each in its own place."""
    for number, one in enumerate(nodes):
        for below in one.walk():
            below.attributes["bounds"] = f"[0,{100 + 50 * number}][1000,{150 + 50 * number}]"
    listed = node(*nodes, class_=LIST, scrollable="true", bounds="[0,100][1000,2000]")
    made = hierarchy(node(text(title, bounds="[0,0][1000,100]"), listed, class_=LAYOUT, bounds="[0,0][1000,2000]"))
    for one in made.nodes:
        one.attributes["package"] = "com.example"
    return made


def fingerprint(screen: Hierarchy, label: str, number: int = 0) -> ElementFingerprint:
    """That of the element with this label, or of one of several."""
    made = outline_of(screen, FRAME)
    found = [one for one, element in zip(fingerprints(made), made.elements, strict=True) if element.label == label]
    return found[number]


def find(screen: Hierarchy, wanted: ElementFingerprint) -> Located:
    return locate(screen, FRAME, wanted)


def rows(*labels: str) -> list[Node]:
    return [row(text(label)) for label in labels]


def test_an_element_that_moved_is_found() -> None:
    known = fingerprint(page(*rows("A", "B", "C", "D")), "C")
    located = find(page(*rows("New", "A", "B", "C", "D")), known)

    assert located.node is not None
    assert located.node.children[0].text == "C"


def test_an_element_whose_value_and_state_changed_is_found() -> None:
    before = page(row(text("Dark theme"), text("Off"), node(class_="android.widget.Switch", checkable="true")))
    after = page(
        row(text("Dark theme"), text("On"), node(class_="android.widget.Switch", checkable="true", checked="true"))
    )

    assert find(after, fingerprint(before, "Dark theme")).node is not None


def test_the_content_of_a_field_is_no_part_of_its_fingerprint() -> None:
    def form(content: str) -> Hierarchy:
        field = node(class_="android.widget.EditText", text=content, resource_id="a:id/name", clickable="true")
        return page(row(text("Name"), clickable="false"), field)

    made = outline_of(form("secret"), FRAME)
    known = fingerprints(made)[-1]

    assert "secret" not in repr(known)
    assert find(form("other"), known).node is not None


def test_a_field_is_found_when_the_hint_inside_of_it_has_given_way_to_its_content() -> None:
    field: Any = {"class_": "android.widget.EditText", "clickable": "true"}
    empty = page(node(text("Add a comment"), **field), *rows("Send", "Attach", "Close"))
    filled = page(node(text="Thanks", **field), *rows("Send", "Attach", "Close"))

    located = find(filled, fingerprint(empty, "Add a comment")).node

    assert located is not None
    assert located.text == "Thanks"


def test_a_password_field_is_found_when_its_hint_has_given_way_to_a_password() -> None:
    def form(shown: str) -> Hierarchy:
        pin = node(class_="android.widget.EditText", text=shown, resource_id="a:id/pin", password="true")
        return page(row(text("Account")), pin)

    [known] = [one for one in fingerprints(outline_of(form("Your PIN"), FRAME)) if one.role == "textfield"]
    located = find(form("••••"), known).node
    assert located is not None
    assert located.flag("password")


def test_an_element_that_is_gone_is_not_located() -> None:
    known = fingerprint(page(*rows("Display", "Sound", "Battery")), "Display")
    located = find(page(*rows("Displays", "Sound", "Battery")), known)

    assert located.node is None


def test_an_element_of_another_page_is_not_located() -> None:
    known = fingerprint(page(button("OK"), title="Rename the note"), "OK")

    assert find(page(button("OK"), title="Delete the note"), known).node is None


def test_an_element_of_a_page_of_the_same_layout_about_something_else_is_not_located() -> None:
    def contact(name: str) -> Hierarchy:
        return page(
            row(text(name), clickable="false"), *map(button, ("Call", "Text", "Mail", "Edit", "Share", "Block"))
        )

    assert find(contact("Bob"), fingerprint(contact("Alice"), "Call")).node is None
    assert find(contact("Alice"), fingerprint(contact("Alice"), "Call")).node is not None


def _contact(name: str, *more: Node) -> Hierarchy:
    """A page with a fixed title, a name, and buttons."""
    buttons = (
        button(label, bounds=f"[0,{300 + 100 * i}][1000,{400 + 100 * i}]") for i, label in enumerate("CDSE")
    )
    name_shown = text(name, bounds="[0,100][1000,200]")
    title = text("Contact", bounds="[0,0][1000,100]")
    return hierarchy(node(title, name_shown, *buttons, *more, class_=LAYOUT, bounds="[0,0][1000,2000]"))


def test_a_button_of_a_page_that_now_shows_another_name_is_not_located() -> None:
    known = fingerprint(_contact("Alice"), "D")
    assert find(_contact("Alice", text("Saved", bounds="[0,900][1000,950]")), known).node is not None
    located = find(_contact("Bob"), known)
    assert located.node is None
    assert [one.text for one in located.alike] == ["D"]


def test_a_button_is_located_when_only_numbers_of_its_page_changed() -> None:
    assert find(_contact("3 of 10"), fingerprint(_contact("12 of 10"), "D")).node is not None


def test_equal_buttons_are_told_apart_by_the_texts_of_their_rows() -> None:
    def names(*labels: str) -> Hierarchy:
        return page(*(row(text(label), button("Delete"), clickable="false") for label in labels))

    bravo = fingerprint(names("Alpha", "Bravo", "Charlie"), "Delete", 1)
    located = find(names("Bravo", "Charlie", "Delta"), bravo)

    assert located.node is not None
    assert located.node.parent is not None
    assert located.node.parent.children[0].text == "Bravo"
    assert find(names("Alpha", "Charlie"), bravo).node is None


def test_equal_elements_are_told_apart_by_their_order_while_nothing_changed() -> None:
    same = page(*rows("Same", "Same", "Same"))
    second = fingerprint(same, "Same", 1)
    located = find(page(*rows("Same", "Same", "Same")), second)

    assert located.node is not None
    assert located.node.bounds.top == 150


def test_equal_elements_are_ambiguous_after_one_of_them_has_gone() -> None:
    second = fingerprint(page(*rows("Same", "Same", "Same")), "Same", 1)
    located = find(page(*rows("Same", "Same")), second)

    assert located.node is None
    assert located.is_ambiguous


def test_of_very_many_equal_elements_none_is_located() -> None:
    for count, is_located in ((MAX_ALIKE, True), (MAX_ALIKE + 1, False)):
        screen = page(*rows(*["Same"] * count))
        for below in screen.nodes:
            below.attributes["bounds"] = "[0,0][1000,2000]"
        located = find(screen, fingerprint(screen, "Same", 3))
        assert (located.node is not None) is is_located


def test_an_element_that_got_a_double_is_ambiguous() -> None:
    known = fingerprint(page(*rows("A", "B", "C")), "B")

    assert find(page(*rows("A", "B", "B", "C")), known).is_ambiguous


class KnownRow(NamedTuple):
    """A row that was seen: its identity, its texts, and the texts of all rows at that time."""

    identity: str
    texts: tuple[str, str]
    looks: list[tuple[str, str]]


class MovingRows(RuleBasedStateMachine):
    """Rows are inserted, removed, moved and changed. A row is located as itself or not at all.

    Every row has an identity that no attribute shows. A label is used again only for a double of a row on the
    screen, and the screen is captured before one of them goes: a row that replaces its double unseen is the same row
    for every observer. So is a row with the texts of another one where each screen has only one such row, and where
    the whole list looks as before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, str]] = []
        self.known: list[tuple[ElementFingerprint, KnownRow]] = []
        self.doubled: set[str] = set()
        self.made = 0

    def screen(self) -> Hierarchy:
        nodes = []
        for one in self.rows:
            switch = node(class_="android.widget.Switch", checkable="true", checked=one["checked"])
            parts = [text(one["label"]), *([text(one["value"])] if one["value"] else []), switch]
            nodes.append(row(*parts))
        made = page(*nodes)
        for shown, one in zip(nodes, self.rows, strict=True):
            shown.source = one["identity"]
        return made

    def looks(self) -> list[tuple[str, str]]:
        return [(one["label"], one["value"]) for one in self.rows]

    def capture(self) -> None:
        made = outline_of(self.screen(), FRAME)
        # A later capture replaces what is known of the rows on it; a label with a double is known only from then on.
        present = {one["identity"] for one in self.rows}
        self.known = [
            known
            for known in self.known
            if known[1].identity not in present and known[0].label not in self.doubled
        ]
        for one, element in zip(fingerprints(made), made.elements, strict=True):
            if isinstance(element.node.source, str):
                self.known.append((one, self.known_row(element.node.source)))

    def known_row(self, identity: str) -> KnownRow:
        row = next(one for one in self.rows if one["identity"] == identity)
        return KnownRow(identity, (row["label"], row["value"]), self.looks())

    def is_same_for_observer(self, known: KnownRow, identity: str) -> bool:
        found = self.known_row(identity)
        is_only_one = known.looks.count(known.texts) == found.looks.count(found.texts) == 1
        return (
            known.identity == identity
            or (is_only_one and known.texts == found.texts)
            or known.looks == found.looks
        )

    def new_row(self, label: str, value: str) -> dict[str, str]:
        self.made += 1
        return {"identity": f"i{self.made}", "label": label, "value": value, "checked": "false"}

    @rule(where=st.integers(0, 9), value=st.sampled_from(("", "On", "Off")))
    def insert(self, where: int, value: str) -> None:
        self.rows.insert(where, self.new_row(f"Row {self.made}", value))

    @precondition(lambda self: self.rows)
    @rule(where=st.integers(0, 9), like=st.integers(0, 9), value=st.sampled_from(("", "On", "Off")))
    def insert_double(self, where: int, like: int, value: str) -> None:
        label = self.rows[like % len(self.rows)]["label"]
        self.doubled.add(label)
        self.rows.insert(where, self.new_row(label, value))

    @precondition(lambda self: self.rows)
    @rule(which=st.integers(0, 9))
    def remove(self, which: int) -> None:
        if self.rows[which % len(self.rows)]["label"] in self.doubled:
            self.capture()
        del self.rows[which % len(self.rows)]

    @precondition(lambda self: self.rows)
    @rule(which=st.integers(0, 9), where=st.integers(0, 9))
    def move(self, which: int, where: int) -> None:
        self.rows.insert(where, self.rows.pop(which % len(self.rows)))

    @precondition(lambda self: self.rows)
    @rule(which=st.integers(0, 9), value=st.sampled_from(("", "On", "Off")))
    def change(self, which: int, value: str) -> None:
        one = self.rows[which % len(self.rows)]
        if one["label"] not in self.doubled:  # the value of a double is what tells it apart
            one.update(value=value, checked="true")

    @rule()
    def look(self) -> None:
        self.capture()

    @invariant()
    def no_other_row_is_located(self) -> None:
        screen = self.screen()
        for fingerprint, known in self.known:
            located = locate(screen, FRAME, fingerprint)
            if located.node is not None:
                assert self.is_same_for_observer(known, str(located.node.source))


TestMovingRows = MovingRows.TestCase
TestMovingRows.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
