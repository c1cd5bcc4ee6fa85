"""``cmd``, ``service`` and ``content``: the system services by name, and the commands of some of them."""

from clawperator.phone.core.user_input import KEY_CODES, MAX_VOLUME, VOLUME
from clawperator.phone.shell.android.base import Handler, ServiceArguments, print_error, read_int, run_service
from clawperator.phone.shell.process import ShellProcess, command

NOT_FOUND = 20
# The services and their Java interfaces. Those in ``_PROGRAMS`` are also programs.
SERVICES = {
    "accessibility": "android.view.accessibility.IAccessibilityManager",
    "activity": "android.app.IActivityManager",
    "activity_task": "android.app.IActivityTaskManager",
    "battery": "",
    "connectivity": "android.net.IConnectivityManager",
    "display": "android.hardware.display.IDisplayManager",
    "input": "android.hardware.input.IInputManager",
    "input_method": "com.android.internal.view.IInputMethodManager",
    "media_session": "android.media.session.ISessionManager",
    "meminfo": "",
    "notification": "android.app.INotificationManager",
    "package": "android.content.pm.IPackageManager",
    "power": "android.os.IPowerManager",
    "settings": "",
    "statusbar": "com.android.internal.statusbar.IStatusBarService",
    "SurfaceFlinger": "android.ui.ISurfaceComposer",
    "uimode": "android.app.IUiModeManager",
    "wifi": "android.net.wifi.IWifiManager",
    "window": "android.view.IWindowManager",
}
_PROGRAMS = {
    "activity": "am",
    "activity_task": "am",
    "input": "input",
    "input_method": "ime",
    "package": "pm",
    "settings": "settings",
    "window": "wm",
}


@command("cmd")
def cmd(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words[:1] == ["-w"]:
        words = words[1:]
    if not words:
        problem = "cmd: No service specified; use -l to list all running services."
        return print_error(process, f"{problem} Use -w to start and wait for a service.", NOT_FOUND)
    name, arguments = words[0], words[1:]
    if name == "-l":
        return process.write("Currently running services:\n" + "".join(f"  {name}\n" for name in SERVICES))
    if name not in SERVICES:
        return print_error(process, f"cmd: Can't find service: {name}", NOT_FOUND)
    if name in _PROGRAMS:
        return process.run([_PROGRAMS[name], *arguments])
    return run_service(process, arguments, _HANDLERS.get(name, {}), name)


def _press_key(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Press the key of the command's name."""
    process.phone.key(KEY_CODES[arguments.command.upper()])
    return 0


def _night(process: ShellProcess, arguments: ServiceArguments) -> int:
    given = arguments.next()
    modes = {"no": "1", "yes": "2", "auto": "0"}
    if given is not None:
        if given not in modes:
            return print_error(process, "Error: mode must be 'yes', 'no', or 'auto'")
        process.phone.settings.put("secure", "ui_night_mode", modes[given])
    now = process.phone.settings.get("secure", "ui_night_mode")
    return process.write(f"Night mode: {next((word for word, code in modes.items() if code == now), 'no')}\n")


def _set_wifi(process: ShellProcess, arguments: ServiceArguments) -> int:
    given = arguments.required()
    if given not in {"enabled", "disabled"}:
        expected = "Expected 'enabled' or 'disabled' as next arg"
        return print_error(process, f"Invalid args for set-wifi-enabled: {expected}")
    return process.run(["svc", "wifi", given.removesuffix("d")])


def _wifi_status(process: ShellProcess, _: ServiceArguments) -> int:
    on = process.phone.settings.get("global", "wifi_on") == "1"
    return process.write(f"Wifi is {'enabled' if on else 'disabled'}\n")


def _airplane(process: ShellProcess, arguments: ServiceArguments) -> int:
    given = arguments.next()
    if given is None:
        on = process.phone.settings.get("global", "airplane_mode_on") == "1"
        return process.write("enabled\n" if on else "disabled\n")
    if given not in {"enable", "disable"}:
        return print_error(process, f"Error: unknown argument '{given}'")
    process.phone.settings.put("global", "airplane_mode_on", "1" if given == "enable" else "0")
    return 0


def _media_volume(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Print or set the volume of the media stream. Other streams do not exist."""
    phone = process.phone
    options = arguments.options("--stream", "--set")
    read_int(options.get("--stream", "3"))
    goal = read_int(options["--set"]) if "--set" in options else None
    with phone.lock:
        if goal is not None:
            if not 0 <= goal <= MAX_VOLUME:
                problem = f"invalid volume value: {goal} is not in range [0..{MAX_VOLUME}]"
                return print_error(process, f"Error: {problem}")
            phone.settings.put("system", VOLUME, str(goal))
        now = phone.settings.get("system", VOLUME)
    process.write("[V] will control stream=3 (STREAM_MUSIC)\n")
    return process.write(f"[V] volume is {now} in range [0..{MAX_VOLUME}]\n")


_HANDLERS: dict[str, dict[str, Handler]] = {
    "media_session": {"volume": _media_volume},
    # Without output or effect: the phone has no notification shade.
    "statusbar": dict.fromkeys(("expand-notifications", "expand-settings", "collapse"), lambda *_: 0),
    "power": dict.fromkeys(("wakeup", "sleep"), _press_key),
    "uimode": {"night": _night},
    "wifi": {"set-wifi-enabled": _set_wifi, "status": _wifi_status},
    "connectivity": {"airplane-mode": _airplane},
}


@command("content")
def content(process: ShellProcess) -> int:
    """Report that the provider is missing: no app has a content provider."""
    words = process.argv[1:]
    uri = words[words.index("--uri") + 1] if "--uri" in words[:-1] else ""
    name = uri.removeprefix("content://").partition("/")[0]
    if not words or not name:
        return print_error(process, "[ERROR] Unsupported operation, or no --uri content://PROVIDER/TABLE", 1)
    problem = f"java.lang.IllegalStateException: Could not find provider: {name}"
    return print_error(process, f"Error while accessing provider:{name}\n{problem}", 1)


@command("service")
def service(process: ShellProcess) -> int:
    words = process.argv[1:]
    if words == ["list"]:
        rows = (f"{number}\t{name}: [{SERVICES[name]}]\n" for number, name in enumerate(SERVICES))
        return process.write(f"Found {len(SERVICES)} services:\n{''.join(rows)}")
    if len(words) < 2 or words[0] not in {"check", "call"}:
        return print_error(process, "Usage: service list|check SERVICE|call SERVICE CODE", 10)
    found = words[1] in SERVICES
    if words[0] == "check":
        process.write(f"Service {words[1]}: {'found' if found else 'not found'}\n")
    elif found:
        # Binder calls are not simulated; every service refuses them.
        process.write('Result: Parcel(Error: 0xffffffffffffffff "Operation not permitted")\n')
    else:
        print_error(process, f"service: Service {words[1]} does not exist")
    return 0
