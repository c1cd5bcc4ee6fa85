"""Installed packages, and the package of an app by its label, for users and agents that name it as its icon does.

Android's shell does not print the labels of apps whose label is a resource. So labels come from two sources: those
that ``cmd package query-activities`` prints as text, and a table of well-known apps. Only an exact label counts.
"""

import re
import shlex
from collections.abc import Mapping

from clawperator._base.text import distance, printable
from clawperator.contract.action_params import UserChoice
from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device.adb.client import Device, command_line, run_shell, shell_error
from clawperator.device.users import user_line, user_refusal, user_words
from clawperator.errors import ClawError

_SECONDS = 15.0
_MAX_NAME = 255
_NAME = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_MAX_LABEL = 100
_NEAREST = 3
_QUERY = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
_PACKAGE = re.compile(r"^[ \t]{0,64}packageName=([A-Za-z][\w.]{0,255})[ \t\r]{0,8}$", re.ASCII | re.MULTILINE)
_LABEL = re.compile(r"\bnonLocalizedLabel=([^\n]{1,200}?) icon=")
# The English labels of apps that come with most devices.
_WELL_KNOWN: Mapping[str, str] = {
    "com.android.settings": "Settings",
    "com.android.vending": "Play Store",
    "com.android.chrome": "Chrome",
    "com.google.android.youtube": "YouTube",
    "com.google.android.apps.maps": "Maps",
    "com.google.android.gm": "Gmail",
    "com.google.android.apps.photos": "Photos",
    "com.google.android.calculator": "Calculator",
    "com.android.calculator2": "Calculator",
    "com.google.android.calendar": "Calendar",
    "com.android.calendar": "Calendar",
    "com.google.android.deskclock": "Clock",
    "com.android.deskclock": "Clock",
    "com.google.android.contacts": "Contacts",
    "com.android.contacts": "Contacts",
    "com.google.android.dialer": "Phone",
    "com.android.dialer": "Phone",
    "com.google.android.apps.messaging": "Messages",
    "com.google.android.GoogleCamera": "Camera",
    "com.android.camera2": "Camera",
    "com.google.android.apps.nbu.files": "Files by Google",
    "com.google.android.documentsui": "Files",
    "com.android.documentsui": "Files",
    "com.google.android.apps.docs": "Drive",
    "com.google.android.keep": "Keep Notes",
    "com.whatsapp": "WhatsApp",
    "org.mozilla.firefox": "Firefox",
}


def list_packages(
    device: Device, *, third_party: bool = False, user: UserChoice | None = None, seconds: float = _SECONDS
) -> list[str]:
    """The names of the packages of a user, by default the current one; ``third_party`` omits those of the system.

    The caller checks that a named user exists: an old Android lists nothing for another one.
    """
    rest = ["-3"] if third_party else []
    script = user_line("pm", "list", "packages", user=user, rest=rest, or_plain=True)
    answer = run_shell(device, script, seconds=seconds)
    if answer.code != 0:
        message, hint = f"cannot list packages on {device.serial}", "Retry when the device has booted."
        error = shell_error(device, f"{message}: {answer.complaint}", hint=hint, operation="packages")
        raise user_refusal(device, answer.complaint) or error
    lines = (line.strip().partition("package:") for line in answer.text.splitlines())
    names = [name for before, found, name in lines if found and not before]
    # A refused first attempt may have printed a part.
    return [name for name in dict.fromkeys(names) if len(name) <= _MAX_NAME and _NAME.fullmatch(name)]


def other_variants(package: str, installed: list[str]) -> list[str]:
    """The installed Operators other than this one."""
    return [name for name in OPERATOR_PACKAGES if name != package and name in installed]


def is_app_label(text: str) -> bool:
    """Whether a text names an app by its label: a package has a dot."""
    return "." not in text


def resolve_app_label(device: Device, label: str, user: UserChoice | None = None) -> str:
    """The package of the launchable app of a user, by default the current one, with exactly this label.

    ``APP_NOT_FOUND`` when no label is known that matches, ``APP_LABEL_AMBIGUOUS`` when several apps have it.
    """
    known = known_labels(device, user)
    found = sorted(package for package, name in known.items() if name == label)
    if len(found) == 1:
        return found[0]
    shown = printable(label[:_MAX_LABEL])
    if found:
        message = f"{len(found)} apps are named {shown!r}: {', '.join(found)}"
        hint = f"Name the package: run 'clawperator open {found[0]}'."
        details = {"packages": found}
        raise ClawError("APP_LABEL_AMBIGUOUS", message, hint=hint, details=details, operation="open", target=label)
    near = sorted(set(known.values()), key=lambda name: distance(name.casefold(), label.casefold()[:_MAX_LABEL]))
    names = ", ".join(printable(name) for name in near[:_NEAREST])
    message = f"no known app is named {shown!r}" + (f"; the nearest names are {names}" if names else "")
    hint = "Run 'clawperator packages list', and name the package."
    if near and near[0].casefold() == label.casefold():
        hint = f"Run 'clawperator open {shlex.quote(printable(near[0]))}'."
    raise ClawError("APP_NOT_FOUND", message, hint=hint, operation="open", target=label)


def known_labels(device: Device, user: UserChoice | None = None) -> dict[str, str]:
    """The launchable packages whose label is known."""
    script = command_line("cmd", "package", "query-activities", *user_words(user), *_QUERY)
    answer = run_shell(device, script, seconds=_SECONDS)
    labels: dict[str, str] = {}
    for block in re.split(r"^[ \t]{0,8}Activity #\d{1,6}:", answer.text, flags=re.MULTILINE)[1:]:
        package = _PACKAGE.search(block)
        if package is None:
            continue
        written = _LABEL.search(block)
        if written is not None and written[1] != "null":
            labels[package[1]] = written[1]
        elif package[1] in _WELL_KNOWN:
            labels[package[1]] = _WELL_KNOWN[package[1]]
    return labels
