"""Read several values from Settings. See SKILL.md."""

import re

from clawperator.skill_api import Skill

APP = "com.android.settings"
# Pages of Settings, and the rows to read there by the names of their results.
PAGES = {
    "Network & internet": {"network": "Internet"},
    "Battery": {"battery": "Battery level"},
    "Storage": {"freeSpace": "Free space"},
    "About phone": {"model": "Model", "androidVersion": "Android version", "build": "Build number"},
}
NAMES = [name for rows in PAGES.values() for name in rows]


def checkpoint_of(page: str) -> str:
    return "clicked:" + re.sub(r"\W+", "-", page.lower())


with Skill(
    f"{APP}.overview",
    goal={"kind": "read_overview"},
    inputs={},
    plan=(f"opened:{APP}", *map(checkpoint_of, PAGES)),
) as skill:
    phone = skill.phone
    phone.close_app(APP)
    phone.open_app(APP)
    phone.wait_for_nav(APP)
    skill.checkpoint(f"opened:{APP}")

    found: dict[str, str] = {}
    for page, rows in PAGES.items():
        phone.wait(id=f"{APP}:id/settings_homepage_container")
        phone.scroll_and_click(page)
        for name, row in rows.items():
            phone.wait(row)
            found[name] = phone.read_value(row)
        skill.checkpoint(checkpoint_of(page), {name: found[name] for name in rows})
        phone.back()

    skill.answer(found)
    read = [name for name, value in found.items() if value.strip()]
    version_is_valid = re.fullmatch(r"\d+(\.\d+)*", found["androidVersion"]) is not None
    skill.verify(
        expected={"read": NAMES, "androidVersionIsValid": True},
        observed={"read": read, "androidVersionIsValid": version_is_valid},
    )
