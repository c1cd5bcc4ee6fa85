"""Documents that cross a boundary: limits, selectors, actions, executions, results, the wire format. No I/O."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.contract.action_params import (
        DEFAULT_WAIT_MS,
        DIRECTIONS,
        MAX_GESTURE_MS,
        PACKAGE_NAME,
        SESSION_ID,
        UI_READINESS,
        Coordinate,
        Expectation,
        TextSource,
        UserChoice,
        ViewParams,
    )
    from clawperator.contract.action_types import ActionType, Params, Retry, changes_device, is_snapshot, unsettles
    from clawperator.contract.actions import (
        ACTION_ALIASES,
        ACTIONS,
        ClickParams,
        EnterTextParams,
        PressKeyParams,
        ReadKeyValuePairParams,
        ReadTextParams,
        ScrollAndClickParams,
        ScrollGestureParams,
        ScrollParams,
        ScrollUntilParams,
        SleepParams,
        SnapshotUiParams,
        TakeScreenshotParams,
        WaitForNavigationParams,
        WaitForNodeParams,
        click_type,
    )
    from clawperator.contract.app_actions import CloseAppParams, OpenAppParams, OpenUriParams, RecordingParams
    from clawperator.contract.device_actions import (
        ClearAppDataParams,
        GrantPermissionParams,
        InstallAppParams,
        ReadLogcatParams,
        RevokePermissionParams,
        RotateParams,
        StartActivityParams,
        UninstallAppParams,
    )
    from clawperator.contract.execution import (
        LONGEST_WAIT_MS,
        Action,
        Execution,
        ExecutionShape,
        Plan,
        TimeoutMs,
        new_command_id,
        new_execution,
        single_action,
        validate,
        waiting_timeout,
        with_timeout,
    )
    from clawperator.contract.input_actions import DoubleTapParams, DragParams, SubmitTextParams, SwipeParams
    from clawperator.contract.issues import struct_issues
    from clawperator.contract.keys import KEY_CODES, OPERATOR_KEYS, KeyName
    from clawperator.contract.looking import look_retry, looks_for_node, retry_within
    from clawperator.contract.normalise import PARAM_ALIASES, TOP_ALIASES, normalise_execution
    from clawperator.contract.operator_plan import needs_host, operator_action
    from clawperator.contract.query_actions import QueryParams
    from clawperator.contract.results import (
        DISPATCHED,
        Effect,
        ExecutionResult,
        ResultEnvelope,
        StepResult,
        may_have_changed,
        outcome_of,
        step_mismatch,
    )
    from clawperator.contract.selectors import HOST_FIELDS, MATCHER_ALIASES, REFERENCE, NodeMatcher, NodeSelector
    from clawperator.contract.skill_result import (
        CONTRACT_VERSION,
        FRAME_MARKER,
        AgentSource,
        Checkpoint,
        Diagnostics,
        EnvelopeEvidence,
        JsonEvidence,
        ScriptSource,
        SkillResult,
        SkillsRun,
        TerminalVerification,
        TextEvidence,
        check_version,
    )
    from clawperator.contract.wait_actions import (
        WaitForAnyParams,
        WaitForTextChangeParams,
        WaitUntilGoneParams,
        WaitUntilIdleParams,
    )
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "action_types": "ActionType Params Retry changes_device is_snapshot unsettles",
            "action_params": (
                "Coordinate DEFAULT_WAIT_MS DIRECTIONS Expectation MAX_GESTURE_MS PACKAGE_NAME SESSION_ID "
                "TextSource UI_READINESS UserChoice ViewParams"
            ),
            "actions": (
                "ACTIONS ACTION_ALIASES ClickParams EnterTextParams PressKeyParams ReadKeyValuePairParams "
                "ReadTextParams ScrollAndClickParams "
                "ScrollGestureParams ScrollParams ScrollUntilParams SleepParams SnapshotUiParams "
                "TakeScreenshotParams WaitForNavigationParams WaitForNodeParams click_type"
            ),
            "app_actions": "CloseAppParams OpenAppParams OpenUriParams RecordingParams",
            "device_actions": (
                "ClearAppDataParams GrantPermissionParams InstallAppParams ReadLogcatParams "
                "RevokePermissionParams RotateParams StartActivityParams UninstallAppParams"
            ),
            "execution": (
                "Action Execution ExecutionShape LONGEST_WAIT_MS Plan TimeoutMs new_command_id new_execution "
                "single_action validate waiting_timeout with_timeout"
            ),
            "input_actions": "DoubleTapParams DragParams SubmitTextParams SwipeParams",
            "issues": "struct_issues",
            "keys": "KEY_CODES KeyName OPERATOR_KEYS",
            "normalise": "PARAM_ALIASES TOP_ALIASES normalise_execution",
            "looking": "look_retry looks_for_node retry_within",
            "results": (
                "DISPATCHED Effect ExecutionResult ResultEnvelope StepResult may_have_changed outcome_of "
                "step_mismatch"
            ),
            "operator_plan": "needs_host operator_action",
            "selectors": "HOST_FIELDS MATCHER_ALIASES NodeMatcher NodeSelector REFERENCE",
            "skill_result": (
                "AgentSource CONTRACT_VERSION Checkpoint Diagnostics EnvelopeEvidence FRAME_MARKER "
                "JsonEvidence ScriptSource SkillResult SkillsRun TerminalVerification TextEvidence "
                "check_version"
            ),
            "query_actions": "QueryParams",
            "wait_actions": "WaitForAnyParams WaitForTextChangeParams WaitUntilGoneParams WaitUntilIdleParams",
        },
    )

__all__ = [
    "ACTIONS",
    "ACTION_ALIASES",
    "CONTRACT_VERSION",
    "DEFAULT_WAIT_MS",
    "DIRECTIONS",
    "DISPATCHED",
    "FRAME_MARKER",
    "HOST_FIELDS",
    "KEY_CODES",
    "LONGEST_WAIT_MS",
    "MATCHER_ALIASES",
    "MAX_GESTURE_MS",
    "OPERATOR_KEYS",
    "PACKAGE_NAME",
    "PARAM_ALIASES",
    "REFERENCE",
    "SESSION_ID",
    "TOP_ALIASES",
    "UI_READINESS",
    "Action",
    "ActionType",
    "AgentSource",
    "Checkpoint",
    "ClearAppDataParams",
    "ClickParams",
    "CloseAppParams",
    "Coordinate",
    "Diagnostics",
    "DoubleTapParams",
    "DragParams",
    "Effect",
    "EnterTextParams",
    "EnvelopeEvidence",
    "Execution",
    "ExecutionResult",
    "ExecutionShape",
    "Expectation",
    "GrantPermissionParams",
    "InstallAppParams",
    "JsonEvidence",
    "KeyName",
    "NodeMatcher",
    "NodeSelector",
    "OpenAppParams",
    "OpenUriParams",
    "Params",
    "Plan",
    "PressKeyParams",
    "QueryParams",
    "ReadKeyValuePairParams",
    "ReadLogcatParams",
    "ReadTextParams",
    "RecordingParams",
    "ResultEnvelope",
    "Retry",
    "RevokePermissionParams",
    "RotateParams",
    "ScriptSource",
    "ScrollAndClickParams",
    "ScrollGestureParams",
    "ScrollParams",
    "ScrollUntilParams",
    "SkillResult",
    "SkillsRun",
    "SleepParams",
    "SnapshotUiParams",
    "StartActivityParams",
    "StepResult",
    "SubmitTextParams",
    "SwipeParams",
    "TakeScreenshotParams",
    "TerminalVerification",
    "TextEvidence",
    "TextSource",
    "TimeoutMs",
    "UninstallAppParams",
    "UserChoice",
    "ViewParams",
    "WaitForAnyParams",
    "WaitForNavigationParams",
    "WaitForNodeParams",
    "WaitForTextChangeParams",
    "WaitUntilGoneParams",
    "WaitUntilIdleParams",
    "changes_device",
    "check_version",
    "click_type",
    "is_snapshot",
    "look_retry",
    "looks_for_node",
    "may_have_changed",
    "needs_host",
    "new_command_id",
    "new_execution",
    "normalise_execution",
    "operator_action",
    "outcome_of",
    "retry_within",
    "single_action",
    "step_mismatch",
    "struct_issues",
    "unsettles",
    "validate",
    "waiting_timeout",
    "with_timeout",
]
