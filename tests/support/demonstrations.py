"""User flows on the simulated phone, by touch only, for tests that record them."""

from clawperator.testing import SimulatedPhone


def show_solar_limit(phone: SimulatedPhone) -> None:
    """Set the discharge limit of the battery to 40 %."""
    person = phone.person
    person.tap("SolaXCloud")
    phone.sleep(3)
    person.tap("Intelligence")
    person.tap("ON")
    phone.sleep(2)
    person.tap(text_contains="Device Discharging")
    person.tap(text_contains="Discharge to 41%")
    person.tap(role="textfield")
    person.delete(2)
    person.type("40")
    person.tap("Confirm")
    person.tap("Save")
    person.tap("Save", role="button")
    phone.sleep(2)


def show_video_search(phone: SimulatedPhone) -> None:
    """Search for a video and accept a suggestion on the way."""
    person = phone.person
    person.tap("YouTube")
    phone.sleep(1)
    person.tap(desc="Search")
    person.tap(role="textfield")
    person.type("linking park")
    phone.sleep(1)
    person.tap(desc="Edit suggestion linkin park waiting for the end")
    person.type("emily")
    person.enter()
    phone.sleep(1)
