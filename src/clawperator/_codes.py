"""One exception, and the table of every code it may carry.

    ClawError
      usage       USAGE  UNKNOWN_COMMAND  MISSING_ARGUMENT  MISSING_SELECTOR  NOT_IMPLEMENTED
      validation  EXECUTION_VALIDATION_FAILED  EXECUTION_ACTION_UNSUPPORTED  PAYLOAD_TOO_LARGE  SCHEMA_NOT_FOUND
      host        HOST_DEPENDENCY_MISSING  ADB_*  LOGCAT_UNAVAILABLE  CLI_VERSION_INVALID  DOCTOR_FAILED
      device      NO_DEVICES  MULTIPLE_DEVICES_DEVICE_ID_REQUIRED  DEVICE_*
      operator    OPERATOR_*  APK_VERSION_*  VERSION_INCOMPATIBLE  SERVICE_UNAVAILABLE
      execution   EXECUTION_CONFLICT_IN_FLIGHT  BROADCAST_FAILED  RESULT_ENVELOPE_*  SNAPSHOT_EXTRACTION_FAILED
      step        NODE_*  CONTAINER_*  TARGET_NOT_FOUND  NAVIGATION_TIMEOUT  GESTURE_FAILED  ...
      emulator    EMULATOR_*  ANDROID_*
      phone       PHONE_*
      recording   RECORDING_*
      replay      REPLAY_*
      skill       REGISTRY_READ_FAILED  ARTIFACT_NOT_FOUND  COMPILE_*  SKILL_*  SKILLS_*
      agent       ARGUMENTS_INVALID  COMMAND_NOT_FOUND  TOOL_*  PERMISSION_DENIED  INSTRUCTION_*  TURN_*  SESSION_*
                  BRAIN_*  MCP_*  PLUGIN_FAILED  EVENTS_WRITE_FAILED  FILESYSTEM_FAILED
      unknown     INTERRUPTED  UNKNOWN

An error is raised once, where it is known, and rendered by a door. A code's row says which class of
trouble it is (``kind``), whether repeating the same call unattended can help (``retryable``), and, where
the same advice is always true, the hint.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Code(Struct, frozen=True):
    """What is true of every error with this code."""

    kind: str
    retryable: bool
    meaning: str
    hint: str | None = None


_USAGE, _PARSE, _RUNTIME, _FILES = "usage", "parse", "runtime", "filesystem"
_DELIVERY, _POLICY, _UNKNOWN = "delivery", "policy", "unknown"
_SESSION, _AUTH, _MCP = "session", "auth", "mcp"

CODES: Mapping[str, Code] = {
    # usage
    "USAGE": Code(_USAGE, False, "the command line does not fit the command"),
    "UNKNOWN_COMMAND": Code(_USAGE, False, "no command has this name", "Run 'clawperator help'."),
    "MISSING_ARGUMENT": Code(_USAGE, False, "a required argument or flag is missing"),
    "MISSING_SELECTOR": Code(_USAGE, False, "the command needs a selector and got none"),
    "NOT_IMPLEMENTED": Code(_USAGE, False, "the contract names this, and nobody has built it"),
    # validation
    "EXECUTION_VALIDATION_FAILED": Code(_PARSE, False, "an execution payload or a flag value is invalid"),
    "EXECUTION_ACTION_UNSUPPORTED": Code(_PARSE, False, "the backend cannot run this action type"),
    "PAYLOAD_TOO_LARGE": Code(
        _PARSE,
        False,
        "an execution payload is larger than 64000 bytes",
        "Split the actions over several executions.",
    ),
    "SCHEMA_NOT_FOUND": Code(
        _USAGE, False, "no schema has this name", "Run 'clawperator schema' for the list of names."
    ),
    # host
    "HOST_DEPENDENCY_MISSING": Code(_RUNTIME, False, "a tool this command needs is not installed"),
    "ADB_NOT_FOUND": Code(_RUNTIME, False, "no adb binary was found"),
    "ADB_SERVER_FAILED": Code(_RUNTIME, True, "the adb server did not start or answer"),
    "ADB_NO_USB_PERMISSIONS": Code(_RUNTIME, False, "adb may not open the USB device"),
    "LOGCAT_UNAVAILABLE": Code(_RUNTIME, True, "the device log could not be read"),
    "PRODUCT_HOME_UNAVAILABLE": Code(_FILES, False, "the product's own folder cannot be written to"),
    "SCRCPY_NOT_FOUND": Code(_RUNTIME, False, "no scrcpy binary was found"),
    "CLI_VERSION_INVALID": Code(_RUNTIME, False, "this program's own version cannot be read"),
    "DOCTOR_FAILED": Code(_RUNTIME, True, "a doctor check could not be made"),
    # device
    "NO_DEVICES": Code(_RUNTIME, True, "no phone is connected"),
    "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED": Code(_USAGE, False, "several phones are connected, none was chosen"),
    "DEVICE_NOT_FOUND": Code(_RUNTIME, True, "the chosen phone is not connected"),
    "DEVICE_UNAUTHORIZED": Code(_RUNTIME, True, "the phone has not allowed this computer"),
    "DEVICE_OFFLINE": Code(_RUNTIME, True, "the phone is connected but does not answer"),
    "DEVICE_SHELL_UNAVAILABLE": Code(_RUNTIME, True, "the phone's shell did not run a command"),
    "DEVICE_NOT_INTERACTIVE": Code(_RUNTIME, True, "the phone is asleep"),
    "DEVICE_DEV_OPTIONS_DISABLED": Code(_RUNTIME, False, "developer options are off"),
    "DEVICE_USB_DEBUGGING_DISABLED": Code(_RUNTIME, False, "USB debugging is off"),
    "DEVICE_ACCESSIBILITY_NOT_RUNNING": Code(
        _RUNTIME, True, "the Operator's accessibility service is not running"
    ),
    "GRANT_DEVICE_PERMISSIONS_FAILED": Code(_RUNTIME, True, "a permission could not be granted"),
    # operator
    "OPERATOR_NOT_INSTALLED": Code(_RUNTIME, False, "the Operator app is not on the phone"),
    "OPERATOR_NOT_RUNNING": Code(_RUNTIME, True, "the Operator is on the phone and its process does not run"),
    "OPERATOR_VARIANT_MISMATCH": Code(_RUNTIME, False, "only the other variant of the Operator is installed"),
    "OPERATOR_APK_NOT_FOUND": Code(_FILES, False, "the given APK file does not exist"),
    "OPERATOR_INSTALL_FAILED": Code(_RUNTIME, True, "the APK could not be installed"),
    "OPERATOR_GRANT_FAILED": Code(_RUNTIME, True, "the Operator's permissions could not be granted"),
    "OPERATOR_VERIFY_FAILED": Code(_RUNTIME, True, "the Operator was not there after its installation"),
    "APK_VERSION_UNREADABLE": Code(_RUNTIME, True, "the Operator's version cannot be read"),
    "APK_VERSION_INVALID": Code(_RUNTIME, False, "the Operator's version makes no sense"),
    "VERSION_INCOMPATIBLE": Code(_RUNTIME, False, "program and Operator have different versions"),
    "SERVICE_UNAVAILABLE": Code(_RUNTIME, True, "the Operator runs without its accessibility service"),
    # execution
    "EXECUTION_CONFLICT_IN_FLIGHT": Code(_RUNTIME, True, "another execution holds the phone"),
    "BROADCAST_FAILED": Code(_DELIVERY, True, "the command did not reach the Operator"),
    "RESULT_ENVELOPE_TIMEOUT": Code(_DELIVERY, False, "no result came back in time"),
    "RESULT_ENVELOPE_MALFORMED": Code(_DELIVERY, False, "the result could not be read"),
    "SCREENSHOT_NOT_SAVED": Code(_FILES, False, "the picture of the screen could not be written to its file"),
    "SNAPSHOT_EXTRACTION_FAILED": Code(_DELIVERY, True, "a snapshot step came back without its hierarchy"),
    # step (in stepResults[].data.error)
    "NODE_NOT_FOUND": Code(_RUNTIME, True, "no node on the screen matches the selector"),
    "NODE_NOT_CLICKABLE": Code(_RUNTIME, True, "the matched node took no click"),
    "CONTAINER_NOT_FOUND": Code(_RUNTIME, True, "no node matches the container selector"),
    "CONTAINER_NOT_SCROLLABLE": Code(_RUNTIME, False, "the container does not scroll"),
    "CONTAINER_LOST": Code(_RUNTIME, True, "the container vanished while scrolling"),
    "TARGET_NOT_FOUND": Code(_RUNTIME, True, "scrolling ended without the target"),
    "VALUE_NODE_NOT_FOUND": Code(_RUNTIME, True, "the label has no value beside it"),
    "VALIDATOR_MISMATCH": Code(_RUNTIME, True, "the text read does not satisfy the validator"),
    "INVALID_REGEX_PATTERN": Code(_PARSE, False, "the validator's pattern does not compile"),
    "NAVIGATION_TIMEOUT": Code(_RUNTIME, True, "the expected screen did not come in time"),
    "GESTURE_FAILED": Code(_RUNTIME, True, "the phone refused the gesture"),
    "GLOBAL_ACTION_FAILED": Code(_RUNTIME, True, "the phone refused the key"),
    "SECURITY_BLOCK_DETECTED": Code(_POLICY, False, "the phone blocks automation of this screen"),
    "UNSUPPORTED_RUNTIME_CLOSE": Code(_RUNTIME, False, "the Operator cannot close apps; the host does"),
    "UNSUPPORTED_RUNTIME_SCREENSHOT": Code(_RUNTIME, False, "the Operator takes no screenshots; the host does"),
    "COMMAND_TIMEOUT": Code(_RUNTIME, True, "the execution's time ran out in this step"),
    "APP_NOT_FOUND": Code(_RUNTIME, False, "no app that can be started has this package name"),
    "URI_NOT_HANDLED": Code(_RUNTIME, False, "no app on the phone opens this URI"),
    "URI_SCHEME_NOT_ALLOWED": Code(_POLICY, False, "the scheme of this URI is not allowed"),
    "TEXT_NOT_ACCEPTED": Code(_RUNTIME, True, "the field did not take the text"),
    "SNAPSHOT_HIERARCHY_UNAVAILABLE": Code(_RUNTIME, True, "the phone has no window to capture"),
    "HIERARCHY_INVALID": Code(_PARSE, False, "a hierarchy is not a well-formed UI Automator document"),
    # emulator
    "ANDROID_SDK_TOOL_MISSING": Code(_RUNTIME, False, "an Android SDK tool is missing"),
    "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED": Code(_RUNTIME, True, "the system image could not be installed"),
    "ANDROID_AVD_CREATE_FAILED": Code(_RUNTIME, True, "the virtual device could not be made"),
    "ANDROID_BUILD_FAILED": Code(_RUNTIME, True, "the Android build failed"),
    "ANDROID_INSTALL_FAILED": Code(_RUNTIME, True, "the built app could not be installed"),
    "ANDROID_APP_LAUNCH_FAILED": Code(_RUNTIME, True, "the built app did not start"),
    "SMOKE_OPEN_SETTINGS_FAILED": Code(_RUNTIME, True, "the smoke test could not open Settings"),
    "EMULATOR_NOT_FOUND": Code(_RUNTIME, False, "no emulator has this name"),
    "EMULATOR_ALREADY_RUNNING": Code(_RUNTIME, False, "the emulator runs already"),
    "EMULATOR_NOT_RUNNING": Code(_RUNTIME, False, "the emulator does not run"),
    "EMULATOR_UNSUPPORTED": Code(_RUNTIME, False, "the emulator's configuration is not supported"),
    "EMULATOR_CREATE_FAILED": Code(_RUNTIME, True, "the emulator could not be made"),
    "EMULATOR_START_FAILED": Code(_RUNTIME, True, "the emulator did not start"),
    "EMULATOR_STOP_FAILED": Code(_RUNTIME, True, "the emulator did not stop"),
    "EMULATOR_DELETE_FAILED": Code(_RUNTIME, True, "the emulator could not be deleted"),
    "EMULATOR_BOOT_TIMEOUT": Code(_RUNTIME, True, "the emulator did not boot in time"),
    # phone (the one in the box)
    "PHONE_NOT_FOUND": Code(
        _USAGE, False, "no phone in the box has this serial", "Run 'clawperator phone list' for those there are."
    ),
    "PHONE_NOT_RUNNING": Code(_RUNTIME, False, "the phone in the box is not running"),
    "PHONE_ALREADY_RUNNING": Code(_RUNTIME, False, "a phone in the box with this serial runs already"),
    "PHONE_START_FAILED": Code(_RUNTIME, True, "the phone in the box did not start"),
    "PHONE_STOP_FAILED": Code(_RUNTIME, True, "the phone in the box did not stop"),
    "PHONE_NOT_ANSWERING": Code(_RUNTIME, True, "the phone in the box runs and does not answer"),
    "PHONE_FAULT_INVALID": Code(_USAGE, False, "no such fault, or not one of its settings"),
    "PHONE_APP_INVALID": Code(_PARSE, False, "a file that should hold an app for the phone does not"),
    "PHONE_CASSETTE_INVALID": Code(_PARSE, False, "a recording cannot be shown by a phone"),
    # recording
    "RECORDING_ALREADY_IN_PROGRESS": Code(_RUNTIME, False, "a recording is already running"),
    "RECORDING_NOT_IN_PROGRESS": Code(_RUNTIME, False, "no recording is running"),
    "RECORDING_SESSION_NOT_FOUND": Code(_RUNTIME, False, "no recording session could be resolved"),
    "RECORDING_PULL_FAILED": Code(_DELIVERY, True, "the recording could not be fetched from the phone"),
    "RECORDING_PARSE_FAILED": Code(_PARSE, False, "the recording file cannot be read, or breaks the format"),
    "RECORDING_EXPORT_FAILED": Code(_FILES, False, "an input cannot be read, or an output cannot be written"),
    "RECORDING_COMPARE_FAILED": Code(_PARSE, False, "the baseline or the result cannot be read"),
    "RECORDING_SCHEMA_VERSION_UNSUPPORTED": Code(
        _PARSE,
        False,
        "the recording's schema version is not 1",
        "Stop here: read this recording with the version of the product that wrote it.",
    ),
    "RECORDING_STORAGE_UNAVAILABLE": Code(_FILES, True, "the phone's recording folder is not available"),
    "RECORDING_START_FAILED": Code(_RUNTIME, True, "the phone could not start the recording"),
    "RECORDING_STOP_FAILED": Code(_RUNTIME, True, "the phone could not finish the recording"),
    "RECORDING_UNAVAILABLE": Code(_RUNTIME, False, "the phone has no recorder"),
    "RECORDING_REPLAY_FAILED": Code(
        _PARSE, False, "the recording holds nothing to replay, or the answer cannot be written"
    ),
    # replay (in steps[].error)
    "REPLAY_TARGET_NOT_FOUND": Code(
        _RUNTIME, False, "what was clicked is not on the screen", "Run 'clawperator snapshot' to see what is."
    ),
    "REPLAY_TARGET_AMBIGUOUS": Code(_RUNTIME, False, "several nodes could be what was clicked; none was touched"),
    "REPLAY_EFFECT_MISSING": Code(_RUNTIME, False, "the step was done, and what came of it when recorded did not"),
    "REPLAY_SCREEN_UNEXPECTED": Code(
        _RUNTIME,
        False,
        "the screen is not the recorded one",
        "Look at the labels in the details: a dialog may cover the app, or the app may have changed.",
    ),
    "REPLAY_TEXT_HIDDEN": Code(_POLICY, False, "a password was typed, and a recording holds none"),
    # skill
    "REGISTRY_READ_FAILED": Code(_FILES, False, "the skills registry, or a file it names, cannot be read"),
    "SKILL_NOT_FOUND": Code(
        _USAGE, False, "no skill of the registry has this id", "Run 'clawperator skills list' for those there are."
    ),
    "SKILL_ID_INVALID": Code(_USAGE, False, "the id is not a package name, a dot and an intent"),
    "SKILL_ALREADY_EXISTS": Code(_USAGE, False, "a skill or a folder has this id already"),
    "SKILLS_SCAFFOLD_FAILED": Code(_FILES, False, "the files of a new skill could not be written"),
    "SKILL_VALIDATION_FAILED": Code(_PARSE, False, "a skill's files do not fit its registry entry"),
    "ARTIFACT_NOT_FOUND": Code(_USAGE, False, "the skill has no artifact of this name"),
    "COMPILE_VARS_PARSE_FAILED": Code(_USAGE, False, "the variables of an artifact are no JSON object"),
    "COMPILE_VAR_MISSING": Code(_USAGE, False, "a placeholder of the artifact has no value"),
    "COMPILE_VALIDATION_FAILED": Code(_PARSE, False, "the artifact, filled in, is no valid execution"),
    "SKILLS_GIT_NOT_FOUND": Code(_RUNTIME, False, "no git was found", "Install git, and see that it is on PATH."),
    "SKILLS_SYNC_FAILED": Code(_DELIVERY, True, "the skills could not be fetched"),
    "SKILL_INPUT_INVALID": Code(_USAGE, False, "an input of the skill is missing, unknown or out of range"),
    "SKILL_SCRIPT_NOT_FOUND": Code(_FILES, False, "the skill has no script that can be run"),
    "SKILL_AGENT_CLI_UNAVAILABLE": Code(_RUNTIME, False, "the agent that this skill needs cannot be run"),
    "SKILL_EXECUTION_FAILED": Code(_RUNTIME, False, "the skill did not start, failed, or said that it failed"),
    "SKILL_EXECUTION_TIMEOUT": Code(_RUNTIME, False, "the skill's time ran out, and it was ended"),
    "SKILL_OUTPUT_ASSERTION_FAILED": Code(_RUNTIME, False, "the skill's output lacks the expected text"),
    "SKILL_VERIFICATION_INDETERMINATE": Code(_RUNTIME, False, "the skill ended without proof of its goal"),
    "SKILL_RESULT_PARSE_FAILED": Code(_PARSE, False, "a skill's result frame breaks its contract"),
    # agent
    "ARGUMENTS_INVALID": Code(_PARSE, False, "the command line of claw does not fit the command"),
    "COMMAND_NOT_FOUND": Code(
        _USAGE,
        False,
        "the inventory has no such command",
        "Run 'claw command-graph --output-format json' for those there are.",
    ),
    "TOOL_NOT_FOUND": Code(
        _USAGE,
        False,
        "the inventory has no such tool",
        "Run 'claw tool-pool --output-format json' for those there are.",
    ),
    "TOOL_PAYLOAD_INVALID": Code(_PARSE, False, "the payload does not fit the tool's parameters"),
    "PERMISSION_DENIED": Code(_POLICY, False, "the policy does not let this run, or wants somebody to be asked"),
    "INSTRUCTION_NOT_UNDERSTOOD": Code(
        _USAGE,
        False,
        "the offline brain has no rule for this sentence",
        "Run 'claw bootstrap help' for what it takes.",
    ),
    "INSTRUCTION_AMBIGUOUS": Code(
        _USAGE,
        False,
        "the sentence fits several things, and none was touched",
        "Say which one: the first, the second.",
    ),
    "INSTRUCTION_CHECK_FAILED": Code(_RUNTIME, False, "what was to be checked, or turned, is not so on the phone"),
    "TURN_TIMEOUT": Code(
        _RUNTIME, True, "the time for all turns ran out", "Run it again with a larger --timeout-seconds."
    ),
    "TURN_STEPS_REACHED": Code(
        _RUNTIME, False, "the turn made as many calls as it may", "Run it again with a larger --max-steps."
    ),
    "TURN_BUDGET_REACHED": Code(
        _RUNTIME,
        False,
        "the turn would go over the budget of tokens",
        "Run it again with a larger --max-budget-tokens, or in a new session.",
    ),
    "SESSION_TURNS_REACHED": Code(
        _SESSION,
        False,
        "the session has as many turns as it may",
        "Run it again with a larger --max-session-turns, or in a new session.",
    ),
    "SESSION_ID_INVALID": Code(
        _USAGE,
        False,
        "the id of a session holds letters, digits, dot, _ and -, 128 at most, and begins with none of . and -",
        "Run 'claw list-sessions' for those there are.",
    ),
    "SESSION_NOT_FOUND": Code(
        _SESSION, False, "no session has this id", "Run 'claw list-sessions' for those there are."
    ),
    "SESSION_READ_ONLY": Code(_SESSION, False, "a session of the reference harness cannot be gone on with"),
    "SESSION_LOAD_FAILED": Code(_SESSION, True, "the session's file cannot be read, or is damaged"),
    "SESSION_DELETE_FAILED": Code(_SESSION, True, "the session is there and cannot be removed"),
    "SESSION_WRITE_FAILED": Code(_FILES, True, "the turn could not be written, and is not part of the session"),
    "SESSION_EXISTS": Code(_SESSION, False, "a session with this id is there already"),
    "SESSION_BUSY": Code(_SESSION, True, "another process writes to this session"),
    "BRAIN_NOT_CONFIGURED": Code(_AUTH, False, "the model's address or key is not in the environment"),
    "BRAIN_AUTH_FAILED": Code(_AUTH, False, "the model's service refused the key"),
    "BRAIN_UNAVAILABLE": Code(_DELIVERY, True, "the model's service did not answer, or answered with a failure"),
    "BRAIN_REQUEST_REFUSED": Code(_DELIVERY, False, "the model's service does not take the request as it is"),
    "BRAIN_ANSWER_INVALID": Code(_DELIVERY, True, "the model's service sent something that is no answer"),
    "MCP_SERVER_FAILED": Code(_MCP, True, "an MCP server did not start, answer or keep to the protocol"),
    "MCP_TOOL_FAILED": Code(_MCP, False, "an MCP server says that its tool failed"),
    "PLUGIN_FAILED": Code(_RUNTIME, False, "a plugin could not be loaded, or raised an error"),
    "EVENTS_WRITE_FAILED": Code(_FILES, True, "the file for events cannot be written"),
    "FILESYSTEM_FAILED": Code(_FILES, True, "the system refused to read or write a file"),
    # unknown
    "INTERRUPTED": Code(
        _RUNTIME,
        True,
        "the command was stopped from outside",
        "Run it again, or 'claw list-sessions' for what was kept.",
    ),
    "UNKNOWN": Code(_UNKNOWN, False, "something happened that nobody foresaw"),
}


class ClawError(Exception):
    """A failure with a code from ``CODES``.

    ``message`` says what is wrong in one sentence, ``hint`` names something the caller can do that works.
    ``operation`` and ``target`` say what was being done to what. ``extra`` holds further members of the
    rendered object, for the codes whose contract has them.
    """

    def __init__(  # noqa: PLR0913 - the fields of one error object
        self,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        operation: str = "",
        target: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        row = CODES[code]
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = row.hint if hint is None else hint
        self.details = details
        self.kind = row.kind
        self.retryable = row.retryable
        self.operation = operation
        self.target = target
        self.extra = extra or {}

    @classmethod
    def told(cls, document: Mapping[str, Any]) -> "ClawError":
        """The error another process of ours printed."""
        hint, details = document.get("hint"), document.get("details")
        return cls(document["code"], document["message"], hint=hint, details=details)

    def document(self) -> dict[str, Any]:
        """The object a door prints."""
        out: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint is not None:
            out["hint"] = self.hint
        if self.details is not None:
            out["details"] = self.details
        out.update(self.extra)
        return out
