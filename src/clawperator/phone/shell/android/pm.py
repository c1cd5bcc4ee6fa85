"""``pm``: list, query, install and uninstall packages, and grant permissions."""

from clawperator.phone.core.packages import Package
from clawperator.phone.shell.android.base import (
    FAILED,
    Handler,
    ServiceArguments,
    ServiceError,
    print_error,
    run_service,
    security_error,
)
from clawperator.phone.shell.android.install import INSTALL_HANDLERS
from clawperator.phone.shell.android.intents import LAUNCHER, MAIN, Intent, read_intent
from clawperator.phone.shell.android.package_manager import (
    DEVELOPMENT_PERMISSIONS,
    GRANTABLE,
    INSTALL_PERMISSIONS,
    RUNTIME_PERMISSIONS,
    ResolvedActivity,
    find_all,
    find_component,
)
from clawperator.phone.shell.process import ShellProcess, command

_FEATURES = (
    "android.hardware.bluetooth",
    "android.hardware.camera",
    "android.hardware.location",
    "android.hardware.microphone",
    "android.hardware.screen.landscape",
    "android.hardware.screen.portrait",
    "android.hardware.touchscreen",
    "android.hardware.touchscreen.multitouch",
    "android.hardware.wifi",
    "android.software.input_methods",
    "android.software.webview",
)
_LISTS: dict[str, tuple[str, ...]] = {
    "features": ("feature:reqGlEsVersion=0x30002", *(f"feature:{name}" for name in _FEATURES)),
    "instrumentation": (),
    "libraries": ("library:android.test.runner", "library:org.apache.http.legacy"),
    "permissions": (
        "All Permissions:",
        "",
        *(f"permission:{n}" for n in (*RUNTIME_PERMISSIONS, *DEVELOPMENT_PERMISSIONS, *INSTALL_PERMISSIONS)),
    ),
    "users": ("Users:", "\tUserInfo{0:Owner:c13} running"),
}
_MATCH = "priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true"
_USAGE = """\
Package manager (package) commands:
  path PACKAGE
  dump PACKAGE
  list packages [-f] [-d] [-e] [-s] [-3] [-i] [-U] [--show-versioncode] [FILTER]
  list features | libraries | permissions | users
  has-feature FEATURE_NAME
  resolve-activity [--brief] [--components] INTENT
  query-activities [--brief] [--components] INTENT
  install [-rtgdR] [-i INSTALLER] [-S BYTES] [PATH|-]
  install-create [-rtgdR] [-S BYTES]
  install-write [-S BYTES] SESSION_ID SPLIT_NAME [PATH|-]
  install-commit SESSION_ID
  install-abandon SESSION_ID
  uninstall [-k] PACKAGE
  clear PACKAGE
  enable | disable | disable-user PACKAGE
  grant | revoke PACKAGE PERMISSION
  get-install-location
"""


@command("pm")
def pm(process: ShellProcess) -> int:
    return run_service(process, process.argv[1:], _HANDLERS, _USAGE)


# Queries


def _list(process: ShellProcess, arguments: ServiceArguments) -> int:
    kind = arguments.required()
    if kind in {"packages", "package"}:
        return _list_packages(process, arguments)
    if kind not in _LISTS:
        print_error(process, f"Error: unknown list type '{kind}'")
        return FAILED
    process.write("".join(f"{row}\n" for row in _LISTS[kind]))
    return 0


def _list_packages(process: ShellProcess, arguments: ServiceArguments) -> int:
    known = {"-3", "-s", "-f", "-e", "-d", "-U", "-u", "-i", "-a", "-l", "-q", "--show-versioncode"}
    options = set()
    while (option := arguments.option()) is not None:
        if option in {"--user", "--uid"}:
            arguments.required()
        elif option in known:
            options.add(option)
        else:
            print_error(process, f"Error: Unknown option: {option}")
            return FAILED
    wanted = arguments.next() or ""
    phone = process.phone
    with phone.lock:
        found = [p for p in phone.packages.all() if wanted in p.app.package and _is_listed(p, options)]
    process.write("".join(f"package:{_line(package, options)}\n" for package in found))
    return 0


def _is_listed(package: Package, options: set[str]) -> bool:
    return not (
        ("-3" in options and not package.third_party)
        or ("-s" in options and package.third_party)
        or "-d" in options  # no package is ever disabled
    )


def _line(package: Package, options: set[str]) -> str:
    line = f"{package.path}={package.app.package}" if "-f" in options else package.app.package
    if "--show-versioncode" in options:
        line += f" versionCode:{package.version_code}"
    if "-i" in options:
        line += "  installer=null"
    return line + (f" uid:{package.uid}" if "-U" in options else "")


