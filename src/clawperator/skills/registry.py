"""Skill registries: find, read and search the JSON file that lists skills; install and update skills.

<root>/skills/skills-registry.json
<root>/skills/<id>/SKILL.md, skill.json, scripts/, artifacts/, references/

Paths in a registry are relative to its root, the parent of the registry file's folder, and never lead out of it.
"""

import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.files import is_same_file, make_private_folder, read_limited, why
from clawperator._base.home import product_home
from clawperator._base.text import is_blank, nearest, printable
from clawperator._base.trust import REGISTRY, REGISTRY_VARIABLE, registry_trust
from clawperator.errors import ClawError

SHIPPED = "shipped"
FIELDS = ("id", "applicationId", "intent", "summary", "path", "skillFile", "scripts", "artifacts")
_MAX_BYTES = 16 * 1024 * 1024
_WORDS = re.compile(r"[^a-z0-9]+")
_NO_MATCH = 7


class SkillEntry(Struct, frozen=True, kw_only=True):
    """One skill, as described by its registry and its own ``skill.json``."""

    id: str
    applicationId: str
    intent: str
    summary: str
    path: str
    skillFile: str
    scripts: list[str]
    artifacts: list[str]
    keywords: list[str] | UnsetType = UNSET
    agent: Any | UnsetType = UNSET
    contract: Any | UnsetType = UNSET


