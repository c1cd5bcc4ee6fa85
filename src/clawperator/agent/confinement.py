"""Paths that an agent names: inside the working folder, and never the files that control the agent.

Those files are: everything in ``.claw``, the user's configuration and the product home; settings and sessions,
wherever they are. Skills, their registries and plugins can be read, not written. Links are resolved first, and
existing files and folders are compared by identity, so another spelling, a link or a second name makes no
difference.
"""

import os
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from msgspec import Struct

from clawperator._base.files import confined_to, is_inside
from clawperator._base.home import product_home
from clawperator._base.text import is_blank
from clawperator._base.trust import (
    CONTROL_FOLDER,
    METADATA_SUFFIXES,
    REGISTRY,
    REGISTRY_NAME,
    REGISTRY_VARIABLE,
    SETTINGS_NAMES,
    config_home,
)
from clawperator.agent.sessions.records import DEFAULT_DIRECTORY, EVIDENCE_SUFFIX, SUFFIX, is_session_file
from clawperator.errors import ClawError

Use = Literal["read", "write"]

# A folder with one of these contains skills.
_SKILL_FILES = (REGISTRY_NAME, "skill.json")
_LONGEST_PATH = 4_096

_Identity = tuple[int, int]


class WorkingFolder(Struct, frozen=True):
    """The folder in which an agent may name paths, and the folder of its sessions."""

    path: str = "."
    sessions: str = DEFAULT_DIRECTORY

    @property
    def root(self) -> str:
        return os.path.realpath(self.path)


def confine(folder: WorkingFolder, path: str, operation: str, use: Use) -> str:
    """The absolute path, links resolved. ``PERMISSION_DENIED`` outside the folder and for protected files.

    ``TOOL_PAYLOAD_INVALID`` for a text that is not a path.
    """
    root = folder.root
    try:
        if is_blank(path) or "\0" in path or len(path) > _LONGEST_PATH:
            raise ValueError  # noqa: TRY301 - reported like a path that the system refuses
        whole = os.path.realpath(os.path.join(root, path))
        os.fsencode(whole)
    except (ValueError, OSError):
        target, hint = path[:80], f"Pass a path inside {root}."
        message = f"invalid path {target!r}"
        raise ClawError("TOOL_PAYLOAD_INVALID", message, hint=hint, operation=operation, target=target) from None
    if not is_inside(whole, root):
        raise _denied(path, f"is outside the folder {root}", operation, root)
    reason = protection(folder, whole) or (program_protection(whole, root) if use == "write" else None)
    if reason is not None:
        raise _denied(path, reason, operation, root)
    return whole


@contextmanager
def confining(folder: WorkingFolder) -> Iterator[None]:
    """While the block runs, no file in the folder is opened through a link."""
    token = confined_to.set(folder.root)
    try:
        yield
    finally:
        confined_to.reset(token)


def protection(folder: WorkingFolder, path: str) -> str | None:
    """Why an agent may neither read nor write this resolved path; None when it may."""
    if any(_folded(part) == CONTROL_FOLDER for part in path.split(os.sep)):
        return f"is in a {CONTROL_FOLDER} folder"
    parents = list(_parents(path))
    places = _control_folders(folder)
    is_known = set(_identities(parents)).intersection(_identities(places))
    if is_known or any(is_inside(path, os.path.realpath(place)) for place in places):
        return "is in a folder of settings, sessions or product files"
    if set(_identities([path])).intersection(_identities(_protected_settings(folder))):
        return "is a settings file"
    of_evidence = (parent.removesuffix(EVIDENCE_SUFFIX) for parent in parents if parent.endswith(EVIDENCE_SUFFIX))
    if is_session_file(path) or any(os.path.lexists(session + SUFFIX) for session in of_evidence):
        return "belongs to a session"
    return None


def program_protection(path: str, root: str) -> str | None:
    """Why an agent may not write this resolved path, if it belongs to a skill or names a plugin."""
    is_registry = set(_identities([path])).intersection(_identities(_registries(root)))
    if is_registry or _folded(os.path.basename(path)) in _SKILL_FILES:
        return "is a file that describes skills"
    if any(_folded(part).endswith(METADATA_SUFFIXES) for part in path.split(os.sep)):
        return "is in a folder that describes plugins"
    for parent in _parents(path):
        inside = parent != root and is_inside(parent, root)
        if inside and any(os.path.lexists(os.path.join(parent, name)) for name in _SKILL_FILES):
            return "is in a folder of skills"
    return None


def is_control_file(folder: WorkingFolder, path: str) -> bool:
    """Whether not even the user should append to this file: settings, a registry, or a skill's description."""
    whole = os.path.realpath(os.path.join(folder.root, path))
    known = [*_protected_settings(folder), *_registries(folder.root)]
    name, parent = (_folded(part) for part in (os.path.basename(whole), os.path.basename(os.path.dirname(whole))))
    named = name in _SKILL_FILES or (parent == CONTROL_FOLDER and name.endswith(".json"))
    is_known = whole in map(os.path.realpath, known) or set(_identities([whole])).intersection(_identities(known))
    return named or bool(is_known)


def _protected_settings(folder: WorkingFolder) -> list[str]:
    """The settings files of the user's configuration and of the folder."""
    places = (config_home(), os.path.join(folder.root, CONTROL_FOLDER))
    return [os.path.join(place, name) for place in places for name in SETTINGS_NAMES]


def _registries(root: str) -> list[str]:
    """The skills registries that apply in the folder."""
    named = os.environ.get(REGISTRY_VARIABLE)
    local = os.path.join(root, REGISTRY)
    return [local, os.path.expanduser(named)] if named else [local]


def _control_folders(folder: WorkingFolder) -> list[str]:
    sessions = os.path.join(folder.root, folder.sessions)
    own = os.path.join(folder.root, CONTROL_FOLDER)
    # The user's configuration may be the working folder itself: then only its settings files are protected.
    places = (own, os.path.join(own, "sessions"), config_home(), product_home(), sessions)
    return [place for place in places if not is_inside(folder.root, os.path.realpath(place))]


def _parents(path: str) -> Iterator[str]:
    """The path and every folder above it."""
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def _identities(paths: Iterable[str]) -> Iterator[_Identity]:
    for path in paths:
        with suppress(OSError, ValueError):
            about = os.stat(path)
            yield about.st_dev, about.st_ino


def _folded(name: str) -> str:
    """A name as file systems that ignore case and invisible characters compare it."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return visible.casefold()


def _denied(path: str, reason: str, operation: str, root: str) -> ClawError:
    message, hint = f"the path {path!r} {reason}", f"Use another path inside {root}."
    return ClawError("PERMISSION_DENIED", message, hint=hint, operation=operation, target=path)
