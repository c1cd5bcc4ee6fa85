"""Exports for tests: fixed ones, random ones, and real captures where they are available."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from clawperator.contract.skill_result import SkillResult
from clawperator.recording.export import Export, read_export
from tests.recording.samples import back, click, scroll, typed, window
from tests.support.paths import CAPTURES

LAUNCHER = "com.android.launcher3"
NOTES = "com.example.notes"
SHARED = CAPTURES / "exports"
REAL = sorted(SHARED.glob("*.export.json"))


def exported(events: Iterable[Mapping[str, Any]], session: str = "demo", *, snapshots: bool = False) -> Export:
    """The export of these events, numbered anew in their order."""
    rows = []
    for seq, event in enumerate(events):
        xml = event.get("snapshot")
        shown = {"present": bool(xml), "xml": xml if snapshots else None}
        rows.append({**event, "seq": seq, "deltaMsSincePrevious": None, "snapshot": shown})
    document = {
        "exportVersion": 1,
        "session": {"sessionId": session, "schemaVersion": 1, "startedAt": 0, "operatorPackage": "o"},
        "snapshotMode": "include" if snapshots else "omit",
        "events": rows,
        "counts": {"totalEvents": len(rows), "byType": {}},
        "packageTransitions": [],
        "timeline": {"firstEventTs": None, "lastEventTs": None, "durationMs": None},
    }
    return read_export(msgspec.json.encode(document))


def real(path: Path) -> Export:
    return read_export(path.read_bytes())


def activity(name: str, package: str = NOTES, title: str = "Notes") -> dict[str, Any]:
    return window(0, package, className=f"{package}.{name}Activity", title=title)


def dialog(title: str, package: str = NOTES) -> dict[str, Any]:
    return window(0, package, className="android.app.AlertDialog", title=title)


def tapped(text: str | None, package: str = NOTES, **more: Any) -> dict[str, Any]:
    event: dict[str, Any] = click(0, text, package, **{"resourceId": None, **more})
    return event


def entered(text: str, field: str | None = None, package: str = NOTES) -> dict[str, Any]:
    return {**typed(0, text, package), "resourceId": field}


NOWHERE = {"left": 0, "top": 0, "right": 0, "bottom": 0}
NOISE: tuple[dict[str, Any], ...] = (
    window(
        0, "com.samsung.android.honeyboard", className="android.inputmethodservice.SoftInputWindow", title=None
    ),
    window(0, "com.google.android.inputmethod.latin", className=None, title=None),
    tapped("q", "com.google.android.inputmethod.latin"),
    window(0, "", className=None, title=None),
    window(0, NOTES, className="android.widget.FrameLayout", title=None),
    window(0, "com.other.overlay", className="android.widget.FrameLayout", title="Application icon"),
    window(0, NOTES, className="com.example.ui.LoadingToast", title="Loading..."),
    tapped("ON", bounds=NOWHERE),
    scroll(0, NOTES),
)


def ok_run(ids: Iterable[str], **changes: Any) -> SkillResult:
    """A run of a script that proved these checkpoints; ``statuses`` of some may differ."""
    statuses = changes.pop("statuses", {})
    document = {
        "contractVersion": "1.0.0",
        "skillId": "com.example.notes.add",
        "source": {"kind": "script"},
        "status": "success",
        "checkpoints": [{"id": name, "status": statuses.get(name, "ok")} for name in ids],
        "terminalVerification": {"status": "verified"},
        **changes,
    }
    return msgspec.convert(document, SkillResult)


_labels = st.sampled_from(["Save", "Add", "Über uns", "Delete", "設定", "+", "Limit 41%", "Item 1", "Item 2"])
_steps: st.SearchStrategy[list[dict[str, Any]]] = st.one_of(
    st.builds(lambda label: [tapped(label)], _labels),
    st.builds(lambda title: [dialog(title), tapped("OK"), activity("List")], _labels),
    st.builds(
        lambda text, field: [tapped("", resourceId=field), entered(text[:1], field), entered(text, field)],
        st.text("abc 1", min_size=1, max_size=5).filter(str.strip),
        st.sampled_from(["com.example.notes:id/title", "com.example.notes:id/body"]),
    ),
    st.just([tapped("Mail", LAUNCHER), activity("Main", "com.example.mail", "Mail"), activity("List")]),
    st.just([scroll(0, NOTES), back(0)]),
)
# Any app, any number of steps, each of which may come again.
demonstrations = st.lists(_steps, min_size=2, max_size=12).map(
    lambda steps: [tapped("Notes", LAUNCHER), activity("List"), *(event for step in steps for event in step)]
)
