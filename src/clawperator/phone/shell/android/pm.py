"""``pm``: list, query, install and uninstall packages, and grant permissions."""

import threading
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakKeyDictionary, ref

from clawperator.errors import ClawperatorException
from clawperator.phone.core.apk import ApkError, read_apk
from clawperator.phone.core.packages import ApkFacts, Package
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.base import (
    FAILED,
    Handler,
    ServiceArguments,
    ServiceError,
    print_error,
    read_int,
    run_service,
    security_error,
)
from clawperator.phone.shell.android.package_manager import (
    DEVELOPMENT_PERMISSIONS,
    GRANTABLE,
    INSTALL_PERMISSIONS,
    LAUNCHER,
    MAIN,
    RUNTIME_PERMISSIONS,
    Intent,
    ResolvedActivity,
    find_all,
    find_component,
    read_intent,
)
from clawperator.phone.shell.pipes import InputStream
from clawperator.phone.shell.process import ShellProcess, command

# ``pm install``: a session receives APK files in blocks and installs the package when it is committed

MAX_APK = 512 * 1024 * 1024
_BLOCK = 256 * 1024
_FOLDER = "/data/app/vmdl.tmp"
_FIRST_ID = 1_001
_MAX_SESSIONS = 16
_MAX_FILES = 64
_OPTIONS_WITH_VALUE = (
    "-i",
    "-S",
    "--user",
    "--abi",
    "--pkg",
    "--originating-uri",
    "--referrer",
    "--install-location",
)


class InstallError(ClawperatorException):
    """Why an installation failed, as Android prints it: ``NAME`` or ``NAME: message``."""


class InstallSessions:
    """The unfinished installations of one phone. Many threads may use it."""

    def __init__(self, phone: Phone) -> None:
        self._phone_ref = ref(phone)  # the sessions must not keep a closed phone alive
        self._lock = threading.Lock()
        self._files: dict[int, list[str]] = {}
        self._next = _FIRST_ID
        # The options each session was created with, for its commit.
        self.options: dict[int, dict[str, str]] = {}

    @property
    def _phone(self) -> Phone:
        phone = self._phone_ref()
        assert phone is not None  # the caller holds a reference
        return phone

    def create(self, size: int | None = None) -> int:
        """Create a session. ``InstallError`` at once when the announced size does not fit."""
        files = self._phone.storage.system
        if size is not None:
            self._check_space(size)
        with self._lock:
            if not self._files and files.exists(_FOLDER):
                files.remove_tree(_FOLDER)  # left behind when the phone stopped during an installation
            if len(self._files) >= _MAX_SESSIONS:
                raise InstallError("INSTALL_FAILED_SESSION_INVALID: too many unfinished sessions")
            number, self._next = self._next, self._next + 1
            self._files[number] = []
        try:
            files.mkdir(f"{_FOLDER}/{number}", parents=True)
        except OSError as e:
            self.abandon(number)
            raise _no_space() from e
        return number

    def write(self, number: int, name: str, source: InputStream, size: int | None) -> int:
        """Receive one file: exactly ``size`` bytes, or all there are. Returns how many."""
        if size is not None:
            self._check_space(size)
        with self._lock:
            names = self._find(number)
            if len(names) >= _MAX_FILES:
                raise InstallError("INSTALL_FAILED_SESSION_INVALID: too many files")
            if name not in names:
                names.append(name)
            path = self._apk_path(number, names.index(name))
        limit = MAX_APK if size is None else size
        done = 0
        try:
            with self._phone.storage.system.open(path, "wb") as file:
                while done < limit and (block := source.read(min(_BLOCK, limit - done))):
                    file.write(block)
                    done += len(block)
        except OSError as e:
            if isinstance(e, BrokenPipeError):
                raise
            raise _no_space() from e
        if size is not None and done < size:
            raise InstallError(f"INSTALL_FAILED_INVALID_APK: expected {size} bytes, got {done}")
        if size is None and done == limit and source.read(1):
            raise _no_space()
        return done

    def commit(
        self, number: int, *, replace: bool = True, downgrade: bool = False, grant: bool = False
    ) -> ApkFacts:
        """Install the package. The session ends, also on failure."""
        try:
            with self._lock:
                paths = [self._apk_path(number, i) for i in range(len(self._find(number)))]
            facts, path = self._read_base(paths)
            with self._phone.lock:
                self._check_update(facts, replace=replace, downgrade=downgrade)
                try:
                    self._phone.packages.install(facts, path)
                except OSError as e:
                    raise _no_space() from e
                if grant:
                    for permission in RUNTIME_PERMISSIONS:
                        self._phone.packages.grant(facts.package, permission)
            return facts
        finally:
            self.abandon(number)

    def abandon(self, number: int) -> None:
        """Delete a session and its files."""
        files = self._phone.storage.system
        with self._lock:
            self._files.pop(number, None)
            self.options.pop(number, None)
        with suppress(OSError):  # a session without a file has no folder
            files.remove_tree(f"{_FOLDER}/{number}")

    def _find(self, number: int) -> list[str]:
        if number not in self._files:
            raise security_error(f"Caller has no access to session {number}")
        return self._files[number]

    @staticmethod
    def _apk_path(number: int, index: int) -> str:
        return f"{_FOLDER}/{number}/{index}.apk"

    def _check_space(self, size: int) -> None:
        if size > MAX_APK or size > self._phone.storage.space().free:
            raise _no_space()

    def _read_base(self, paths: list[str]) -> tuple[ApkFacts, str]:
        """The base APK: the one that is not a split."""
        problem: ApkError | None = None
        base: tuple[ApkFacts, str] | None = None
        for path in paths:
            try:
                with self._phone.storage.system.open(path) as file:
                    facts = read_apk(file)
                base = base or (facts, path)
            except ApkError as e:
                if e.reason != "INSTALL_FAILED_MISSING_SPLIT":
                    raise InstallError(f"{e.reason}: Failed to parse {path}: {e}") from e
                problem = e
        if base is not None:
            return base
        reason = f"{problem.reason}: {problem}" if problem else "INSTALL_FAILED_INVALID_APK: No packages staged"
        raise InstallError(reason)

    def _check_update(self, facts: ApkFacts, *, replace: bool, downgrade: bool) -> None:
        name = facts.package
        if name not in self._phone.packages:
            return
        known = self._phone.packages[name]
        if not replace:
            raise InstallError(
                f"INSTALL_FAILED_ALREADY_EXISTS: Attempt to re-install {name} without first uninstalling."
            )
        if not known.third_party:
            # A system app can only be replaced by one with the same signature.
            raise InstallError(
                f"INSTALL_FAILED_UPDATE_INCOMPATIBLE: Existing package {name} signatures do not match newer"
                " version; ignoring!"
            )
        if facts.version_code < known.version_code and not downgrade:
            raise InstallError(
                f"INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected: Update version code {facts.version_code}"
                f" is older than current {known.version_code}"
            )


