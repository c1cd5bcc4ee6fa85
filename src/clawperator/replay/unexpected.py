"""Why a screen is not the recorded one, as far as the two screens show it, and what to do then."""

from typing import Any, Literal

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.api.snapshot import Snapshot
from clawperator.recording.heuristics import is_launcher
from clawperator.replay.fingerprint import ScreenMarks, is_text_field
from clawperator.ui.visible import visible_nodes

Cause = Literal["other_app", "home_screen", "dialog", "other_page"]
# What the dialogs of Android have, and pages do not.
_DIALOG_IDS = frozenset(
    ("android:id/alertTitle", "android:id/parentPanel", "android:id/button1", "android:id/button2")
)
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
        return (
            "dialog",
            f"a dialog{whose} is shown" + (f": {_named(shown)}" if shown else ""),
            "Answer the dialog, or close it with 'clawperator press back', then replay again.",
        )
    if is_other and is_launcher(package):
        return (
            "home_screen",
            f"the home screen is shown, not {wanted}",
            f"Run 'clawperator open {wanted}' to see whether the app starts and stays open.",
        )
    if is_other:
        return (
            "other_app",
            f"{package} is in the foreground, not {wanted}",
            f"Close it with 'clawperator close {package}', then replay again.",
        )
    return (
        "other_page",
        f"{wanted or 'the app'} shows another page",
        "Save the replay with --out and run 'clawperator report' on that file to see both screens side by side.",
    )


def _is_dialog(screen: Snapshot) -> bool:
    if (screen.package or "").rpartition(".")[2] in _DIALOG_PACKAGES:
        return True
    nodes = visible_nodes(screen.hierarchy, screen.frame)
    return any(node.resource_id in _DIALOG_IDS and not is_text_field(node) for node in nodes)


def _named(labels: list[str]) -> str:
    more = " and others" if len(labels) > _MAX_NAMED else ""
    return ", ".join(f"'{label}'" for label in labels[:_MAX_NAMED]) + more
