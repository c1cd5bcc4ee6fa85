"""Views of snapshots: ids, outlines, changes, limits, and the same references over time."""

import json
import re
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from clawperator.contract.execution import Plan, new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run.references import References, references_folder
from clawperator.device.run.run import run_plan
from clawperator.device.screen import snapshot_views
from clawperator.device.screen.snapshot_views import numbered_outline, outline_changes, with_views
from clawperator.errors import ClawError
from clawperator.policy.gate import approve
from clawperator.ui.node import Hierarchy
from clawperator.ui.outline import EarlierLine, earlier_lines, outline_of, render_outline, screen_frame
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.write import write_hierarchy
from tests.support.built_in_screens import BuiltInTap, built_in_screens
from tests.support.paths import REPOSITORY
from tests.ui.test_refs import page, row, rows, text
from tests.ui.trees import node

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
MAX_CHANGE_BYTES = 300


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))


class ScreenBackend:
    """Answers each snapshot with the next of these screens."""

    def __init__(self, *screens: str) -> None:
        self._screens = list(screens)

    def run(self, plan: Plan) -> ResultEnvelope:
        steps = [
            StepResult(
                action.id, action.type, True, {"actual_format": "hierarchy_xml", "text": self._screens.pop(0)}
            )
            for action in plan.execution.actions
        ]
        return ResultEnvelope(plan.execution.commandId, plan.execution.taskId, "success", steps, None)


def xml(screen: Hierarchy) -> str:
    return write_hierarchy(screen).rstrip("\n")


def snapshots(*screens: str, params: list[dict[str, Any]]) -> list[StepResult]:
    """One plan with a snapshot for each screen."""
    actions = [{"type": "snapshot_ui", "params": one} for one in params]
    plan = validate(new_execution(actions, command_id="c", source="test", timeout_ms=5_000))
    return run_plan(approve(plan), DEVICE, package="p", backend=ScreenBackend(*screens)).envelope.stepResults


def snapshot(screen: str, **params: Any) -> dict[str, str]:
    (step,) = snapshots(screen, params=[params])
    return step.data


A_PAGE = xml(page(*rows("A", "B", "C")))


def test_without_a_view_the_data_are_the_xml_and_an_id() -> None:
    data = snapshot(A_PAGE)

    assert data == {"actual_format": "hierarchy_xml", "text": A_PAGE, "snapshot_id": data["snapshot_id"]}


def test_without_a_view_nothing_is_stored() -> None:
    snapshot(A_PAGE)

    assert not Path(references_folder()).exists()


def test_the_same_screen_has_the_same_id_in_every_view() -> None:
    first, second = snapshot(A_PAGE), snapshot(A_PAGE, view="outline")

    assert first["snapshot_id"] == second["snapshot_id"]
    assert snapshot(xml(page(*rows("A"))))["snapshot_id"] != first["snapshot_id"]


def test_the_outline_replaces_the_xml() -> None:
    data = snapshot(A_PAGE, view="outline")

    assert data["actual_format"] == "outline"
    assert data["text"].splitlines() == [
        'e1 "Page"',
        "e2 list .RecyclerView scrollable",
        ' e3 button "A"',
        ' e4 button "B"',
        ' e5 button "C"',
    ]


def test_the_json_view_has_objects() -> None:
    data = snapshot(A_PAGE, view="json")

    assert data["actual_format"] == "json"
    assert [one["ref"] for one in json.loads(data["text"])["elements"]] == ["e1", "e2", "e3", "e4", "e5"]


def test_a_limit_means_the_outline() -> None:
    data = snapshot(xml(page(*rows(*map(str, range(20))))), maxTokens=30)

    assert data["actual_format"] == "outline"
    assert data["text"].splitlines()[-1].startswith("! ")
    assert len(data["text"].encode()) <= 120


def test_since_shows_added_changed_and_removed_lines() -> None:
    def setting(checked: str) -> Any:
        return row(text("Dark theme"), node(class_="android.widget.Switch", checkable="true", checked=checked))

    before = snapshot(xml(page(*rows("A", "B"), setting("false"))), view="outline")
    after = snapshot(xml(page(*rows("New", "A"), setting("true"))), since=before["snapshot_id"])

    assert after["actual_format"] == "outline_changes"
    assert after["text"].splitlines() == ['+ e6 button "New"', '~ e5 switch "Dark theme" on', '-e4 button "B"']


def test_since_an_equal_screen_is_a_notice() -> None:
    before = snapshot(A_PAGE, view="outline")["snapshot_id"]

    assert snapshot(A_PAGE, since=before)["text"] == f"! no change since {before}"


