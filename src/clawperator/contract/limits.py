"""Limits of the contract between host and device. Text lengths count UTF-16 code units, as Android does."""

EXPECTED_FORMAT = "android-ui-automator"

MAX_EXECUTION_ACTIONS = 50
MIN_EXECUTION_TIMEOUT_MS = 1_000
MAX_EXECUTION_TIMEOUT_MS = 120_000
# How long the host waits for a result beyond the timeout of an execution.
HOST_GRACE_MS = 5_000
MAX_PAYLOAD_BYTES = 64_000

MAX_ID_LENGTH = 128
MAX_SOURCE_LENGTH = 64
MAX_ACTION_TYPE_LENGTH = 64
MAX_MATCHER_VALUE_LENGTH = 512
MAX_URI_LENGTH = 2_048

MAX_NAVIGATION_TIMEOUT_MS = 30_000
MAX_SETTLE_DELAY_MS = 10_000
MAX_SCROLLS = 200
MAX_SWIPES = 50
MAX_NO_POSITION_CHANGE_THRESHOLD = 20

RECORDING_SCHEMA_VERSION = 1
RECORDING_EXPORT_VERSION = 1
# The longest accepted line of a recording. A hierarchy of 10,000 nodes is about as long; a longer line is damage,
# and reading it at once would exceed the memory limit of 64 MB.
MAX_RECORDING_LINE_BYTES = 4 * 1024 * 1024

# A larger hierarchy is damaged or malicious; the largest real ones have some thousand nodes.
MAX_HIERARCHY_BYTES = 4 * 1024 * 1024
MAX_HIERARCHY_NODES = 50_000
MAX_HIERARCHY_DEPTH = 256
# The highest number of an Android user.
MAX_USER = 21_474
