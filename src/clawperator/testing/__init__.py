"""Test doubles for your own tests: a simulated phone in this process, a scripted driver, a scripted backend.

The simulated phone uses a virtual clock, so waits take no time. It has the methods of ``clawperator.connect()``.
With pytest, use the fixture ``phone``:

    def test_the_row_opens_its_page(phone):
        phone.open_app("com.android.settings")
        phone.click("Display")
        assert phone.shows("Dark theme")

Without pytest: ``with simulated_phone() as phone: ...``. Nothing listens on a port until ``serve`` is called.
``ScriptedDriver`` replaces a device below the engine, ``ScriptedBackend`` everything below a connection.
"""

from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver
from clawperator.testing.failure_files import keep_failure
from clawperator.testing.failure_report import recorded_calls, report_failure
from clawperator.testing.person import Person
from clawperator.testing.phone import PhonePorts, SimulatedPhone, simulated_phone
from clawperator.testing.scripted import ScriptedBackend

__all__ = [
    "FullScriptedDriver",
    "Person",
    "PhonePorts",
    "ScriptedBackend",
    "ScriptedDriver",
    "SimulatedPhone",
    "VirtualClock",
    "keep_failure",
    "recorded_calls",
    "report_failure",
    "simulated_phone",
]
