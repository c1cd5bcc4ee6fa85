"""Finding phones and talking to them: adb's protocol, the Operator, leases, checks."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.device.adb.binary import find_adb
    from clawperator.device.adb.client import Device, Endpoint, ShellAnswer, run_shell
    from clawperator.device.adb.quoting import command_line
    from clawperator.device.adb.sync import NoSuchFileError
    from clawperator.device.app_labels import is_app_label, resolve_app_label
    from clawperator.device.backends import Backend
    from clawperator.device.backends.adb_system import AdbSystem
    from clawperator.device.backends.host_actions import force_stop, save_screenshot
    from clawperator.device.backends.near_matches import is_failed_search, with_near_matches
    from clawperator.device.discovery import ListedDevice, device_models, list_devices, resolve_device
    from clawperator.device.emulators.avd import API_LEVEL, DEFAULT_NAME, PROFILE, Avd, host_abi
    from clawperator.device.evidence import (
        EVIDENCE_DOCUMENT,
        EVIDENCE_MANIFEST,
        BundleFile,
        CaptureSource,
        EvidenceBundle,
        EvidenceManifest,
        FinishedRun,
        known_secrets,
        masked_tree,
    )
    from clawperator.device.host_log import HostLogReader, log_event, log_file
    from clawperator.device.lease import hold_device, lease_conflict
    from clawperator.device.live_input import is_live_view, live_lease, user_input
    from clawperator.device.live_view import CapturedSource, LiveLook, LiveSource, SimulatedSource
    from clawperator.device.operators import enabled_operator, find_operator
    from clawperator.device.packages import list_packages
    from clawperator.device.pairing import PairedDevice, check_address, check_code, pair_device, require_server
    from clawperator.device.recordings import PULL_SECONDS, check_session_id, local_recording_path, pull_recording
    from clawperator.device.references import References
    from clawperator.device.run import add_views, run_plan, with_captures
    from clawperator.device.running import RunningExecution, still_running
    from clawperator.device.screen_watch import ScreenReport, ScreenWatch
    from clawperator.device.secrets import SecretReader, active_recording, declared_texts, is_declared
    from clawperator.device.serials import MAX_SERIAL_BYTES, device_flag
    from clawperator.device.settings import default_backend, default_timeout_ms, named_operator
    from clawperator.device.setup.compatibility_report import CompatibilityReport, make_report
    from clawperator.device.setup.device_checks import HANDSHAKE_MS
    from clawperator.device.setup.doctor import Report, report_text, run_doctor
    from clawperator.device.setup.install import Granted, OperatorSetup, grant_permissions, set_up_operator
    from clawperator.device.setup.version_check import Compatibility, probe_compatibility
    from clawperator.device.simulated_phones import (
        list_faults,
        reset_simulated,
        set_fault,
        start_simulated,
        stop_simulated,
    )
    from clawperator.device.snapshot_views import outline_with_references
    from clawperator.device.target_policy import check_target
    from clawperator.device.uri_schemes import SCHEMES_VARIABLE, check_uri_schemes, read_schemes
    from clawperator.device.users import require_user
    from clawperator.device.wakefulness import known_device, require_awake
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "adb.binary": "find_adb",
            "adb.client": "Device Endpoint ShellAnswer run_shell",
            "adb.quoting": "command_line",
            "adb.sync": "NoSuchFileError",
            "app_labels": "is_app_label resolve_app_label",
            "backends": "Backend",
            "backends.adb_system": "AdbSystem",
            "backends.host_actions": "force_stop save_screenshot",
            "backends.near_matches": "is_failed_search with_near_matches",
            "discovery": "ListedDevice device_models list_devices resolve_device",
            "emulators.avd": "API_LEVEL Avd DEFAULT_NAME PROFILE host_abi",
            "evidence": (
                "BundleFile CaptureSource EVIDENCE_DOCUMENT EVIDENCE_MANIFEST EvidenceBundle EvidenceManifest "
                "FinishedRun known_secrets masked_tree"
            ),
            "host_log": "HostLogReader log_event log_file",
            "lease": "hold_device lease_conflict",
            "live_input": "is_live_view live_lease user_input",
            "live_view": "CapturedSource LiveLook LiveSource SimulatedSource",
            "packages": "list_packages",
            "pairing": "PairedDevice check_address check_code pair_device require_server",
            "recordings": "PULL_SECONDS check_session_id local_recording_path pull_recording",
            "references": "References",
            "run": "add_views run_plan with_captures",
            "running": "RunningExecution still_running",
            "screen_watch": "ScreenReport ScreenWatch",
            "secrets": "SecretReader active_recording declared_texts is_declared",
            "operators": "enabled_operator find_operator",
            "settings": "default_backend default_timeout_ms named_operator",
            "serials": "MAX_SERIAL_BYTES device_flag",
            "setup.compatibility_report": "CompatibilityReport make_report",
            "setup.device_checks": "HANDSHAKE_MS",
            "setup.doctor": "Report report_text run_doctor",
            "setup.install": "Granted OperatorSetup grant_permissions set_up_operator",
            "setup.version_check": "Compatibility probe_compatibility",
            "simulated_phones": "list_faults reset_simulated set_fault start_simulated stop_simulated",
            "snapshot_views": "outline_with_references",
            "target_policy": "check_target",
            "uri_schemes": "SCHEMES_VARIABLE check_uri_schemes read_schemes",
            "users": "require_user",
            "wakefulness": "known_device require_awake",
        },
    )

__all__ = [
    "API_LEVEL",
    "DEFAULT_NAME",
    "EVIDENCE_DOCUMENT",
    "EVIDENCE_MANIFEST",
    "HANDSHAKE_MS",
    "MAX_SERIAL_BYTES",
    "PROFILE",
    "PULL_SECONDS",
    "SCHEMES_VARIABLE",
    "AdbSystem",
    "Avd",
    "Backend",
    "BundleFile",
    "CaptureSource",
    "CapturedSource",
    "Compatibility",
    "CompatibilityReport",
    "Device",
    "Endpoint",
    "EvidenceBundle",
    "EvidenceManifest",
    "FinishedRun",
    "Granted",
    "HostLogReader",
    "ListedDevice",
    "LiveLook",
    "LiveSource",
    "NoSuchFileError",
    "OperatorSetup",
    "PairedDevice",
    "References",
    "Report",
    "RunningExecution",
    "ScreenReport",
    "ScreenWatch",
    "SecretReader",
    "ShellAnswer",
    "SimulatedSource",
    "active_recording",
    "add_views",
    "check_address",
    "check_code",
    "check_session_id",
    "check_target",
    "check_uri_schemes",
    "command_line",
    "declared_texts",
    "default_backend",
    "default_timeout_ms",
    "device_flag",
    "device_models",
    "enabled_operator",
    "find_adb",
    "find_operator",
    "force_stop",
    "grant_permissions",
    "hold_device",
    "host_abi",
    "is_app_label",
    "is_declared",
    "is_failed_search",
    "is_live_view",
    "known_device",
    "known_secrets",
    "lease_conflict",
    "list_devices",
    "list_faults",
    "list_packages",
    "live_lease",
    "local_recording_path",
    "log_event",
    "log_file",
    "make_report",
    "masked_tree",
    "named_operator",
    "outline_with_references",
    "pair_device",
    "probe_compatibility",
    "pull_recording",
    "read_schemes",
    "report_text",
    "require_awake",
    "require_server",
    "require_user",
    "reset_simulated",
    "resolve_app_label",
    "resolve_device",
    "run_doctor",
    "run_plan",
    "run_shell",
    "save_screenshot",
    "set_fault",
    "set_up_operator",
    "start_simulated",
    "still_running",
    "stop_simulated",
    "user_input",
    "with_captures",
    "with_near_matches",
]
