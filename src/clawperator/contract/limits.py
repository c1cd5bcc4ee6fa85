"""The numbers both sides of the wire agree on. Lengths of text count UTF-16 code units, as the phone does."""

EXPECTED_FORMAT = "android-ui-automator"

MAX_EXECUTION_ACTIONS = 50
MIN_EXECUTION_TIMEOUT_MS = 1_000
MAX_EXECUTION_TIMEOUT_MS = 120_000
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
# The longest line of a recording we take. A hierarchy of 10,000 nodes is about as long; anything longer
# is damage, and reading it whole would break the promise to stay within 64 MB.
MAX_RECORDING_LINE_BYTES = 4 * 1024 * 1024

# A hierarchy beyond these is damage or malice; the largest real ones have some thousand nodes.
MAX_HIERARCHY_BYTES = 4 * 1024 * 1024
MAX_HIERARCHY_NODES = 50_000
MAX_HIERARCHY_DEPTH = 256
