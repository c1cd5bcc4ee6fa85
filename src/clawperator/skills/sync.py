"""Fetching skills with git, into the product's home."""

import os
import re
import subprocess
from typing import Any

from clawperator._files import why
from clawperator._home import product_home
from clawperator.errors import ClawError
from clawperator.skills.registry import VARIABLE, home_registry, read_registry

REPOSITORY = "https://github.com/clawperator/clawperator-skills"
REPOSITORY_VARIABLE = "CLAWPERATOR_SKILLS_REPO"
MAIN = "main"
_GIT_SECONDS = 120.0
_LONGEST_TOLD = 2_000
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")


def install() -> dict[str, Any]:
    """Fetch the skills, or bring those that are there up to date. Says how to make them the ones that count."""
    fetched = _sync(MAIN)
    path = home_registry()
    return {
        "synced": True,
        "message": fetched,
        "registryPath": path,
        "envInstruction": f'export {VARIABLE}="{path}"',
    }


def sync(ref: str = MAIN) -> dict[str, Any]:
    """Bring the skills to a branch, tag or commit, fetching them first when they are not there."""
    if not _REF.fullmatch(ref) or ".." in ref:
        raise ClawError("USAGE", f"{ref!r} is no name of a branch, tag or commit", operation="argparse")
    return {"synced": True, "message": _sync(ref)}


def _sync(ref: str) -> str:
    folder = os.path.join(product_home(), "skills")
    repository = os.environ.get(REPOSITORY_VARIABLE) or REPOSITORY
    if os.path.isdir(os.path.join(folder, ".git")):
        _update(folder, repository, ref)
        message = f"skills are at {ref}"
    else:
        _clone(folder, repository, ref)
        message = f"skills were fetched from {repository} at {ref}"
    try:
        read_registry(home_registry())
    except ClawError as e:
        raise _failed(f"what was fetched has no registry: {e.message}") from e
    return message


def _clone(folder: str, repository: str, ref: str) -> None:
    if os.path.isdir(folder) and os.listdir(folder):
        raise _failed(f"{folder} is there and is no clone", "Move it away, and run this again.")
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    except OSError as e:
        raise _failed(f"{os.path.dirname(folder)} cannot be made: {why(e)}") from e
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
    """What git said; ``SKILLS_GIT_NOT_FOUND`` without one, ``SKILLS_SYNC_FAILED`` when it fails or is too slow."""
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        ran = subprocess.run(  # noqa: S603 - fixed words, and a ref that was checked
            ["git", *arguments],  # noqa: S607 - the person's own git
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise ClawError("SKILLS_GIT_NOT_FOUND", "git is needed to fetch skills, and was not found") from None
    except subprocess.TimeoutExpired:
        raise _failed(f"git {arguments[0]} took longer than {_GIT_SECONDS:g} s") from None
    except OSError as e:
        raise _failed(f"git cannot be run: {why(e)}") from e
    if ran.returncode != 0:
        said = ran.stderr.decode("utf-8", "replace").strip()[-_LONGEST_TOLD:]
        raise _failed(f"git failed: {said or f'exit code {ran.returncode}'}")
    return ran.stdout.decode("utf-8", "replace")


def _failed(reason: str, hint: str | None = None) -> ClawError:
    return ClawError(
        "SKILLS_SYNC_FAILED",
        f"the skills could not be fetched: {reason}",
        hint=hint or "Check the network and the ref, and try again.",
        operation="skills sync",
    )