class SkillRegistry(Struct, frozen=True):
    """A registry file: its path and its entries as they are written.

    ``ignored`` is the path of a registry of the working folder that is not used, because of ``ignored_for``. The
    ids in ``replaced`` are those of shipped skills, which the registry of a working folder cannot replace.
    """

    path: str
    entries: list[dict[str, Any]]
    warnings: tuple[str, ...] = ()
    ignored: str = ""
    ignored_for: str = ""
    replaced: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        return os.path.dirname(os.path.dirname(self.path))

    def entry(self, skill_id: str) -> dict[str, Any]:
        """The entry of a skill, or ``SKILL_NOT_FOUND``."""
        for entry in self.entries:
            if entry.get("id") == skill_id:
                return entry
        if self.ignored and _lists(self.ignored, skill_id):
            message = f"skill {skill_id!r} is only in {printable(self.ignored)}: {self.ignored_for}"
            hint = "Run 'claw trust' in the folder, or name the registry."
            details = {"registryPath": self.ignored}
            raise skill_error("SKILL_NOT_FOUND", skill_id, message, hint, operation="skills", **details)
        known = [str(entry.get("id")) for entry in self.entries]
        near = nearest(skill_id, known, max(2, len(skill_id) // 3))
        message = f"no skill {skill_id!r} in {self.path}" + (f"; did you mean {near!r}?" if near else "")
        hint = "Run 'clawperator skills list'."
        raise skill_error("SKILL_NOT_FOUND", skill_id, message, hint, operation="skills")

    def holding(self, skill_id: str) -> "SkillRegistry":
        """The registry with the files of this skill: the shipped one for its skills."""
        return read_registry(shipped_registry()) if skill_id in self.replaced else self

    def file(self, relative: str) -> str:
        """The absolute path of a registry path; ``SKILL_VALIDATION_FAILED`` when it leaves the registry's root."""
        whole = os.path.join(self.root, relative)
        inside = os.path.realpath(self.root)
        if "\0" in relative or os.path.commonpath([inside, os.path.realpath(whole)]) != inside:
            message = f"path {relative!r} leads out of the registry"
            hint = "Paths are relative to the parent of the registry file's folder."
            reason = "path outside the registry"
            raise skill_error("SKILL_VALIDATION_FAILED", relative, message, hint, reason=reason, path=relative)
        return os.path.normpath(whole)


def shipped_registry() -> str:
    """The registry of the skills that ship with the product."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "shipped", REGISTRY)


def home_registry() -> str:
    """The registry that ``skills install`` clones."""
    return os.path.join(product_home(), "skills", REGISTRY)


def local_registry() -> str:
    """The registry of the current folder."""
    return os.path.join(os.getcwd(), REGISTRY)


def configured_registry(given: str | None = None) -> str | None:
    """The registry given by argument or by the environment variable, if any. It then replaces all others."""
    if given is not None:
        return shipped_registry() if given == SHIPPED else os.path.abspath(given)
    named = os.environ.get(REGISTRY_VARIABLE)
    if named is None:
        return None
    if is_blank(named):
        hint = f"Unset {REGISTRY_VARIABLE}, or set it to a path."
        raise _unreadable(named, f"{REGISTRY_VARIABLE} is empty", hint)
    return os.path.abspath(os.path.expanduser(named))


def open_registry(given: str | None = None, *, to_validate: bool = False) -> SkillRegistry:
    """Read the first registry of: the configured, the current folder's, the installed and the shipped one.

    The folder's counts when the user has trusted it, and its skills do not replace shipped ones. ``to_validate``:
    nothing of it will run, so it counts as it is.
    """
    configured = configured_registry(given)
    if configured is not None:
        return read_registry(configured)
    local = local_registry()
    installed = next((path for path in (home_registry(),) if os.path.exists(path)), shipped_registry())
    if not os.path.lexists(local):
        return read_registry(installed)
    # A link to a registry of ours is that registry: its skills are not those of the folder.
    same = next((path for path in (installed, shipped_registry()) if is_same_file(local, path)), None)
    if same is not None or to_validate:
        return read_registry(same or local)
    trust = registry_trust(local)
    if trust.is_trusted:
        return _with_shipped(read_registry(local))
    warning = f"{printable(local)} ignored: {trust.advice}"
    return replace(read_registry(installed), warnings=(warning,), ignored=local, ignored_for=trust.reason)


def _with_shipped(registry: SkillRegistry) -> SkillRegistry:
    """The registry with the shipped skills in place of those that have the same ids."""
    shipped = {entry["id"]: entry for entry in read_registry(shipped_registry()).entries}
    replaced = tuple(id_ for id_ in shipped if any(entry.get("id") == id_ for entry in registry.entries))
    if not replaced:
        return registry
    entries = [shipped.get(str(entry.get("id")), entry) for entry in registry.entries]
    warnings = tuple(
        f"skill {id_} of {printable(registry.path)} ignored: a shipped skill has this id; to run it, name its "
        f"registry with --registry"
        for id_ in replaced
    )
    return replace(registry, entries=entries, warnings=warnings, replaced=replaced)


def _lists(path: str, skill_id: str) -> bool:
    """Whether an ignored registry lists a skill. One that cannot be read lists none."""
    try:
        return any(entry.get("id") == skill_id for entry in read_registry(path).entries)
    except ClawError:
        return False


def read_registry(path: str) -> SkillRegistry:
    """Read a registry file; ``REGISTRY_READ_FAILED`` when that fails."""
    document = read_json(path, _unreadable)
    skills = document.get("skills") if isinstance(document, dict) else None
    if not isinstance(skills, list):
        raise _unreadable(path, "it has no 'skills' list")
    for place, entry in enumerate(skills):
        if not isinstance(entry, dict):
            raise _unreadable(path, f"skills[{place}] is not an object")
    return SkillRegistry(path, skills)


def read_json(path: str, failure: Any) -> Any:
    """Read a JSON file of a registry. Raises ``failure(path, reason)`` when it cannot be read."""
    try:
        data = read_limited(path, _MAX_BYTES)
        return msgspec.json.decode(data.removeprefix(BOM_UTF8))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, ValueError) as e:
        raise failure(path, why(e) if isinstance(e, OSError) else str(e)) from e
    except RecursionError:
        raise failure(path, "it is nested too deeply") from None


def parse_entry(raw: Mapping[str, Any]) -> SkillEntry:
    """Check the fields of an entry; ``SKILL_VALIDATION_FAILED`` lists the missing ones."""
    details: dict[str, Any] = {"missingFields": [name for name in FIELDS if name not in raw]}
    message = f"skill {raw.get('id')!r} has no {', '.join(details['missingFields'])}"
    if not details["missingFields"]:
        try:
            return msgspec.convert(dict(raw), SkillEntry)
        except msgspec.ValidationError as e:
            message, details = f"the entry of skill {raw.get('id')!r} is invalid: {e}", {"reason": str(e)}
    raise skill_error("SKILL_VALIDATION_FAILED", str(raw.get("id", "")), message, **details)


def _unreadable(path: str, reason: str, hint: str = "") -> ClawError:
    message = f"cannot read the skills registry {printable(path)}: {reason}" if path.strip() else reason
    hint = hint or "Run 'clawperator skills install', or choose another file."
    return skill_error("REGISTRY_READ_FAILED", path, message, hint, operation="read", registryPath=path)


def skill_error(
    code: str, target: str, message: str, hint: str | None = None, /, *, operation: str = "", **details: Any
) -> ClawError:
    """An error about a skill or one of its files."""
    return ClawError(code, message, hint=hint, details=details or None, operation=operation, target=target)


# Search


def search_skills(
    entries: Iterable[Mapping[str, Any]],
    *,
    app: str | None = None,
    intent: str | None = None,
    keyword: str | None = None,
) -> list[Mapping[str, Any]]:
    """The skills that match every given filter. A keyword sorts them, best first; ties keep their order."""
    found = [
        entry
        for entry in entries
        if (app is None or entry.get("applicationId") == app) and (intent is None or entry.get("intent") == intent)
    ]
    if keyword is None:
        return found
    ranked = [(rank(entry, keyword), entry) for entry in found]
    return [entry for place, entry in sorted(ranked, key=lambda pair: pair[0]) if place < _NO_MATCH]


def rank(entry: Mapping[str, Any], keyword: str) -> int:
    """The rank of a skill for a keyword: 0 is best, ``_NO_MATCH`` is none.

    Declared keywords rank before id and app, and those before the summary; whole words rank before parts of words.
    """
    wanted = keyword.strip().lower()
    words, declared = _tokens(wanted), entry.get("keywords")
    keywords = [str(word).lower() for word in declared] if isinstance(declared, list) else []
    names = [str(entry.get(name, "")).lower() for name in ("id", "applicationId")]
    tests = (
        wanted in keywords,
        bool(words) and words <= {token for word in keywords for token in _tokens(word)},
        wanted in names,
        bool(words) and any(words <= _tokens(name) for name in names),
        any(wanted in word for word in keywords),
        any(wanted in name for name in names),
        wanted in str(entry.get("summary", "")).lower(),
    )
    return next((place for place, fits in enumerate(tests) if fits), _NO_MATCH)


def _tokens(text: str) -> set[str]:
    return set(filter(None, _WORDS.split(text)))


# Install and update skills with git, in the product's home

REPOSITORY = "https://github.com/clawperator/clawperator-skills"
REPOSITORY_VARIABLE = "CLAWPERATOR_SKILLS_REPO"
MAIN = "main"
_GIT_SECONDS = 120.0
_MAX_ERROR_LENGTH = 2_000
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")


class SyncedSkills(Struct, frozen=True):
    """The skills were fetched. ``envInstruction`` sets the variable that selects their registry."""

    synced: bool
    message: str
    registryPath: str | UnsetType = UNSET
    envInstruction: str | UnsetType = UNSET


def install_skills() -> SyncedSkills:
    """Clone or update the skills."""
    fetched = _sync(MAIN)
    path = home_registry()
    return SyncedSkills(True, fetched, path, f'export {REGISTRY_VARIABLE}="{path}"')


def sync_skills(ref: str = MAIN) -> SyncedSkills:
    """Check out a branch, tag or commit of the skills, after cloning them if necessary."""
    if not _REF.fullmatch(ref) or ".." in ref:
        raise ClawError("USAGE", f"invalid branch, tag or commit {ref!r}", operation="argparse")
    return SyncedSkills(True, _sync(ref))


def _sync(ref: str) -> str:
    folder = os.path.join(product_home(), "skills")
    repository = os.environ.get(REPOSITORY_VARIABLE) or REPOSITORY
    if os.path.isdir(os.path.join(folder, ".git")):
        _update(folder, repository, ref)
        message = f"skills are at {ref}"
    else:
        _clone(folder, repository, ref)
        message = f"skills cloned from {repository} at {ref}"
    try:
        read_registry(home_registry())
    except ClawError as e:
        raise _failed(f"the repository has no registry: {e.message}") from e
    return message


def _clone(folder: str, repository: str, ref: str) -> None:
    if os.path.isdir(folder) and os.listdir(folder):
        raise _failed(f"{folder} exists and is not a git clone", "Move it away and run the command again.")
    try:
        make_private_folder(os.path.dirname(folder))
    except OSError as e:
        raise _failed(f"{os.path.dirname(folder)} cannot be created: {why(e)}") from e
    _git("clone", "--branch", MAIN, "--", repository, folder)
    if ref != MAIN:
        _git("-C", folder, "checkout", "--quiet", ref, "--")


def _update(folder: str, repository: str, ref: str) -> None:
    if "origin" not in _git("-C", folder, "remote").split():
        _git("-C", folder, "remote", "add", "origin", repository)
    _git("-C", folder, "fetch", "--tags", "origin")
    _git("-C", folder, "checkout", "--quiet", ref, "--")
    on_branch = _git("-C", folder, "branch", "--show-current").strip()
    if on_branch:
        _git("-C", folder, "merge", "--ff-only", "--quiet", f"origin/{on_branch}")


def _git(*arguments: str) -> str:
    """Run git and return its output. ``SKILLS_GIT_NOT_FOUND`` without git, ``SKILLS_SYNC_FAILED`` on failure."""
    import subprocess

    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        ran = subprocess.run(  # noqa: S603 - fixed arguments and a validated ref
            ["git", *arguments],  # noqa: S607 - the user's git
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=Deadline(_GIT_SECONDS).remaining,
            check=False,
        )
    except FileNotFoundError:
        raise ClawError("SKILLS_GIT_NOT_FOUND", "git is not on PATH", hint="Install git.") from None
    except subprocess.TimeoutExpired:
        raise _failed(f"git {arguments[0]} did not end in time") from None
    except OSError as e:
        raise _failed(f"git cannot be run: {why(e)}") from e
    if ran.returncode != 0:
        stderr = ran.stderr.decode("utf-8", "replace").strip()[-_MAX_ERROR_LENGTH:]
        raise _failed(f"git failed: {stderr or f'exit code {ran.returncode}'}")
    return ran.stdout.decode("utf-8", "replace")


def _failed(reason: str, hint: str | None = None) -> ClawError:
    message, hint = f"cannot fetch the skills: {reason}", hint or "Check the network and the ref, then retry."
    return ClawError("SKILLS_SYNC_FAILED", message, hint=hint, operation="skills sync")
