"""Recorded and live screens: how similar they are, and why one is not the other."""

from typing import Any, Literal

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.api.snapshot import Snapshot
from clawperator.errors import ClawError
from clawperator.recording.heuristics import is_launcher
from clawperator.ui.node import Node, role_of, visible_nodes

# Fingerprints: the resource ids and labels of a screen, and how many of them another screen has too

# The part of the recorded marks that must be on the live screen.
MIN_SIMILARITY = 0.5
# A single label may be on any screen; a resource id belongs to one app.
_MIN_IDS, _MIN_MARKS = 1, 2
# Every dialog has the ids of this package, whatever it shows.
SHARED_IDS = "android:"
_MAX_MARKS = 400
_MAX_MARK_LENGTH = 120


class ScreenMarks(Struct, frozen=True):
    """The visible resource ids and labels. The content of text fields is left out."""

    ids: frozenset[str]
    labels: frozenset[str]

    def similarity(self, other: "ScreenMarks", title: str | None = None) -> float:
        """The part of these marks that ``other`` has, by ids or by all marks; 1 if there are too few.

        Feeds show other labels each day under the same ids, and web pages have labels and no ids. But if the
        window's title was on the screen and is not on ``other``, ids alone do not count: pages share them.
        """
        title_is_gone = title in self.labels and title not in other.labels
        by_ids = None if title_is_gone else _part(self.ids, other.ids, _MIN_IDS)
        by_all = _part(self.ids | self.labels, other.ids | other.labels, _MIN_MARKS)
        return max((part for part in (by_ids, by_all) if part is not None), default=1.0)


def _part(wanted: frozenset[str], found: frozenset[str], minimum: int) -> float | None:
    return len(wanted & found) / len(wanted) if len(wanted) >= minimum else None


def screen_marks(screen: Snapshot) -> ScreenMarks:
    """The marks of a screen. ``HIERARCHY_INVALID`` when its hierarchy cannot be read."""
    ids: set[str] = set()
    labels: set[str] = set()
    for node in visible_nodes(screen.hierarchy, screen.frame):
        if len(ids) + len(labels) >= _MAX_MARKS:
            break
        if node.resource_id and not node.resource_id.startswith(SHARED_IDS):
            ids.add(node.resource_id)
        if node.label and not is_text_field(node):
            labels.add(node.label[:_MAX_MARK_LENGTH])
    return ScreenMarks(frozenset(ids), frozenset(labels))


def recorded_screen(xml: str | None) -> Snapshot | None:
    """The screen an event was recorded with; None when there is none, or none that can be read."""
    if not xml:
        return None
    screen = Snapshot(xml, None, None, 0)
    try:
        return screen if screen.hierarchy.nodes else None
    except ClawError:
        return None


def is_text_field(node: Node) -> bool:
    return role_of(node) == "textfield" or node.flag("password")


# Why a screen is not the recorded one, as far as the two screens show it, and what to do then

Cause = Literal["other_app", "home_screen", "dialog", "other_page"]
# What the dialogs of Android have, and pages do not.
_DIALOG_IDS = ("android:id/alertTitle", "android:id/parentPanel", "android:id/button1", "android:id/button2")
_DIALOG_PACKAGES = frozenset(("android", "permissioncontroller", "packageinstaller"))
_MAX_NAMED = 3
_MAX_LABELS = 12
_MAX_LABEL_LENGTH = 80


class UnexpectedScreen(Struct, frozen=True):
    """The cause, in a sentence and as a word, and the next step."""

    cause: Cause
    reason: str
    hint: str
    details: dict[str, Any]


def explain_screen(
    wanted: str, screen: Snapshot, recorded: list[ScreenMarks], *, how_to_begin: str = ""
) -> UnexpectedScreen:
    """Compare the screen with the recorded ones of the app ``wanted``.

    ``how_to_begin`` is what to do where the app shows another page than the one on which the recording begins.
    """
    shown = screen_labels(screen)
    expected = {label for marks in recorded for label in marks.labels}
    missing = sorted(printable(label)[:_MAX_LABEL_LENGTH] for label in expected - set(screen.labels()))
    details = {"observed": screen.package, "labels": shown}
    if missing:
        details["missing"] = missing[:_MAX_LABELS]
    cause, reason, hint = _cause(wanted, screen, shown)
    if cause == "other_page":
        found = [label for label in shown if label not in expected]
        if missing and found:
            reason += f": expected {_named(missing)}, found {_named(found)}"
        hint = how_to_begin or hint
    return UnexpectedScreen(cause, reason, hint, {"cause": cause, **details})


def screen_labels(screen: Snapshot) -> list[str]:
    """The first labels of a screen, cut and printable."""
    return [printable(label)[:_MAX_LABEL_LENGTH] for label in screen.labels()[:_MAX_LABELS]]


def _cause(wanted: str, screen: Snapshot, shown: list[str]) -> tuple[Cause, str, str]:
    package = screen.package or ""
    is_other = bool(wanted and package and package != wanted)
    if _is_dialog(screen):
        whose = f" of {package}" if is_other else ""
        reason = f"a dialog{whose} is shown" + (f": {_named(shown)}" if shown else "")
        hint = "Answer the dialog, or run 'clawperator press back' to close it, then replay again."
        return "dialog", reason, hint
    if is_other and is_launcher(package):
        hint = f"Run 'clawperator open {wanted}' to see whether the app starts and stays open."
        return "home_screen", f"the home screen is shown, not {wanted}", hint
    if is_other:
        hint = f"Run 'clawperator close {package}' to close it, then replay again."
        return "other_app", f"{package} is in the foreground, not {wanted}", hint
    hint = "Save the replay to a file, and write the report of that file to see both screens side by side."
    return "other_page", f"{wanted or 'the app'} shows another page", hint


def _is_dialog(screen: Snapshot) -> bool:
    if (screen.package or "").rpartition(".")[2] in _DIALOG_PACKAGES:
        return True
    nodes = visible_nodes(screen.hierarchy, screen.frame)
    return any(node.resource_id in _DIALOG_IDS and not is_text_field(node) for node in nodes)


def _named(labels: list[str]) -> str:
    more = " and others" if len(labels) > _MAX_NAMED else ""
    return ", ".join(f"'{label}'" for label in labels[:_MAX_NAMED]) + more
