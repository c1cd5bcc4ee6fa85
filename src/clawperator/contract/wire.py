"""The words host and Operator say to each other: a broadcast one way, lines in the phone's log the other."""

OPERATOR_PACKAGE = "com.clawperator.operator"
OPERATOR_PACKAGES = (OPERATOR_PACKAGE, f"{OPERATOR_PACKAGE}.dev")
ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"
PAYLOAD = "payload"

RESULT_PREFIX = "[Clawperator-Result]"
SNAPSHOT_MARKER = "[TaskScope] UI Hierarchy:"
# In the data of a snapshot's step: the length and the check sum of the hierarchy that is in the log. The host
# takes them out again.
TEXT_BYTES, TEXT_SUM = "text_bytes", "text_crc32"


def sum_of(text: str) -> tuple[int, int]:
    """How long a text is in UTF-8, and its check sum: against loss, not against malice."""
    from zlib import crc32

    data = text.encode("utf-8", "replace")
    return len(data), crc32(data)


def accessibility_service(package: str) -> str:
    """The component of an Operator's accessibility service."""
    return f"{package}/clawperator.operator.accessibilityservice.OperatorAccessibilityService"


def notification_listener(package: str) -> str:
    return f"{package}/action.notification.NotificationListenerService"


def recordings_folder(package: str) -> str:
    """Where an Operator keeps its recordings."""
    return f"/storage/emulated/0/Android/data/{package}/files/recordings"
