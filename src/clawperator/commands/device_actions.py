"""Commands for apps and for the device as a whole."""

from clawperator.commands.actions import action_command
from clawperator.commands.model import ALLOW_SCHEME, Command, Flag

_APP = Flag("--app", "package name, instead of the argument", "<package>", ("--package",), literal=True)
_PERMISSION = Flag("--permission", "permission, instead of the second argument", "<permission>", literal=True)
_PERMISSION_NOTE = "A name without a dot means a permission of Android: CAMERA is android.permission.CAMERA."

DEVICE_ACTION_COMMANDS: tuple[Command, ...] = (
    action_command(
        "rotate",
        "Rotate the screen.",
        "<orientation>",
        examples=("clawperator rotate landscape", "clawperator rotate auto"),
        notes="Orientations: portrait, landscape, 0, 90, 180, 270, or auto to follow the sensor again.",
        tools=("rotate",),
        module="device_actions",
    ),
    action_command(
        "start-activity",
        "Start an activity by component, or by action and data.",
        "[<component>]",
        synonyms=("start_activity",),
        flags=(
            Flag("--component", "package/activity, instead of the argument", "<component>", literal=True),
            Flag("--action", "intent action", "<action>", literal=True),
            Flag("--uri", "data URI", "<uri>", ("--data",), literal=True),
            Flag(
                "--extra",
                "extra as name=value; true, false and numbers keep their type",
                "<name=value>",
                repeats=True,
                literal=True,
            ),
            Flag(
                "--extra-string",
                "extra as name=value; the value is a text",
                "<name=value>",
                repeats=True,
                literal=True,
            ),
            ALLOW_SCHEME,
        ),
        examples=(
            "clawperator start-activity --action android.settings.DISPLAY_SETTINGS",
            "clawperator start-activity com.android.settings/.Settings --dry-run",
        ),
        notes="Schemes of a URI other than http and https need --allow-scheme.",
        tools=("start_activity",),
        module="device_actions",
    ),
    action_command(
        "install-apk",
        "Install an APK file.",
        "<apk>",
        examples=("clawperator install-apk app.apk --dry-run",),
        level="full",
        tools=("install_app",),
        module="device_actions",
        word_path="in",
    ),
    action_command(
        "uninstall-app",
        "Uninstall an app with its data.",
        "<package>",
        synonyms=("uninstall", "uninstall_app"),
        flags=(_APP,),
        examples=("clawperator uninstall-app com.example.app --dry-run",),
        level="full",
        tools=("uninstall_app",),
        module="device_actions",
    ),
    action_command(
        "clear-data",
        "Delete the data of an app.",
        "<package>",
        synonyms=("clear-app-data", "clear_app_data"),
        flags=(_APP,),
        examples=("clawperator clear-data com.clawperator.notes",),
        level="full",
        tools=("clear_app_data",),
        module="device_actions",
    ),
    action_command(
        "grant",
        "Grant a permission to an app.",
        "<package> <permission>",
        synonyms=("grant-permission", "grant_permission"),
        flags=(_APP, _PERMISSION),
        examples=("clawperator grant com.clawperator.notes CAMERA",),
        notes=_PERMISSION_NOTE,
        level="full",
        tools=("grant_permission",),
        module="device_actions",
    ),
    action_command(
        "revoke",
        "Revoke a permission of an app.",
        "<package> <permission>",
        synonyms=("revoke-permission", "revoke_permission"),
        flags=(_APP, _PERMISSION),
        examples=("clawperator revoke com.clawperator.notes CAMERA",),
        notes=_PERMISSION_NOTE,
        level="full",
        tools=("revoke_permission",),
        module="device_actions",
    ),
    action_command(
        "logcat",
        "Read the log lines of an app.",
        synonyms=("read-logcat", "read_logcat"),
        flags=(
            Flag("--app", "package name of the app", "<package>", ("--package",), literal=True),
            Flag(
                "--since",
                "a duration such as 30s, or a time such as '01-31 12:00:00' (default: 1m)",
                "<since>",
                literal=True,
            ),
            Flag("--lines", "keep only the last lines (default: 500)", "<n>", literal=True),
        ),
        examples=("clawperator logcat --app com.android.settings --since 30s",),
        level="full",
        tools=("read_logcat",),
        module="device_actions",
        acts=False,
    ),
)
