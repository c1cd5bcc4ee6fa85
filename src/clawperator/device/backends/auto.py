"""The automatic backend: the Operator where one is enabled on the device, plain adb elsewhere.

The first delivery finds out, so a device with an Operator costs nothing more. Nothing was sent to a device without
one. Once anything was sent, the backend stays.
"""

from msgspec.structs import replace

from clawperator._base.notes import note
from clawperator.contract.execution import Plan, needs_host
from clawperator.contract.results import ResultEnvelope, outcome_of
from clawperator.device.adb.client import Device
from clawperator.device.backends.adb_limits import beyond_adb
from clawperator.device.backends.backend import RunWatch
from clawperator.device.backends.operator import OperatorRun
from clawperator.device.operators import OperatorChoice
from clawperator.errors import ClawError


class AutoBackend:
    """Runs plans with the enabled Operator, or with plain adb."""

    def __init__(self, device: Device, watch: RunWatch | None = None) -> None:
        self._device = device
        self._watch = watch or RunWatch()
        self.operator = OperatorChoice(may_be_absent=True)

    @property
    def name(self) -> str:
        """The backend that ran the plan. Without a delivery the host did everything by adb."""
        return "adb" if self.operator.package is None else "operator"

    def run(self, plan: Plan) -> ResultEnvelope:
        run = OperatorRun(self._device, self.operator, plan, self._watch)
        refusal = beyond_adb(plan.execution.actions)
        try:
            if refusal is not None and needs_host(plan.execution.actions[0]):
                run.require_operator()
            envelope = run.run()
        except ClawError as e:
            if not self.operator.is_absent:
                raise
            return self._run_by_adb(plan, run, e, refusal)
        if self.operator.is_unusual:
            note(f"device {self._device.serial} has the Operator {self.operator.name} enabled; using it")
        return envelope

    def _run_by_adb(
        self, plan: Plan, run: OperatorRun, missing: ClawError, refusal: ClawError | None
    ) -> ResultEnvelope:
        """Run the actions that have not run yet. ``missing`` is the error of the Operator."""
        from clawperator.device.backends.adb import AdbBackend

        if refusal is not None:
            raise _refused(refusal, missing)
        note(f"no Operator is enabled on {self._device.serial}; using plain adb")
        done = list(run.steps)
        rest = plan.execution.actions[len(done) :]
        document = {**plan.document, "actions": plan.document["actions"][len(done) :]}
        envelope = AdbBackend(self._device, self._watch).run(Plan(replace(plan.execution, actions=rest), document))
        if not done:
            return envelope
        steps = [*done, *envelope.stepResults]
        outcome = outcome_of(steps)
        return replace(envelope, stepResults=steps, status=outcome.status)


def _refused(refusal: ClawError, missing: ClawError) -> ClawError:
    """The error of a plan that plain adb cannot run, on a device without an Operator."""
    details = {**(refusal.details or {}), **(missing.details or {})}
    return ClawError(
        missing.code,
        f"{refusal.message}, and {missing.message}",
        hint=f"Install an Operator with '{details['installCommand']}'.",
        details=details,
        extra=missing.extra,
        operation="execute",
        target=missing.target,
    )
