"""Search YouTube for a text and return the titles found. See SKILL.md."""

from clawperator.skill_api import Skill, declared_inputs

APP = "com.google.android.youtube"
PLAN = (f"opened:{APP}", "clicked:search", "typed:search-edit-text")

inputs = declared_inputs()
query = str(inputs["query"])

with Skill(f"{APP}.search", goal={"kind": "search", **inputs}, inputs=inputs, plan=PLAN) as skill:
    phone = skill.phone
    phone.close_app(APP)
    phone.open_app(APP)
    phone.wait_for_nav(APP)
    skill.checkpoint(PLAN[0], f"{APP} is in the foreground")

    phone.wait(desc="Search")
    phone.click(desc="Search")
    phone.wait(id=f"{APP}:id/search_edit_text")
    skill.checkpoint(PLAN[1])

    phone.enter_text(query, id=f"{APP}:id/search_edit_text", clear=True, submit=True)
    phone.wait(id=f"{APP}:id/search_query", timeout=15)
    skill.checkpoint(PLAN[2], query)

    screen = phone.snapshot()
    skill.answer([node.label for node in screen.find_all(id=f"{APP}:id/title")])
    shown = screen.find(id=f"{APP}:id/search_query")
    skill.verify(expected=query, observed=shown.label if shown else None)
