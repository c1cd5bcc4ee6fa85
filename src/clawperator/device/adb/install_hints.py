"""What to do when a device refuses to install an APK, by the code of Android's package manager."""

import re
from collections.abc import Mapping

from clawperator.device.adb.client import Device
from clawperator.device.vendors import vendor_hint

_CODE = re.compile(r"INSTALL_(?:PARSE_)?FAILED_([A-Z_]{1,60})")
_OTHERS = "Check that the APK fits the device's ABI and Android version, and that it has free storage."
_OTHER_SIGNATURE = "Uninstall the installed app first, with its data: it is signed with another key."
_WRONG_APK = "Check that the APK is complete and signed: copy or build it again."
_NO_STORAGE = "Free storage on the device, then install again."
_WRONG_ABI = "Get an APK for the device's processor: 'adb shell getprop ro.product.cpu.abilist' lists its ABIs."
# The user or a switch of the vendor refused the installation.
_REFUSED: Mapping[str, str] = {
    "USER_RESTRICTED": "Unlock the device and accept the installation on it. A policy may also forbid it.",
    "ABORTED": "Unlock the device and accept the installation on it.",
    "VERIFICATION_FAILURE": "Turn off 'Verify apps over USB' in the developer options, or accept the app.",
}
_HINTS: Mapping[str, str] = {
    "UPDATE_INCOMPATIBLE": _OTHER_SIGNATURE,
    "INCONSISTENT_CERTIFICATES": _OTHER_SIGNATURE,
    "SHARED_USER_INCOMPATIBLE": _OTHER_SIGNATURE,
    "VERSION_DOWNGRADE": "Uninstall the newer version first, with its data, or install one that is not older.",
    "ALREADY_EXISTS": "Uninstall the installed app first.",
    "DUPLICATE_PERMISSION": "Uninstall the other app that declares this permission.",
    "CONFLICTING_PROVIDER": "Uninstall the other app that has the same content provider.",
    "INSUFFICIENT_STORAGE": _NO_STORAGE,
    "MEDIA_UNAVAILABLE": _NO_STORAGE,
    "NO_MATCHING_ABIS": _WRONG_ABI,
    "CPU_ABI_INCOMPATIBLE": _WRONG_ABI,
    "OLDER_SDK": "Get an APK for the Android version of the device: this one needs a newer Android.",
    "NEWER_SDK": "Get a newer APK: this one is only for older versions of Android.",
    "DEPRECATED_SDK_VERSION": "Get a newer APK: the device refuses apps for so old a version of Android.",
    "TEST_ONLY": "Build the APK for release: this one is marked as test-only.",
    "MISSING_SHARED_LIBRARY": "Get another APK: this one needs a library that the device does not have.",
    "MISSING_FEATURE": "Get another APK: this one needs hardware that the device does not have.",
    "MISSING_SPLIT": "Get an APK without splits: this one is a part of an app bundle.",
    "INVALID_APK": _WRONG_APK,
    "NOT_APK": _WRONG_APK,
    "BAD_MANIFEST": _WRONG_APK,
    "BAD_SIGNATURE": _WRONG_APK,
    "NO_CERTIFICATES": _WRONG_APK,
}


def install_hint(device: Device, reason: str) -> str:
    """The hint for a refused installation. ``reason`` is what the device answered."""
    found = _CODE.search(reason)
    code = found[1] if found is not None else ""
    if code in _REFUSED:
        return vendor_hint(device, "install", otherwise=_REFUSED[code])
    return _HINTS.get(code, _OTHERS)