def test_another_order_is_a_notice() -> None:
    before = snapshot(A_PAGE, view="outline")["snapshot_id"]
    after = snapshot(xml(page(*rows("C", "A", "B"))), since=before)

    assert after["text"] == "! the order of the lines has changed"


def test_since_an_unknown_snapshot_is_the_whole_outline_with_a_notice() -> None:
    data = snapshot(A_PAGE, since="s00000000")

    assert data["actual_format"] == "outline"
    assert data["text"].splitlines()[-1] == (
        "! snapshot s00000000 is unknown or too old; this is the whole outline"
    )


def test_since_another_page_is_the_whole_outline_with_a_notice() -> None:
    before = snapshot(A_PAGE, view="outline")["snapshot_id"]
    after = snapshot(xml(page(*rows("X", "Y", "Z"), title="Other")), since=before)

    assert after["actual_format"] == "outline"
    assert (
        after["text"].splitlines()[-1] == f"! snapshot {before} differs in most lines; this is the whole outline"
    )


def test_every_snapshot_of_a_plan_has_its_own_view() -> None:
    first, second, third = snapshots(A_PAGE, A_PAGE, A_PAGE, params=[{}, {"view": "outline"}, {"view": "json"}])

    formats = [step.data["actual_format"] for step in (first, second, third)]
    assert formats == ["hierarchy_xml", "outline", "json"]


def test_a_hierarchy_that_is_not_well_formed_fails_its_step() -> None:
    (step,) = snapshots("<hierarchy", params=[{"view": "outline"}])

    assert not step.success
    assert step.data["error"] == "HIERARCHY_INVALID"
    assert step.data["text"] == "<hierarchy"
    assert step.data["message"]


def test_without_a_place_for_references_there_are_none_and_a_notice(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "references").write_text("a file")
    lines = snapshot(A_PAGE, view="outline")["text"].splitlines()

    assert lines[0] == '"Page"'
    assert lines[-1].startswith("! no references: ")


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"view": "html"}, "view"),
        ({"view": "xml", "maxTokens": 5}, "maxTokens"),
        ({"view": "xml", "since": "s1"}, "since"),
        ({"view": "json", "since": "s1"}, "since"),
        ({"since": "../x"}, "since"),
        ({"maxTokens": 0}, "maxTokens"),
        ({"settle": "yes"}, "settle"),
    ],
)
def test_params_that_make_no_sense_are_refused(params: dict[str, Any], path: str) -> None:
    with pytest.raises(ClawError) as error:
        snapshot(A_PAGE, **params)

    assert error.value.details is not None
    assert error.value.details["path"] == f"actions.0.params.{path}"


def stays_on_its_page(tap: BuiltInTap) -> bool:
    """Whether the page still has its title after a tap that changed something."""

    def title(screen: str) -> str:
        labelled = (one.label for one in parse_hierarchy(screen).nodes if one.label and not one.flag("clickable"))
        return next(labelled, "")

    return tap.before != tap.after and title(tap.before) == title(tap.after)


def test_the_change_after_a_tap_on_the_same_page_is_small() -> None:
    sizes = []
    for tap in filter(stays_on_its_page, built_in_screens()[1]):
        before = snapshot(tap.before, view="outline")
        sizes.append(len(snapshot(tap.after, since=before["snapshot_id"])["text"].encode()))

    assert len(sizes) > 100
    assert median(sizes) <= MAX_CHANGE_BYTES
    documented = re.search(
        r"a median of (\d+)\s+bytes", (REPOSITORY / "docs" / "guides" / "snapshots.md").read_text("utf-8")
    )
    assert documented is not None
    assert median(sizes) == pytest.approx(int(documented[1]), abs=15)


def test_the_same_screen_again_is_the_same_view() -> None:
    screen = xml(page(*rows("A", "B")))
    first = snapshot(screen, view="outline")
    assert snapshot(screen, view="outline") == first
    since = {"view": "outline", "since": first["snapshot_id"]}
    assert snapshot(screen, **since)["text"].count("no change since") == 1
    assert snapshot(screen, view="outline") == first


def test_references_that_another_process_has_lost_are_numbered_anew() -> None:
    screen = xml(page(*rows("A", "B")))
    first = snapshot(screen, view="outline")
    [path] = Path(references_folder()).glob("*.json")
    path.unlink()
    assert snapshot(screen, view="outline") == first
    assert path.exists()


@pytest.mark.parametrize(
    ("success", "data"), [(False, {"text": A_PAGE}), (False, {"error": "X"}), (True, {"path": "x.xml"})]
)
def test_a_step_that_has_no_snapshot_stays_as_it_is(data: dict[str, str], *, success: bool) -> None:
    action = {"id": "a1", "type": "snapshot_ui", "params": {"view": "outline"}}
    plan = validate(new_execution([action], command_id="c", source="test", timeout_ms=5_000))
    step = StepResult("a1", "snapshot_ui", success, data)
    assert with_views(plan, [step], References("claw-1")) == [step]


