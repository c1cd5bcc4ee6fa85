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

from collections.abc import Mapping

from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope, StepResult, outcome_of
from clawperator.engine.clock import VirtualClock
from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver
from clawperator.testing.failures import keep_failure, recorded_calls, report_failure
from clawperator.testing.phone import Person, PhonePorts, SimulatedPhone, simulated_phone

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


class ScriptedBackend:
    """A ``Backend`` without a device: ``results`` are the data of the steps, in the order they run.

    Data with ``error`` make a failed step; steps without a result succeed. ``plans`` records what was run.
    """

    def __init__(self, *results: Mapping[str, str]) -> None:
        self.plans: list[Plan] = []
        self._results = iter(results)

    def run(self, plan: Plan) -> ResultEnvelope:
        self.plans.append(plan)
        steps = []
        for action in plan.execution.actions:
            data = dict(next(self._results, {}))
            steps.append(StepResult(action.id, action.type, "error" not in data, data))
        outcome = outcome_of(steps)
        ids = plan.execution.commandId, plan.execution.taskId
        return ResultEnvelope(*ids, outcome.status, steps, outcome.error, outcome.errorCode, outcome.hint)
