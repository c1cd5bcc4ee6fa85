"""The shipped skills on the simulated phone: they succeed, match their recording, and fail under faults."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawperator.phone.apps import settings, solar, video
from clawperator.phone.core.phone import built_in_apps
from clawperator.phone.process.server import PhoneServer
from clawperator.phone.toolkit import views
from clawperator.phone.toolkit.context import AppContext
from clawperator.skills.registry import shipped_registry
from tests.device.phone_servers import running_phone_server
from tests.skills.demonstrations import SETTINGS, SOLAR, VIDEO, demonstrate
from tests.support.running import clawperator

ORCHESTRATED = f"{SOLAR}-orchestrated"
INPUTS = {SOLAR: ["--percent", "25"], ORCHESTRATED: ["25"], SETTINGS: [], VIDEO: ["linkin park"]}
FOUR = ["app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed"]
SHIPPED = Path(shipped_registry()).parent


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PhoneServer]:
    monkeypatch.chdir(tmp_path)
    with running_phone_server() as phone_server:
        yield phone_server


def run(skill_id: str, *more: str) -> Any:
    """Run a shipped skill; its document is saved for compare."""
    ran = clawperator("skills", "run", skill_id, *more, "--", *INPUTS[skill_id])
    assert (ran.code == 0) == ("code" not in ran.json)
    Path("run.json").write_bytes(ran.out)
    return ran.json


def compare(baseline: Path, *more: str) -> Any:
    ran = clawperator("recording", "compare", "--baseline", str(baseline), "--result", "run.json", *more)
    assert (ran.code == 0) == (ran.json["outcome"] in ("literal_match", "semantic_match"))
    return ran.json


def baseline_of(skill_id: str) -> Path:
    return SHIPPED / skill_id / "references" / "compare-baseline.export.json"


def failed_at(document: Any) -> str:
    """The checkpoint at which a run failed, named by both the message and the result."""
    assert document["code"] == "SKILL_EXECUTION_FAILED"
    *passed, last = document["skillResult"]["checkpoints"]
    assert all(point["status"] == "ok" for point in passed)
    assert last["status"] == "failed"
    assert f" at {last['id']}: " in document["message"]
    return str(last["id"])


def test_the_shipped_registry_is_valid() -> None:
    ran = clawperator("skills", "validate", "--all", "--dry-run", "--registry", "shipped")
    assert ran.json["totalSkills"] == len(INPUTS)


@pytest.mark.parametrize("skill_id", sorted(INPUTS))
def test_every_skill_md_begins_with_name_and_description(skill_id: str) -> None:
    first, name, description, end, *_ = (SHIPPED / skill_id / "SKILL.md").read_text().splitlines()
    assert (first, name, end) == ("---", f"name: {skill_id}", "---")
    assert description.startswith("description: ")


def test_the_literal_skill_matches_its_demonstration(phone: PhoneServer) -> None:
    document = run(SOLAR)
    assert document["skillResult"]["terminalVerification"]["observed"]["text"] == "Discharge to 25%"
    assert [point["id"] for point in document["skillResult"]["checkpoints"]] == FOUR
    assert compare(baseline_of(SOLAR))["outcome"] == "literal_match"
    assert phone.phone is not None


@pytest.mark.usefixtures("phone")
def test_the_agent_skill_matches_the_demonstration_semantically() -> None:
    document = run(ORCHESTRATED)
    assert document["skillResult"]["source"] == {"kind": "agent", "agentCli": "solar-agent"}
    assert compare(baseline_of(SOLAR))["outcome"] == "semantic_match"


@pytest.mark.usefixtures("phone")
def test_the_overview_reads_the_values_of_settings() -> None:
    found = run(SETTINGS)["skillResult"]["result"]["value"]
    assert list(found) == ["network", "battery", "freeSpace", "model", "androidVersion", "build"]
    assert (found["network"], found["battery"]) == ("Burrow", "100%")
    assert compare(baseline_of(SETTINGS), "--strategy", "derived")["outcome"] == "literal_match"


@pytest.mark.usefixtures("phone")
def test_the_search_returns_the_titles() -> None:
    result = run(VIDEO)["skillResult"]["result"]["value"]
    assert "Linkin Park - Numb" in result
    assert compare(baseline_of(VIDEO), "--strategy", "derived")["outcome"] == "literal_match"


@pytest.mark.usefixtures("phone")
@pytest.mark.parametrize("skill_id", [SOLAR, SETTINGS, VIDEO])
def test_the_shipped_baselines_match_fresh_demonstrations(skill_id: str, tmp_path: Path) -> None:
    fresh = json.loads(demonstrate(skill_id, tmp_path).read_text())
    shipped = json.loads(baseline_of(skill_id).read_text())

    def user_events(export: Any) -> list[Any]:
        return [
            (event["type"], event.get("text"))
            for event in export["events"]
            if event["type"] in ("click", "text_change")
        ]

    assert user_events(fresh) == user_events(shipped)


@pytest.mark.parametrize("fault", ["dropped_tap", "log_noise"])
def test_tolerable_faults_do_not_fail_the_skill(phone: PhoneServer, fault: str) -> None:
    phone.phone.set_fault(fault, 1)
    run(SOLAR)
    assert compare(baseline_of(SOLAR))["outcome"] == "literal_match"


@pytest.mark.parametrize("skill_id", [SOLAR, SETTINGS, VIDEO])
def test_a_device_without_accessibility_fails_the_first_checkpoint(phone: PhoneServer, skill_id: str) -> None:
    phone.phone.set_fault("accessibility_off", 1)
    document = run(skill_id)
    strategy = [] if skill_id == SOLAR else ["--strategy", "derived"]
    report = compare(baseline_of(skill_id), *strategy)
    assert failed_at(document) == report["baseline"]["checkpointIds"][0]
    assert report["outcome"] == "runtime_unavailable"
    assert report["firstDivergence"]["index"] == 0


def test_missing_content_fails_at_its_checkpoint(phone: PhoneServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solar, "_LOADED_MS", 3_600_000)
    assert phone.phone.foreground()
    assert failed_at(run(SOLAR)) == "app_opened"
    report = compare(baseline_of(SOLAR))
    assert (report["outcome"], report["firstDivergence"]["index"]) == ("upstream_failure", 0)


@pytest.mark.usefixtures("phone")
def test_the_agent_gives_up_before_its_time_is_over_and_states_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solar, "_LOADED_MS", 3_600_000)
    document = run(ORCHESTRATED, "--timeout", "10000")
    assert failed_at(document) == "app_opened"
    note = document["skillResult"]["checkpoints"][-1]["note"]
    assert note.startswith("NAVIGATION_TIMEOUT: app_opened not reached within 5 s; last step: ")
    assert document["skillResult"]["diagnostics"]["hints"]
    assert compare(baseline_of(SOLAR))["outcome"] == "upstream_failure"


@pytest.mark.usefixtures("phone")
def test_the_agent_waits_longer_than_forty_looks_for_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solar, "_LOADED_MS", 40_000)
    assert run(ORCHESTRATED)["status"] == "success"


@pytest.fixture
def rebuilt_apps() -> Iterator[None]:
    """Built-in apps that are built in the test, from what it changed; the next test has the usual ones."""
    built_in_apps.cache_clear()
    yield
    built_in_apps.cache_clear()


@pytest.mark.usefixtures("phone", "rebuilt_apps")
def test_the_agent_saves_a_limit_that_is_already_set(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = msgspec.structs.replace(solar._AUTOMATIONS["peak_export"], limit=25)
    monkeypatch.setitem(solar._AUTOMATIONS, "peak_export", rule)
    with running_phone_server("claw-2"):  # a new phone starts with the new limit
        document = run(ORCHESTRATED, "--device", "claw-2")
    reached = [(point["id"], point["status"]) for point in document["skillResult"]["checkpoints"]]
    assert reached == [("app_opened", "ok"), ("save_completed", "ok")]
    assert document["status"] == "success"


@pytest.mark.usefixtures("phone")
def test_late_content_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solar, "_LOADED_MS", 5_000)
    assert run(SOLAR)["status"] == "success"


@pytest.mark.usefixtures("phone")
def test_a_renamed_automation_fails_at_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = msgspec.structs.replace(solar._AUTOMATIONS["peak_export"], name="Evening Sale")
    monkeypatch.setitem(solar._AUTOMATIONS, "peak_export", rule)
    assert failed_at(run(SOLAR)) == "discharge_to_row_focused"
    assert compare(baseline_of(SOLAR))["firstDivergence"]["baselineCheckpoint"] == "discharge_to_row_focused"


@pytest.mark.usefixtures("phone")
def test_a_value_that_the_app_rejects_fails_before_saving(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solar, "LOWEST", 50)
    assert failed_at(run(SOLAR)) == "save_completed"


@pytest.mark.usefixtures("phone")
def test_a_wrong_saved_value_fails_the_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = solar._saved
    monkeypatch.setattr(solar, "_saved", lambda context, key, limit: saved(context, key, limit + 1))
    document = run(SOLAR)
    assert document["code"] == "SKILL_EXECUTION_FAILED"
    assert document["message"].endswith("failed at its terminal verification")
    assert document["skillResult"]["terminalVerification"]["observed"]["text"] == "Discharge to 26%"
    assert compare(baseline_of(SOLAR))["outcome"] == "verification_failed"


@pytest.mark.usefixtures("phone", "rebuilt_apps")
def test_a_renamed_settings_row_fails_at_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *rest = settings.PAGES["battery"].rows
    renamed = settings.SettingsPage("Battery", (msgspec.structs.replace(first, title="Charge"), *rest))
    monkeypatch.setitem(settings.PAGES, "battery", renamed)
    # Screens keep the pages that they were built from.
    with running_phone_server("claw-2"):
        assert failed_at(run(SETTINGS, "--device", "claw-2")) == "clicked:battery"


def test_an_unexpected_dialog_stops_the_literal_skill_but_not_the_agent(phone: PhoneServer) -> None:
    phone.phone.set_fault("dialog", 1)
    assert failed_at(run(SOLAR)) == "app_opened"
    assert compare(baseline_of(SOLAR))["outcome"] == "upstream_failure"
    assert run(ORCHESTRATED)["status"] == "success"
    assert compare(baseline_of(SOLAR))["outcome"] == "semantic_match"


@pytest.mark.usefixtures("phone")
def test_a_dialog_during_a_step_fails_that_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    toggle = solar._toggle_details

    def interrupted(context: AppContext) -> None:
        toggle(context)
        context.system.show_alert()

    monkeypatch.setattr(solar, "_toggle_details", interrupted)
    assert failed_at(run(SOLAR)) == "discharge_to_row_focused"
    assert compare(baseline_of(SOLAR))["firstDivergence"]["index"] == 1
    assert run(ORCHESTRATED)["status"] == "success"


@pytest.mark.usefixtures("phone")
def test_a_renamed_button_fails_the_search_at_its_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    icon = views.icon

    def renamed(label: str, *more: Any, **most: Any) -> Any:
        return icon("Find" if label == "Search" else label, *more, **most)

    monkeypatch.setattr(video, "icon", renamed)
    assert failed_at(run(VIDEO)) == "clicked:search"
    report = compare(baseline_of(VIDEO), "--strategy", "derived")
    assert report["firstDivergence"]["baselineCheckpoint"] == "clicked:search"
