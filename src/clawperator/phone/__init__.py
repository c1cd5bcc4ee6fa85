"""The simulated phone: an Android phone in a process, driven by real adb clients or directly in tests.

This is the package's interface; everything else is internal. Names are imported when they are first used.
"""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.phone.adb.adbd import AdbdServer
    from clawperator.phone.adb.device import PhoneDevice
    from clawperator.phone.adb.server import AdbServer
    from clawperator.phone.apps.system import DELETE_KEY, ENTER_KEY, SHIFT_KEY, SYMBOLS_KEY, is_symbol
    from clawperator.phone.cassette.cassette import Cassette, load_cassette
    from clawperator.phone.core.events import AccessibilityEvent
    from clawperator.phone.core.faults import FAULTS, Fault, read_setting
    from clawperator.phone.core.phone import Phone
    from clawperator.phone.core.window import Window
    from clawperator.phone.operator.driver import PhoneDriver, PrivilegedPhoneDriver
    from clawperator.phone.process.launch import (
        DEFAULT_SERIAL,
        PhoneProcess,
        control_phone,
        delete_phone,
        describe_phone,
        existing_folder,
        list_phones,
        reset_phone,
        start_phone,
        stop_phone,
    )
    from clawperator.phone.shell.limited import run_limited
    from clawperator.phone.toolkit.app import App, back, go, put, start
    from clawperator.phone.toolkit.appfile import load_apps
    from clawperator.phone.toolkit.context import AppContext, Effect
    from clawperator.phone.toolkit.views import (
        Rows,
        View,
        button,
        checkbox,
        column,
        field,
        frame,
        icon,
        image,
        item,
        listing,
        progress,
        radio,
        row,
        scroll,
        strip,
        switch,
        tab,
        tabs,
        text,
        title,
        toolbar,
        web,
    )
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "adb.adbd": "AdbdServer",
            "adb.device": "PhoneDevice",
            "adb.server": "AdbServer",
            "apps.system": "DELETE_KEY ENTER_KEY SHIFT_KEY SYMBOLS_KEY is_symbol",
            "cassette.cassette": "Cassette load_cassette",
            "core.events": "AccessibilityEvent",
            "core.faults": "FAULTS Fault read_setting",
            "core.phone": "Phone",
            "core.window": "Window",
            "operator.driver": "PhoneDriver PrivilegedPhoneDriver",
            "process.launch": (
                "DEFAULT_SERIAL PhoneProcess control_phone delete_phone describe_phone existing_folder "
                "list_phones reset_phone start_phone stop_phone"
            ),
            "shell.limited": "run_limited",
            "toolkit.app": "App back go put start",
            "toolkit.appfile": "load_apps",
            "toolkit.context": "AppContext Effect",
            "toolkit.views": (
                "Rows View button checkbox column field frame icon image item listing progress radio row "
                "scroll strip switch tab tabs text title toolbar web"
            ),
        },
    )

__all__ = [
    "DEFAULT_SERIAL",
    "DELETE_KEY",
    "ENTER_KEY",
    "FAULTS",
    "SHIFT_KEY",
    "SYMBOLS_KEY",
    "AccessibilityEvent",
    "AdbServer",
    "AdbdServer",
    "App",
    "AppContext",
    "Cassette",
    "Effect",
    "Fault",
    "Phone",
    "PhoneDevice",
    "PhoneDriver",
    "PhoneProcess",
    "PrivilegedPhoneDriver",
    "Rows",
    "View",
    "Window",
    "back",
    "button",
    "checkbox",
    "column",
    "control_phone",
    "delete_phone",
    "describe_phone",
    "existing_folder",
    "field",
    "frame",
    "go",
    "icon",
    "image",
    "is_symbol",
    "item",
    "list_phones",
    "listing",
    "load_apps",
    "load_cassette",
    "progress",
    "put",
    "radio",
    "read_setting",
    "reset_phone",
    "row",
    "run_limited",
    "scroll",
    "start",
    "start_phone",
    "stop_phone",
    "strip",
    "switch",
    "tab",
    "tabs",
    "text",
    "title",
    "toolbar",
    "web",
]
