"""A small agent with fixed rules: it looks at the screen and takes the one step that leads on."""

from clawperator.connection import ConnectedPhone, Snapshot
from clawperator.skill_api import Skill, declared_inputs

APP = "com.solaxcloud.starter"
SKILL = f"{APP}.set-discharge-limit-orchestrated"
MOST_STEPS = 40

inputs = declared_inputs()
percent = str(inputs["percent"])
wanted = f"Discharge to {percent}%"


def step(phone: ConnectedPhone, screen: Snapshot) -> str:
    """Take the step that this screen asks for. Says what it was."""
    if screen.find("Wait") and screen.find("Close app"):
        phone.click("Wait")
        return "dialog"
    if screen.package != APP:
        phone.open_app(APP)
        return "opened"
    box = screen.find(role="textfield")
    if box is not None and box.label != percent:
        phone.enter_text(percent, role="textfield", clear=True)
        return "typed"
    if screen.find(text_contains="Save this automation"):
        phone.click("Save")
        return "saved"
    return "confirmed" if click_first(phone, screen, ["Confirm"] if box else ways_on(screen)) else "waited"


def ways_on(screen: Snapshot) -> list[str]:
    """What leads on from a page without a field, the furthest first."""
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


with Skill(
    f"{APP}.set-discharge-limit-orchestrated", goal={"kind": "set_discharge_limit"}, inputs=inputs
) as skill:
    passed: list[str] = []

    def passing(name: str, evidence: str) -> None:
        if name not in passed:
            passed.append(name)
            skill.checkpoint(name, evidence)

    saved = False
    for _ in range(MOST_STEPS):
        screen = skill.phone.snapshot()
        if screen.package == APP and screen.find("Intelligence"):
            passing("app_opened", "the app's own screen is shown")
        if screen.find(role="textfield"):
            passing("discharge_to_row_focused", "the dialog of the limit is open")
        limit = screen.find(id=f"{APP}:id/scene_limit")
        if saved and limit is not None:
            passing("save_completed", "the list of automations is shown again")
            skill.verify(expected=wanted, observed=limit.label)
            break
        done = step(skill.phone, screen)
        if done == "typed":
            passing("target_text_entered", percent)
        saved = saved or done == "saved"
