"""``pm``: list, query, install and uninstall packages, and grant permissions."""

import threading
from collections.abc import Mapping
from contextlib import suppress

from clawperator.errors import ClawperatorException
from clawperator.phone.core.apk import ApkError, read_apk
from clawperator.phone.core.packages import ApkFacts, Package
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.base import (
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
    *("-i", "-S", "--user", "--abi", "--pkg"),
    *("--originating-uri", "--referrer", "--install-location"),
)


class InstallError(ClawperatorException):
    """Why an installation failed, as Android prints it: ``NAME`` or ``NAME: message``."""


class InstallSessions:
    """The unfinished installations of one phone. Many threads may use it."""

    def __init__(self, phone: Phone) -> None:
        self._phone = phone
        self._lock = threading.Lock()
        self._files: dict[int, list[str]] = {}
        self._next = _FIRST_ID
        # The options each session was created with, for its commit.
        self._options: dict[int, Mapping[str, str]] = {}

    def create(self, size: int | None, options: Mapping[str, str]) -> int:
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
            self._options[number] = options
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

    def commit(self, number: int) -> None:
        """Install the package. The session ends, also on failure."""
        try:
            with self._lock:
                options = self._options.get(number, {})
                paths = [self._apk_path(number, i) for i in range(len(self._find(number)))]
            facts, path = self._read_base(paths)
            with self._phone.lock:
                self._check_update(facts, options)
                try:
                    self._phone.packages.install(facts, path)
                except OSError as e:
                    raise _no_space() from e
                if "-g" in options:
                    for permission in RUNTIME_PERMISSIONS:
                        self._phone.packages.grant(facts.package, permission)
        finally:
            self.abandon(number)

    def abandon(self, number: int) -> None:
        """Delete a session and its files."""
        files = self._phone.storage.system
        with self._lock:
            self._files.pop(number, None)
            self._options.pop(number, None)
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

    def _check_update(self, facts: ApkFacts, options: Mapping[str, str]) -> None:
        name = facts.package
        if name not in self._phone.packages:
            return
        known = self._phone.packages[name]
        if "-R" in options:
            problem = f"Attempt to re-install {name} without first uninstalling."
            raise InstallError(f"INSTALL_FAILED_ALREADY_EXISTS: {problem}")
        if not known.third_party:
            # A system app can only be replaced by one with the same signature.
            problem = f"Existing package {name} signatures do not match newer version; ignoring!"
            raise InstallError(f"INSTALL_FAILED_UPDATE_INCOMPATIBLE: {problem}")
        if facts.version_code < known.version_code and "-d" not in options:
            problem = f"Update version code {facts.version_code} is older than current {known.version_code}"
            raise InstallError(f"INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected: {problem}")


def _sessions_of(phone: Phone) -> InstallSessions:
    """The install sessions of a phone."""
    with phone.lock:
        found: InstallSessions = phone.command_state.setdefault("pm install", InstallSessions(phone))
        return found


def _no_space() -> InstallError:
    return InstallError("INSTALL_FAILED_INSUFFICIENT_STORAGE")


# The commands of sessions


def _install(process: ShellProcess, arguments: ServiceArguments) -> int:
    options, size = _install_options(arguments)
    path = arguments.next()
    if path in {None, "-"} and size is None:
        return print_error(process, "Error: must either specify a package size or an APK file", 1)
    sessions = _sessions_of(process.phone)
    number = sessions.create(size, options)
    try:
        _write_file(process, number, "base.apk", size, path)
        sessions.commit(number)
    finally:
        sessions.abandon(number)
    return process.write("Success\n")


def _install_create(process: ShellProcess, arguments: ServiceArguments) -> int:
    options, size = _install_options(arguments)
    number = _sessions_of(process.phone).create(size, options)
    return process.write(f"Success: created install session [{number}]\n")


def _install_write(process: ShellProcess, arguments: ServiceArguments) -> int:
    size = None
    while (option := arguments.option()) is not None:
        if option != "-S":
            raise ServiceError(f"Unknown option: {option}")
        size = arguments.integer()
    number, name, path = arguments.integer(), arguments.required(), arguments.next()
    written = _write_file(process, number, name, size, path)
    return process.write(f"Success: streamed {written} bytes\n")


def _install_end(process: ShellProcess, arguments: ServiceArguments) -> int:
    sessions = _sessions_of(process.phone)
    (sessions.commit if arguments.command == "install-commit" else sessions.abandon)(arguments.integer())
    return process.write("Success\n")


def _install_options(arguments: ServiceArguments) -> tuple[dict[str, str], int | None]:
    """The options of an installation, and the size that ``-S`` announces."""
    options = arguments.options(*_OPTIONS_WITH_VALUE)
    return options, read_int(options["-S"]) if "-S" in options else None


def _write_file(process: ShellProcess, number: int, name: str, size: int | None, path: str | None) -> int:
    sessions = _sessions_of(process.phone)
    if path is None or path == "-":
        return sessions.write(number, name, process.stdin, size)
    try:
        file = process.open(path)
    except OSError:
        print_error(process, f"Error: Unable to open file: {path}\nConsider using a file under /data/local/tmp/")
        raise ServiceError(f"Error: Can't open file: {path}") from None
    with file:
        return sessions.write(number, name, file, size)


# All commands of ``pm``

