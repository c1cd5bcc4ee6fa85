"""A simulated phone that accepts connections: adbd, an adb server and the control channel."""

import base64
import os
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from zlib import crc32

import msgspec
from msgspec import Meta, Struct

from clawperator._base.files import AtomicFile, make_private_folder, read_limited
from clawperator._base.typed import convert, decode
from clawperator.contract.action_params import KEY_CODES, KeyName
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.engine.clock import SystemClock
from clawperator.errors import ClawError
from clawperator.phone.adb.adbd import AdbdServer
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.core.faults import FAULTS
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PhoneDriver
from clawperator.phone.process.control import ControlServer
from clawperator.phone.shell.language.interpreter import load_commands
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.appfile import load_apps
from clawperator.ui.privacy import mask_passwords
from clawperator.ui.write import write_hierarchy

if TYPE_CHECKING:
    from clawperator.phone.cassette.cassette import Cassette
    from clawperator.phone.core.windows import WindowManager

# What a phone was set up with: its Operator and its app files. The next start uses them again.
#
# App files are copied, so that the phone does not depend on the originals. The copies are outside the phone's own
# files: no command on the phone can change a program that the next start executes.


_MAX_APP_BYTES = 16 * 1024 * 1024
_MAX_INDEX_BYTES = 1024 * 1024
_INDEX = "setup.json"


class AppFile(Struct, frozen=True):
    """An app file: the name of its copy, the path by which it was given, and its packages."""

    name: str
    source: str
    packages: tuple[str, ...]


class _Index(Struct, frozen=True):
    """``setup.json``. ``removed`` are the packages of app files that were uninstalled."""

    operator_package: str = OPERATOR_PACKAGE
    files: tuple[AppFile, ...] = ()
    removed: tuple[str, ...] = ()


class PhoneSetup:
    """The setup of a phone: the stored one, with what was given for this start. ``save`` stores it.

    A given app file replaces each one that has a package in common with it. Without a folder nothing is stored.
    """

    def __init__(self, folder: str | None, operator_package: str | None, apps: Sequence[str]) -> None:
        self._folder = folder
        stored = self._stored()
        self.operator_package = operator_package or stored.operator_package
        self._files = list(stored.files)
        self._removed = set(stored.removed)
        # Given files that are not stored yet: their content, and their apps until they are used.
        self._contents: dict[str, bytes] = {}
        self._loaded: dict[str, list[App]] = {}
        for path in apps:
            self._give(path)

    @property
    def sources(self) -> list[str]:
        """The paths by which the app files were given."""
        return [file.source for file in self._files]

    def apps(self) -> list[App]:
        """The apps of all files, in their initial state, without those that were uninstalled."""
        found = [app for file in self._files for app in self._load(file)]
        return [app for app in found if app.package not in self._removed]

    def save(self) -> None:
        """Store the setup. ``OSError`` when that fails."""
        if self._folder is None or (self._index() == self._stored() and not self._contents):
            return
        make_private_folder(self._folder)
        for name, content in self._contents.items():
            self._write(name, content)
        self._contents.clear()
        self._write(_INDEX, msgspec.json.encode(self._index()))
        for name in set(os.listdir(self._folder)) - {_INDEX, *(file.name for file in self._files)}:
            with suppress(OSError):
                os.remove(os.path.join(self._folder, name))

    def remove(self, package: str) -> None:
        """Leave out an uninstalled app from the next start on. ``OSError`` when that cannot be stored."""
        if any(package in file.packages for file in self._files):
            self._removed.add(package)
            self.save()

    def restore(self) -> None:
        """Bring back the apps that were uninstalled. ``OSError`` when that cannot be stored."""
        self._removed.clear()
        self.save()

    def _give(self, path: str) -> None:
        apps = load_apps(path)
        packages = tuple(app.package for app in apps)
        file = AppFile(packages[0] + os.path.splitext(path)[1], path, packages)
        self._files = [f for f in self._files if not set(f.packages) & set(packages)] + [file]
        self._removed -= set(packages)
        self._loaded[file.name] = apps
        if self._folder is not None:
            self._contents[file.name] = read_limited(path, _MAX_APP_BYTES)

    def _load(self, file: AppFile) -> list[App]:
        if file.name in self._loaded:
            return self._loaded.pop(file.name)
        if self._folder is None or file.name in self._contents:
            return load_apps(file.source)
        return load_apps(os.path.join(self._folder, file.name))

    def _index(self) -> _Index:
        return _Index(self.operator_package, tuple(self._files), tuple(sorted(self._removed)))

    def _stored(self) -> _Index:
        if self._folder is None:
            return _Index()
        try:
            return decode(read_limited(os.path.join(self._folder, _INDEX), _MAX_INDEX_BYTES), _Index)
        except (OSError, ValueError):
            return _Index()

    def _write(self, name: str, content: bytes) -> None:
        assert self._folder is not None
        with AtomicFile(os.path.join(self._folder, name), private=True) as out:
            out.file.write(content)


