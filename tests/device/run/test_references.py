"""The references of a phone: numbers that stay with their elements, in a private file."""

import fcntl
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant

from clawperator.device.run import references
from clawperator.device.run.references import MAX_AGE_SECONDS, References, references_folder
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import Outline, outline_of, screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.refs import locate
from tests.support.built_in_screens import built_in_screens
from tests.ui.test_refs import FRAME, KnownRow, MovingRows, button, page, row, rows, text
from tests.ui.trees import hierarchy, node

PHONE = "claw-1"
_FILE = b'{"version":1,"next":5,"regions":[["",""]],"screens":[[[],[]]],"elements":%s,"snapshots":[]}'


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    return Clock()


def numbered(clock: Clock, screen: Hierarchy, snapshot_id: str = "s1", serial: str = PHONE) -> Outline:
    made = outline_of(screen, FRAME)
    References(serial, clock).assign(made, snapshot_id)
    return made


def refs(made: Outline) -> dict[str, str]:
    return {element.label: element.ref for element in made.elements if element.label}


def only_file() -> Path:
    [path] = Path(references_folder()).glob("*.json")
    return path


def test_the_elements_of_a_screen_are_numbered_in_their_order(clock: Clock) -> None:
    assert refs(numbered(clock, page(*rows("A", "B")))) == {"Page": "e1", "A": "e3", "B": "e4"}


def test_an_element_keeps_its_number_when_rows_are_inserted_above(clock: Clock) -> None:
    before = refs(numbered(clock, page(*rows("A", "B"))))
    after = refs(numbered(clock, page(*rows("New", "A", "B"))))

    assert {label: after[label] for label in before} == before
    assert after["New"] == "e5"


def test_an_element_keeps_its_number_when_its_state_and_value_change(clock: Clock) -> None:
    def setting(value: str, checked: str) -> Hierarchy:
        switch = node(class_="android.widget.Switch", checkable="true", checked=checked)
        return page(row(text("Dark theme"), text(value), switch))

    assert refs(numbered(clock, setting("Off", "false"))) == refs(numbered(clock, setting("On", "true")))


def test_an_element_keeps_its_number_when_its_page_was_left_and_came_back(clock: Clock) -> None:
    home = page(*rows("Display", "Sound", "Battery"), title="Settings")
    first = refs(numbered(clock, home))
    numbered(clock, page(*rows("Dark theme", "Font size"), title="Display"))

    assert refs(numbered(clock, home)) == first


def test_elements_of_different_pages_have_different_numbers(clock: Clock) -> None:
    rename = refs(numbered(clock, page(button("OK"), title="Rename")))
    delete = refs(numbered(clock, page(button("OK"), title="Delete")))

    assert rename["OK"] != delete["OK"]


def test_equal_elements_get_new_numbers_when_one_of_them_has_gone(clock: Clock) -> None:
    before = [e.ref for e in numbered(clock, page(*rows("Same", "Same"))).elements]
    after = [e.ref for e in numbered(clock, page(*rows("Same"))).elements]

    assert before[-2:] == ["e3", "e4"]
    assert after[-1] == "e5"
    with pytest.raises(ClawError, match="unknown or too old"):
        References(PHONE, clock).lookup("e3")


