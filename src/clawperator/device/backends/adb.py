"""The engine over plain adb commands, for phones with no Operator."""

from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import Device
from clawperator.device.backends.adb_driver import AdbDriver
from clawperator.device.run import write_screenshot
from clawperator.engine.clock import SystemClock
from clawperator.engine.run import Engine


def run_over_adb(plan: Plan, device: Device) -> ResultEnvelope:
    """Carry out a plan with what every phone's shell can do."""
    execution = plan.execution
    driver = AdbDriver(device, seconds=execution.timeoutMs / 1000)

    def save(path: str | None, png: bytes) -> str:
        return write_screenshot(png, path, execution.commandId)

    return Engine(driver, SystemClock(), save_screenshot=save).run(execution)
