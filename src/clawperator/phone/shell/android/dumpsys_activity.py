"""``dumpsys activity`` and ``dumpsys window``: the activity in front, the tasks, and the focused window."""

import zlib

from clawperator.phone.apps.system import ANDROID, KEYBOARD
from clawperator.phone.core.kernel import user_name
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.core.windows import Display
from clawperator.phone.shell.android.package_manager import activity_of, component_of, tasks_from_top
from clawperator.phone.toolkit.app import AppProcess, BackStackEntry
from clawperator.recording.heuristics import SYSTEM_UI


def record_id(*parts: object) -> str:
    """The hex id of an object in a dump. It stays the same as long as the object exists."""
    return f"{zlib.crc32(repr(parts).encode()) & 0xFFFFFFF:07x}"


# Activities


def dump_activities(phone: Phone, words: list[str]) -> str:
    section = next((word for word in words if not word.startswith("-")), "activities")
    if section in {"activities", "a"}:
        return _activities(phone)
    if section in {"top", "t"}:
        return _top(phone)
    if section in {"recents", "r"}:
        return _recents(phone)
    if section in {"processes", "p"}:
        return _processes(phone)
    if section in {"services", "broadcasts", "providers"}:
        return f"ACTIVITY MANAGER {section.upper()} (dumpsys activity {section})\n  (nothing)\n"
    return f"Bad activity command, or no activities match: {section}\n"


def activity_record(task: Task, entry: BackStackEntry) -> str:
    number = record_id(task.number, entry.screen.name, task.entries.index(entry))
    return f"ActivityRecord{{{number} u0 {component_of(entry).short} t{task.number}}}"


def _resumed(task: Task) -> str:
    return activity_record(task, task.shown()[0])


def _process_record(phone: Phone, process: AppProcess) -> str:
    package = process.app.package
    user = user_name(phone.packages[package].uid).replace("_", "")
    return f"ProcessRecord{{{record_id(process.pid)} {process.pid}:{package}/{user}}}"


def _task_text(phone: Phone, task: Task) -> str:
    package = task.process.app.package
    uid = phone.packages[package].uid
    kind = "home" if task is phone.tasks.launcher else "standard"
    visible = str(task is phone.tasks.front).lower()
    activities = [entry for entry in task.entries if entry.screen.kind == "activity"]
    return (
        f"Task{{{record_id(task.number)} #{task.number} type={kind} A={uid}:{package} U=0 visible={visible}"
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
                f"    * Hist  #{number}: {activity_record(task, entry)}",
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
            f"  ACTIVITY {component.short} {record_id(task.number)} pid={task.process.pid} userId=0 uid={uid}",
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


def dump_windows(phone: Phone, words: list[str]) -> str:
    section = next((word for word in words if not word.startswith("-")), "")
    parts = {
        "windows": _windows,
        "w": _windows,
        "displays": _displays,
        "d": _displays,
        "policy": _policy,
        "p": _policy,
    }
    if section in parts:
        return parts[section](phone)
    return _policy(phone) + _displays(phone) + _windows(phone)


def _titles(phone: Phone) -> list[str]:
    """The titles of all windows, from the top."""
    manager = phone.windows
    titles = ["StatusBar", "NavigationBar0"]
    if manager.keyboard() is not None:
        titles.insert(0, "InputMethod")
    return [*titles, *(_title(phone, window.entry) for window in reversed(manager.app_windows()))]


def _title(phone: Phone, entry: BackStackEntry) -> str:
    if entry.package == ANDROID:
        return f"Application Not Responding: {SYSTEM_UI}"
    if entry.screen.kind == "activity":
        return component_of(entry).full
    # A dialog's window has the name of the activity that opened it.
    return activity_of(phone.tasks.front).full


def _window(title: str, *parts: object) -> str:
    return f"Window{{{record_id(title, *parts)} u0 {title}}}"


def _focus(phone: Phone) -> str:
    front = phone.tasks.front
    focus = _window(_title(phone, phone.windows.top()), front.number) if phone.windows.awake else "null"
    return f"  mCurrentFocus={focus}\n  mFocusedApp={_resumed(front)}\n"


def _windows(phone: Phone) -> str:
    bounds = phone.windows.display.bounds
    lines = ["WINDOW MANAGER WINDOWS (dumpsys window windows)"]
    for number, title in enumerate(_titles(phone)):
        package = title.partition("/")[0] if "/" in title else KEYBOARD if title == "InputMethod" else SYSTEM_UI
        lines += [
            f"  Window #{number} {_window(title, phone.tasks.front.number)}:",
            f"    mDisplayId=0 rootTaskId={phone.tasks.front.number} package={package}",
            f"    mBounds={bounds}",
            "    isOnScreen=true",
            f"    isVisible={str(phone.windows.awake).lower()}",
        ]
    keyboard = phone.windows.keyboard()
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
