"""``dumpsys package``: all that is known of a package."""

from datetime import UTC, datetime

from clawperator.phone.core.packages import Package
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.dumpsys_activity import record_id
from clawperator.phone.shell.android.package_manager import home_of, is_exported
from clawperator.phone.shell.android.permissions import INSTALL_PERMISSIONS, RUNTIME_PERMISSIONS


def dump_packages(device: Phone, words: list[str]) -> str:
    """One package when it is named, otherwise all."""
    names = [word for word in words if not word.startswith("-")]
    if not names:
        return "Packages:\n" + "".join(_package(device, package) for package in device.packages.all())
    if names[0] not in device.packages:
        return f"Unable to find package: {names[0]}\n"
    package = device.packages[names[0]]
    return _resolver(package) + "Packages:\n" + _package(device, package)


def _resolver(package: Package) -> str:
    if not is_exported(package.app):
        return ""
    component = home_of(package.app)
    return (
        "Activity Resolver Table:\n"
        "  Non-Data Actions:\n"
        "      android.intent.action.MAIN:\n"
        f"        {record_id(component.full)} {component.short} filter {record_id(component.full, 'filter')}\n"
        '          Action: "android.intent.action.MAIN"\n'
        f'          Category: "android.intent.category.{"LAUNCHER" if package.app.launchable else "HOME"}"\n\n'
    )


def _package(device: Phone, package: Package) -> str:
    name = package.app.package
    installed = datetime.fromtimestamp(package.installed_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    flags = ["HAS_CODE", "ALLOW_CLEAR_USER_DATA", "ALLOW_BACKUP"]
    if not package.third_party:
        flags.insert(0, "SYSTEM")
    granted = device.packages.granted(name)
    stopped = str(device.process_of(name) is None).lower()
    requested = sorted({*INSTALL_PERMISSIONS, *granted})
    runtime = [p for p in granted if p in RUNTIME_PERMISSIONS]
    install = [*INSTALL_PERMISSIONS, *(p for p in granted if p not in RUNTIME_PERMISSIONS)]
    signatures = f"version:3, signatures:[{record_id(name, 'key')}], past signatures:[]"
    state = f"installed=true hidden=false suspended=false stopped={stopped} notLaunched=false enabled=0"
    lines = [
        f"  Package [{name}] ({record_id(name)}):",
        f"    userId={package.uid}",
        f"    appId={package.uid}",
        f"    pkg=Package{{{record_id(name, 'pkg')} {name}}}",
        f"    codePath={package.path.rpartition('/')[0]}",
        f"    resourcePath={package.path.rpartition('/')[0]}",
        "    primaryCpuAbi=arm64-v8a",
        f"    versionCode={package.version_code} minSdk=21 targetSdk=35",
        f"    versionName={package.app.version or 'null'}",
        f"    signatures=PackageSignatures{{{record_id(name, 'signatures')} {signatures}}}",
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
