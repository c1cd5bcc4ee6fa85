"""What people show on the simulated phone, for tests that record it: fingers and nothing else."""

from clawperator.testing import SimulatedPhone


def show_solar_limit(phone: SimulatedPhone) -> None:
    """The discharge limit of the battery becomes 40 %."""
    person = phone.person
    person.tap("SolaXCloud")
    phone.wait(3)
    person.tap("Intelligence")
    person.tap("ON")
    phone.wait(2)
    person.tap(textContains="Device Discharging")
    person.tap(textContains="Discharge to 41%")
    person.tap(role="textfield")
    person.delete(2)
    person.type("40")
    person.tap("Confirm")
    person.tap("Save")
    person.tap("Save", role="button")
    phone.wait(2)


def show_video_search(phone: SimulatedPhone) -> None:
    """A search that takes up a suggestion half-way."""
    person = phone.person
    person.tap("YouTube")
    phone.wait(1)
    person.tap(contentDescEquals="Search")
    person.tap(role="textfield")
    person.type("linking park")
    phone.wait(1)
    person.tap(contentDescEquals="Edit suggestion linkin park waiting for the end")
    person.type("emily")
    person.enter()
    phone.wait(1)
