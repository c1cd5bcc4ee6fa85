"""The adb backend: the host engine over shell commands. Nothing is installed on the device."""

from clawperator._base.deadline import Deadline
from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import Device
from clawperator.device.backends.adb_system import AdbApps
from clawperator.device.backends.adb_touch import AdbTouch
from clawperator.device.backends.backend import RunWatch, beyond_adb
from clawperator.device.backends.host_actions import save_screenshot
from clawperator.engine.clock import SystemClock
from clawperator.engine.run import Engine

# How soon a sleep notices that it must stop.
_STOP_SECONDS = 0.05


class AdbBackend:
    """Runs plans with commands that every device's shell has."""

    name = "adb"

    def __init__(self, device: Device, watch: RunWatch | None = None) -> None:
        self._device = device
        self._watch = watch or RunWatch()

    def run(self, plan: Plan) -> ResultEnvelope:
        """The device stops with the host: nothing more is sent to it after a stop or the deadline."""
        execution = plan.execution
        if (refusal := beyond_adb(execution.actions)) is not None:
            raise refusal
        driver = AdbDriver(self._device, seconds=execution.timeoutMs / 1000, watch=self._watch)
        envelope = host_engine(driver, self._watch, execution.commandId).run(execution)
        last = envelope.stepResults[-1]
        if last.success or driver.last_screen is None:
            return envelope
        from clawperator.device.backends.near_matches import is_failed_search, with_near_matches

        if is_failed_search(last):
            action = execution.actions[len(envelope.stepResults) - 1]
            envelope.stepResults[-1] = with_near_matches(last, action, driver.last_screen, self._device.serial)
        return envelope


class WatchedClock(SystemClock):
    """The system clock, whose sleep ends when the caller asks to stop."""

    def __init__(self, watch: RunWatch) -> None:
        self._watch = watch

    def sleep(self, seconds: float) -> None:
        if self._watch.stop is None:
            super().sleep(seconds)
            return
        deadline = Deadline(max(0.0, seconds))
        while not deadline.is_over:
            self._watch.check_stop(after_effect=False)
            super().sleep(deadline.within(_STOP_SECONDS))


class AdbDriver(AdbTouch, AdbApps):
    """A ``Driver`` over the shell of one device. After ``seconds`` every call fails with ``COMMAND_TIMEOUT``.

    It has no accessibility actions, so the engine uses gestures, and no recorder.
    """


def host_engine(driver: AdbDriver, watch: RunWatch, command_id: str) -> Engine:
    """The engine that runs actions of one command on the host."""
    return Engine(
        driver,
        WatchedClock(watch),
        save_screenshot=lambda path, png: save_screenshot(png, path, command_id),
        references=watch.references,
        check_target=watch.check_target,
        secrets=watch.secrets,
    )