def test_a_step_that_the_plan_does_not_have_stays_as_it_is() -> None:
    plan = validate(new_execution([{"type": "snapshot_ui"}], command_id="c", source="test", timeout_ms=5_000))
    step = StepResult("other", "snapshot_ui", True, {"text": A_PAGE})
    assert with_views(plan, [step], References("claw-1")) == [step]


def test_a_limit_holds_for_objects_and_for_changes() -> None:
    many = xml(page(*rows(*map(str, range(20)))))
    objects = json.loads(snapshot(many, view="json", maxTokens=100)["text"])
    assert 0 < len(objects["elements"]) < 20

    before = snapshot(xml(page(*rows(*map(str, range(12))))), view="outline")["snapshot_id"]
    whole = snapshot(many, since=before)
    cut = snapshot(many, since=before, maxTokens=25)
    assert (whole["actual_format"], cut["actual_format"]) == ("outline_changes", "outline_changes")
    assert len(cut["text"]) <= 100 < len(whole["text"])


@pytest.mark.parametrize("longer", [0, 1])
def test_changes_that_are_longer_than_the_outline_are_not_shown(longer: int) -> None:
    """The removed line makes up for the lines that stay."""
    made = outline_of(parse_hierarchy(A_PAGE), screen_frame(parse_hierarchy(A_PAGE)))
    for number, element in enumerate(made.elements, 1):
        element.ref = f"e{number}"
    label = "x" * (len(render_outline(made)) - len('-e9 ""') + longer)
    earlier = [*earlier_lines(made), EarlierLine("e9", 0, "text", label)]
    changes = outline_changes(made, earlier, "s1")
    assert changes == (None if longer else [f'-e9 "{label}"'])
    assert made.notices == []


class Parsed:
    """Counts the screens that were parsed, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.now = 1_000.0
        monkeypatch.setattr(snapshot_views, "parse_hierarchy", self.parse)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def parse(self, text: str) -> Hierarchy:
        self.count += 1
        return parse_hierarchy(text)

    def needed(self, screen: str = A_PAGE, serial: str = "claw-1", **data: str) -> bool:
        """Whether this look at a device parses its screen."""
        before = self.count
        made = numbered_outline({"text": screen, "snapshot_id": "s1", **data}, References(serial))
        assert all(element.ref for element in made.elements)
        return self.count > before


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Parsed:
    snapshot_views._shown.clear()
    return Parsed(monkeypatch)


def test_an_equal_screen_is_not_parsed_again_for_a_minute(parsed: Parsed) -> None:
    assert parsed.needed()
    assert not parsed.needed()
    parsed.now += 59.5
    assert not parsed.needed()
    parsed.now += 0.5
    assert parsed.needed()


def test_another_screen_overlay_or_device_is_parsed(parsed: Parsed) -> None:
    assert parsed.needed()
    assert parsed.needed(overlay_package="com.bubble")
    assert not parsed.needed(overlay_package="com.bubble")
    assert parsed.needed()
    assert parsed.needed(xml(page(*rows("A", "B"))))
    assert parsed.needed()
    assert parsed.needed(serial="claw-2")
    assert not parsed.needed()


def test_references_that_another_process_changed_are_read_again(parsed: Parsed) -> None:
    assert parsed.needed()
    References("claw-1").assign(outline_of(page(*rows("X"), title="Other"), screen_frame(page())), "s2")
    assert parsed.needed()


def test_the_last_screens_of_up_to_32_devices_are_kept(parsed: Parsed) -> None:
    assert all(parsed.needed(serial=f"claw-{number}") for number in range(32))
    assert not parsed.needed(serial="claw-0")
    assert parsed.needed(serial="claw-32")
    assert parsed.needed(serial="claw-0")
    assert not parsed.needed(serial="claw-32")


def test_a_screen_without_references_is_parsed_again(parsed: Parsed, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "references").write_text("a file")
    for _ in range(2):
        made = numbered_outline({"text": A_PAGE, "snapshot_id": "s1"}, References("claw-1"))
        assert [notice.partition(":")[0] for notice in made.notices] == ["no references"]
    assert parsed.count == 2


def test_notices_of_one_view_are_not_in_the_next(parsed: Parsed) -> None:
    for _ in range(3):
        made = numbered_outline({"text": A_PAGE, "snapshot_id": "s1"}, References("claw-1"))
        assert made.notices == []
        made.notices.append("only here")
    assert parsed.count == 1
