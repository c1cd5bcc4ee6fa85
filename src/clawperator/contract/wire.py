"""The words host and Operator say to each other: a broadcast one way, lines in the phone's log the other."""

from msgspec import Struct

OPERATOR_PACKAGE = "com.clawperator.operator"
OPERATOR_PACKAGES = (OPERATOR_PACKAGE, f"{OPERATOR_PACKAGE}.dev")
ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"
PAYLOAD = "payload"

RESULT_PREFIX = "[Clawperator-Result]"
SNAPSHOT_MARKER = "[TaskScope] UI Hierarchy:"
# Before a hierarchy: whose it is, and the sum of its text. Whoever does not know it passes over it.
SEAL_PREFIX = "[TaskScope] Snapshot:"


class SnapshotSeal(Struct, frozen=True):
    """What proves that a hierarchy came through the log whole, and for which step of which command."""

    commandId: str
    actionId: str
    sha256: str


def accessibility_service(package: str) -> str:
    """The component of an Operator's accessibility service."""
    return f"{package}/clawperator.operator.accessibilityservice.OperatorAccessibilityService"


def notification_listener(package: str) -> str:
    return f"{package}/action.notification.NotificationListenerService"


def recordings_folder(package: str) -> str:
    """Where an Operator keeps its recordings."""
    return f"/storage/emulated/0/Android/data/{package}/files/recordings"
