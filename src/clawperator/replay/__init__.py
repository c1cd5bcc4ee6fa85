"""Replay a recording on a device, and prove each step by what is on the screen.

from clawperator.replay import open_demonstration, replay

demonstration = open_demonstration("demo.ndjson")
report = replay(demonstration, clawperator.connect())
"""

from clawperator.replay.demonstration import open_demonstration, plan_replay, replay
from clawperator.replay.report import Demonstration, ReplayPlan, ReplayReport

__all__ = ["Demonstration", "ReplayPlan", "ReplayReport", "open_demonstration", "plan_replay", "replay"]