def test_an_element_that_got_a_double_loses_its_reference(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B")))
    numbered(clock, page(*rows("A", "B", "B")))

    with pytest.raises(ClawError) as error:
        References(PHONE, clock).lookup("e4")
    assert error.value.code == "REF_STALE"


def test_every_phone_has_numbers_of_its_own(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B")))

    assert refs(numbered(clock, page(*rows("C")), serial="127.0.0.1:5555"))["C"] == "e3"
    assert len(list(Path(references_folder()).glob("*.json"))) == 2


@pytest.mark.parametrize("serial", ["../../x", "a/b", "adb-1 (2)._adb-tls-connect._tcp", "é" * 64, ""])
def test_any_serial_is_a_file_name_inside_the_folder(clock: Clock, serial: str) -> None:
    numbered(clock, page(*rows("A")), serial=serial)

    assert only_file().parent == Path(references_folder())


def test_a_number_is_not_given_again_within_an_hour(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B"), title="One"))
    clock.seconds += MAX_AGE_SECONDS - 1
    numbered(clock, page(*rows("C", "D"), title="Two"))

    clock.seconds += 2
    assert min(int(ref[1:]) for ref in refs(numbered(clock, page(*rows("E"), title="Three"))).values()) > 8


def test_after_an_hour_without_a_snapshot_numbers_start_again(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B"), title="One"))
    clock.seconds += MAX_AGE_SECONDS + 1

    assert refs(numbered(clock, page(*rows("C"), title="Two")))["C"] == "e3"


def test_a_reference_older_than_an_hour_is_stale(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    clock.seconds += MAX_AGE_SECONDS + 1

    with pytest.raises(ClawError) as error:
        References(PHONE, clock).lookup("e3")
    assert error.value.code == "REF_STALE"
    assert error.value.hint == "Run 'clawperator snapshot --view outline' for the references of this screen."


def test_a_reference_is_known_for_an_hour(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    clock.seconds += 3_600
    assert References(PHONE, clock).lookup("e3@s1").label == "A"

    clock.seconds += 1
    with pytest.raises(ClawError, match="unknown or too old"):
        References(PHONE, clock).lookup("e3")
    assert References(PHONE, clock).lines_of("s1") is None


def test_a_reference_from_up_to_a_minute_ahead_is_known(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    clock.seconds -= 60
    assert References(PHONE, clock).lookup("e3@s1").label == "A"

    clock.seconds -= 1
    with pytest.raises(ClawError, match="unknown or too old"):
        References(PHONE, clock).lookup("e3")
    assert References(PHONE, clock).lines_of("s1") is None


def test_after_the_clock_was_set_back_numbers_go_on_and_older_references_are_stale(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B")))
    clock.seconds -= 86_400
    assert refs(numbered(clock, page(*rows("C"))))["C"] == "e7"
    with pytest.raises(ClawError, match="unknown or too old"):
        References(PHONE, clock).lookup("e3")
    assert References(PHONE, clock).lookup("e7").label == "C"


def test_the_elements_that_were_seen_last_are_kept(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MAX_ELEMENTS", 3)
    numbered(clock, page(*rows("A", "B", "C")))
    last = refs(numbered(clock, page(*rows("X"), title="Other")))
    for ref in last.values():
        References(PHONE, clock).lookup(ref)


def test_a_reference_finds_its_element(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B", "C")))
    moved = page(*rows("New", "A", "B", "C"))
    located = locate(moved, FRAME, References(PHONE, clock).lookup("e4"))

    assert located.node is not None
    assert located.node.children[0].text == "B"


def test_a_reference_with_a_snapshot_must_be_in_that_snapshot(clock: Clock) -> None:
    numbered(clock, page(*rows("A"), title="One"), "s1")
    numbered(clock, page(*rows("B"), title="Two"), "s2")
    kept = References(PHONE, clock)

    assert kept.lookup("e3@s1").label == "A"
    for ref, reason in (
        ("e3@s2", "is not in that snapshot"),
        ("e3@s9", "names a snapshot that is unknown or too old"),
        ("e99@s1", "is unknown or too old"),
        ("e0", "is not a reference such as e12"),
        ("x", "is not a reference such as e12"),
    ):
        with pytest.raises(ClawError, match=reason) as error:
            kept.lookup(ref)
        assert error.value.code == "REF_STALE"


def test_a_reference_with_a_snapshot_is_stale_when_its_page_shows_something_else_by_now(clock: Clock) -> None:
    def contact(name: str) -> Hierarchy:
        made = node(text("Contact"), text(name, bounds="[0,100][1000,200]"), *(button(label) for label in "CDSE"))
        return hierarchy(made)

    ref = refs(numbered(clock, contact("Alice"), "s1"))["D"]
    assert refs(numbered(clock, contact("Bob"), "s2"))["D"] == ref
    References(PHONE, clock).lookup(f"{ref}@s2")
    with pytest.raises(ClawError, match="later on a page with other texts"):
        References(PHONE, clock).lookup(f"{ref}@s1")


def test_the_file_is_private(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))

    assert stat.S_IMODE(only_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(only_file().parent.stat().st_mode) == 0o700


def test_no_content_of_a_field_is_written(clock: Clock) -> None:
    typed = node(class_="android.widget.EditText", text="typed-secret", resource_id="a:id/name", clickable="true")
    secret = node(class_="android.widget.EditText", text="hunter2", password="true", clickable="true")
    numbered(clock, page(row(text("Name"), clickable="false"), typed, secret))
    written = only_file().read_text()

    assert "typed-secret" not in written
    assert "hunter2" not in written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b'{"version":1}',
        b"\xff\xfe",
        _FILE % b'[[9,1,"","","","",1,1,0,true,[0,0,0,0],0,0]]',
        _FILE % b'[[1,1,"","","","",1,1,0,true,[0,0,0,0],-1,0]]',
        _FILE % b'[[1,1,"","","","",1,1,0,true,[0,0,0,0],0,9]]',
        _FILE.replace(b'"version":1', b'"version":2') % b"[]",
        _FILE % b'[[5,1,"","","","",1,1,0,true,[0,0,0,0],0,0]]',
        _FILE % b'[[0,1,"","","","",1,1,0,true,[0,0,0,0],0,0]]',
        _FILE % b'[[1,1,"","","","",1,1,0,true,[0,0,0,0],0,-1]]',
        _FILE.replace(b'"next":5', b'"next":1000000000') % b'[[1,1,"","","","",1,1,0,true,[0,0,0,0],0,0]]',
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_ignored_and_replaced(clock: Clock, content: bytes) -> None:
    numbered(clock, page(*rows("A")))
    only_file().write_bytes(content)
    with pytest.raises(ClawError):
        References(PHONE, clock).lookup("e3")
    made = numbered(clock, page(*rows("A")))

    assert all(int(element.ref[1:]) >= 10_000 for element in made.elements)
    assert json.loads(only_file().read_bytes())["version"] == 1


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(clock: Clock, tmp_path: Path) -> None:
    numbered(clock, page(*rows("A")))
    path = only_file()
    other = tmp_path / "other"
    other.write_text("mine")
    path.unlink()
    path.symlink_to(other)
    numbered(clock, page(*rows("A")))

    assert other.read_text() == "mine"
    assert not path.is_symlink()


def test_the_number_of_kept_elements_and_snapshots_is_limited(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "MAX_ELEMENTS", 20)
    for number in range(40):
        numbered(clock, page(*rows("A", "B"), title=f"{'x' * number} page"), f"s{number}")
        clock.seconds += 1
    saved = json.loads(only_file().read_bytes())

    assert len(saved["elements"]) == 20
    assert [one[0] for one in saved["snapshots"]] == [f"s{number}" for number in range(8, 40)]
    assert saved["next"] == 1 + 40 * 4


def test_a_folder_that_cannot_be_written_is_reported(clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")

    with pytest.raises(ClawError) as error:
        numbered(clock, page(*rows("A")))
    assert error.value.code == "PRODUCT_HOME_UNAVAILABLE"
    assert error.value.hint == "Set CLAWPERATOR_HOME to a writable folder."
    assert error.value.operation == "references"


def test_processes_that_number_at_the_same_time_give_no_number_twice(clock: Clock) -> None:
    titles = [f"{'i' * number} page" for number in range(1, 9)]
    found: dict[str, set[str]] = {}

    def number(title: str) -> None:
        found[title] = set(refs(numbered(clock, page(*rows("A", "B"), title=title), title)).values())

    threads = [Thread(target=number, args=(title,)) for title in titles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set.union(*found.values())) == sum(map(len, found.values())) == 3 * len(titles)
    assert os.listdir(references_folder())


def test_on_built_in_screens_the_numbers_are_kept_and_located(clock: Clock) -> None:
    for number, screen in enumerate(built_in_screens()[0][::4]):
        clock.seconds += 1
        tree = parse_hierarchy(screen.xml)
        frame = screen_frame(tree)
        made = outline_of(tree, frame)
        References(PHONE, clock).assign(made, f"s{number}")
        again = outline_of(tree, frame)
        kept = References(PHONE, clock)
        kept.assign(again, f"s{number}")

        assert [e.ref for e in again.elements] == [e.ref for e in made.elements], screen.name
        for element in again.elements[:: max(1, len(again.elements) // 3)]:
            assert locate(tree, frame, kept.lookup(element.ref)).node is element.node, screen.name


class NumberedRows(MovingRows):
    """The same with numbers: a number stays with its row, and finds this row or none."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.mkdtemp()
        self.clock = Clock()
        self.given: dict[str, KnownRow] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    def references(self) -> References:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CLAWPERATOR_HOME", self.home)
            return References(PHONE, self.clock)

    def capture(self) -> None:
        self.clock.seconds += 1
        made = outline_of(self.screen(), FRAME)
        self.references().assign(made, f"s{self.clock.seconds:.0f}")
        for element in made.elements:
            if isinstance(element.node.source, str):
                self.check(element.ref, element.node.source)
                self.given[element.ref] = self.known_row(element.node.source)

    def check(self, ref: str, identity: str) -> None:
        assert ref not in self.given or self.is_same_for_observer(self.given[ref], identity)

    @invariant()
    def no_other_row_is_located(self) -> None:
        screen = self.screen()
        for ref in self.given:
            try:
                known = self.references().lookup(ref)
            except ClawError:
                continue
            located = locate(screen, FRAME, known)
            if located.node is not None:
                self.check(ref, str(located.node.source))


TestNumberedRows = NumberedRows.TestCase
TestNumberedRows.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_a_screen_that_was_seen_a_moment_ago_is_not_written_again(clock: Clock) -> None:
    screen = page(*rows("A", "B"))
    numbered(clock, screen)
    written = References(PHONE).state()
    clock.seconds += 30
    numbered(clock, screen)
    assert References(PHONE).state() == written
    numbered(clock, screen, "s2")
    assert References(PHONE).state() != written


def test_a_screen_that_is_watched_for_hours_keeps_its_numbers(clock: Clock) -> None:
    screen = page(*rows("A", "B"))
    first = refs(numbered(clock, screen))
    for _ in range(3 * MAX_AGE_SECONDS // 30):
        clock.seconds += 30
        assert refs(numbered(clock, screen)) == first
    assert References(PHONE, clock).lookup(f"{first['A']}@s1").label == "A"


def test_a_screen_is_written_again_after_a_minute(clock: Clock) -> None:
    screen = page(*rows("A"))
    numbered(clock, screen)
    written = References(PHONE).state()
    numbered(clock, screen)
    clock.seconds += 60
    numbered(clock, screen)
    assert References(PHONE).state() == written
    clock.seconds += 1
    numbered(clock, screen)
    assert References(PHONE).state() != written


@pytest.mark.parametrize("snapshot_id", [None, "s1"])
@pytest.mark.parametrize("after", [page(*rows("A", "C")), page(*rows("A", "B", "C")), page(*rows("B", "A"))])
def test_a_screen_that_changed_is_written_at_once(clock: Clock, after: Hierarchy, snapshot_id: str | None) -> None:
    made = outline_of(page(*rows("A", "B")), FRAME)
    References(PHONE, clock).assign(made, snapshot_id)
    written = References(PHONE).state()
    References(PHONE, clock).assign(outline_of(after, FRAME), snapshot_id)
    assert References(PHONE).state() != written


def test_an_element_that_is_in_doubt_is_removed_from_the_file_at_once(clock: Clock) -> None:
    References(PHONE, clock).assign(outline_of(page(*rows("Same", "Same")), FRAME))
    References(PHONE, clock).assign(outline_of(page(*rows("Same")), FRAME))

    assert [one[0] for one in json.loads(only_file().read_bytes())["elements"]] == [5, 2, 1]


def test_a_screen_is_written_again_after_the_clock_was_set_back(clock: Clock) -> None:
    screen = page(*rows("A"))
    numbered(clock, screen)
    written = References(PHONE).state()
    clock.seconds -= 1
    numbered(clock, screen)
    assert References(PHONE).state() != written


def test_without_a_snapshot_id_an_equal_screen_is_not_written_again(clock: Clock) -> None:
    screen = page(*rows("A"))
    References(PHONE, clock).assign(outline_of(screen, FRAME))
    written = References(PHONE).state()
    clock.seconds += 1
    References(PHONE, clock).assign(outline_of(screen, FRAME))
    assert References(PHONE).state() == written
    assert json.loads(only_file().read_bytes())["snapshots"] == []


def test_a_value_that_changed_is_written_for_its_snapshot_id(clock: Clock) -> None:
    """The number and the fingerprint of a switch stay; its line in the outline does not."""

    def setting(checked: str) -> Hierarchy:
        return page(
            row(text("Dark theme"), node(class_="android.widget.Switch", checkable="true", checked=checked))
        )

    numbered(clock, setting("false"))
    before = References(PHONE, clock).lines_of("s1")
    numbered(clock, setting("true"))
    assert References(PHONE, clock).lines_of("s1") != before


def test_a_screen_without_elements_is_a_snapshot_without_lines(clock: Clock) -> None:
    numbered(clock, hierarchy())
    assert References(PHONE, clock).lines_of("s1") == []


def test_a_line_of_an_element_that_is_no_longer_kept_is_a_text_without_a_label(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "MAX_ELEMENTS", 2)
    numbered(clock, page(*rows("A")))
    lines = References(PHONE, clock).lines_of("s1")

    assert lines is not None
    assert [(line.ref, line.role, line.label) for line in lines] == [
        ("e1", "text", ""),
        ("e2", "list", ""),
        ("e3", "button", "A"),
    ]


def test_the_newest_of_two_known_elements_gives_the_number(clock: Clock) -> None:
    """A file of two processes may have two numbers for one element."""
    numbered(clock, page(*rows("A")))
    saved = json.loads(only_file().read_bytes())
    saved["next"] = 9
    again = [one[:] for one in saved["elements"] if one[0] == 3]
    again[0][:2] = [8, 1_000_001]
    saved["elements"] += again
    only_file().write_text(json.dumps(saved))
    clock.seconds += 2

    assert refs(numbered(clock, page(*rows("A"))))["A"] == "e8"


def test_known_elements_are_recognised_and_nothing_is_written(clock: Clock) -> None:
    made = outline_of(page(*rows("A")), FRAME)
    References(PHONE, clock).recognise(made)
    assert {element.ref for element in made.elements} == {""}
    assert not Path(references_folder()).exists()

    numbered(clock, page(*rows("A")))
    written = References(PHONE).state()
    made = outline_of(page(*rows("New", "A")), FRAME)
    made.elements[2].ref = "e77"
    clock.seconds += 100
    References(PHONE, clock).recognise(made)
    assert refs(made) == {"Page": "e1", "New": "", "A": "e3"}
    assert References(PHONE).state() == written


def test_references_are_kept_in_a_folder_of_choice(clock: Clock, tmp_path: Path) -> None:
    References(PHONE, clock, folder=str(tmp_path / "mine")).assign(outline_of(page(*rows("A")), FRAME), "s1")

    assert len(list((tmp_path / "mine").glob("*.json"))) == 1
    assert not Path(references_folder()).exists()


def test_the_state_of_a_link_is_not_that_of_its_target(clock: Clock, tmp_path: Path) -> None:
    missing = References(PHONE).state()
    assert len(missing) == 1
    numbered(clock, page(*rows("A")))
    path = only_file()
    written = References(PHONE).state()
    assert written[0] == missing[0] == str(path)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert References(PHONE).state() not in (written, missing)


@pytest.mark.parametrize(("size", "is_read"), [(1024 * 1024, True), (16 * 1024 * 1024, False)])
def test_a_file_that_is_too_large_is_ignored(clock: Clock, size: int, *, is_read: bool) -> None:
    numbered(clock, page(*rows("A")))
    only_file().write_bytes(only_file().read_bytes().ljust(size))

    assert (References(PHONE, clock).lines_of("s1") is not None) == is_read


def test_the_largest_number_of_a_file_is_accepted(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    saved = only_file().read_text()
    only_file().write_text(saved.replace('"next":4', '"next":999999999'))

    assert References(PHONE, clock).lookup("e3").label == "A"
    assert refs(numbered(clock, page(*rows("A", "B"))))["B"] == "e999999999"


@pytest.mark.parametrize(("drawn", "first"), [(0, "e10000"), (79_999, "e89999"), (80_000, "e10000")])
def test_after_an_unreadable_file_numbers_start_at_a_random_one_of_five_digits(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, drawn: int, first: str
) -> None:
    numbered(clock, page(*rows("A")))
    only_file().write_bytes(b"{")
    monkeypatch.setattr(os, "urandom", drawn.to_bytes)

    assert refs(numbered(clock, page(*rows("A"))))["Page"] == first


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_something_else_in_place_of_the_file_is_ignored(clock: Clock, make: Callable[[Path], None]) -> None:
    numbered(clock, page(*rows("A")))
    path = only_file()
    path.unlink()
    make(path)
    with pytest.raises(ClawError, match="unknown or too old"):
        References(PHONE, clock).lookup("e3")


def test_a_pipe_in_place_of_the_file_is_replaced(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    path = only_file()
    path.unlink()
    os.mkfifo(path)
    numbered(clock, page(*rows("A")))
    assert path.is_file()


class LockedClock:
    """Replaces ``time`` of the machine: a sleep takes no time, and after some of them the lock is free."""

    def __init__(self, path: str, sleeps: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.slept = 0
        self._sleeps = sleeps
        self._descriptor: int | None = os.open(path, os.O_RDWR)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += 1
        if self.slept == self._sleeps:
            self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


@pytest.mark.parametrize("sleeps", [1, 50, None])
def test_the_lock_of_another_process_is_awaited_for_a_short_time(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, sleeps: int | None
) -> None:
    numbered(clock, page(*rows("A")))
    locked = LockedClock(f"{only_file()}.lock", sleeps, monkeypatch)
    try:
        assert refs(numbered(clock, page(*rows("A", "B"))))["B"] == "e4"
    finally:
        locked.close()
    assert 0 < locked.now < 10


def test_the_lock_file_is_private_and_is_free_afterwards(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    path = f"{only_file()}.lock"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(("count", "is_kept"), [(1, True), (2, True), (100, True), (101, False)])
def test_an_element_of_another_page_is_kept_unless_very_many_are_like_it(
    clock: Clock, count: int, *, is_kept: bool
) -> None:
    """Of more than 100 elements that are alike, none is compared with those that are known."""
    ref = refs(numbered(clock, page(*rows("Same", "A", "B", "C", "D"), title="One")))["Same"]
    other = page(*rows("V", "W", "X", "Y", *["Same"] * count), title="Two")
    for number, shown in enumerate(other.roots[0].children[1].children):
        for below in shown.walk():  # all of them fit on the screen
            below.attributes["bounds"] = f"[0,{100 + 15 * number}][1000,{115 + 15 * number}]"
    assert len(numbered(clock, other).elements) == count + 6
    assert is_known(clock, ref) == is_kept


def is_known(clock: Clock, ref: str) -> bool:
    try:
        References(PHONE, clock).lookup(ref)
    except ClawError:
        return False
    return True


def appointments(*days: str) -> Hierarchy:
    """Rows of the same label with another text each."""
    return page(*(row(text("Anna"), text(day)) for day in days), *rows("B", "C", "D", "E"))


def test_an_element_that_its_texts_tell_apart_is_kept_while_it_is_scrolled_away(clock: Clock) -> None:
    """No other element has its texts, so none can be taken for it."""
    before = [one.ref for one in numbered(clock, appointments("Monday", "Tuesday")).elements]
    numbered(clock, appointments("Tuesday"))
    assert is_known(clock, before[2])
    assert numbered(clock, appointments("Monday", "Tuesday")).elements[2].ref == before[2]


def test_an_element_that_was_alone_is_forgotten_when_others_are_in_its_place(clock: Clock) -> None:
    """It may be one of them with another text."""
    ref = refs(numbered(clock, appointments("Monday")))["Anna"]
    numbered(clock, appointments("Tuesday", "Wednesday"))
    assert not is_known(clock, ref)


def test_a_screen_of_one_element_is_numbered(clock: Clock) -> None:
    only = hierarchy(text("Alone", bounds="[0,0][1000,2000]"))
    assert refs(numbered(clock, only)) == {"Alone": "e1"}
    assert References(PHONE, clock).lookup("e1@s1").label == "Alone"


def test_after_exactly_an_hour_numbers_go_on(clock: Clock) -> None:
    numbered(clock, page(*rows("A", "B"), title="One"))
    clock.seconds += 3_600
    assert refs(numbered(clock, page(*rows("C"), title="Two")))["Two"] == "e5"


def test_a_write_that_fails_leaves_the_file_as_it_was(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    numbered(clock, page(*rows("A")))
    before = only_file().read_bytes()
    monkeypatch.setattr(references, "AtomicFile", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(ClawError, match="cannot keep references in "):
        numbered(clock, page(*rows("B")))
    assert only_file().read_bytes() == before


def test_a_file_has_up_to_2000_elements(clock: Clock) -> None:
    numbered(clock, page(*rows("A")))
    saved = json.loads(only_file().read_bytes())
    pattern = saved["elements"][0]
    saved["elements"] = [[number, *pattern[1:2], f"key {number}", *pattern[3:]] for number in range(1, 2_001)]
    saved["next"] = 2_001
    only_file().write_text(json.dumps(saved))
    clock.seconds += 1
    numbered(clock, page(*rows("B"), title="Other"))

    kept = [one[0] for one in json.loads(only_file().read_bytes())["elements"]]
    assert kept == [2_003, 2_002, 2_001, *range(2_000, 3, -1)]
