"""The table of error codes, grouped by error class: kind, whether to retry, meaning and hint."""

from collections.abc import Mapping

from msgspec import Struct


class Code(Struct, frozen=True):
    """The properties of every error with this code.

    ``kind`` is its class in documents, ``retryable`` whether repeating the same call unattended can succeed, and
    ``hint`` advice that always applies.
    """

    kind: str
    retryable: bool
    meaning: str
    hint: str | None = None


_USAGE, _PARSE, _RUNTIME, _FILES = "usage", "parse", "runtime", "filesystem"
_DELIVERY, _POLICY, _UNKNOWN = "delivery", "policy", "unknown"
_SESSION, _AUTH, _MCP = "session", "auth", "mcp"

GROUPS: Mapping[str, Mapping[str, Code]] = {
    "usage": {
        "USAGE": Code(_USAGE, False, "invalid command line"),
        "UNKNOWN_COMMAND": Code(_USAGE, False, "unknown command", "Run 'clawperator help'."),
        "MISSING_ARGUMENT": Code(_USAGE, False, "a required argument or flag is missing"),
        "MISSING_SELECTOR": Code(_USAGE, False, "the command needs a selector"),
        "NOT_IMPLEMENTED": Code(_USAGE, False, "named in the contract but not implemented"),
        "SCHEMA_NOT_FOUND": Code(
            _USAGE, False, "unknown schema name", "Run 'clawperator schema' to list the names."
        ),
        "RESOURCE_NOT_FOUND": Code(_USAGE, False, "the MCP server has no such resource"),
        "ARGUMENTS_INVALID": Code(_PARSE, False, "invalid claw command line"),
        "COMMAND_NOT_FOUND": Code(
            _USAGE,
            False,
            "unknown inventory command",
            "Run 'claw command-graph --output-format json' to list commands.",
        ),
        "TOOL_NOT_FOUND": Code(
            _USAGE,
            False,
            "unknown tool",
            "Run 'claw tool-pool --output-format json' to list tools.",
        ),
        "ROUTE_NOT_FOUND": Code(_USAGE, False, "the HTTP server has no such path"),
        "METHOD_NOT_ALLOWED": Code(_USAGE, False, "the HTTP path does not have this method"),
    },
    "validation": {
        "EXECUTION_VALIDATION_FAILED": Code(_PARSE, False, "an execution payload or a flag value is invalid"),
        "EXECUTION_ACTION_UNSUPPORTED": Code(_PARSE, False, "the backend cannot run this action type"),
        "PAYLOAD_TOO_LARGE": Code(
            _PARSE,
            False,
            "an execution payload is larger than 64000 bytes",
            "Split the actions over several executions.",
        ),
        "INVALID_REGEX_PATTERN": Code(_PARSE, False, "the validator's pattern does not compile"),
        "CONFIG_INVALID": Code(_PARSE, False, "a setting in clawperator.toml or a variable is invalid"),
        "HIERARCHY_INVALID": Code(_PARSE, False, "a hierarchy is not a well-formed UI Automator document"),
        "INVALID_JSON": Code(_PARSE, False, "the body of an HTTP request is not valid JSON"),
        "INVALID_BODY": Code(_PARSE, False, "the body of an HTTP request does not have the fields of its route"),
        "INVALID_QUERY": Code(_PARSE, False, "the query or the path of an HTTP request is invalid"),
        "INVALID_HTTP": Code(_PARSE, False, "a client sent something that is not an HTTP request"),
        "UNSUPPORTED_MEDIA_TYPE": Code(_PARSE, False, "the body of an HTTP request is not declared as JSON"),
        "MISSING_EXECUTION": Code(_PARSE, False, "the body has no execution"),
        "INVALID_DEVICE_ID": Code(_PARSE, False, "deviceId is not a device serial"),
        "INVALID_OPERATOR_PACKAGE": Code(_PARSE, False, "operatorPackage is not a package name"),
        "INVALID_PATH": Code(_PARSE, False, "path is not a path inside the folder of the server"),
        "INVALID_ARGS": Code(_PARSE, False, "args is not a list of strings"),
        "INVALID_TIMEOUT_MS": Code(_PARSE, False, "timeoutMs is not a number in its range"),
        "INVALID_EXPECT_CONTAINS": Code(_PARSE, False, "expectContains is not a text"),
    },
    "policy": {
        "SECURITY_BLOCK_DETECTED": Code(_POLICY, False, "the device blocks automation of this screen"),
        "URI_SCHEME_NOT_ALLOWED": Code(_POLICY, False, "the scheme of this URI is not allowed"),
        "REPLAY_TEXT_HIDDEN": Code(_POLICY, False, "the recording has no text for a password field"),
        "PERMISSION_DENIED": Code(_POLICY, False, "denied by the policy, or confirmation is required"),
        "UNAUTHORIZED": Code(_AUTH, False, "an HTTP request without the token of the server"),
        "HOST_NOT_ALLOWED": Code(_POLICY, False, "the Host header does not name the server"),
        "ORIGIN_NOT_ALLOWED": Code(_POLICY, False, "a web page of another origin sent the request"),
    },
    "deadline": {
        "RESULT_ENVELOPE_TIMEOUT": Code(_DELIVERY, False, "no result arrived in time"),
        "NAVIGATION_TIMEOUT": Code(_RUNTIME, True, "the expected screen did not appear in time"),
        "WAIT_TIMEOUT": Code(_RUNTIME, True, "the condition of a wait did not hold in time"),
        "COMMAND_TIMEOUT": Code(_RUNTIME, True, "the execution reached its timeout in this step"),
        "REQUEST_TIMEOUT": Code(_RUNTIME, True, "an HTTP client did not send its request in time"),
        "EMULATOR_BOOT_TIMEOUT": Code(_RUNTIME, True, "the emulator did not boot in time"),
        "SKILL_EXECUTION_TIMEOUT": Code(_RUNTIME, False, "the skill reached its timeout and was stopped"),
        "TURN_TIMEOUT": Code(
            _RUNTIME,
            True,
            "the turns reached their common timeout",
            "Run it again with a larger --timeout-seconds.",
        ),
    },
    "host": {
        "HOST_DEPENDENCY_MISSING": Code(_RUNTIME, False, "a tool this command needs is not installed"),
        "ADB_NOT_FOUND": Code(_RUNTIME, False, "no adb binary was found"),
        "ADB_SERVER_FAILED": Code(_RUNTIME, True, "the adb server did not start or respond"),
        "ADB_NO_USB_PERMISSIONS": Code(_RUNTIME, False, "adb lacks permission to open the USB device"),
        "PRODUCT_HOME_UNAVAILABLE": Code(_FILES, True, "the product home folder is not writable"),
        "SCRCPY_NOT_FOUND": Code(_RUNTIME, False, "no scrcpy binary was found"),
        "DOCTOR_FAILED": Code(_RUNTIME, True, "a doctor check could not run"),
        "SCREENSHOT_NOT_SAVED": Code(_FILES, True, "the screenshot file could not be written"),
        "EVENTS_WRITE_FAILED": Code(_FILES, True, "the events file cannot be written"),
        "FILESYSTEM_FAILED": Code(_FILES, True, "a file could not be read or written"),
        "SERVER_START_FAILED": Code(_RUNTIME, False, "the server cannot listen on this address"),
        "TOKEN_FILE_INVALID": Code(_FILES, False, "the token file of the server cannot be used"),
        "SERVER_BUSY": Code(_RUNTIME, True, "the server has as many clients or calls as it accepts"),
        "SERVER_STOPPING": Code(_RUNTIME, True, "the server is stopping"),
    },
    "device": {
        "NO_DEVICES": Code(_RUNTIME, False, "no device is connected"),
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED": Code(
            _USAGE, False, "several devices are connected, none was chosen"
        ),
        "DEVICE_NOT_FOUND": Code(_RUNTIME, False, "the chosen device is not connected"),
        "DEVICE_UNAUTHORIZED": Code(_RUNTIME, False, "the device has not authorized this computer"),
        "DEVICE_OFFLINE": Code(_RUNTIME, True, "the device is connected but does not respond"),
        "DEVICE_CONNECTING": Code(_RUNTIME, True, "adb is still connecting to the device"),
        "DEVICE_NOT_BOOTED": Code(_RUNTIME, False, "the device is in recovery or the bootloader, not in Android"),
        "DEVICE_SHELL_UNAVAILABLE": Code(_RUNTIME, True, "the device's shell did not run a command"),
        "DEVICE_USER_NOT_FOUND": Code(_RUNTIME, False, "the device has no such user or profile"),
        "DEVICE_USER_FORBIDDEN": Code(_RUNTIME, False, "the device does not allow adb to access this user"),
        "DEVICE_NOT_INTERACTIVE": Code(_RUNTIME, False, "the device is asleep"),
        "DEVICE_DEV_OPTIONS_DISABLED": Code(_RUNTIME, False, "developer options are off"),
        "DEVICE_USB_DEBUGGING_DISABLED": Code(_RUNTIME, False, "USB debugging is off"),
        "DEVICE_VENDOR_SWITCH_OFF": Code(_RUNTIME, False, "a switch of the vendor restricts adb"),
        "DEVICE_RESTRICTED_SETTINGS": Code(
            _RUNTIME, False, "Android restricts the settings of a side-loaded Operator"
        ),
        "DEVICE_ACCESSIBILITY_NOT_RUNNING": Code(
            _RUNTIME, True, "the Operator's accessibility service is not running"
        ),
        "ANDROID_VERSION_UNSUPPORTED": Code(
            _RUNTIME,
            False,
            "the device runs an Android version before 7.0",
            "Use a device with Android 7.0 or newer, or run 'clawperator phone start'.",
        ),
        "PAIRING_FAILED": Code(_RUNTIME, False, "the device did not accept the pairing"),
        "DEVICE_CONNECT_FAILED": Code(_RUNTIME, True, "adb could not connect to the address of the device"),
        "GRANT_DEVICE_PERMISSIONS_FAILED": Code(_RUNTIME, True, "a permission was not granted"),
        "UI_AUTOMATION_BUSY": Code(_RUNTIME, True, "another program uses UI Automation on the device"),
        "EXECUTION_CONFLICT_IN_FLIGHT": Code(_RUNTIME, True, "another execution holds the device"),
    },
    "operator": {
        "OPERATOR_NOT_INSTALLED": Code(_RUNTIME, False, "the Operator app is not installed"),
        "OPERATOR_NOT_RUNNING": Code(_RUNTIME, True, "the Operator is installed but not running"),
        "OPERATOR_VARIANT_MISMATCH": Code(_RUNTIME, False, "only the other variant of the Operator is installed"),
        "OPERATOR_APK_NOT_FOUND": Code(_FILES, False, "the given APK file does not exist"),
        "OPERATOR_INSTALL_FAILED": Code(_RUNTIME, True, "the APK was not installed"),
        "OPERATOR_GRANT_FAILED": Code(_RUNTIME, True, "the Operator's permissions were not granted"),
        "OPERATOR_VERIFY_FAILED": Code(_RUNTIME, True, "the Operator is missing after installation"),
        "APK_VERSION_UNREADABLE": Code(_RUNTIME, True, "the Operator's version cannot be read"),
        "APK_VERSION_INVALID": Code(_RUNTIME, False, "invalid Operator version"),
        "VERSION_INCOMPATIBLE": Code(_RUNTIME, False, "this program and the Operator have incompatible versions"),
        "SERVICE_UNAVAILABLE": Code(_RUNTIME, True, "the Operator runs without its accessibility service"),
    },
    "delivery": {
        "EVENTS_LOST": Code(_DELIVERY, False, "the server no longer has the events that a client missed"),
        "SLOW_CLIENT": Code(_DELIVERY, True, "a client did not read its events in time and was disconnected"),
        "LOGCAT_UNAVAILABLE": Code(_RUNTIME, True, "the device log could not be read"),
        "BROADCAST_FAILED": Code(_DELIVERY, True, "the broadcast to the Operator failed"),
        "RESULT_ENVELOPE_MALFORMED": Code(_DELIVERY, False, "the result is malformed"),
        "SNAPSHOT_EXTRACTION_FAILED": Code(_DELIVERY, True, "a snapshot step returned no hierarchy"),
        "SNAPSHOT_TOO_LARGE": Code(
            _DELIVERY,
            False,
            "the hierarchy of the screen is larger than the device log holds",
            "Run 'clawperator snapshot --backend adb'.",
        ),
    },
    "target": {
        "NODE_NOT_FOUND": Code(_RUNTIME, True, "no node on the screen matches the selector"),
        "REF_STALE": Code(
            _RUNTIME,
            False,
            "a reference does not name one element of the screen",
            "Run 'clawperator snapshot --view outline' for the references of this screen.",
        ),
        "NODE_AMBIGUOUS": Code(_RUNTIME, False, "several nodes match a selector that must match one"),
        "TARGET_CHANGED": Code(
            _RUNTIME,
            False,
            "the screen changed, and another element may have been touched",
            "Run 'clawperator snapshot' before retrying.",
        ),
        "NODE_NOT_CLICKABLE": Code(_RUNTIME, True, "the matched node accepted no click"),
        "NODE_COVERED": Code(
            _RUNTIME, True, "other elements cover every point of the matched node; nothing was touched"
        ),
        "CONTAINER_NOT_FOUND": Code(_RUNTIME, True, "no node matches the container selector"),
        "CONTAINER_NOT_SCROLLABLE": Code(_RUNTIME, False, "the container does not scroll"),
        "CONTAINER_LOST": Code(_RUNTIME, True, "the container vanished while scrolling"),
        "TARGET_NOT_FOUND": Code(_RUNTIME, True, "scrolling ended before the target was found"),
        "VALUE_NODE_NOT_FOUND": Code(_RUNTIME, True, "the label has no value beside it"),
    },
    "action": {
        "APP_LABEL_AMBIGUOUS": Code(_RUNTIME, False, "several installed apps have this label"),
        "SECRET_UNAVAILABLE": Code(_FILES, False, "the variable or file of a secret cannot be read"),
        "SECRET_REFUSED_WHILE_RECORDING": Code(
            _RUNTIME,
            False,
            "a recording is active that would keep the secret",
            "Run 'clawperator recording stop' first.",
        ),
        "ANDROID_PACKAGE_FAILED": Code(_RUNTIME, False, "the device refused to change an installed app"),
        "EXPECTATION_FAILED": Code(
            _RUNTIME, False, "the action was performed, but the screen does not show what was expected"
        ),
        "VALIDATOR_MISMATCH": Code(_RUNTIME, True, "the text read does not satisfy the validator"),
        "GESTURE_FAILED": Code(_RUNTIME, True, "the device rejected the gesture"),
        "GLOBAL_ACTION_FAILED": Code(_RUNTIME, True, "the device rejected the key"),
        "UNSUPPORTED_RUNTIME_CLOSE": Code(_RUNTIME, False, "the Operator cannot close apps; the host does"),
        "UNSUPPORTED_RUNTIME_SCREENSHOT": Code(
            _RUNTIME, False, "the Operator takes no screenshots; the host does"
        ),
        "APP_NOT_FOUND": Code(_RUNTIME, False, "no launchable app has this package name"),
        "APP_NOT_STARTED": Code(_RUNTIME, True, "the device keeps another activity in front"),
        "URI_NOT_HANDLED": Code(_RUNTIME, False, "no app on the device opens this URI"),
        "TEXT_NOT_ACCEPTED": Code(_RUNTIME, True, "the field did not accept the text"),
        "SNAPSHOT_HIERARCHY_UNAVAILABLE": Code(_RUNTIME, True, "the device has no window to capture"),
    },
    "emulator": {
        "ANDROID_SDK_TOOL_MISSING": Code(_RUNTIME, False, "an Android SDK tool is missing"),
        "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED": Code(_RUNTIME, True, "the system image could not be installed"),
        "ANDROID_AVD_CREATE_FAILED": Code(_RUNTIME, True, "the virtual device could not be created"),
        "ANDROID_BUILD_FAILED": Code(_RUNTIME, True, "the Android build failed"),
        "ANDROID_INSTALL_FAILED": Code(_RUNTIME, True, "the built app could not be installed"),
        "ANDROID_APP_LAUNCH_FAILED": Code(_RUNTIME, True, "the built app did not start"),
        "SMOKE_OPEN_SETTINGS_FAILED": Code(_RUNTIME, True, "the smoke test could not open Settings"),
        "EMULATOR_NOT_FOUND": Code(_RUNTIME, False, "no emulator has this name"),
        "EMULATOR_ALREADY_RUNNING": Code(_RUNTIME, False, "the emulator is already running"),
        "EMULATOR_NOT_RUNNING": Code(_RUNTIME, False, "the emulator is not running"),
        "EMULATOR_UNSUPPORTED": Code(_RUNTIME, False, "the emulator's configuration is not supported"),
        "EMULATOR_CREATE_FAILED": Code(_RUNTIME, True, "the emulator could not be created"),
        "EMULATOR_START_FAILED": Code(_RUNTIME, True, "the emulator did not start"),
        "EMULATOR_STOP_FAILED": Code(_RUNTIME, True, "the emulator did not stop"),
        "EMULATOR_DELETE_FAILED": Code(_RUNTIME, True, "the emulator could not be deleted"),
    },
    "simulated_phone": {
        "PHONE_NOT_FOUND": Code(
            _USAGE,
            False,
            "no simulated phone has this name",
            "Run 'clawperator phone list' to list them.",
        ),
        "PHONE_NOT_RUNNING": Code(_RUNTIME, False, "the simulated phone is not running"),
        "PHONE_ALREADY_RUNNING": Code(_RUNTIME, False, "a simulated phone with this name is already running"),
        "PHONE_START_FAILED": Code(_RUNTIME, True, "the simulated phone did not start"),
        "PHONE_STOP_FAILED": Code(_RUNTIME, True, "the simulated phone did not stop"),
        "PHONE_DELETE_FAILED": Code(_RUNTIME, True, "the simulated phone could not be deleted"),
        "PHONE_NOT_ANSWERING": Code(_RUNTIME, True, "the simulated phone is running but does not respond"),
        "PHONE_FAULT_INVALID": Code(_USAGE, False, "unknown fault or invalid setting"),
        "PHONE_APP_INVALID": Code(_PARSE, False, "the app file of a simulated phone is invalid"),
        "PHONE_CASSETTE_INVALID": Code(_PARSE, False, "the recording cannot be used as a cassette"),
    },
    "recording": {
        "RECORDING_ALREADY_IN_PROGRESS": Code(_RUNTIME, False, "a recording is already running"),
        "RECORDING_NOT_IN_PROGRESS": Code(_RUNTIME, False, "no recording is running"),
        "RECORDING_SESSION_NOT_FOUND": Code(_RUNTIME, False, "no recording session could be resolved"),
        "RECORDING_PULL_FAILED": Code(_DELIVERY, True, "the recording could not be pulled from the device"),
        "RECORDING_PARSE_FAILED": Code(_PARSE, False, "the recording file is unreadable or malformed"),
        "RECORDING_EXPORT_FAILED": Code(_FILES, False, "an input cannot be read, or an output cannot be written"),
        "RECORDING_COMPARE_FAILED": Code(_PARSE, False, "the baseline or the result cannot be read"),
        "RECORDING_SCHEMA_VERSION_UNSUPPORTED": Code(
            _PARSE,
            False,
            "the recording's schema version is not 1",
            "Run 'clawperator recording parse' of the release that wrote this recording.",
        ),
        "RECORDING_STORAGE_UNAVAILABLE": Code(_FILES, True, "the device's recording folder is not available"),
        "RECORDING_START_FAILED": Code(_RUNTIME, True, "the device could not start the recording"),
        "RECORDING_STOP_FAILED": Code(_RUNTIME, True, "the device could not finish the recording"),
        "RECORDING_UNAVAILABLE": Code(_RUNTIME, False, "the device or backend has no recorder"),
        "RECORDING_REPLAY_FAILED": Code(_PARSE, False, "nothing to replay, or the report cannot be written"),
        "REPORT_FAILED": Code(_PARSE, False, "nothing that can be reported, or the report cannot be written"),
    },
    "replay": {
        "REPLAY_TARGET_NOT_FOUND": Code(
            _RUNTIME,
            False,
            "the recorded target is not on the screen",
            "Run 'clawperator snapshot' to see the screen.",
        ),
        "REPLAY_TARGET_AMBIGUOUS": Code(_RUNTIME, False, "several nodes match the target; none was clicked"),
        "REPLAY_EFFECT_MISSING": Code(_RUNTIME, False, "the step ran without its recorded effect"),
        "REPLAY_SCREEN_UNEXPECTED": Code(
            _RUNTIME,
            False,
            "the screen is not the recorded one",
            "Run 'clawperator snapshot' and compare the labels: a dialog may cover the app, or it has changed.",
        ),
    },
    "skill": {
        "REGISTRY_READ_FAILED": Code(_FILES, False, "the skills registry or one of its files cannot be read"),
        "SKILL_NOT_FOUND": Code(
            _USAGE, False, "unknown skill id", "Run 'clawperator skills list' to list skills."
        ),
        "SKILL_ID_INVALID": Code(_USAGE, False, "a skill id is a package name, a dot and an intent"),
        "SKILL_ALREADY_EXISTS": Code(_USAGE, False, "a skill or folder with this id already exists"),
        "SKILLS_SCAFFOLD_FAILED": Code(_FILES, True, "the files of a new skill could not be written"),
        "SKILL_VALIDATION_FAILED": Code(_PARSE, False, "a skill's files do not fit its registry entry"),
        "ARTIFACT_NOT_FOUND": Code(_USAGE, False, "unknown artifact name"),
        "COMPILE_VARS_PARSE_FAILED": Code(_USAGE, False, "the artifact variables are not a JSON object"),
        "COMPILE_VAR_MISSING": Code(_USAGE, False, "a placeholder of the artifact has no value"),
        "COMPILE_VALIDATION_FAILED": Code(_PARSE, False, "the compiled artifact is not a valid execution"),
        "SKILLS_GIT_NOT_FOUND": Code(_RUNTIME, False, "no git was found", "Install git and put it on PATH."),
        "SKILLS_SYNC_FAILED": Code(_DELIVERY, True, "the skills could not be synchronised"),
        "SKILL_INPUT_INVALID": Code(_USAGE, False, "an input of the skill is missing, unknown or out of range"),
        "SKILL_SCRIPT_NOT_FOUND": Code(_FILES, False, "the skill has no runnable script"),
        "SKILL_AGENT_CLI_UNAVAILABLE": Code(_RUNTIME, False, "the agent CLI of this skill is not available"),
        "SKILL_EXECUTION_FAILED": Code(_RUNTIME, False, "the skill did not start, failed, or reported failure"),
        "SKILL_OUTPUT_ASSERTION_FAILED": Code(_RUNTIME, False, "the skill's output lacks the expected text"),
        "SKILL_VERIFICATION_INDETERMINATE": Code(_RUNTIME, False, "the skill ended without verifying its goal"),
        "SKILL_RESULT_PARSE_FAILED": Code(_PARSE, False, "a skill's result frame breaks its contract"),
    },
    "model": {
        "BRAIN_NOT_CONFIGURED": Code(_AUTH, False, "the model's address or key is not configured"),
        "BRAIN_AUTH_FAILED": Code(_AUTH, False, "the model service rejected the key"),
        "BRAIN_UNAVAILABLE": Code(_DELIVERY, True, "the model service did not respond or failed"),
        "BRAIN_REQUEST_REFUSED": Code(_DELIVERY, False, "the model service rejected the request"),
        "BRAIN_ANSWER_INVALID": Code(_DELIVERY, True, "the model service sent an invalid response"),
    },
    "mcp": {
        "MCP_SERVER_FAILED": Code(_MCP, True, "an MCP server did not start, respond or follow the protocol"),
        "MCP_TOOL_FAILED": Code(_MCP, False, "an MCP tool reported failure"),
    },
    "session": {
        "SESSION_TURNS_REACHED": Code(
            _SESSION,
            False,
            "session turn limit reached",
            "Run it again with a larger --max-session-turns, or in a new session.",
        ),
        "SESSION_ID_INVALID": Code(
            _USAGE,
            False,
            "invalid session id: use up to 128 letters, digits, '.', '_' and '-', not starting with '.' or '-'",
            "Run 'claw list-sessions' to list sessions.",
        ),
        "SESSION_NOT_FOUND": Code(
            _SESSION, False, "unknown session id", "Run 'claw list-sessions' to list sessions."
        ),
        "SESSION_READ_ONLY": Code(_SESSION, False, "a session of the reference harness cannot be continued"),
        "SESSION_LOAD_FAILED": Code(_SESSION, True, "the session file is unreadable or damaged"),
        "SESSION_DELETE_FAILED": Code(_SESSION, True, "the session could not be deleted"),
        "SESSION_WRITE_FAILED": Code(_FILES, True, "the turn could not be saved and is not part of the session"),
        "SESSION_EXISTS": Code(_SESSION, False, "a session with this id already exists"),
        "SESSION_BUSY": Code(_SESSION, True, "another process is writing to this session"),
    },
    "agent": {
        "TOOL_PAYLOAD_INVALID": Code(_PARSE, False, "the payload does not fit the tool's parameters"),
        "INSTRUCTION_NOT_UNDERSTOOD": Code(
            _USAGE,
            False,
            "the offline brain has no rule for this sentence",
            "Run 'claw bootstrap help' to list the sentences it accepts.",
        ),
        "INSTRUCTION_AMBIGUOUS": Code(
            _USAGE,
            False,
            "the sentence matches several targets; none was used",
            "Name one of them: 'the first ...', 'the second ...'.",
        ),
        "INSTRUCTION_CHECK_FAILED": Code(_RUNTIME, False, "the device is not in the expected state"),
        "TURN_STEPS_REACHED": Code(
            _RUNTIME, False, "tool-call limit reached", "Run it again with a larger --max-steps."
        ),
        "TURN_CALL_REPEATED": Code(
            _RUNTIME,
            False,
            "the model kept repeating the same call; the turn was stopped",
            "Run 'clawperator snapshot' to see the screen, then describe the task in more detail.",
        ),
        "TURN_BUDGET_REACHED": Code(
            _RUNTIME,
            False,
            "token budget reached",
            "Run it again with a larger --max-budget-tokens, or in a new session.",
        ),
        "PLUGIN_FAILED": Code(_RUNTIME, False, "a plugin failed to load or raised an error"),
    },
    "internal": {
        "INTERRUPTED": Code(_RUNTIME, True, "the command was interrupted"),
        "INTERNAL_SERVER_ERROR": Code(_UNKNOWN, False, "internal error of the HTTP server"),
        "UNKNOWN": Code(_UNKNOWN, False, "internal error"),
    },
}
