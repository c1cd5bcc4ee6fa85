"""``dumpsys``: the state of each system service, in the lines that clients parse."""

import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from clawperator.phone.apps.system import ANDROID, KEYBOARD
from clawperator.phone.core.kernel import MEMORY_KB, user_name
from clawperator.phone.core.packages import Package
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.core.windows import Display
from clawperator.phone.shell.android.base import print_error
from clawperator.phone.shell.android.cmd import SERVICES
from clawperator.phone.shell.android.package_manager import (
    INSTALL_PERMISSIONS,
    RUNTIME_PERMISSIONS,
    activity_of,
    component_of,
    is_exported,
    screen_component,
    tasks_from_top,
)
from clawperator.phone.shell.android.uiautomator import DISPLAY_ID
from clawperator.phone.shell.process import ShellProcess, command
from clawperator.phone.toolkit.app import AppProcess, BackStackEntry
from clawperator.recording.heuristics import SYSTEM_UI

# ``dumpsys activity`` and ``dumpsys window``: the activity in front, the tasks, and the focused window


def _record_id(*parts: object) -> str:
    """The hex id of an object in a dump. It stays the same as long as the object exists."""
    return f"{zlib.crc32(repr(parts).encode()) & 0xFFFFFFF:07x}"


# Activities


def _dump_activities(phone: Phone, words: list[str]) -> str:
    section = next((word for word in words if not word.startswith("-")), "activities")
    parts = {"activities": _activities, "top": _top, "recents": _recents, "processes": _processes}
    for name, dump in parts.items():
        if section in {name, name[0]}:
            return dump(phone)
    return f"Bad activity command, or no activities match: {section}\n"


def _activity_record(task: Task, entry: BackStackEntry) -> str:
    number = _record_id(task.number, entry.screen.name, task.entries.index(entry))
    return f"ActivityRecord{{{number} u0 {component_of(entry).short} t{task.number}}}"


def _resumed(task: Task) -> str:
    return _activity_record(task, task.shown()[0])


def _process_record(phone: Phone, process: AppProcess) -> str:
    package = process.app.package
    user = user_name(phone.packages[package].uid).replace("_", "")
    return f"ProcessRecord{{{_record_id(process.pid)} {process.pid}:{package}/{user}}}"


def _task_text(phone: Phone, task: Task) -> str:
    package = task.process.app.package
    uid = phone.packages[package].uid
    kind = "home" if task is phone.tasks.launcher else "standard"
    visible = str(task is phone.tasks.front).lower()
    activities = [entry for entry in task.entries if entry.screen.kind == "activity"]
    return (
        f"Task{{{_record_id(task.number)} #{task.number} type={kind} A={uid}:{package} U=0 visible={visible}"
        f" mode=fullscreen translucent=false sz={len(activities)}}}"
    )


