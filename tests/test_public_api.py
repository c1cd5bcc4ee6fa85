"""The names that ``import clawperator`` offers."""

import clawperator

NAMES = [
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


def test_the_public_names_change_only_on_purpose() -> None:
    assert clawperator.__all__ == NAMES


def test_every_public_name_can_be_imported_and_is_listed() -> None:
    assert {name for name in clawperator.__all__ if getattr(clawperator, name, None) is None} == set()
    assert set(clawperator.__all__) <= set(dir(clawperator))
    assert clawperator.__all__ == sorted(clawperator.__all__)


def test_a_public_class_is_the_one_of_its_module() -> None:
    from clawperator.api.results import ActionResult
    from clawperator.errors import TargetError

    assert clawperator.ActionResult is ActionResult
    assert clawperator.TargetError is TargetError
