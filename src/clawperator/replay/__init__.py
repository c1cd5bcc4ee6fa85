"""Doing again what a recording shows: on a live phone, by what is on its screen now, with proof of each step.

from clawperator.replay import open_demonstration, replay

demonstration = open_demonstration("demo.ndjson")
report = replay(demonstration, clawperator.connect())
"""

from clawperator.replay.demonstration import open_demonstration, plan, replay
from clawperator.replay.report import Demonstration, ReplayPlan, ReplayReport

__all__ = ["Demonstration", "ReplayPlan", "ReplayReport", "open_demonstration", "plan", "replay"]
