"""Trusted folders: the programs and permissions that a working folder's files add once the user trusts them.

A folder's settings, skills registry, ``skill.json`` files and plugin manifests name programs, and its ``gradlew``
is one. They take effect after ``claw trust``, which stores the folder's real path and a hash of these files in the
user's configuration; a change to one of them ends the trust. A registry that ``skills new`` creates is stored in
the same way, on its own.
"""

import errno
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from clawperator._base.files import AtomicFile, locked, make_private_folder, read_limited, why
from clawperator._base.text import printable
from clawperator.errors import ClawError

CONTROL_FOLDER = ".claw"
SETTINGS_NAMES = ("settings.json", "settings.local.json")
REGISTRY_NAME = "skills-registry.json"
REGISTRY = os.path.join("skills", REGISTRY_NAME)
REGISTRY_VARIABLE = "CLAWPERATOR_SKILLS_REGISTRY"
# The folders with the metadata of a distribution end in one of these.
METADATA_SUFFIXES = (".dist-info", ".egg-info")
# Run by ``doctor --full``.
BUILD_PROGRAM = "gradlew"
_STORE = "trusted-folders.json"
_MOST_BYTES = 16 * 1024 * 1024
_LOCK_SECONDS = 5.0


class Trust(Struct, frozen=True):
    """Whether the files of a folder take effect. If not, ``reason`` completes the sentence "ignored: ..."."""

    is_trusted: bool
    reason: str = ""

    @property
    def advice(self) -> str:
        return f"{self.reason}; run 'claw trust' in the folder to trust it"


class TrustStore(Struct):
    """The stored hashes by real path: of whole folders, and of single registries."""

    folders: dict[str, str] = {}
    registries: dict[str, str] = {}


_TRUSTED = Trust(is_trusted=True)
_UNKNOWN = Trust(False, "the folder is not trusted")
_CHANGED = Trust(False, "files that name programs have changed since the folder was trusted")


def config_home() -> str:
    """The folder of the user's own settings: ``CLAW_CONFIG_HOME``, or ``~/.claw``."""
    return os.environ.get("CLAW_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), CONTROL_FOLDER)


def is_users_own(path: str) -> bool:
    """Whether a settings file is in the user's configuration, as ``.claw`` in the user's home is."""
    return os.path.dirname(os.path.realpath(path)) == os.path.realpath(config_home())


def folder_trust(folder: str) -> Trust:
    """Whether the folder is trusted as it is now."""
    return _compare(read_store().folders.get(os.path.realpath(folder)), folder, folder_files)


def registry_trust(registry: str) -> Trust:
    """Whether a registry in a working folder is trusted, on its own or with its folder."""
    whole = folder_trust(_root(registry))
    if whole.is_trusted:
        return whole
    known = read_store().registries.get(os.path.realpath(registry))
    if known is None or _is_linked(registry):
        return whole
    return _compare(known, registry, _registry_files)


def _is_linked(registry: str) -> bool:
    """Whether a link leads to the registry from another root: then its skills are other files."""
    whole, root = os.path.abspath(registry), _root(registry)
    return os.path.realpath(whole) != os.path.join(os.path.realpath(root), os.path.relpath(whole, root))


def _compare(known: str | None, path: str, files: Callable[[str], list[str]]) -> Trust:
    if known is None:
        return _UNKNOWN
    try:
        return _TRUSTED if _hash(files(path)) == known else _CHANGED
    except OSError:
        return _CHANGED


def folder_files(folder: str) -> list[str]:
    """The files of the folder that name programs."""
    settings = [os.path.join(folder, CONTROL_FOLDER, name) for name in SETTINGS_NAMES]
    own = [path for path in settings if os.path.lexists(path) and not is_users_own(path)]
    registry = os.path.join(folder, REGISTRY)
    skills = _registry_files(registry) if os.path.lexists(registry) else []
    build = os.path.join(folder, BUILD_PROGRAM)
    return [*own, *skills, *_manifests(folder), *([build] if os.path.lexists(build) else [])]


def _registry_files(registry: str) -> list[str]:
    """The registry and the ``skill.json`` of every skill it lists."""
    try:
        document = msgspec.json.decode(_read(registry).removeprefix(BOM_UTF8))
        folders = [entry["path"] for entry in document["skills"] if isinstance(entry.get("path"), str)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        folders = []  # such a registry cannot be used
    names = [os.path.join(_root(registry), folder, "skill.json") for folder in folders if "\0" not in folder]
    return [registry, *dict.fromkeys(path for path in names if os.path.lexists(path))]


def _manifests(folder: str) -> Iterator[str]:
    """The entry points of distributions whose metadata is in the folder itself."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entry.path for entry in entries if entry.name.endswith(METADATA_SUFFIXES))
    except OSError:
        return
    for path in found:
        manifest = os.path.join(path, "entry_points.txt")
        if os.path.lexists(manifest):
            yield manifest


def _root(registry: str) -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(registry)))


def _hash(paths: list[str]) -> str:
    import hashlib

    whole = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(_read(path)).hexdigest()
        whole.update(f"{os.path.realpath(path)}\0{content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _read(path: str) -> bytes:
    return read_limited(path, _MOST_BYTES)


# The store


def trust_folder(folder: str) -> None:
    """Remember the folder as it is now."""
    digest = _digest(folder, folder_files)
    with _changing() as store:
        store.folders[os.path.realpath(folder)] = digest


def trust_registry(registry: str) -> None:
    """Remember a registry as it is now."""
    digest = _digest(registry, _registry_files)
    with _changing() as store:
        store.registries[os.path.realpath(registry)] = digest


def _digest(path: str, files: Callable[[str], list[str]]) -> str:
    try:
        return _hash(files(path))
    except OSError as e:
        raise _unusable(e.filename or path, why(e)) from e


def forget_folder(folder: str) -> bool:
    """End the trust in a folder and in its registry. False when there was none."""
    with _changing() as store:
        had = store.folders.pop(os.path.realpath(folder), None)
        own = store.registries.pop(os.path.realpath(os.path.join(folder, REGISTRY)), None)
    return had is not None or own is not None


def read_store() -> TrustStore:
    """The stored hashes; none when the store cannot be read."""
    try:
        return _load()
    except (OSError, ValueError, RecursionError):
        return TrustStore()


def _store_path() -> str:
    return os.path.join(config_home(), _STORE)


def _load() -> TrustStore:
    try:
        return msgspec.json.decode(_read(_store_path()), type=TrustStore)
    except (FileNotFoundError, NotADirectoryError):
        return TrustStore()


@contextmanager
def _changing() -> Iterator[TrustStore]:
    """The store, written when the block succeeds. One process changes it at a time."""
    path = _store_path()
    try:
        make_private_folder(os.path.dirname(path))
        with locked(f"{path}.lock", _LOCK_SECONDS) as lock:
            if lock is None:
                raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))
            store = _load()
            yield store
            with AtomicFile(path, private=True) as out:
                out.file.write(msgspec.json.format(msgspec.json.encode(store), indent=2) + b"\n")
    except (OSError, ValueError, RecursionError) as e:
        raise _unusable(path, why(e) if isinstance(e, OSError | ValueError) else "nested too deeply") from e


def _unusable(path: str, reason: str) -> ClawError:
    message = f"cannot trust {printable(path)}: {reason}"
    hint = "Repair or remove the file, and run 'claw trust' again."
    return ClawError("FILESYSTEM_FAILED", message, hint=hint, operation="trust", target=path)
