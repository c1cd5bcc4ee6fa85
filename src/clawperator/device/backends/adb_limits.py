"""What plain adb cannot do, checked before the first action of a plan runs."""

from collections.abc import Sequence

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action
from clawperator.device.adb.input import check_typable
from clawperator.errors import ClawError

_OPERATOR = "Install an Operator with 'clawperator operator setup --apk <operator.apk>', and omit '--backend adb'."


def beyond_adb(actions: Sequence[Action]) -> ClawError | None:
    """The refusal of the first action that plain adb cannot run; None when it can run them all."""
    for action in actions:
        if ACTIONS[action.type].family == "recording":
            return ClawError(
                "RECORDING_UNAVAILABLE",
                f"plain adb cannot run {action.type} (action {action.id})",
                hint=_OPERATOR,
                details={"actionId": action.id, "actionType": action.type},
                operation="execute",
            )
        text = getattr(action.params, "text", None)
        if "textFrom" in action.params.__struct_fields__ and isinstance(text, str):
            try:
                check_typable(text)
            except ClawError as e:
                return e.with_(details={"actionId": action.id, "actionType": action.type}, operation="execute")
    return None
