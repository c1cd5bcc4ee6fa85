"""The system settings (``settings get``) and properties (``getprop``) of the phone."""

from collections.abc import Callable

import msgspec

from clawperator._base.typed import decode
from clawperator.phone.storage.filesystem import Storage

NAMESPACES = ("system", "secure", "global")
_FILE = "/data/system/settings.json"
_MAX_ENTRIES = 2_000
_MAX_LENGTH = 64 * 1024

_DEFAULTS = {
    "system": {
        "accelerometer_rotation": "0",
        "user_rotation": "0",
        "screen_brightness": "102",
        "screen_brightness_mode": "0",
        "screen_off_timeout": "600000",
        "font_scale": "1.0",
        "volume_music_speaker": "5",
    },
    "secure": {"android_id": "c1a9e6a70000b0c5", "location_mode": "3"},
    "global": {
        "adb_enabled": "1",
        "development_settings_enabled": "1",
        "airplane_mode_on": "0",
        "wifi_on": "1",
        "bluetooth_on": "1",
        "window_animation_scale": "0.0",
        "transition_animation_scale": "0.0",
        "animator_duration_scale": "0.0",
        "device_provisioned": "1",
    },
}


class SettingsProvider:
    """The three tables of settings. A change is stored immediately and reported to ``changed``."""

    def __init__(self, storage: Storage, changed: Callable[[], None]) -> None:
        self._storage = storage
        self._changed = changed
        self._tables: dict[str, dict[str, str]] = {name: dict(table) for name, table in _DEFAULTS.items()}

    def load(self) -> None:
        """Load the settings of an earlier run. An unreadable file is ignored."""
        try:
            stored = decode(self._storage.system.read(_FILE), dict[str, dict[str, str]])
        except (OSError, ValueError):
            return
        for name in NAMESPACES:
            self._tables[name].update(stored.get(name, {}))

    def get(self, namespace: str, key: str) -> str | None:
        return self._tables[namespace].get(key)

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set a value; ``ValueError`` when the value is too long or the table is full."""
        table = self._tables[namespace]
        if len(value) > _MAX_LENGTH or len(key) > _MAX_LENGTH:
            raise ValueError("the setting is too long")
        if key not in table and len(table) >= _MAX_ENTRIES:
            raise ValueError("the settings table is full")
        table[key] = value
        self._save()

    def delete(self, namespace: str, key: str) -> bool:
        if self._tables[namespace].pop(key, None) is None:
            return False
        self._save()
        return True

    def table(self, namespace: str) -> dict[str, str]:
        return dict(self._tables[namespace])

    def remove_components(self, package: str) -> bool:
        """Disable the services and listeners of a package, as when it is uninstalled. Whether it had any."""
        found = False
        for key in ("enabled_accessibility_services", "enabled_notification_listeners"):
            names = [name for name in (self.get("secure", key) or "").split(":") if name]
            kept = [name for name in names if not name.startswith(f"{package}/")]
            if kept != names:
                self.put("secure", key, ":".join(kept))
                found = True
        return found

    def set_quietly(self, namespace: str, key: str, value: str) -> None:
        """Set an initial value: in memory only, and stored with the next change."""
        self._tables[namespace][key] = value

    def _save(self) -> None:
        self._changed()
        try:
            self._storage.system.mkdir("/data/system", parents=True)
            self._storage.system.write(_FILE, msgspec.json.encode(self._tables))
        except OSError:
            return  # with a full storage the settings last until the phone is restarted


def properties(serial: str, version: str) -> dict[str, str]:
    """The system properties of a phone with this serial."""
    return {
        "dev.bootcomplete": "1",
        "gsm.operator.alpha": "",
        "init.svc.adbd": "running",
        "persist.sys.locale": "en-US",
        "persist.sys.timezone": "UTC",
        "ro.boot.serialno": serial,
        "ro.build.characteristics": "default",
        "ro.build.date.utc": "1700000000",
        "ro.build.fingerprint": "clawperator/simulated/simulated:15/AP3A.240905/1:user/release-keys",
        "ro.build.id": "AP3A.240905",
        "ro.build.tags": "release-keys",
        "ro.build.type": "user",
        "ro.build.version.codename": "REL",
        "ro.build.version.incremental": version,
        "ro.build.version.release": "15",
        "ro.build.version.sdk": "35",
        "ro.build.version.security_patch": "2024-09-05",
        "ro.debuggable": "0",
        "ro.hardware": "simulated",
        "ro.kernel.qemu": "0",
        "ro.product.board": "simulated",
        "ro.product.brand": "clawperator",
        "ro.product.cpu.abi": "arm64-v8a",
        "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a,armeabi",
        "ro.product.device": "simulated",
        "ro.product.locale": "en-US",
        "ro.product.manufacturer": "Clawperator",
        "ro.product.model": "Simulated phone",
        "ro.product.name": "simulated",
        "ro.secure": "1",
        "ro.serialno": serial,
        "ro.sf.lcd_density": "420",
        "sys.boot_completed": "1",
    }
