"""The phone's shell: the language, and the commands that speak it."""

import importlib

# Each registers its commands when it is imported.
COMMAND_MODULES = (
    "clawperator.phone.log.logcat",
    "clawperator.phone.shell.activity",
    "clawperator.phone.shell.capture",
    "clawperator.phone.shell.conditions",
    "clawperator.phone.shell.device",
    "clawperator.phone.shell.dumps",
    "clawperator.phone.shell.editing",
    "clawperator.phone.shell.files",
    "clawperator.phone.shell.gestures",
    "clawperator.phone.shell.lines",
    "clawperator.phone.shell.listing",
    "clawperator.phone.shell.monkey",
    "clawperator.phone.shell.network",
    "clawperator.phone.shell.package",
    "clawperator.phone.shell.processes",
    "clawperator.phone.shell.search",
    "clawperator.phone.shell.services",
    "clawperator.phone.shell.system",
    "clawperator.phone.shell.texts",
    "clawperator.phone.shell.window",
)

_loaded: list[str] = []


def load() -> None:
    """Make every command known. Only the first call costs anything."""
    if not _loaded:
        for name in COMMAND_MODULES:
            importlib.import_module(name)
        _loaded.extend(COMMAND_MODULES)
