"""Install and update skills with git, in the product's home."""

import os
import re
import subprocess

from msgspec import UNSET, Struct, UnsetType

from clawperator._base.deadline import Deadline
from clawperator._base.files import make_private_folder, why
from clawperator._base.home import product_home
from clawperator._base.trust import REGISTRY_VARIABLE
from clawperator.errors import ClawError
from clawperator.skills.registry import home_registry, read_registry

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
    return ClawError(
        "SKILLS_SYNC_FAILED",
        f"cannot fetch the skills: {reason}",
        hint=hint or "Check the network and the ref, then retry.",
        operation="skills sync",
    )
