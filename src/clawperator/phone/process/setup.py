"""What a phone was set up with: its Operator and its app files. The next start uses them again.

App files are copied, so that the phone does not depend on the originals. The copies are outside the phone's own
files: no command on the phone can change a program that the next start executes.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from clawperator._base.files import AtomicFile, make_private_folder, read_limited
from clawperator._base.typed import decode
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.appfile import load_apps

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
