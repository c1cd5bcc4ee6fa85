"""A test of your own app on a simulated phone.

    pytest examples/test_own_app.py

The app is declared in TOML; a .py file works too. The fixture ``phone`` of the pytest plugin is a phone with the
built-in apps.
"""

from pathlib import Path

from clawperator.testing import SimulatedPhone, simulated_phone

APP = """
package = "com.example.door"
label = "Door"

[state]
code = ""

[[screen]]
name = "home"

  [[screen.view]]
  kind = "field"
  bind = "code"
  hint = "Code"

  [[screen.view]]
  kind = "button"
  text = "Open"
  do = [{ put = { said = "Opened with {code}" } }, { go = "opened" }]

[[screen]]
name = "opened"
title = "The door"

  [[screen.view]]
  kind = "text"
  text = "{said}"
"""


def test_the_door_opens_with_its_code(tmp_path: Path) -> None:
    app = tmp_path / "door.toml"
    app.write_text(APP)
    with simulated_phone(apps=[app]) as phone:
        phone.open_app("com.example.door")
        phone.enter_text("1234", role="textfield")
        phone.click("Open", expect="Opened with 1234")


def test_a_switch_of_a_built_in_app(phone: SimulatedPhone) -> None:
    phone.open_app("com.android.settings")
    phone.click("Display")
    phone.click("Dark theme")
    assert phone.find(role="switch", ancestor={"descendant": "Dark theme"}).checked
