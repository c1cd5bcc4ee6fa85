"""Execution backends: the Operator app on the device, or the host engine over plain adb."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from clawperator.contract.execution import Plan
from clawperator.contract.results import ResultEnvelope
from clawperator.device.run.lease import Lease
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.execution import Action
    from clawperator.engine.context import SecretSource
    from clawperator.engine.selection import ReferenceLookup
    from clawperator.ui.node import Node


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
            raise ClawError(
                "INTERRUPTED", "the execution was cancelled", operation="execute", after_effect=after_effect
            )


class Backend(Protocol):
    """Runs validated plans on one device. Its ``name`` is in the result, by default that of its class.

    The envelope holds every step that ran. ``ClawError`` when the plan was not delivered or its result is unknown.
    """

    def run(self, plan: Plan) -> ResultEnvelope: ...
