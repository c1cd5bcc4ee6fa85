"""The wire protocol of host and Operator: a broadcast to the device, log lines back."""

OPERATOR_PACKAGE = "com.clawperator.operator"
OPERATOR_PACKAGES = (OPERATOR_PACKAGE, f"{OPERATOR_PACKAGE}.dev")
ACTION = "app.clawperator.operator.ACTION_AGENT_COMMAND"
PAYLOAD = "payload"

RESULT_PREFIX = "[Clawperator-Result]"
SNAPSHOT_MARKER = "[TaskScope] UI Hierarchy:"
# In the data of a snapshot step: length and checksum of the hierarchy in the log. The host removes them.
TEXT_BYTES, TEXT_SUM = "text_bytes", "text_crc32"


def accessibility_service(package: str) -> str:
    """The component of an Operator's accessibility service."""
    return f"{package}/clawperator.operator.accessibilityservice.OperatorAccessibilityService"


def notification_listener(package: str) -> str:
    return f"{package}/action.notification.NotificationListenerService"


def recordings_folder(package: str) -> str:
    """The folder of an Operator's recordings."""
    return f"/storage/emulated/0/Android/data/{package}/files/recordings"