_HARDWARE = (
    *("bluetooth", "camera", "location", "microphone", "screen.landscape", "screen.portrait"),
    *("touchscreen", "touchscreen.multitouch", "wifi"),
)
_FEATURES = (
    *(f"android.hardware.{name}" for name in _HARDWARE),
    *(f"android.software.{name}" for name in ("input_methods", "webview")),
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


@command("pm")
def pm(process: ShellProcess) -> int:
    try:
        return run_service(process, process.argv[1:], _HANDLERS, "Package manager (package)")
    except InstallError as e:
        process.write(f"Failure [{e}]\n")
        return 1


# Queries


def _list(process: ShellProcess, arguments: ServiceArguments) -> int:
    kind = arguments.required()
    if kind in {"packages", "package"}:
        return _list_packages(process, arguments)
    if kind not in _LISTS:
        return print_error(process, f"Error: unknown list type '{kind}'")
    return process.write("".join(f"{row}\n" for row in _LISTS[kind]))


def _list_packages(process: ShellProcess, arguments: ServiceArguments) -> int:
    known = {"-3", "-s", "-f", "-e", "-d", "-U", "-u", "-i", "-a", "-l", "-q", "--show-versioncode"}
    options = set()
    while (option := arguments.option()) is not None:
        if option in {"--user", "--uid"}:
            arguments.required()
        elif option in known:
            options.add(option)
        else:
            return print_error(process, f"Error: Unknown option: {option}")
    wanted = arguments.next() or ""
    with process.phone.lock:
        found = [p for p in process.phone.packages.all() if wanted in p.app.package and _is_listed(p, options)]
    return process.write("".join(f"package:{_line(package, options)}\n" for package in found))


def _is_listed(package: Package, options: set[str]) -> bool:
    if "-d" in options:  # no package is ever disabled
        return False
    return not ("-3" in options and not package.third_party) and not ("-s" in options and package.third_party)


def _line(package: Package, options: set[str]) -> str:
    line = f"{package.path}={package.app.package}" if "-f" in options else package.app.package
    if "--show-versioncode" in options:
        line += f" versionCode:{package.version_code}"
    if "-i" in options:
        line += "  installer=null"
    return line + (f" uid:{package.uid}" if "-U" in options else "")


def _path(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.options("--user", "--versionCode")
    package = process.phone.packages.find(arguments.required())
    if package is None:
        return 1
    return process.write(f"package:{package.path}\n")


def _dump(process: ShellProcess, arguments: ServiceArguments) -> int:
    return process.run(["dumpsys", "package", arguments.required()])


def _has_feature(process: ShellProcess, arguments: ServiceArguments) -> int:
    has = arguments.required() in _FEATURES
    process.write("true\n" if has else "false\n")
    return 0 if has else 1


def _resolve_activity(process: ShellProcess, arguments: ServiceArguments) -> int:
    found, options = _query(process, arguments)
    if not found:
        return process.write("No activity found\n")
    component = found[0].component
    lines = [] if "--components" in options else [_MATCH]
    return process.write("".join(f"{line}\n" for line in (*lines, component.short)))


def _query_activities(process: ShellProcess, arguments: ServiceArguments) -> int:
    found, options = _query(process, arguments)
    if "--components" in options:
        return process.write("".join(f"{target.component.short}\n" for target in found))
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
    return process.write("".join(f"{line}\n" for line in lines))


def _query(process: ShellProcess, arguments: ServiceArguments) -> tuple[list[ResolvedActivity], dict[str, str]]:
    own = {"--brief": 0, "--components": 0, "--user": 1, "--query-flags": 1}
    intent, options = read_intent(arguments, own)
    if intent.action is None and intent.data is None:
        intent = Intent(action=MAIN, categories=(LAUNCHER,), package=intent.package, component=intent.component)
    with process.phone.lock:
        return find_all(process.phone, intent), options


# Changes


def _uninstall(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.options("--user", "--versionCode")
    name = arguments.required()
    with process.phone.lock:
        done = process.phone.packages.remove(name)
    process.write("Success\n" if done else "Failure [DELETE_FAILED_INTERNAL_ERROR]\n")
    return 0 if done else 1


def _clear(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.options("--user", "--versionCode")
    package = process.phone.packages.find(arguments.required())
    if package is None:
        return print_error(process, "Failed", 1)
    phone, name = process.phone, package.app.package
    with phone.lock:
        phone.clear_app(name)
        for permission in phone.packages.granted(name):
            phone.packages.revoke(name, permission)
    return process.write("Success\n")


def _grant(process: ShellProcess, arguments: ServiceArguments) -> int:
    arguments.options("--user", "--versionCode")
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
    arguments.options("--user", "--versionCode")
    name = arguments.required()
    if process.phone.packages.find(name) is None:
        raise ServiceError(f"Unknown package: {name}")
    if arguments.command != "enable":
        raise security_error(f"Cannot disable a protected package: {name}")
    return process.write(f"Package {name} new state: enabled\n")


_HANDLERS: dict[str, Handler] = {
    "list": _list,
    "path": _path,
    **dict.fromkeys(("dump", "dump-package"), _dump),
    "has-feature": _has_feature,
    "get-install-location": lambda process, _: process.write("0[auto]\n"),
    "resolve-activity": _resolve_activity,
    "query-activities": _query_activities,
    "install": _install,
    "install-create": _install_create,
    "install-write": _install_write,
    **dict.fromkeys(("install-commit", "install-abandon"), _install_end),
    "uninstall": _uninstall,
    "clear": _clear,
    **dict.fromkeys(("grant", "revoke"), _grant),
    **dict.fromkeys(("enable", "disable", "disable-user"), _enable),
}
