"""Replay a recording on a device, and prove each step by what is on the screen.

from clawperator.replay import open_demonstration, replay

demonstration = open_demonstration("demo.ndjson")
report = replay(demonstration, clawperator.connect())
"""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.replay.demonstration import open_demonstration, plan_replay, replay
    from clawperator.replay.report import Demonstration, ReplayedStep, ReplayPlan, ReplayReport
    from clawperator.replay.run import StepOutcome
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "demonstration": "open_demonstration plan_replay replay",
            "report": "Demonstration ReplayPlan ReplayReport ReplayedStep",
            "run": "StepOutcome",
        },
    )

__all__ = [
    "Demonstration",
    "ReplayPlan",
    "ReplayReport",
    "ReplayedStep",
    "StepOutcome",
    "open_demonstration",
    "plan_replay",
    "replay",
]
