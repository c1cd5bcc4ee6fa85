"""Seeded tasks under faults, with the truth read from the phone: the base of campaigns about references.

A task is one screen of the stress app, opened by a link: a list with one row to tap. By its seed the row is there once,
twice or not at all, rows appear late, the list changes its order, or a dialog covers it. Faults come on top, each with
a generator of its own that the phone's seed starts:

- ``shift``: the content of any app moves by a row just before a touch, so that an old coordinate hits another row.
- ``stale_tree``: a capture returns the screen before the last change.
- ``dropped_tap``: a touch has no effect. ``dialog``: a system dialog appears after a touch.

    with simulated_phone(seed=7) as phone:
        phone.fault("shift", 0.3)
        task = open_task(phone, 7)
        phone.click(task.target)
        assert tapped_rows(phone) == list(task.matches)

Times are by the phone's clock: a virtual one passes them only while something on the phone waits, as the Operator
does. For a host that waits by itself, give the phone ``SystemClock()`` or ``FastClock()``.
"""

from clawperator.phone.apps.stress import LINK, PACKAGE, StressTask, stress_task
from clawperator.testing import SimulatedPhone


def open_task(phone: SimulatedPhone, seed: int) -> StressTask:
    """Open the task of a seed, which starts afresh, and describe it."""
    phone.phone.open_with(PACKAGE, f"{LINK}{seed}")
    return stress_task(seed)


def tapped_rows(phone: SimulatedPhone) -> list[int]:
    """The truth: the numbers of the rows of the current task that were touched, in order."""
    process = phone.phone.process_of(PACKAGE)
    return list(process.state["taps"]) if process is not None else []
