"""``am``: start and stop apps, and send broadcasts to the Operator."""

from clawperator.contract.wire import ACTION
from clawperator.phone.apps.browser import CHOOSER
from clawperator.phone.apps.system import LAUNCHER as HOME_APP
from clawperator.phone.core.kernel import SYSTEM_SERVER_PID
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.shell.android.base import (
    SHELL_UID,
    Handler,
    ServiceArguments,
    add_service,
    print_error,
    security_error,
)
from clawperator.phone.shell.android.package_manager import (
    CLEARING,
    FROM_SHELL,
    NEW_TASK,
    Intent,
    ResolvedActivity,
    activity_of,
    find_all,
    read_intent,
    tasks_from_top,
)
from clawperator.phone.shell.process import INTERRUPTED, ShellProcess, encode

RECEIVER = "clawperator.operator.runtime.OperatorCommandReceiver"
# Broadcasts that only the system may send.
_PROTECTED = ("android.intent.action.AIRPLANE_MODE", "android.intent.action.BOOT_COMPLETED")
_STOP_SECONDS = 0.25
_START_OPTIONS = {
    **dict.fromkeys(("-W", "-S", "-D", "-N", "--streaming", "--lock-task", "--splashscreen-show-icon"), 0),
    **dict.fromkeys(("--user", "-R", "--display", "--windowingMode", "--activityType", "--task"), 1),
}
_BROADCAST_OPTIONS = {
    **dict.fromkeys(("--user", "--receiver-permission"), 1),
    **dict.fromkeys(("--async", "--allow-background-activity-starts"), 0),
}


# Starting


def _start(process: ShellProcess, arguments: ServiceArguments) -> int:
    intent, options = read_intent(arguments, _START_OPTIONS)
    phone = process.phone
    waits = "-W" in options
    if "-S" in options and (code := _stop_before(process, phone, intent)) is not None:
        return code
    process.write(f"Starting: {intent}\n")
    intent = intent.with_flags(NEW_TASK)
    began = phone.clock.monotonic()
    with phone.lock:
        found = find_all(phone, intent)
        if not found:
            lines = _not_found(intent)
        else:
            state, warning = _start_resolved(phone, intent, found)
            lines = [f"Warning: {warning}"] if warning else []
            elapsed = round((phone.clock.monotonic() - began) * 1000)
            if waits:
                activity = activity_of(phone.tasks.front).short
                lines += ["Status: ok", f"LaunchState: {state}", f"Activity: {activity}"]
                lines += [f"TotalTime: {elapsed}", f"WaitTime: {elapsed}", "Complete"]
    if lines:
        # With -W the outcome goes to stdout, otherwise to stderr.
        (process.stdout if waits else process.stderr).write(encode("".join(f"{line}\n" for line in lines)))
    return 0 if found else 1


def _not_found(intent: Intent) -> list[str]:
    if intent.component is None:
        return [f"Error: Activity not started, unable to resolve {intent}"]
    return ["Error type 3", f"Error: Activity class {{{intent.component.full}}} does not exist."]


def _stop_before(process: ShellProcess, phone: Phone, intent: Intent) -> int | None:
    """Stop the app that the intent will start. An exit code when that is ambiguous or cancelled."""
    package = intent.component.package if intent.component else None
    if package is None:
        with phone.lock:
            found = find_all(phone, intent)
        if len(found) != 1:
            problem = "matches multiple activities; can't stop" if found else "does not match any activities"
            return print_error(process, f"Error: Intent {problem}: {intent}", 1)
        package = found[0].app.package
    process.write(f"Stopping: {package}\n")
    force_stop(phone, package)
    return INTERRUPTED if process.wait(_STOP_SECONDS) else None


def _start_resolved(phone: Phone, intent: Intent, found: list[ResolvedActivity]) -> tuple[str, str]:
    """Start the resolved activity. Returns the launch state and the warning to print."""
    target, asks = found[0], len(found) > 1
    link = target.uri
    package = CHOOSER if asks and link else target.app.package
    in_front = phone.tasks.front.process.app.package == package
    has_task = in_front or any(task.process.app.package == package for task in phone.tasks.recent())
    was_running = phone.process_of(package) is not None
    if asks and link:
        phone.view(link)
    elif link:
        phone.open_with(package, link)
    elif package == HOME_APP:
        phone.go_home()
    else:
        phone.tasks.start(target.app, target.screen, {**intent.extras, **target.args})
        if intent.flags & CLEARING and target.screen is None:
            phone.tasks.unwind(phone.tasks.front.top)
    log_start(phone, intent, cold=not was_running)
    if not has_task:
        return ("WARM" if was_running else "COLD"), ""
    if link or target.screen:
        return "HOT", ""
    if in_front:
        what = "intent has been delivered to currently running top-most instance."
        return "UNKNOWN (0)", f"Activity not started, {what}"
    return "HOT", "Activity not started, its current task has been brought to the front"


