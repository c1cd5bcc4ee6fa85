"""The phone's shell: the language, and the commands that speak it."""

import importlib

# Each registers its commands when it is imported.
COMMAND_MODULES = (
    "clawperator.phone.log.logcat",
    "clawperator.phone.shell.android.am",
    "clawperator.phone.shell.android.uiautomator",
    "clawperator.phone.shell.toybox.test",
    "clawperator.phone.shell.android.settings",
    "clawperator.phone.shell.android.dumpsys",
    "clawperator.phone.shell.toybox.sed",
    "clawperator.phone.shell.toybox.files",
    "clawperator.phone.shell.android.input",
    "clawperator.phone.shell.toybox.text_filters",
    "clawperator.phone.shell.toybox.ls",
    "clawperator.phone.shell.android.monkey",
    "clawperator.phone.shell.toybox.network",
    "clawperator.phone.shell.android.pm",
    "clawperator.phone.shell.toybox.ps",
    "clawperator.phone.shell.toybox.find",
    "clawperator.phone.shell.android.cmd",
    "clawperator.phone.shell.toybox.system",
    "clawperator.phone.shell.toybox.streams",
    "clawperator.phone.shell.android.wm",
)

_loaded: list[str] = []


def load() -> None:
    """Make every command known. Only the first call costs anything."""
    if not _loaded:
        for name in COMMAND_MODULES:
            importlib.import_module(name)
        _loaded.extend(COMMAND_MODULES)
