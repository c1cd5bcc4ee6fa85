"""Installed packages: the built-in apps, and those installed from APKs."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from clawperator._base.typed import decode
from clawperator.phone.apps.system import installed_app
from clawperator.phone.storage.filesystem import Storage
from clawperator.phone.toolkit.app import App

FIRST_UID = 10_100
_FOLDER = "/data/app"
_FACTS = "package.json"


class Package(Struct, frozen=True, kw_only=True):
    """One installed package and the app it contains."""

    app: App
    uid: int
    version_code: int
    path: str
    installed_ms: int
    # Whether it was installed by a user; ``pm list packages -3`` lists only these.
    third_party: bool


class ApkFacts(Struct, frozen=True):
    """The facts of an installed APK, stored so that the next start of the phone finds it."""

    package: str
    label: str
    version_name: str
    version_code: int


class Packages:
    """All packages of one phone, by name.

    ``on_update`` is called before a package is replaced, ``on_remove`` before one is removed, and ``on_removed``
    afterwards.
    """

    def __init__(
        self,
        storage: Storage,
        now_ms: Callable[[], int],
        *,
        on_update: Callable[[str], None],
        on_remove: Callable[[str], None],
    ) -> None:
        self._files = storage.system
        self._now_ms = now_ms
        self._on_update = on_update
        self._on_remove = on_remove
        self.on_removed: Callable[[str], None] = lambda _name: None
        self._packages: dict[str, Package] = {}
        self._permissions: dict[str, set[str]] = {}
        self._preferred: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._packages

    def __getitem__(self, name: str) -> Package:
        return self._packages[name]

    def find(self, name: str) -> Package | None:
        return self._packages.get(name)

    def all(self) -> list[Package]:
        return [self._packages[name] for name in sorted(self._packages)]

    def app(self, name: str) -> App:
        return self._packages[name].app

    def launchable(self, name: str) -> App | None:
        package = self._packages.get(name)
        return package.app if package is not None and package.app.launchable else None

    def handlers(self, uri: str) -> list[App]:
        """The apps that open a link; only the preferred one, if the user has chosen one."""
        found = [p.app for p in self.all() if any(uri.lower().startswith(link) for link in p.app.links)]
        chosen = self._preferred.get(_site(uri))
        return [app for app in found if app.package == chosen] or found

    def prefer(self, uri: str, name: str) -> None:
        """Open links to this site with one app from now on, without a chooser."""
        self._preferred[_site(uri)] = name

    def add(self, app: App, *, path: str = "", version_code: int | None = None) -> None:
        """Add a package, replacing an older one of the same name."""
        known = self._packages.get(app.package)
        name = app.label.replace(" ", "")
        self._packages[app.package] = Package(
            app=app,
            uid=known.uid if known else FIRST_UID + len(self._packages),
            version_code=code_of(app.version) if version_code is None else version_code,
            path=path or (f"/system/app/{name}/{name}.apk" if app.system else f"{_FOLDER}/{app.package}/base.apk"),
            installed_ms=self._now_ms(),
            third_party=not app.system,
        )

    def install(self, facts: ApkFacts, apk: str) -> None:
        """Install an APK that is already in the phone's storage. ``OSError`` when the storage is full.

        A running app is stopped, as for any update. Granted permissions are kept.
        """
        folder = f"{_FOLDER}/{facts.package}"
        files = self._files
        files.mkdir(folder, parents=True)
        files.write(f"{folder}/{_FACTS}", msgspec.json.encode(facts))
        files.rename(apk, f"{folder}/base.apk")
        self._on_update(facts.package)
        self._add_installed(facts)

    def remove(self, name: str) -> bool:
        """Uninstall a package. False for one that is missing or part of the system."""
        package = self._packages.get(name)
        if package is None or not package.third_party:
            return False
        self._on_remove(name)
        del self._packages[name]
        self._permissions.pop(name, None)
        files = self._files
        if files.exists(f"{_FOLDER}/{name}"):
            files.remove_tree(f"{_FOLDER}/{name}")
        self.on_removed(name)
        return True

    def load(self) -> None:
        """Load the packages that an earlier run installed."""
        files = self._files
        try:
            names = files.list(_FOLDER)
        except OSError:
            return
        for name in names:
            try:
                facts = decode(files.read(f"{_FOLDER}/{name}/{_FACTS}"), ApkFacts)
            except (OSError, ValueError):
                continue
            self._add_installed(facts)

    def grant(self, name: str, permission: str) -> None:
        self._permissions.setdefault(name, set()).add(permission)

    def revoke(self, name: str, permission: str) -> None:
        self._permissions.get(name, set()).discard(permission)

    def granted(self, name: str) -> list[str]:
        return sorted(self._permissions.get(name, ()))

    def _add_installed(self, facts: ApkFacts) -> None:
        known = self._packages.get(facts.package)
        # An update keeps the app's screens: the code in an APK does not run here.
        app = known.app if known else installed_app(facts.package, facts.label, facts.version_name)
        app.version = facts.version_name
        self.add(app, path=f"{_FOLDER}/{facts.package}/base.apk", version_code=facts.version_code)


def code_of(version: str) -> int:
    """A version code that grows with the version."""
    parts = [int(part) if part.isdecimal() else 0 for part in version.split("-", maxsplit=1)[0].split(".")[:3]]
    major, minor, patch = (*parts, 0, 0, 0)[:3]
    return major * 10_000_000 + minor * 100_000 + patch * 1_000 + 900


def _site(uri: str) -> str:
    """The scheme and host of a link, for which a preferred app is stored."""
    scheme, _, rest = uri.partition("://")
    return f"{scheme}://{rest.split('/')[0]}".lower() if rest else uri.partition(":")[0].lower()