def log_start(phone: Phone, intent: Intent, *, cold: bool) -> None:
    """Log the start of the activity that is in front now, as the system does."""
    component = activity_of(phone.tasks.front)
    brief = intent.brief() if intent.component else f"{intent.brief()} cmp={component.short}"
    _write_system(phone, "ActivityTaskManager", f"START u0 {{{brief}}} from uid {SHELL_UID}")
    process = phone.process_of(component.package)
    if cold and process is not None:
        uid = phone.packages[component.package].uid
        name = f"{process.pid}:{component.package}/u0a{uid - 10_000}"
        _write_system(phone, "ActivityManager", f"Start proc {name} for top-activity {{{component.full}}}")
        record = f"[0,{process.pid},{uid},{component.package},top-activity,{{{component.full}}}]"
        phone.log.write("I", "am_proc_start", record, SYSTEM_SERVER_PID, buffer="events")
        _write_system(phone, "ActivityTaskManager", f"Displayed {component.short} for user 0: +1ms")


def _write_system(phone: Phone, tag: str, message: str) -> None:
    phone.log.write("I", tag, message, SYSTEM_SERVER_PID, buffer="system")


# Stopping


def force_stop(phone: Phone, package: str) -> None:
    """Stop an app as ``am force-stop`` does. Unknown packages are ignored."""
    with phone.lock:
        if package in phone.packages:
            uid = phone.packages[package].uid
            message = f"Force stopping {package} appid={uid} user=0: from pid {SHELL_UID}"
            _write_system(phone, "ActivityManager", message)
            phone.stop_app(package)


def _force_stop(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.options("--user")
    force_stop(process.phone, arguments.required())
    return 0


def _kill(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Kill a background app. The app in front and apps with a running service are kept."""
    arguments.options("--user")
    _kill_idle(process.phone, arguments.required())
    return 0


def _kill_all(process: ShellProcess, _: ServiceArguments) -> int:
    phone = process.phone
    with phone.lock:
        for running in phone.tasks.processes():
            _kill_idle(phone, running.app.package)
    return 0


def _kill_idle(phone: Phone, package: str) -> None:
    with phone.lock:
        kept = (phone.foreground(), phone.operator.package, HOME_APP)
        if package in phone.packages and package not in kept and phone.packages[package].third_party:
            phone.tasks.stop(package)


# Broadcasts


def _broadcast(process: ShellProcess, arguments: ServiceArguments) -> int:
    intent, _ = read_intent(arguments, _BROADCAST_OPTIONS)
    intent = intent.with_flags(FROM_SHELL)
    process.write(f"Broadcasting: {intent}\n")
    if intent.action in _PROTECTED:
        what = f"not allowed to send broadcast {intent.action} from pid={SHELL_UID}, uid={SHELL_UID}"
        raise security_error(f"Permission Denial: {what}")
    operator = process.phone.operator
    wanted = intent.component.package if intent.component else intent.package
    receiver = intent.component is None or intent.component.name == RECEIVER
    if intent.action == ACTION and receiver and wanted in (None, operator.package):
        payload = intent.extras.get("payload")
        operator.receive(payload if isinstance(payload, str) else None)
    return process.write("Broadcast completed: result=0\n")


def _start_service(process: ShellProcess, arguments: ServiceArguments) -> int:
    intent, _ = read_intent(arguments, {"--user": 1})
    process.write(f"Starting service: {intent}\n")
    return print_error(process, "Error: Not found; no service started.")


def _instrument(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Report that there is no such instrumentation: the simulated phone runs no tests."""
    with_value = ("-e", "--user", "-p", "--abi")
    while (option := arguments.option()) is not None:
        for _ in range((option in with_value) + (option == "-e")):
            arguments.required()
    component = arguments.required()
    process.write(
        "INSTRUMENTATION_STATUS: id=ActivityManagerService\n"
        f"INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{{{component}}}\n"
        "INSTRUMENTATION_STATUS_CODE: -1\n"
    )
    return print_error(process, f"android.util.AndroidException: INSTRUMENTATION_FAILED: {component}", 1)


def _stack(process: ShellProcess, arguments: ServiceArguments) -> int:
    verb = arguments.required()
    if verb not in {"list", "info"}:
        return print_error(process, f"Error: unknown command '{verb}'")
    phone = process.phone
    with phone.lock:
        text = "".join(_stack_text(task, phone) for task in tasks_from_top(phone))
    return process.write(text)


def _stack_text(task: Task, phone: Phone) -> str:
    component, bounds = activity_of(task).full, phone.windows.display.bounds
    return (
        f"RootTask id={task.number} bounds={bounds} displayId=0 userId=0\n"
        f"  taskId={task.number}: {component} bounds={bounds} userId=0"
        f" visible={str(task is phone.tasks.front).lower()} topActivity=ComponentInfo{{{component}}}\n\n"
    )


_HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("start", "start-activity"), _start),
    **dict.fromkeys(("startservice", "start-service", "start-foreground-service"), _start_service),
    **dict.fromkeys(("force-stop", "stop-app"), _force_stop),
    "kill": _kill,
    "kill-all": _kill_all,
    "broadcast": _broadcast,
    "instrument": _instrument,
    "get-current-user": lambda process, _: process.write("0\n"),
    "stack": _stack,
}
add_service("am", "Activity manager (activity)", _HANDLERS)
