"""Simulated phones for entry points: start, stop and faults, as documents, with a line in the host log."""

from typing import Any

from clawperator._base.home import PhoneFolder
from clawperator._base.text import whole
from clawperator.device.run.host_log import log_event
from clawperator.errors import ClawError
from clawperator.phone.core.faults import FAULTS, read_setting
from clawperator.phone.process.launch import (
    control_phone,
    describe_phone,
    existing_folder,
    launch_phone,
    reset_phone,
    stop_phone,
)


def start_simulated(serial: str, **options: Any) -> dict[str, Any]:
    """Start a phone with the options of ``launch_phone``; its address, and whether it recovered from a crash."""
    try:
        phone = launch_phone(serial, **options)
    except ClawError as e:
        if e.code == "PHONE_START_FAILED":
            log_event("phone.failed", level="error", deviceId=serial, code=e.code)
        raise
    log_event("phone.started", deviceId=serial, pid=phone.pid)
    return {**describe_phone(PhoneFolder(serial)), "recovered": phone.recovered}


def stop_simulated(serial: str) -> dict[str, Any]:
    """Stop a phone. A stopped one is no error."""
    stopped = stop_phone(serial)
    if stopped.was_running:
        log_event("phone.stopped", deviceId=serial)
    return {"serial": serial, "state": "stopped", "wasRunning": stopped.was_running, "crashed": stopped.crashed}


def reset_simulated(serial: str) -> dict[str, Any]:
    """Remove the files, apps, settings and faults of a phone. A running one restarts without them."""
    reset_phone(serial)
    log_event("phone.reset", deviceId=serial)
    return {"serial": serial, "state": PhoneFolder(serial).state(), "reset": True}


def list_faults(serial: str) -> dict[str, Any]:
    """Every fault of a running phone: its value, kind, value for "on", and effect."""
    values = _fault_values(serial)
    rows = {
        name: {"value": values[name], "kind": fault.kind, "on": whole(fault.on), "description": fault.description}
        for name, fault in FAULTS.items()
    }
    return {"serial": serial, "faults": rows}


def set_fault(serial: str, name: str, setting: str) -> dict[str, Any]:
    """Set a fault of a running phone to on, off or a number."""
    read_setting(name, setting)
    return {"serial": serial, "fault": name, "value": _fault_values(serial, name=name, setting=setting)[name]}


def _fault_values(serial: str, **arguments: str) -> dict[str, int | float]:
    answer = control_phone(existing_folder(serial).serial, "fault", **arguments)
    return {name: whole(value) for name, value in answer["faults"].items()}