# Live control, for a user who looks at the screen: look, touch, press keys, type
#
# A look reads the screen as it is. It takes no capture: no fault applies, accessibility services go on, and
# nothing is recorded. Touches and keys are those of a user, so an active recording gets their events.

MAX_TYPED = 2_000
_MAX_GESTURE_MS = 60_000
_MINUTE_MS = 60_000

_Pixel = Annotated[int, Meta(ge=0, le=100_000)]


class _LookArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """``since`` is the id of the last look: the screen is left out when it is the same."""

    since: str = ""


class _TouchArguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A touch at a point; with ``to`` it moves there, after a long press if it ``holds``."""

    at: tuple[_Pixel, _Pixel]
    to: tuple[_Pixel, _Pixel] | None = None
    milliseconds: Annotated[int, Meta(ge=0, le=_MAX_GESTURE_MS)] = 100
    holds: bool = False


class _KeyArguments(Struct, frozen=True, forbid_unknown_fields=True):
    key: KeyName


class _TextArguments(Struct, frozen=True, forbid_unknown_fields=True):
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TYPED)]


def _snapshot_text(windows: "WindowManager") -> str:
    """The tree as a snapshot has it, so that it has the same id: passwords masked, no line break at the end."""
    tree = windows.hierarchy()
    masked = mask_passwords(tree)
    return (windows.xml() if masked is tree else write_hierarchy(masked)).rstrip("\n")


def _touch(phone: Phone, touch: _TouchArguments) -> None:
    display = phone.windows.display
    for x, y in filter(None, (touch.at, touch.to)):
        if not (0 <= x < display.width and 0 <= y < display.height):
            message = f"({x}, {y}) is not on the screen, which has {display.width} x {display.height} pixels"
            raise ClawError("GESTURE_FAILED", message, hint="Touch inside the screen of the device.")
    if touch.to is None:
        phone.tap(*touch.at, touch.milliseconds)
    elif touch.holds:
        phone.drag(touch.at, touch.to, touch.milliseconds)
    else:
        phone.swipe(touch.at, touch.to, touch.milliseconds)


# The server

HOST = "127.0.0.1"

_FOLDER_POLL_SECONDS = 1.0
# A script that only computes delays other threads no longer than this.
_SWITCH_SECONDS = 0.0005


class PhoneServerConfig(Struct, frozen=True, kw_only=True):
    """The configuration of a phone. A port of 0 means any free one.

    ``setup`` is the folder of its stored setup; without ``operator_package`` the stored one is used.
    """

    serial: str
    seed: int = 0
    folder: str | None = None
    setup: str | None = None
    apps: Sequence[str] = ()
    faults: Sequence[tuple[str, str]] = ()
    # A recording to show instead of apps.
    cassette: str | None = None
    operator_package: str | None = None
    adbd_port: int = 0
    server_port: int = 0


class _FaultArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The fault to set; without a setting the faults are only listed."""

    name: str | None = None
    setting: str | None = None