def _activities(phone: Phone) -> str:
    front = phone.tasks.front
    lines = [
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)",
        "Display #0 (activities from top to bottom):",
    ]
    for task in tasks_from_top(phone):
        lines.append(f"  * {_task_text(phone, task)}")
        if task is front:
            lines.append(f"    mResumedActivity: {_resumed(task)}")
        activities = [entry for entry in task.entries if entry.screen.kind == "activity"]
        for number, entry in reversed(list(enumerate(activities))):
            state = "RESUMED" if task is front and entry is task.shown()[0] else "STOPPED"
            lines += [
                f"    * Hist  #{number}: {_activity_record(task, entry)}",
                f"      packageName={entry.package} processName={entry.package}",
                f"      app={_process_record(phone, task.process)}",
                f"      mActivityComponent={component_of(entry).short}",
                f"      state={state}",
            ]
        lines.append("")
    lines += [
        "  Resumed activities in task display areas (from top to bottom):",
        f"    Resumed: {_resumed(front)}",
        "",
        f"  ResumedActivity: {_resumed(front)}",
        f"  topResumedActivity={_resumed(front)}",
        f"  mFocusedApp={_resumed(front)}",
        f"  mTopFocusedRootTask={_task_text(phone, front)}",
        f"  mSleeping={str(not phone.windows.awake).lower()}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _top(phone: Phone) -> str:
    """The top activity of each task, the one in front last."""
    lines = []
    for task in reversed(tasks_from_top(phone)):
        component = activity_of(task)
        uid = phone.packages[component.package].uid
        lines += [
            f"TASK {task.number}:{component.package} id={task.number} userId=0",
            f"  ACTIVITY {component.short} {_record_id(task.number)} pid={task.process.pid} userId=0 uid={uid}",
            "",
        ]
    return "".join(f"{line}\n" for line in lines)


def _recents(phone: Phone) -> str:
    lines = ["ACTIVITY MANAGER RECENT TASKS (dumpsys activity recents)"]
    for number, task in enumerate(tasks_from_top(phone)):
        lines += [
            f"  * Recent #{number}: {_task_text(phone, task)}",
            f"    realActivity={{{activity_of(task).full}}}",
        ]
    return "".join(f"{line}\n" for line in lines)


def _processes(phone: Phone) -> str:
    lines = ["ACTIVITY MANAGER RUNNING PROCESSES (dumpsys activity processes)"]
    for process in phone.tasks.processes():
        if process.app.package in phone.packages:
            lines += [f"  *APP* UID {phone.packages[process.app.package].uid} {_process_record(phone, process)}"]
    return "".join(f"{line}\n" for line in lines)


# Windows


def _dump_windows(phone: Phone, words: list[str]) -> str:
    section = next((word for word in words if not word.startswith("-")), "")
    parts = {"policy": _policy, "displays": _displays, "windows": _windows}
    named = [dump for name, dump in parts.items() if section in {name, name[0]}]
    return "".join(dump(phone) for dump in named or parts.values())


def _title(phone: Phone, entry: BackStackEntry) -> str:
    if entry.package == ANDROID:
        return f"Application Not Responding: {SYSTEM_UI}"
    if entry.screen.kind == "activity":
        return component_of(entry).full
    # A dialog's window has the name of the activity that opened it.
    return activity_of(phone.tasks.front).full


def _window(title: str, *parts: object) -> str:
    return f"Window{{{_record_id(title, *parts)} u0 {title}}}"


def _focus(phone: Phone) -> str:
    front = phone.tasks.front
    focus = _window(_title(phone, phone.windows.top()), front.number) if phone.windows.awake else "null"
    return f"  mCurrentFocus={focus}\n  mFocusedApp={_resumed(front)}\n"


def _windows(phone: Phone) -> str:
    bounds = phone.windows.display.bounds
    lines = ["WINDOW MANAGER WINDOWS (dumpsys window windows)"]
    keyboard = phone.windows.keyboard()
    bars = ["InputMethod"] * (keyboard is not None) + ["StatusBar", "NavigationBar0"]
    windows = [_title(phone, window.entry) for window in reversed(phone.windows.app_windows())]
    for number, title in enumerate([*bars, *windows]):
        package = title.partition("/")[0] if "/" in title else KEYBOARD if title == "InputMethod" else SYSTEM_UI
        lines += [
            f"  Window #{number} {_window(title, phone.tasks.front.number)}:",
            f"    mDisplayId=0 rootTaskId={phone.tasks.front.number} package={package}",
            f"    mBounds={bounds}",
            "    isOnScreen=true",
            f"    isVisible={str(phone.windows.awake).lower()}",
        ]
    target = _window(_title(phone, phone.windows.top()), phone.tasks.front.number) if keyboard else "null"
    lines += [f"  imeLayeringTarget in display# 0 {target}", f"  mInputMethodTarget={target}"]
    return "".join(f"{line}\n" for line in lines) + _focus(phone)


def _displays(phone: Phone) -> str:
    now, first = phone.windows.display, Display()
    return (
        "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
        "  Display: mDisplayId=0 (organized)\n"
        f"    init={first.natural_width}x{first.natural_height} {first.density}dpi"
        f" base={now.natural_width}x{now.natural_height} {now.density}dpi"
        f" cur={now.width}x{now.height} app={now.width}x{now.height}"
        f" rng={now.natural_width}x{now.natural_width}-{now.natural_height}x{now.natural_height}\n"
        "    deferred=false mLayoutNeeded=false\n"
        f"    mRotation={now.rotation} mCurrentRotation=ROTATION_{90 * now.rotation}\n"
        "    mCurrentAppOrientation=SCREEN_ORIENTATION_UNSPECIFIED\n"
    ) + _focus(phone)


def _policy(phone: Phone) -> str:
    awake = phone.windows.awake
    return (
        "WINDOW MANAGER POLICY STATE (dumpsys window policy)\n"
        f"    mAwake={str(awake).lower()}\n"
        f"    interactiveState=INTERACTIVE_STATE_{'AWAKE' if awake else 'SLEEP'}\n"
        f"    screenState=SCREEN_STATE_{'ON' if awake else 'OFF'}\n"
        f"    mScreenOnEarly={str(awake).lower()} mScreenOnFully={str(awake).lower()}\n"
        "    KeyguardServiceDelegate\n"
        "      showing=false\n"
        "      inputRestricted=false\n"
        "    mShowingLockscreen=false mShowingDream=false mDreamingLockscreen=false\n"
        "    isStatusBarKeyguard=false\n"
    )


# All services

Dump = Callable[[Phone, list[str]], str]


@command("dumpsys")
def dumpsys(process: ShellProcess) -> int:
    words = process.argv[1:]
    while words and words[0] in {"-t", "-T", "--priority"}:
        words = words[2:]
    if words[:1] == ["-l"]:
        return process.write("Currently running services:\n" + "".join(f"  {name}\n" for name in SERVICES))
    if words and words[0] not in SERVICES:
        print_error(process, f"Can't find service: {words[0]}")
        return 0
    for name in words[:1] or list(SERVICES):
        with process.phone.lock:
            text = _DUMPS[name](process.phone, words[1:]) if name in _DUMPS else ""
        line = "-" * 79
        process.write(text if words else f"{line}\nDUMP OF SERVICE {name}:\n{text}")
    return 0


def _display(phone: Phone, _: list[str]) -> str:
    display = phone.windows.display
    state = "ON" if phone.windows.awake else "OFF"
    size = f"{display.natural_width} x {display.natural_height}"
    now = f"{display.width} x {display.height}"
    return (
        "DISPLAY MANAGER (dumpsys display)\n"
        f"  mStableDisplaySize=Point({display.natural_width}, {display.natural_height})\n"
        "  mViewports=[DisplayViewport{type=INTERNAL, valid=true, isActive=true, displayId=0,"
        f" uniqueId='local:{DISPLAY_ID}', physicalPort=0, orientation={display.rotation},"
        f" logicalFrame=Rect(0, 0 - {display.width}, {display.height}),"
        f" physicalFrame=Rect(0, 0 - {display.width}, {display.height}),"
        f" deviceWidth={display.width}, deviceHeight={display.height}}}]\n"
        "Logical Displays: size=1\n"
        "  Display 0:\n"
        "    mDisplayId=0\n"
        f'    mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, state {state},'
        f" real {size}, largest app {size}, rotation 0, density {display.density} dpi}}\n"
        f'    mOverrideDisplayInfo=DisplayInfo{{"Built-in Screen", displayId 0, state {state},'
        f" real {now}, app {now}, rotation {display.rotation}, density {display.density} dpi}}\n"
        f"  mScreenState={state}\n"
    )


def _input_method(phone: Phone, _: list[str]) -> str:
    shown = str(phone.windows.keyboard() is not None).lower()
    method = phone.settings.get("secure", "default_input_method") or "null"
    return (
        "Current Input Method Manager state:\n"
        "  Input Methods:\n"
        f"  InputMethod #0:\n    mId={method}\n"
        f"  mCurMethodId={method}\n"
        f"  mCurId={method} mHaveConnection=true mBoundToMethod=true\n"
        f"  mShowRequested={shown} mShowExplicitlyRequested=false mShowForced=false mInputShown={shown}\n"
        f"  mInteractive={str(phone.windows.awake).lower()}\n"
        f"  mInputShown={shown}\n"
    )


def _power(phone: Phone, _: list[str]) -> str:
    awake = phone.windows.awake
    flag, state = str(awake).lower(), "ON" if awake else "OFF"
    return (
        "POWER MANAGER (dumpsys power)\n\n"
        "Power Manager State:\n"
        f"  mWakefulness={'Awake' if awake else 'Asleep'}\n"
        "  mIsPowered=true\n"
        "  mStayOn=false\n"
        f"  mHoldingWakeLockSuspendBlocker={flag}\n"
        f"  mHoldingDisplaySuspendBlocker={flag}\n"
        f"  mScreenOffTimeoutSetting={phone.settings.get('system', 'screen_off_timeout') or '60000'}\n\n"
        f"Display Power: state={state}\n"
    )


def _accessibility(phone: Phone, _: list[str]) -> str:
    table = phone.settings
    names = [n for n in (table.get("secure", "enabled_accessibility_services") or "").split(":") if n]
    on = table.get("secure", "accessibility_enabled") == "1"
    bound = [phone.operator.component] if phone.operator.is_bound() else []
    services = ", ".join(f"Service[label=Clawperator Operator, id={name}]" for name in bound)
    return (
        "ACCESSIBILITY MANAGER (dumpsys accessibility)\n\n"
        "User state[\n"
        f"     attributes:{{id=0, accessibilityEnabled={str(on).lower()}, touchExplorationEnabled=false}}\n"
        f"     Bound services:{{{services}}}\n"
        f"     Enabled services:{{{', '.join(f'{{{name}}}' for name in names)}}}\n"
        "     Binding services:{}\n"
        "     Crashed services:{}]\n"
    )


# Battery

_FULL = {"ac": "0", "usb": "1", "wireless": "0", "level": "100", "status": "5", "present": "1", "temp": "250"}


def _battery(phone: Phone, words: list[str]) -> str:
    """The state of the battery, which a client may set until ``reset``."""
    values: dict[str, str] = phone.command_state.setdefault("dumpsys battery", dict(_FULL))
    match words:
        case ["set", name, value] if name in _FULL and value.isascii() and value.isdigit() and len(value) < 6:
            values[name] = value
            return ""
        case ["unplug"]:
            values.update(ac="0", usb="0", wireless="0", status="3")
            return ""
        case ["reset"]:
            values.update(_FULL)
            return ""
        case [] | ["-a"]:
            return _battery_text(values)
        case _:
            names = "|".join(_FULL)
            return f"Battery service (battery) commands:\n  set [{names}] <value>\n  unplug\n  reset\n"


def _battery_text(values: dict[str, str]) -> str:
    def flag(name: str) -> str:
        return str(values[name] != "0").lower()

    changed = "  (UPDATES STOPPED -- use 'reset' to restart)\n" if values != _FULL else ""
    return (
        f"Current Battery Service state:\n{changed}"
        f"  AC powered: {flag('ac')}\n"
        f"  USB powered: {flag('usb')}\n"
        f"  Wireless powered: {flag('wireless')}\n"
        "  Dock powered: false\n"
        "  Max charging current: 500000\n"
        "  Max charging voltage: 5000000\n"
        "  Charge counter: 4000000\n"
        f"  status: {values['status']}\n"
        "  health: 2\n"
        f"  present: {flag('present')}\n"
        f"  level: {values['level']}\n"
        "  scale: 100\n"
        "  voltage: 4350\n"
        f"  temperature: {values['temp']}\n"
        "  technology: Li-ion\n"
    )


# Memory and others


def _memory(phone: Phone, words: list[str]) -> str:
    names = [word for word in words if not word.startswith("-")]
    rows = phone.processes()
    if not names:
        lines = "".join(f"    {row.memory_kb:>9,}K: {row.name} (pid {row.pid})\n" for row in rows)
        return f"Total RSS by process:\n{lines}\nTotal RAM: {MEMORY_KB:,}K (status normal)\n"
    row = next((row for row in rows if names[0] in {row.name, str(row.pid)}), None)
    if row is None:
        return f"No process found for: {names[0]}\n"
    half = row.memory_kb // 2
    up = phone.clock.now_ms() - phone.log.boot_ms
    return (
        f"Applications Memory Usage (in Kilobytes):\nUptime: {up} Realtime: {up}\n\n"
        f"** MEMINFO in pid {row.pid} [{row.name}] **\n"
        "                   Pss  Private  Private  SwapPss      Rss\n"
        "                 Total    Dirty    Clean    Dirty    Total\n"
        f"        TOTAL {half:>8} {half // 2:>8} {half // 4:>8} {0:>8} {row.memory_kb:>8}\n\n"
        " App Summary\n"
        f"           TOTAL PSS: {half:>8}            TOTAL RSS: {row.memory_kb:>8}\n"
    )


def _surface(phone: Phone, words: list[str]) -> str:
    if "--display-id" in words:
        return f'Display {DISPLAY_ID} (HWC display 0): port=0 pnpId=CLW displayName="Built-in Screen"\n'
    display = phone.windows.display
    return f"Display {DISPLAY_ID}\n  size={display.width}x{display.height}\n"


def _settings(phone: Phone, _: list[str]) -> str:
    sections = []
    for name in ("global", "secure", "system"):
        rows = sorted(phone.settings.table(name).items())
        sections.append(f"{name.upper()} SETTINGS (user 0)\n" + "".join(f"name:{k} value:{v}\n" for k, v in rows))
    return "\n".join(sections)


def _wifi(phone: Phone, _: list[str]) -> str:
    on = phone.settings.get("global", "wifi_on") == "1"
    return f"Wi-Fi is {'enabled' if on else 'disabled'}\n"


# Packages


def dump_packages(phone: Phone, words: list[str]) -> str:
    """The named package, or all packages."""
    names = [word for word in words if not word.startswith("-")]
    if not names:
        return "Packages:\n" + "".join(_package(phone, package) for package in phone.packages.all())
    if names[0] not in phone.packages:
        return f"Unable to find package: {names[0]}\n"
    package = phone.packages[names[0]]
    return _resolver(package) + "Packages:\n" + _package(phone, package)


def _resolver(package: Package) -> str:
    if not is_exported(package.app):
        return ""
    component = screen_component(package.app, package.app.home)
    return (
        "Activity Resolver Table:\n"
        "  Non-Data Actions:\n"
        "      android.intent.action.MAIN:\n"
        f"        {_record_id(component.full)} {component.short} filter {_record_id(component.full, 'filter')}\n"
        '          Action: "android.intent.action.MAIN"\n'
        f'          Category: "android.intent.category.{"LAUNCHER" if package.app.launchable else "HOME"}"\n\n'
    )


def _package(phone: Phone, package: Package) -> str:
    name = package.app.package
    installed = datetime.fromtimestamp(package.installed_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    flags = ["HAS_CODE", "ALLOW_CLEAR_USER_DATA", "ALLOW_BACKUP"]
    if not package.third_party:
        flags.insert(0, "SYSTEM")
    granted = phone.packages.granted(name)
    stopped = str(phone.process_of(name) is None).lower()
    requested = sorted({*INSTALL_PERMISSIONS, *granted})
    runtime = [p for p in granted if p in RUNTIME_PERMISSIONS]
    install = [*INSTALL_PERMISSIONS, *(p for p in granted if p not in RUNTIME_PERMISSIONS)]
    signatures = f"version:3, signatures:[{_record_id(name, 'key')}], past signatures:[]"
    state = f"installed=true hidden=false suspended=false stopped={stopped} notLaunched=false enabled=0"
    lines = [
        f"  Package [{name}] ({_record_id(name)}):",
        f"    userId={package.uid}",
        f"    appId={package.uid}",
        f"    pkg=Package{{{_record_id(name, 'pkg')} {name}}}",
        f"    codePath={package.path.rpartition('/')[0]}",
        f"    resourcePath={package.path.rpartition('/')[0]}",
        "    primaryCpuAbi=arm64-v8a",
        f"    versionCode={package.version_code} minSdk=21 targetSdk=35",
        f"    versionName={package.app.version or 'null'}",
        f"    signatures=PackageSignatures{{{_record_id(name, 'signatures')} {signatures}}}",
        f"    flags=[ {' '.join(flags)} ]",
        f"    pkgFlags=[ {' '.join(flags)} ]",
        f"    dataDir=/data/user/0/{name}",
        f"    timeStamp={installed}",
        f"    lastUpdateTime={installed}",
        "    installerPackageName=null",
        "    requested permissions:",
        *(f"      {permission}" for permission in requested),
        "    install permissions:",
        *(f"      {permission}: granted=true" for permission in install),
        f"    User 0: ceDataInode=0 deDataInode=0 {state} instant=false virtual=false",
        f"      firstInstallTime={installed}",
        "      runtime permissions:",
        *(f"        {permission}: granted=true, flags=[ USER_SET ]" for permission in runtime),
        "",
    ]
    return "".join(f"{line}\n" for line in lines)


_DUMPS: Mapping[str, Dump] = {
    "accessibility": _accessibility,
    "activity": _dump_activities,
    "battery": _battery,
    "display": _display,
    "input_method": _input_method,
    "meminfo": _memory,
    "notification": lambda *_: "Current Notification Manager state:\n  Notification List:\n",
    "package": dump_packages,
    "power": _power,
    "settings": _settings,
    "SurfaceFlinger": _surface,
    "wifi": _wifi,
    "window": _dump_windows,
}
