"""Reports of recordings and exports: steps, events, screens, marks, changes, comparison."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from clawperator.errors import ClawError
from clawperator.recording.export import export_recording
from clawperator.report import builder as builder_module
from clawperator.report.write import write_report
from clawperator.testing import simulated_phone
from tests.recording.samples import HEADER, back, click, scroll, typed, window, write
from tests.report.samples import CART, MENU, SHOP, node, password, report_of, screen, shopping, written
from tests.support.secret_search import find_secret


def test_each_user_action_has_its_screen_and_the_touched_element(tmp_path: Path) -> None:
    report = report_of(tmp_path, shopping())
    assert report.lists == ["Steps", "Events"]
    opened, cart, shown, text = report.rows("Steps")
    assert [row.title for row in (opened, cart, shown, text)] == [
        f"Open {SHOP}",
        'Click "Cart"',
        'The screen "Cart" appears',
        'Type "two bags" into a field',
    ]
    assert (cart.mark, report.labels(cart.before), report.labels(cart.after)) == (
        [0, 400, 1080, 500],
        ["Shop", "Cart"],
        ["Cart", "2 items", "Note"],
    )
    assert (shown.before, shown.after) == (cart.before, cart.after)
    assert text.facts["Text entered"] == "two bags"
    assert text.mark == [0, 600, 1080, 700], "the focused field"
    assert [row.time for row in report.rows("Events")] == [0, 1, 2, 3, 4]


def test_a_step_leads_to_its_events(tmp_path: Path) -> None:
    report = report_of(tmp_path, shopping())
    events = report.rows("Events")
    assert [events[row.link].facts["Event"] for row in report.rows("Steps")] == [
        "window_change, seq 0",
        "click, seq 1",
        "window_change, seq 2",
        "text_change, seq 3",
    ]


def test_equal_screens_are_stored_once(tmp_path: Path) -> None:
    report = report_of(tmp_path, [window(seq, snapshot=MENU if seq % 2 else CART) for seq in range(20)])
    assert len(report.data["screens"]) == 2
    assert report.result.screenCount == 2


def test_screens_that_are_drawn_alike_are_stored_once(tmp_path: Path) -> None:
    trees = [screen(node("Shop", content_desc="", **{"nav-index": str(i)})) for i in range(3)]
    report = report_of(tmp_path, [window(i, snapshot=tree) for i, tree in enumerate(trees)])
    assert len(report.data["screens"]) == 1


def test_a_dialog_is_drawn_on_the_whole_display(tmp_path: Path) -> None:
    dialog = screen(node("Sure?", "[200,900][800,1000]"), bounds="[100,800][980,1600]")
    report = report_of(tmp_path, [window(0, snapshot=dialog), window(1, snapshot=MENU)])
    assert [one[:2] for one in report.data["screens"]] == [[1080, 2400], [1080, 2400]]


def test_keys_scrolls_and_packages_are_rows(tmp_path: Path) -> None:
    events = [window(0, SHOP, snapshot=MENU), scroll(1, SHOP), back(2), window(3, "com.example.other")]
    report = report_of(tmp_path, events)
    assert [row.kind for row in report.rows("Steps")] == ["open_app", "scroll", "back", "open_app"]
    assert [row.package for row in report.rows("Events")] == [SHOP, SHOP, "", "com.example.other"]


def test_missing_events_are_reported(tmp_path: Path) -> None:
    assert report_of(tmp_path, [window(0), window(3)]).data["warnings"][0] == "2 events are missing: seq 1-2"


def test_events_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    report = report_of(tmp_path, [window(1, snapshot=CART), window(0, snapshot=MENU)])
    assert [report.labels(row.after)[0] for row in report.rows("Events")] == ["Shop", "Cart"]


def test_an_empty_recording_has_a_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, [])
    assert (report.lists, report.result.rowCount) == ([], 0)
    assert report.result.warnings == ["The recording has no snapshots, so there are no screens to show."]


def test_an_export_without_snapshots_points_to_the_recording(tmp_path: Path) -> None:
    source = write(tmp_path / "demo.ndjson", shopping())
    for mode, count in (("omit", 0), ("include", 2)):
        out = str(tmp_path / f"{mode}.json")
        export_recording(str(source), out, snapshots=mode)  # type: ignore[arg-type]
        result = write_report(out)
        assert result.screenCount == count
        assert result.outputFile == f"{out}.report.html"
        assert bool(result.warnings) == (mode == "omit")
    assert "Report the recording itself" in json.dumps(write_report(str(tmp_path / "omit.json")).warnings)


def test_a_recording_of_the_simulated_phone(tmp_path: Path) -> None:
    with simulated_phone() as phone:
        with phone.recording("settings") as recording:
            phone.person.tap("Settings")
            phone.person.tap("Display")
            phone.person.tap("Dark theme")
        report = written(recording.pull(tmp_path))
    *_, last = report.rows("Steps")
    assert last.title == 'Click "Dark theme"'
    assert last.mark is not None
    assert {"Display", "Dark theme", "Font size"} <= set(report.labels(last.before))
    assert ("Dark theme", "text") in report.nodes(last.before)
    assert ("", "switch") in report.nodes(last.before)


def test_long_lists_are_cut_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.report.recordings.MAX_ROWS", 3)
    report = report_of(tmp_path, [click(seq) for seq in range(5)])
    assert len(report.rows("Events")) == 3
    assert "Only the first 3 of 5 events are shown." in report.data["warnings"]
    assert builder_module.MAX_ROWS > 10_000


def test_numbers_at_the_edge_are_shown(tmp_path: Path) -> None:
    edges = {"left": -(2**63), "top": -5, "right": 2**63 - 1, "bottom": 9.2e18}
    events = [click(0, ts=-(2**63), bounds=edges), click(1, ts=2**63 - 1)]
    header = {**HEADER, "startedAt": 2**63 - 1}
    report = written(str(write(tmp_path / "demo.ndjson", events, header)))
    assert report.rows("Events")[0].mark == [0, 0, 100_000, 100_000]


# Passwords


SECRET = "hunter2-Zq"


def test_what_is_typed_into_a_password_field_is_not_in_the_report(tmp_path: Path) -> None:
    login = screen(node("Sign in"), password("Password", focused="true"))
    filled = screen(node("Sign in"), password(SECRET, focused="true"))
    revealed = screen(node(SECRET, class_="android.widget.EditText", resource_id="a:id/secret"))
    field = {"resourceId": "a:id/secret", "bounds": {"left": 0, "top": 200, "right": 1080, "bottom": 300}}
    events = [
        click(0, "Password", SHOP, snapshot=login, **field),
        typed(1, SECRET[:5], SHOP),
        typed(2, SECRET, SHOP),
        click(3, SECRET, SHOP, snapshot=filled, **field),
        click(4, SECRET, SHOP, snapshot=revealed, **field),
    ]
    report = report_of(tmp_path, events)
    assert find_secret(SECRET, outputs={"report": report.html}) == []
    assert SECRET[:5] not in report.html
    assert "•" in report.html


def test_a_password_that_looks_like_a_word_is_not_in_the_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, [window(0, snapshot=screen(password("Tuesday")))])
    assert "Tuesday" not in report.html


def test_declared_secrets_are_not_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "clawperator.toml").write_text('secrets = ["SHOP_PIN"]\n')
    monkeypatch.setenv("CLAWPERATOR_HOME", str(home))
    monkeypatch.setenv("SHOP_PIN", SECRET)
    events = [click(0, f"PIN {SECRET}", SHOP, snapshot=screen(node(f"PIN is {SECRET}!")))]
    report = report_of(tmp_path, events)
    assert find_secret(SECRET, outputs={"report": report.html}) == []
    assert report.labels(0) == ["PIN is ••••!"]


def test_the_work_is_linear_in_the_events(tmp_path: Path) -> None:
    """Ten times the events take about ten times the CPU time; when each step read on to the end, it was 30 times."""

    def without_screens(count: int) -> Path:
        events = (click(i, f"Item {i}", SHOP) if i % 2 else typed(i, f"word {i}", SHOP) for i in range(count))
        return write(tmp_path / f"{count}.ndjson", events)

    def cpu_seconds(path: Path) -> float:
        start = time.process_time()
        written(path)
        return time.process_time() - start

    few, many = without_screens(2_000), without_screens(20_000)
    times = [(cpu_seconds(few), cpu_seconds(many)) for _ in range(3)]
    assert min(long for _, long in times) < 18 * min(short for short, _ in times)


# Comparison


def run_file(folder: Path, ids: list[str], **more: Any) -> Path:
    result = {
        "contractVersion": "1.0.0",
        "skillId": "shop.cart",
        "status": "success",
        "checkpoints": [{"id": name, "status": "ok"} for name in ids],
        "source": {"kind": "script"},
        "terminalVerification": {"status": "verified"},
        **more,
    }
    path = folder / "run.json"
    path.write_text(json.dumps({"skillResult": result}))
    return path


PATH = [f"opened:{SHOP}", "clicked:cart", "typed:text"]


def test_a_run_that_did_the_same_is_matched_step_by_step(tmp_path: Path) -> None:
    report = report_of(tmp_path, shopping(), run=run_file(tmp_path, PATH))
    assert report.result.outcome == "literal_match"
    assert report.lists == ["Comparison", "Steps", "Events"]
    rows = report.rows("Comparison")
    assert [(row.facts["Checkpoint"], row.status, row.tone) for row in rows] == [
        (name, "matched", "good") for name in PATH
    ]
    assert [row.title for row in rows] == [
        f"Opened {SHOP}",
        "Clicked 'Cart'",
        "Typed 'two bags' into a field",
    ]
    assert report.data["verdict"]["text"] == "The skill run did what was recorded: 3 of 3 steps."
    assert rows[1].mark == [0, 400, 1080, 500], "the screen of the recorded step"
    assert report.rows("Steps")[rows[1].link].title == 'Click "Cart"'


def test_the_first_divergence_is_marked_and_shown_first(tmp_path: Path) -> None:
    report = report_of(tmp_path, shopping(), run=run_file(tmp_path, [PATH[0], "opened:browser", PATH[2]]))
    assert report.result.outcome == "baseline_drift"
    assert report.data["verdict"]["tone"] == "bad"
    rows = report.rows("Comparison")
    assert [(row.title, row.status) for row in rows] == [
        (f"Opened {SHOP}", "matched"),
        ("Clicked 'Cart'", "missing"),
        ("Opened browser", "extra"),
        ("Typed 'two bags' into a field", "matched"),
    ]
    assert [row.title for row in rows if "First divergence" in row.facts] == ["Clicked 'Cart'"]
    assert rows[1].note == "expected as step 2, not reached · first divergence"
    assert report.data["verdict"]["text"] == "The skill run did not reach step 2: Clicked 'Cart'."
    assert rows[2].note == "not in the recording"
    assert report.data["selected"] == [0, 1]


def test_a_recording_can_be_compared_with_a_recording_and_with_an_export(tmp_path: Path) -> None:
    other = write(tmp_path / "other.ndjson", shopping())
    assert report_of(tmp_path, shopping(), run=other).result.outcome == "literal_match"
    export_recording(str(other), str(tmp_path / "other.json"))
    assert report_of(tmp_path, shopping(), run=tmp_path / "other.json").result.outcome == "literal_match"


def test_what_only_a_recorded_run_did_has_the_screen_of_the_run(tmp_path: Path) -> None:
    extra = screen(node("Help", "[0,700][1080,800]", clickable="true"), node("Cart", "[0,400][1080,500]"))
    bounds = {"left": 0, "top": 700, "right": 1080, "bottom": 800}
    begin, *rest = shopping()
    later = [{**event, "seq": event["seq"] + 1, "ts": event["ts"] + 1} for event in rest]
    other = write(
        tmp_path / "other.ndjson", [begin, click(1, "Help", SHOP, bounds=bounds, snapshot=extra), *later]
    )
    report = report_of(tmp_path, shopping(), run=other)
    rows = {row.title: row for row in report.rows("Comparison")}
    helped, cart = rows["Clicked 'Help'"], rows["Clicked 'Cart'"]
    assert helped.status == "extra"
    assert (helped.facts["Screen"], helped.mark) == ("of the run", [0, 700, 1080, 800])
    assert report.labels(helped.before) == ["Help", "Cart"]
    assert "Screen" not in cart.facts
    assert report.labels(cart.before) == ["Shop", "Cart"]
    assert dict(report.data["facts"])["Screens"] == "2"


def test_another_text_is_a_row_that_differs_with_both_screens(tmp_path: Path) -> None:
    def cart(text: str) -> str:
        return screen(node("Cart"), node(text, "[0,600][1080,700]", resource_id="a:id/note"))

    def noted(text: str) -> list[dict[str, Any]]:
        return [*shopping()[:3], typed(3, text, SHOP), click(4, "Save", SHOP, snapshot=cart(text))]

    other = write(tmp_path / "other.ndjson", noted("three"))
    report = report_of(tmp_path, noted("two"), run=other)
    (row,) = [row for row in report.rows("Comparison") if row.tone == "bad"]
    assert (row.status, row.note) == ("other text", "expected 'two', found 'three' · first divergence")
    assert (row.facts["Expected"], row.facts["Found"]) == ("two", "three")
    assert row.compares
    assert (report.labels(row.before), report.labels(row.after)) == (["Cart", "two"], ["Cart", "three"])
    verdict = report.data["verdict"]
    assert verdict["text"] == "The other recording entered another text at step 3: expected 'two', found 'three'."
    assert (verdict["tone"], verdict["word"]) == ("bad", "differs")


def test_a_recording_that_ends_elsewhere_has_a_row_with_both_last_screens(tmp_path: Path) -> None:
    end = screen(node("No network"))
    other = write(
        tmp_path / "other.ndjson",
        [*shopping(), window(5, SHOP, title="Error", className="com.example.Error", snapshot=end)],
    )
    report = report_of(tmp_path, shopping(), run=other)
    last = report.rows("Comparison")[-1]
    assert (last.title, last.tone) == ("The other recording did not end in the expected state", "bad")
    assert "com.example.Error" in last.note
    assert (report.labels(last.before), report.labels(last.after)) == (["Cart", "2 items", "Note"], ["No network"])


def test_a_missing_step_is_shown_beside_the_screen_where_the_run_was(tmp_path: Path) -> None:
    other = write(tmp_path / "other.ndjson", shopping()[:1])
    report = report_of(tmp_path, shopping(), run=other)
    missing = report.rows("Comparison")[1]
    assert (missing.title, missing.status, missing.compares) == ("Clicked 'Cart'", "missing", True)
    assert report.labels(missing.after) == ["Shop", "Cart"]


def test_a_run_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    for content in ("{}", "no JSON"):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(ClawError) as caught:
            report_of(tmp_path, shopping(), run=tmp_path / "run.json")
        assert caught.value.code == "RECORDING_COMPARE_FAILED"
    assert not (tmp_path / "demo.ndjson.report.html").exists()