class PhoneServer:
    """A phone on the system clock, and its three servers.

    ``wipe`` removes the phone's files; a reset calls it. ``stopped`` is set when the phone must end: on
    request, or because its folder was removed.
    """

    def __init__(self, config: PhoneServerConfig, wipe: Callable[[], None] = lambda: None) -> None:
        self.config = config
        self._wipe = wipe
        self.token = secrets.token_urlsafe(24)
        self.stopped = threading.Event()
        self._cassette: Cassette | None = None
        if config.cassette is not None:
            from clawperator.phone.cassette.cassette import load_cassette

            self._cassette = load_cassette(config.cassette)
        self.setup = PhoneSetup(config.setup, config.operator_package, config.apps)
        self.device = PhoneDevice(self._new_phone())
        for name, setting in config.faults:
            self.phone.set_fault(name, setting)
        self._adbd = AdbdServer(self.device)
        self._server = AdbServer(lambda: [self.device])
        self._control = ControlServer(self.token, self.command)
        self.adbd_port = self.server_port = self.control_port = 0

    @property
    def phone(self) -> Phone:
        return self.device.phone

    def open(self) -> None:
        """Start listening, and store the setup. ``OSError`` when a port is not available."""
        load_commands()  # now, so that the first command is not slower
        self.adbd_port = self._adbd.start(HOST, self.config.adbd_port)
        self.server_port = self._server.start(HOST, self.config.server_port)
        self.control_port = self._control.start(HOST)
        self.setup.save()
        sys.setswitchinterval(_SWITCH_SECONDS)
        if self.config.folder is not None:
            watch = partial(self._stop_without_folder, self.config.folder)
            threading.Thread(target=watch, name="folder", daemon=True).start()

    def close(self) -> None:
        self.stopped.set()
        for server in (self._control, self._server, self._adbd):
            server.stop()
        self.phone.close()

    def command(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: C901, PLR0912 - one case per request
        """Run a request of the control channel. ``ValueError`` for arguments that the request does not have."""
        if arguments and name not in {"fault", "look", "touch", "press", "type"}:
            raise ClawError("USAGE", f"control request {name!r} takes no arguments")
        phone = self.phone
        match name:
            case "look":
                return self._look(phone, convert(arguments, _LookArguments).since)
            case "touch":
                _touch(phone, convert(arguments, _TouchArguments))
            case "press":
                key = convert(arguments, _KeyArguments).key
                if key == "back":
                    phone.press_back_key()
                else:
                    phone.key(KEY_CODES[key])
            case "type":
                if phone.windows.active().focused_field() is None:
                    raise ClawError("NODE_NOT_FOUND", "no field has the input focus", hint="Touch a field first.")
                phone.type_text(convert(arguments, _TextArguments).text)
            case "status":
                return self._status()
            case "fault":
                return self._fault(convert(arguments, _FaultArguments))
            case "reset":
                self._reset()
            case "screenshot":
                return {"png": base64.b64encode(phone.screenshot()).decode()}
            case "stop":
                self.stopped.set()
            case _:
                raise ClawError("USAGE", f"unknown control request {name!r}")
        return {}

    def _look(self, phone: Phone, since: str) -> dict[str, Any]:
        """The id of what is shown now and, unless it is ``since``, the screen.

        The id changes whenever the screen may show something else. A look with an id that is still valid lays
        nothing out.
        """
        with phone.lock:
            windows = phone.windows
            shown = windows.awake, windows.toast_text(), phone.clock.now_ms() // _MINUTE_MS
            now = f"{self._generation}-{windows.changes}-{crc32(repr(shown).encode()):08x}"
            answer: dict[str, Any] = {"id": now, "recording": phone.operator.recorder.session_id}
            if since == now:
                return answer
            return answer | {
                "width": windows.display.width,
                "height": windows.display.height,
                "awake": windows.awake,
                "package": phone.foreground(),
                "overlay": PhoneDriver(phone).windows().overlay_package,
                "xml": _snapshot_text(windows),
            }

    def _status(self) -> dict[str, Any]:
        with self.phone.lock:
            status = {"faults": self.phone.faults.values(), "foreground": self.phone.foreground()}
            player = self.phone.player
            return status if player is None else {**status, "cassette": player.status()}

    def _stop_without_folder(self, folder: str) -> None:
        """Stop when the folder is removed: without it the phone could not be found or stopped."""
        parent = os.path.dirname(folder)
        ours = _identity(parent)
        while not self.stopped.wait(_FOLDER_POLL_SECONDS):
            now = _identity(parent)
            ours = ours or now
            if now != ours:
                self.stopped.set()

    def _fault(self, given: _FaultArguments) -> dict[str, Any]:
        if given.name is not None and given.setting is not None:
            self.phone.set_fault(given.name, given.setting)
            if given.name in ("offline", "unauthorized"):
                self._adbd.disconnect()
        values = self.phone.faults.values()
        return {"faults": {fault: values.get(fault, 0) for fault in FAULTS}}

    def _reset(self) -> None:
        """Replace the phone behind the same ports. Clients have to reconnect."""
        self.phone.close()
        self._wipe()
        with suppress(OSError):
            self.setup.restore()
        self.device.phone = self._new_phone()
        self._adbd.disconnect()

    def _new_phone(self) -> Phone:
        config = self.config
        # Part of the ids of looks: those of the phone before a reset are not valid any more.
        self._generation = secrets.token_hex(4)
        phone = Phone(
            serial=config.serial,
            seed=config.seed,
            clock=SystemClock(),
            folder=config.folder,
            apps=self.setup.apps(),
            operator_package=self.setup.operator_package,
            cassette=self._cassette,
        )
        phone.packages.on_removed = self._forget_app
        return phone

    def _forget_app(self, package: str) -> None:
        with suppress(OSError):  # with a full disk it is installed again at the next start
            self.setup.remove(package)


def _identity(folder: str) -> tuple[int, int] | None:
    """Device and inode, which differ from those of a later folder of the same name; None when it is missing."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
