"""Views of snapshots: ids, outlines, changes, limits, and the same references over time."""

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from clawperator.contract import Plan, ResultEnvelope, StepResult, new_execution, validate
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.references import references_folder
from clawperator.device.run import run_plan
from clawperator.errors import ClawError
from clawperator.ui import Hierarchy, parse_hierarchy, write_hierarchy
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
    return run_plan(plan, DEVICE, package="p", backend=ScreenBackend(*screens)).envelope.stepResults


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
    documented = re.search(r"a median of (\d+)\s+bytes", (REPOSITORY / "docs" / "snapshots.md").read_text("utf-8"))
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
