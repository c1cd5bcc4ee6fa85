"""Execution backends: the Operator app on the device, or the host engine over plain adb; what adb cannot do."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from clawperator.contract.actions import ACTIONS
from clawperator.contract.execution import Action, Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.device.run.lease import Lease
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.engine.context import SecretSource
    from clawperator.engine.selection import ReferenceLookup
    from clawperator.ui.node import Node

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_OPERATOR = (
    "Run 'clawperator operator setup --apk <operator.apk>' to install an Operator, and use the backend operator."
)
ANY_TEXT = "With an Operator on the device use the backend operator: it sets any text."


class RunWatch(Struct, frozen=True):
    """What a running backend observes and consults.

    A request to stop, the lease it reports to, the references of the device, whether the policy allows an action
    on a node that the host chose, and the reader of secrets.
    """

    stop: Callable[[], bool] | None = None
    lease: Lease | None = None
    references: "ReferenceLookup | None" = None
    check_target: "Callable[[Action, Node], None] | None" = None
    secrets: "SecretSource | None" = None

    def check_stop(self, *, after_effect: bool) -> None:
        """``INTERRUPTED`` when the caller asked to stop."""
        if self.stop is not None and self.stop():
            message = "the execution was cancelled"
            raise ClawError("INTERRUPTED", message, operation="execute", after_effect=after_effect)


class Backend(Protocol):
    """Runs validated plans on one device. Its ``name`` is in the result, by default that of its class.

    The envelope holds every step that ran. ``ClawError`` when the plan was not delivered or its result is unknown.
    """

    def run(self, plan: Plan) -> ResultEnvelope: ...


def beyond_adb(actions: Sequence[Action]) -> ClawError | None:
    """The refusal of the first action that plain adb cannot run; None when it can run them all.

    It is checked before the first action of a plan runs.
    """
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


def check_typable(text: str) -> None:
    """``TEXT_NOT_ACCEPTED`` for control characters, which ``input`` sends as keys.

    A line break is the enter key, which may submit a form.
    """
    if _CONTROL.search(text):
        message = "adb cannot type line breaks or other control characters"
        raise ClawError("TEXT_NOT_ACCEPTED", message, hint=ANY_TEXT)
