"""Coverage-guided fuzzing with atheris, which is optional: ``pip install '.[fuzz]'``.

Each target runs in a process of its own, ``soak.coverage_process``. It prints libFuzzer's statistics; the input of
a failure is a file that it writes.
"""

import importlib.util
import re
import subprocess
import sys

from soak import agent_readers, documents, languages, recordings
from soak.runner import Run

TARGETS = {
    target.name: target
    for target in (*documents.TARGETS, *recordings.TARGETS, *agent_readers.TARGETS, *languages.TARGETS)
}
_LEAST_SECONDS = 5
_GRACE_SECONDS = 60
_EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")


def run_coverage(run: Run) -> None:
    """As many targets as there is time for, in random order."""
    if importlib.util.find_spec("atheris") is None:
        run.notes.append("coverage: atheris is not installed, so nothing was tried (no wheel for this Python?)")
        return
    names = run.random.sample(sorted(TARGETS), len(TARGETS))
    left = len(names)
    for name in names:
        seconds = int(run.seconds_left() / left)
        left -= 1
        if seconds >= _LEAST_SECONDS:
            _fuzz_target(run, name, seconds)


def _fuzz_target(run: Run, name: str, seconds: int) -> None:
    folder = run.folder / name.replace(" ", "-")
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (corpus / str(number)).write_bytes(seed)
    argv = [sys.executable, "-m", "soak.coverage_process", name, str(folder), str(seconds), str(run.seed % 2**31)]
    try:
        ran = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=seconds + _GRACE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        run.report(name, "too slow", "the process did not end", b"")
        return
    counted = _EXECUTED.search(ran.stderr)
    run.inputs += int(counted[1]) if counted else 0
    for artifact in sorted(folder.glob("found-*")):
        run.report(name, artifact.name.split("-")[1], (ran.stdout + ran.stderr)[-4_000:], artifact.read_bytes())
    if ran.returncode and not list(folder.glob("found-*")):
        run.report(name, "the fuzzer failed", (ran.stdout + ran.stderr)[-4_000:], b"")
