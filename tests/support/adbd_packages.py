"""Prepare Debian's adbd for the tests that run it: ``python -m tests.support.adbd_packages``.

The packages come from the mirror that this machine's apt uses, of a suite that has them, with apt's own check of their
signatures. They are unpacked into a folder of the user's cache, not installed. Beside adbd are the shell and the
programs that Android uses too: mksh and toybox.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGES = ("adbd", "mksh", "toybox")
# Suites that have adbd, oldest first. The machine's own suite is tried before them.
_SUITES = ("trixie", "forky", "sid")
_KEYRINGS = ("debian-archive-keyring.gpg", "debian-archive-keyring.pgp")
# Programs of toybox that the doubles and the tests run.
_TOYBOX = ("cat", "head", "ls", "mkdir", "printf", "rm", "sleep", "stat", "yes")
_SECONDS = 60
# Raise it when the prepared folder changes.
_LAYOUT = 1


class PreparationError(Exception):
    """The packages cannot be had here."""


def _cache_folder() -> Path:
    given = os.environ.get("CLAWPERATOR_TEST_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "clawperator-tests"


# Read once: tests change HOME.
ADBD_ROOT = _cache_folder() / f"adbd-{_LAYOUT}"


def prepare(root: Path) -> None:
    """Fill the folder once. It appears complete or not at all. ``PreparationError`` when it cannot be filled."""
    if root.is_dir():
        return
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent) as name:
            work = Path(name)
            archives = _download(work)
            made = work / "root"
            made.mkdir()
            for archive in archives:
                _run("dpkg-deb", "--extract", str(archive), str(made))
            _link_programs(made)
            versions = sorted(archive.name.rpartition("_")[0] for archive in archives)
            (made / "packages").write_text("".join(f"{version}\n" for version in versions))
            made.rename(root)
    except OSError as e:
        raise PreparationError(str(e)) from e


def _download(work: Path) -> list[Path]:
    """The archives of the packages and of all that they depend on, of the first suite that has them."""
    reasons = []
    for suite, mirror, components in _sources():
        folder = work / suite
        for place in ("lists/partial", "cache/archives/partial", "parts"):
            (folder / place).mkdir(parents=True)
        (folder / "status").touch()
        keyring = next((path for name in _KEYRINGS if (path := Path("/usr/share/keyrings", name)).exists()), None)
        signed = f"[signed-by={keyring}] " if keyring and suite in _SUITES else ""
        (folder / "sources.list").write_text(f"deb {signed}{mirror} {suite} {components}\n")
        places = {
            "Dir::Etc::SourceList": "sources.list",
            "Dir::Etc::SourceParts": "parts",
            "Dir::State::Lists": "lists",
            "Dir::State::Status": "status",
            "Dir::Cache": "cache",
        }
        options = [word for name, place in places.items() for word in ("-o", f"{name}={folder / place}")]
        options += ["-o", "APT::Get::List-Cleanup=false", "-o", "Debug::NoLocking=true", "-q", "-q"]
        try:
            _run("apt-get", *options, "update", "--error-on=any")
            _run("apt-get", *options, "--yes", "--no-install-recommends", "--download-only", "install", *PACKAGES)
        except PreparationError as e:
            reasons.append(f"{suite}: {e}")
            continue
        return sorted((folder / "cache/archives").glob("*.deb"))
    raise PreparationError("; ".join(reasons) or "apt has no source of packages")


def _sources() -> list[tuple[str, str, str]]:
    """Suites to try, each with the mirror and the components that apt is configured for."""
    wanted = "$(CODENAME) $(REPO_URI) $(COMPONENT)"
    lines = _run("apt-get", "indextargets", "Created-By: Packages", "--format", wanted).splitlines()
    found = [line.split() for line in lines if len(line.split()) == 3]
    if not found:
        return []
    own, mirror, _ = found[0]
    components = " ".join(dict.fromkeys(row[2] for row in found if row[:2] == [own, mirror]))
    return [(suite, mirror, components) for suite in dict.fromkeys((own, *_SUITES))]


def _link_programs(root: Path) -> None:
    programs = root / "usr/bin"
    (programs / "sh").unlink(missing_ok=True)
    (programs / "sh").symlink_to("mksh")
    for name in _TOYBOX:
        (programs / name).unlink(missing_ok=True)
        (programs / name).symlink_to("toybox")


def _run(program: str, *words: str) -> str:
    if shutil.which(program) is None:
        raise PreparationError(f"no {program} on this machine")
    try:
        ran = subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise PreparationError(f"{program} took longer than {_SECONDS} s") from None
    if ran.returncode != 0:
        lines = ran.stderr.decode("utf-8", "replace").splitlines()
        raise PreparationError(next((line for line in lines if line.startswith("E:")), f"{program} failed"))
    return ran.stdout.decode("utf-8", "replace")


def main() -> int:
    """Exit code 1, with the reason on stderr, when there will be no adbd."""
    try:
        prepare(ADBD_ROOT)
    except PreparationError as e:
        sys.stderr.write(f"no adbd for the tests: {e}\n")
        return 1
    packages = (ADBD_ROOT / "packages").read_text().split()
    sys.stdout.write(f"{next(name for name in packages if name.startswith('adbd_'))} is in {ADBD_ROOT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
