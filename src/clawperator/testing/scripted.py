"""A backend without a device."""

from collections.abc import Mapping

from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope, StepResult, outcome_of


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
