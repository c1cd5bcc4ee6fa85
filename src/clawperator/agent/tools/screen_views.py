"""The screen of a snapshot as an outline, for the results of calls."""

from hashlib import blake2b

from clawperator.agent.ports import ScreenView
from clawperator.contract import StepResult


def read_view(step: StepResult) -> ScreenView | None:
    """The outline of a snapshot step; None for one that failed."""
    from clawperator.connection import read_snapshot
    from clawperator.ui import outline_of, render_outline

    if not step.success:
        return None
    screen = read_snapshot(step)
    text = render_outline(outline_of(screen.hierarchy, screen.frame, overlay=screen.overlay_package))
    made = blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return ScreenView(f"s{made}", screen.package, tuple(text.splitlines()))
