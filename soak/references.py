"""Seeded tasks: click one row by reference or by selector while rows arrive late, move, repeat or are covered.

The client is a simple agent: it looks, clicks, closes a dialog that is in the way, and tries again. The phone
holds the truth. A success that touched another row is a finding, and so is a campaign in which fewer than 95 % of
the tasks with exactly one such row succeed. Of two rows with the same label the agent may choose one by its
position: no selector of an Operator picks it, so the host touches its place, and must notice when it has moved or
report that it does not know.
"""

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

from msgspec import Struct

from clawperator.testing import SimulatedPhone
from soak.runner import Run, require
from soak.virtual_host import virtual_host
from tests.support.running import clawperator
from tests.support.stress_tasks import open_task, tapped_rows

_SETTINGS = "com.android.settings"
_PAGES = ("Network & internet", "Connected devices", "Display", "Battery", "Storage")
_MIN_SUCCESS = 0.95
_ATTEMPTS = 4
_SHIFT = 0.5
_BY_REFERENCE = 0.5
_BY_POSITION = 0.5
# A dialog of a task has this button, one of the phone the other.
_DISMISS = ("Close", "OK")


class TaskCounts(Struct):
    """The figures of a campaign. ``possible`` tasks have exactly one such row."""

    tasks: int = 0
    possible: int = 0
    solved: int = 0
    wrong: int = 0
    unverified: int = 0

    def __str__(self) -> str:
        rate = 100 * self.solved / self.possible if self.possible else 100
        return (
            f"{self.tasks} tasks, {self.possible} with one target: {self.solved} solved ({rate:.1f} %), "
            f"{self.wrong} wrong clicks reported as success, {self.unverified} as success that is not verified"
        )


def run_references(run: Run) -> None:
    counts = TaskCounts()
    number = run.part
    while run.goes_on():
        seed = run.seed * 1_000 + number
        run.check("task", str(seed).encode(), lambda data: try_task(run, int(data), counts), may_refuse=False)
        number += run.parts
    run.notes.append(str(counts))
    if counts.solved < _MIN_SUCCESS * counts.possible:
        run.report("tasks", "too few tasks succeed", str(counts), b"")


def try_task(run: Run, seed: int, counts: TaskCounts) -> None:
    with virtual_host(run.folder, seed) as host:
        if seed % 3:
            host.phone.fault("shift", _SHIFT)
        counts.tasks += 1
        if seed % 5 == 0:  # the tasks of the stress app differ by eighths
            _settings_task(host.phone, seed, counts)
        else:
            _stress_task(host.phone, seed, counts)


def _stress_task(phone: SimulatedPhone, seed: int, counts: TaskCounts) -> None:
    task = open_task(phone, seed)
    is_possible = len(task.matches) == 1
    counts.possible += is_possible
    report = _click(task.target, seed, rows=len(task.matches))
    tapped = tapped_rows(phone)
    is_right = len(tapped) == 1 and tapped[0] in task.matches
    counts.solved += is_possible and report.is_success and is_right
    _count_wrong(counts, seed, report, is_right=is_right, truth=(task, tapped))


def _settings_task(phone: SimulatedPhone, seed: int, counts: TaskCounts) -> None:
    label = _PAGES[seed % len(_PAGES)]
    phone.open_app(_SETTINGS)
    counts.possible += 1
    report = _click(label, seed, rows=1)
    is_right = phone.labels()[:2] == ["Navigate up", label]
    counts.solved += report.is_success and is_right
    _count_wrong(counts, seed, report, is_right=is_right, truth=(label, phone.labels()[:3]))


def _count_wrong(counts: TaskCounts, seed: int, report: "_Report", *, is_right: bool, truth: object) -> None:
    if is_right or not report.is_success:
        return
    if not report.is_verified:
        counts.unverified += 1
    else:
        counts.wrong += 1
        require(False, f"a wrong click was reported as success: task {seed}: {truth}")


class _Report(Struct, frozen=True):
    """What the agent learned: whether it clicked the row, or one of several, and whether that was verified."""

    is_success: bool
    is_verified: bool = True


def _click(label: str, seed: int, *, rows: int) -> _Report:
    random = Random(seed)
    by_reference = random.random() < _BY_REFERENCE
    selector = _selector(label, random, rows)
    ref: str | None = None
    for _ in range(_ATTEMPTS):
        if by_reference:
            ref = ref or _reference(label, random)
            flags: tuple[str, ...] = () if ref is None else ("--ref", ref)
        else:
            flags = selector
        if flags:
            ran = clawperator("click", *flags)
            if ran.code == 0:
                return _Report(True, _step(ran.json).get("target_verified") != "false")
            if _step(ran.json).get("error") == "TARGET_CHANGED":
                return _Report(False)
        if not any(clawperator("click", "--text", button, "--timeout", "1000").code == 0 for button in _DISMISS):
            clawperator("sleep", "500")
    return _Report(False)


def _reference(label: str, random: Random) -> str | None:
    """The reference of an element with this label."""
    ran = clawperator("snapshot", "--view", "json")
    elements = json.loads(_step(ran.json).get("text", "{}")).get("elements", [])
    found = [one["ref"] for one in elements if one.get("label") == label]
    return random.choice(found) if found else None


def _selector(label: str, random: Random, rows: int) -> tuple[str, ...]:
    if rows > 1 and random.random() < _BY_POSITION:
        return ("--text", label, "--index", str(random.randrange(rows)))
    choices: tuple[tuple[str, ...], ...] = (
        ("--text", label, "--unique"),
        ("--text-matches", re.escape(label), "--unique"),
        ("--text", label, "--class", "TextView", "--state", "enabled", "--unique"),
        ("--text", label, "--ancestor", '{"scrollable":true}', "--unique"),
        ("--any-of", label, "--any-of", f"No {label}", "--unique"),
    )
    return random.choice(choices)


def _step(document: Mapping[str, Any]) -> Mapping[str, Any]:
    steps = document.get("envelope", {}).get("stepResults") or [{}]
    data: Mapping[str, Any] = steps[0].get("data", {})
    return data
