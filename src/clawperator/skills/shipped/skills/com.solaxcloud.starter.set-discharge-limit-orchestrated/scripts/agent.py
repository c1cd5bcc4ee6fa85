"""A small agent with fixed rules: reads the screen and takes the next step."""

import os
import time

from clawperator.api.phone import ConnectedPhone
from clawperator.api.snapshot import Snapshot
from clawperator.errors import ClawError
from clawperator.skill_api import Skill, declared_inputs

APP = "com.solaxcloud.starter"
SKILL = f"{APP}.set-discharge-limit-orchestrated"
CHECKPOINTS = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")
# The agent gives up this long before 'skills run' ends it: a slow phone needs seconds for one more step.
REPORT_SECONDS = 20

inputs = declared_inputs()
percent = str(inputs["percent"])
wanted = f"Discharge to {percent}%"


def step(phone: ConnectedPhone, screen: Snapshot) -> str:
    """Take the next step on this screen and return its name."""
    if screen.find("Wait") and screen.find("Close app"):
        phone.click("Wait")
        return "dialog"
    if screen.package != APP:
        phone.open_app(APP)
        return "opened"
    field = screen.find(role="textfield")
    if field is not None and field.label != percent:
        phone.enter_text(percent, role="textfield", clear=True)
        return "typed"
    if screen.find(text_contains="Save this automation"):
        phone.click("Save")
        return "saved"
    return "confirmed" if click_first(phone, screen, ["Confirm"] if field else next_labels(screen)) else "waited"


def next_labels(screen: Snapshot) -> list[str]:
    """Labels to tap on a page without a field, best first."""
    if not screen.find("Save"):
        return ["Peak Export", "Intelligence"]
    return ["Save"] if screen.find(text_contains=wanted) else ["Discharge to", "Device Discharging"]


def click_first(phone: ConnectedPhone, screen: Snapshot, labels: list[str]) -> bool:
    for label in labels:
        if screen.find(text_contains=label):
            phone.click(text_contains=label)
            return True
    phone.sleep(0.3)
    return False


def allowed_seconds() -> float:
    """How long to try, of the time that 'skills run' allows."""
    given = int(os.environ.get("CLAWPERATOR_SKILL_AGENT_TIMEOUT_MS", "120000")) / 1000
    return max(given - REPORT_SECONDS, given / 2)


def next_checkpoint(reached: list[str]) -> str:
    """The checkpoint after the furthest reached one. A screen may skip some."""
    last = max(map(CHECKPOINTS.index, reached), default=-1)
    return CHECKPOINTS[min(last + 1, len(CHECKPOINTS) - 1)]


with Skill(SKILL, goal={"kind": "set_discharge_limit"}, inputs=inputs) as skill:
    reached: list[str] = []
    skill.expect(next_checkpoint(reached))

    def reach(name: str, evidence: str) -> None:
        if name not in reached:
            reached.append(name)
            skill.checkpoint(name, evidence)
            skill.expect(next_checkpoint(reached))

    seconds = allowed_seconds()
    end = time.monotonic() + seconds
    saved, done = False, "none"
    while True:
        screen = skill.phone.snapshot()
        if screen.package == APP and screen.find("Intelligence"):
            reach("app_opened", "the app's own screen is shown")
        if screen.find(role="textfield"):
            reach("discharge_to_row_focused", "the limit dialog is open")
        limit = screen.find(id=f"{APP}:id/scene_limit")
        if saved and limit is not None:
            reach("save_completed", "the list of automations is shown again")
            skill.verify(expected=wanted, observed=limit.label)
            break
        if time.monotonic() >= end:
            missing = next_checkpoint(reached)
            raise ClawError(
                "NAVIGATION_TIMEOUT",
                f"{missing} not reached within {seconds:g} s; last step: {done}, in {screen.package}",
                hint="Run 'clawperator snapshot' to see the screen, or allow more time.",
            )
        done = step(skill.phone, screen)
        if done == "typed":
            reach("target_text_entered", percent)
        saved = saved or done == "saved"