def _path(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.skip_options("--user", "--versionCode")
    package = _find(process, arguments.required())
    if package is None:
        return 1
    process.write(f"package:{package.path}\n")
    return 0


def _dump(process: ShellProcess, arguments: ServiceArguments) -> int:
    return process.run(["dumpsys", "package", arguments.required()])


def _has_feature(process: ShellProcess, arguments: ServiceArguments) -> int:
    has = arguments.required() in _FEATURES
    process.write("true\n" if has else "false\n")
    return 0 if has else 1


def _install_location(process: ShellProcess, _: ServiceArguments) -> int:
    process.write("0[auto]\n")
    return 0


def _resolve_activity(process: ShellProcess, arguments: ServiceArguments) -> int:
    found, options = _query(process, arguments)
    if not found:
        process.write("No activity found\n")
        return 0
    component = found[0].component
    lines = [] if "--components" in options else [_MATCH]
    process.write("".join(f"{line}\n" for line in (*lines, component.short)))
    return 0


def _query_activities(process: ShellProcess, arguments: ServiceArguments) -> int:
    found, options = _query(process, arguments)
    if "--components" in options:
        process.write("".join(f"{target.component.short}\n" for target in found))
        return 0
    lines = [f"{len(found)} activities found:" if found else "No activities found"]
    for number, target in enumerate(found):
        lines += [f"  Activity #{number}:", f"    {_MATCH}"]
        if "--brief" in options:
            lines.append(f"    {target.component.short}")
        else:
            lines += [
                "    ActivityInfo:",
                f"      name={target.component.name}",
                f"      packageName={target.component.package}",
                f"      labelRes=0x0 nonLocalizedLabel={target.app.label} icon=0x0 banner=0x0",
            ]
    process.write("".join(f"{line}\n" for line in lines))
    return 0


def _query(process: ShellProcess, arguments: ServiceArguments) -> tuple[list[ResolvedActivity], dict[str, str]]:
    own = {"--brief": 0, "--components": 0, "--user": 1, "--query-flags": 1}
    intent, options = read_intent(arguments, own)
    if intent.action is None and intent.data is None:
        intent = Intent(action=MAIN, categories=(LAUNCHER,), package=intent.package, component=intent.component)
    phone = process.phone
    with phone.lock:
        if intent.component is None:
            return find_all(phone, intent), options
        target = find_component(phone, intent, intent.component)
        return ([target] if target is not None else []), options


# Changes


def _uninstall(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.skip_options("--user", "--versionCode")
    phone = process.phone
    name = arguments.required()
    with phone.lock:
        done = phone.packages.remove(name)
    process.write("Success\n" if done else "Failure [DELETE_FAILED_INTERNAL_ERROR]\n")
    return 0 if done else 1


def _clear(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.skip_options("--user", "--versionCode")
    package = _find(process, arguments.required())
    if package is None:
        print_error(process, "Failed")
        return 1
    phone, name = process.phone, package.app.package
    with phone.lock:
        phone.clear_app(name)
        for permission in phone.packages.granted(name):
            phone.packages.revoke(name, permission)
    process.write("Success\n")
    return 0


def _grant(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.skip_options("--user", "--versionCode")
    phone = process.phone
    name, permission = arguments.required(), arguments.required()
    if name not in phone.packages:
        raise ServiceError(f"Unknown package: {name}")
    if permission in INSTALL_PERMISSIONS:
        raise security_error(f"Permission {permission} requested by {name} is not a changeable permission type")
    if permission not in GRANTABLE:
        raise ServiceError(f"Unknown permission: {permission}")
    with phone.lock:
        if arguments.command == "grant":
            phone.packages.grant(name, permission)
        else:
            phone.packages.revoke(name, permission)
    return 0


def _enable(process: ShellProcess, arguments: ServiceArguments) -> int:
    """Report the package as enabled; disabling is refused."""
    arguments.skip_options("--user", "--versionCode")
    name = arguments.required()
    if _find(process, name) is None:
        raise ServiceError(f"Unknown package: {name}")
    if arguments.command != "enable":
        raise security_error(f"Cannot disable a protected package: {name}")
    process.write(f"Package {name} new state: enabled\n")
    return 0


def _find(process: ShellProcess, name: str) -> Package | None:
    phone = process.phone
    with phone.lock:
        if name not in phone.packages:
            return None
        return phone.packages[name]


_HANDLERS: dict[str, Handler] = {
    "list": _list,
    "path": _path,
    "dump": _dump,
    "dump-package": _dump,
    "has-feature": _has_feature,
    "get-install-location": _install_location,
    "resolve-activity": _resolve_activity,
    "query-activities": _query_activities,
    **INSTALL_HANDLERS,
    "uninstall": _uninstall,
    "clear": _clear,
    "grant": _grant,
    "revoke": _grant,
    "enable": _enable,
    "disable": _enable,
    "disable-user": _enable,
}
