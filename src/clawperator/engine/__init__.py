"""Runs a validated execution against a Driver: waits, settling, scrolling, effects. No sockets, no real time."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.engine.clock import SystemClock, VirtualClock
    from clawperator.engine.context import SecretSource
    from clawperator.engine.driver import ChosenNode, Clock, Key, NodeAction, RecordingInfo, Windows
    from clawperator.engine.privacy import mask_passwords, mask_secrets, mask_step_data, shown_label
    from clawperator.engine.retry import NOT_IDLE
    from clawperator.engine.run import Engine
    from clawperator.engine.scripted import FullScriptedDriver, ScriptedDriver
    from clawperator.engine.selection import ReferenceLookup, select
    from clawperator.engine.targets import (
        describe_node,
        nearest_self_or_ancestor,
        target_changed,
        target_moved,
        touch_point,
    )
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "clock": "SystemClock VirtualClock",
            "context": "SecretSource",
            "driver": "ChosenNode Clock Key NodeAction RecordingInfo Windows",
            "privacy": "mask_passwords mask_secrets mask_step_data shown_label",
            "retry": "NOT_IDLE",
            "run": "Engine",
            "scripted": "FullScriptedDriver ScriptedDriver",
            "selection": "ReferenceLookup select",
            "targets": "describe_node nearest_self_or_ancestor target_changed target_moved touch_point",
        },
    )

__all__ = [
    "NOT_IDLE",
    "ChosenNode",
    "Clock",
    "Engine",
    "FullScriptedDriver",
    "Key",
    "NodeAction",
    "RecordingInfo",
    "ReferenceLookup",
    "ScriptedDriver",
    "SecretSource",
    "SystemClock",
    "VirtualClock",
    "Windows",
    "describe_node",
    "mask_passwords",
    "mask_secrets",
    "mask_step_data",
    "nearest_self_or_ancestor",
    "select",
    "shown_label",
    "target_changed",
    "target_moved",
    "touch_point",
]