_all: WeakKeyDictionary[Phone, InstallSessions] = WeakKeyDictionary()
_all_lock = threading.Lock()


def _sessions_of(phone: Phone) -> InstallSessions:
    """The install sessions of a phone."""
    with _all_lock:
        return _all.setdefault(phone, InstallSessions(phone))


def _no_space() -> InstallError:
    return InstallError("INSTALL_FAILED_INSUFFICIENT_STORAGE")


# The commands of sessions


def _install(process: ShellProcess, arguments: ServiceArguments) -> int:
    options = _install_options(arguments)
    size = read_int(options["-S"]) if "-S" in options else None
    path = arguments.next()
    if path in {None, "-"} and size is None:
        print_error(process, "Error: must either specify a package size or an APK file")
        return 1

    def run(sessions: InstallSessions) -> str:
        number = sessions.create(size)
        try:
            _write_file(process, sessions, number, "base.apk", size, path)
            _commit(sessions, number, options)
        finally:
            sessions.abandon(number)
        return "Success"

    return _report(process, run)


def _install_create(process: ShellProcess, arguments: ServiceArguments) -> int:
    options = _install_options(arguments)
    size = read_int(options["-S"]) if "-S" in options else None

    def run(sessions: InstallSessions) -> str:
        number = sessions.create(size)
        sessions.options[number] = options
        return f"Success: created install session [{number}]"

    return _report(process, run)


def _install_write(process: ShellProcess, arguments: ServiceArguments) -> int:
    size = None
    while (option := arguments.option()) is not None:
        if option != "-S":
            raise ServiceError(f"Unknown option: {option}")
        size = arguments.integer()
    number, name, path = arguments.integer(), arguments.required(), arguments.next()
    return _report(
        process,
        lambda sessions: f"Success: streamed {_write_file(process, sessions, number, name, size, path)} bytes",
    )


def _install_commit(process: ShellProcess, arguments: ServiceArguments) -> int:
    number = arguments.integer()

    def run(sessions: InstallSessions) -> str:
        _commit(sessions, number, sessions.options.get(number, {}))
        return "Success"

    return _report(process, run)


def _install_abandon(process: ShellProcess, arguments: ServiceArguments) -> int:
    number = arguments.integer()

    def run(sessions: InstallSessions) -> str:
        sessions.abandon(number)
        return "Success"

    return _report(process, run)


def _report(process: ShellProcess, run: Callable[[InstallSessions], str]) -> int:
    """Print the one line that clients read: success, or ``Failure`` and the reason."""
    try:
        line, code = run(_sessions_of(process.phone)), 0
    except InstallError as e:
        line, code = f"Failure [{e}]", 1
    process.write(f"{line}\n")
    return code


def _install_options(arguments: ServiceArguments) -> dict[str, str]:
    options = {}
    while (option := arguments.option()) is not None:
        options[option] = arguments.required() if option in _OPTIONS_WITH_VALUE else ""
    return options


def _commit(sessions: InstallSessions, number: int, options: dict[str, str]) -> None:
    sessions.commit(number, replace="-R" not in options, downgrade="-d" in options, grant="-g" in options)


def _write_file(  # noqa: PLR0913, PLR0917 - a file's source and target
    process: ShellProcess, sessions: InstallSessions, number: int, name: str, size: int | None, path: str | None
) -> int:
    if path is None or path == "-":
        return sessions.write(number, name, process.stdin, size)
    try:
        file = process.open(path)
    except OSError:
        print_error(process, f"Error: Unable to open file: {path}\nConsider using a file under /data/local/tmp/")
        raise ServiceError(f"Error: Can't open file: {path}") from None
    with file:
        return sessions.write(number, name, file, size)


INSTALL_HANDLERS: dict[str, Handler] = {
    "install": _install,
    "install-create": _install_create,
    "install-write": _install_write,
    "install-commit": _install_commit,
    "install-abandon": _install_abandon,
}


# All commands of ``pm``

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
