"""Clawperator: Android automation for AI agents, with verified results.

This module is the public API. Names are imported when they are first used. Test doubles are in
``clawperator.testing``, the API for skills is in ``clawperator.skill_api``; everything else is internal.
"""

__version__ = "0.3.0"
__all__ = [
    "ActionError",
    "ActionResult",
    "AndroidPhone",
    "AsyncConnectedPhone",
    "ClawError",
    "ConnectedPhone",
    "DeadlineError",
    "DeliveryError",
    "DeviceError",
    "FoundNode",
    "LabelValue",
    "Node",
    "OperatorError",
    "PhoneProcess",
    "PolicyError",
    "RecordingError",
    "ResultEnvelope",
    "ScreenElement",
    "ScreenOutline",
    "Scrolled",
    "ShellAnswer",
    "SkillError",
    "Snapshot",
    "StepResult",
    "TargetError",
    "UsageError",
    "ValidationError",
    "__version__",
    "connect",
    "connect_async",
    "start_phone",
]

_MODULES = {
    "api.async_phone": "AsyncConnectedPhone connect_async",
    "api.phone": "AndroidPhone ConnectedPhone connect",
    "api.results": "ActionResult FoundNode LabelValue Scrolled",
    "api.snapshot": "ScreenElement ScreenOutline Snapshot",
    "contract.results": "ResultEnvelope StepResult",
    "device.adb.client": "ShellAnswer",
    "errors": (
        "ActionError ClawError DeadlineError DeliveryError DeviceError OperatorError PolicyError "
        "RecordingError SkillError TargetError UsageError ValidationError"
    ),
    "api.start": "start_phone",
    "phone.process.launch": "PhoneProcess",
    "ui.node": "Node",
}

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.api.async_phone import AsyncConnectedPhone, connect_async
    from clawperator.api.phone import AndroidPhone, ConnectedPhone, connect
    from clawperator.api.results import ActionResult, FoundNode, LabelValue, Scrolled
    from clawperator.api.snapshot import ScreenElement, ScreenOutline, Snapshot
    from clawperator.api.start import start_phone
    from clawperator.contract.results import ResultEnvelope, StepResult
    from clawperator.device.adb.client import ShellAnswer
    from clawperator.errors import (
        ActionError,
        ClawError,
        DeadlineError,
        DeliveryError,
        DeviceError,
        OperatorError,
        PolicyError,
        RecordingError,
        SkillError,
        TargetError,
        UsageError,
        ValidationError,
    )
    from clawperator.phone.process.launch import PhoneProcess
    from clawperator.ui.node import Node
else:

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names.split():
                # __import__ rather than importlib, whose own import costs a quarter of a millisecond.
                value = getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
