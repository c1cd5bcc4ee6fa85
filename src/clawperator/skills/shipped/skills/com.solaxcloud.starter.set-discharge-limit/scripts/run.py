"""Set the discharge limit of a SolaX home battery and read it back. See SKILL.md."""

from clawperator.skill_api import Skill, declared_inputs

APP = "com.solaxcloud.starter"
SKILL = f"{APP}.set-discharge-limit"
PLAN = ("app_opened", "discharge_to_row_focused", "target_text_entered", "save_completed")

inputs = declared_inputs()
percent = str(inputs["percent"])
wanted = f"Discharge to {percent}%"

with Skill(SKILL, goal={"kind": "set_discharge_limit", **inputs}, inputs=inputs, plan=PLAN) as skill:
    phone = skill.phone
    phone.close_app(APP)
    phone.open_app(APP)
    phone.wait("Intelligence", timeout=15)
    skill.checkpoint("app_opened", f"{APP} is in the foreground")

    phone.click("Intelligence")
    phone.wait("Peak Export")
    phone.click("Peak Export")
    phone.wait(text_contains="Device Discharging")
    phone.click(text_contains="Device Discharging")
    phone.wait(text_contains="Discharge to")
    phone.click(text_contains="Discharge to")
    phone.wait(role="textfield")
    skill.checkpoint("discharge_to_row_focused", phone.read(text_contains="Discharge to"))

    phone.enter_text(percent, role="textfield", clear=True)
    skill.checkpoint("target_text_entered", phone.read(role="textfield"))

    phone.click("Confirm")
    phone.wait(text_contains=wanted)
    phone.click("Save")
    phone.wait(text_contains="Save this automation")
    phone.click("Save")
    phone.wait("Peak Export", id=f"{APP}:id/scene_name", timeout=15)
    skill.checkpoint("save_completed", "the list of automations is shown again")

    skill.verify(expected=wanted, observed=phone.read(text_contains="Discharge to"))
