"""The screen of a snapshot as a view, for the results of calls."""

from clawperator.agent.ports import ScreenView
from clawperator.contract import StepResult

_VIEWS = {"outline": True, "outline_changes": False}


def read_view(step: StepResult) -> ScreenView | None:
    """The view of a snapshot step; None for one that failed, and for XML."""
    form = step.data.get("actual_format", "")
    if not step.success or form not in _VIEWS:
        return None
    data = step.data
    return ScreenView(
        data.get("snapshot_id", ""), data.get("foreground_package"), data.get("text", ""), _VIEWS[form]
    )
