"""Flows that a user performs on the simulated phone, and fresh phones to replay them on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clawperator.api.phone import ConnectedPhone
from clawperator.contract.commands import BackendName
from clawperator.device.adb.client import Device, Endpoint
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.toolkit.app import App
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.demonstrations import show_solar_limit, show_video_search

Flow = Callable[[SimulatedPhone], None]


def solar_tabs(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("SolaXCloud")
    phone.sleep(2)
    for name in ("Device", "Service", "Me", "Home"):
        person.tap(name)
    person.home()


def video_search(phone: SimulatedPhone) -> None:
    show_video_search(phone)
    person = phone.person
    person.tap("Waiting For The End, piano cover by Emily")
    phone.sleep(1)
    person.back()


def video_feed(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("YouTube")
    phone.sleep(1)
    for _ in range(3):
        person.scroll_down()
    person.tap("Home batteries: from start to finish")
    phone.sleep(1)
    person.home()


def notes_write(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Notes")
    person.tap("Add note")
    person.tap("Title")
    person.type("Milk")
    person.tap("Write something")
    person.type("two bottles")
    person.back()
    person.tap("Work")
    person.tap("Pin to top")
    person.tap("Save")
    phone.sleep(1)
    person.back()


def notes_discard(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Notes")
    person.tap("Add note")
    person.tap("Title")
    person.type("Nothing")
    person.tap(desc="Navigate up")
    person.tap("Discard")


def settings_walk(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Settings")
    person.scroll_down()
    person.tap("System")
    person.back()
    person.scroll_up()
    person.tap("Network & internet")
    person.tap("Internet")
    for _ in range(3):
        person.back()


def settings_dark(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Settings")
    person.tap("Display")
    person.tap("Dark theme")
    person.home()


def browser_address(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Chrome")
    person.tap("Search or type URL")
    person.type("example.com")
    person.enter()
    phone.sleep(1)
    person.tap("More information")
    phone.sleep(1)
    person.recents()


def browser_story(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Chrome")
    person.tap("The Daily Example")
    phone.sleep(1)
    person.scroll_down()
    person.tap("Story 12")
    phone.sleep(1)


def hard_lists(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Hard Mode")
    person.tap("Restless list")
    person.tap("Bravo")
    person.tap("Echo")
    person.tap("Leave")
    person.tap("Far away")
    for _ in range(8):
        person.scroll_down()
    person.tap("Far away", role="button")
    person.tap("Leave")


def hard_late(phone: SimulatedPhone) -> None:
    person = phone.person
    person.tap("Hard Mode")
    person.scroll_down()
    person.tap("Late content")
    phone.sleep(5)
    person.tap("Arrived after 4000 ms")
    person.tap("Go on")
    person.home()


FLOWS: Mapping[str, Flow] = {
    show.__name__: show
    for show in (
        show_solar_limit,
        solar_tabs,
        video_search,
        video_feed,
        notes_write,
        notes_discard,
        settings_walk,
        settings_dark,
        browser_address,
        browser_story,
        hard_lists,
        hard_late,
    )
}


def record(show: Flow, folder: Path, apps: Callable[[], list[App]] = list) -> str:
    """Record a flow on a phone of its own. Returns the file."""
    with simulated_phone(apps=apps()) as phone:
        phone.start_recording("shown")
        show(phone)
        path = folder / "shown.ndjson"
        phone.stop_recording()
        path.write_bytes(phone.read_recording())
    return str(path)


class ReplayTarget:
    """An adb server on loopback, with a fresh simulated phone for each replay."""

    def __init__(self, device: PhoneDevice, port: int) -> None:
        self._device = device
        self.port = port

    @contextmanager
    def fresh(
        self, apps: Callable[[], list[App]] = list, backend: BackendName = "auto", cassette: str | None = None
    ) -> Iterator[tuple[SimulatedPhone, ConnectedPhone]]:
        with simulated_phone(apps=apps(), cassette=cassette) as phone:
            self._device.phone = phone.phone
            device = Device("claw-1", Endpoint("127.0.0.1", self.port, simulated=True))
            yield phone, ConnectedPhone(device, backend=backend)


@contextmanager
def replay_target() -> Iterator[ReplayTarget]:
    with simulated_phone() as first:
        device = PhoneDevice(first.phone)
        server = AdbServer(lambda: [device])
        port = server.start()
        try:
            yield ReplayTarget(device, port)
        finally:
            server.stop()
