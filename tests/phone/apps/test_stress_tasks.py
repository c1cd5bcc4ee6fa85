"""Seeded tasks of the stress app: reproducible, of every kind, and with the truth in the app's state."""

import pytest

from clawperator.phone.apps.stress import LINK, stress_task
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.stress_tasks import open_task, tapped_rows

SEEDS = range(200)


def rows(phone: SimulatedPhone) -> list[str]:
    return [node.label for node in phone.find_all(id="android:id/title")]


def test_the_same_seed_is_the_same_task() -> None:
    assert [stress_task(seed) for seed in SEEDS] == [stress_task(seed) for seed in SEEDS]


def test_tasks_are_of_every_kind() -> None:
    tasks = [stress_task(seed) for seed in SEEDS]
    assert {len(task.matches) for task in tasks} == {0, 1, 2}
    assert sum(len(task.matches) == 1 for task in tasks) == len(tasks) * 3 // 4
    for kind in ("moves", "notice_ms"):
        assert 0 < sum(bool(getattr(task, kind)) for task in tasks) < len(tasks)
    assert any(task.late[task.matches[0]] for task in tasks if len(task.matches) == 1)


@pytest.mark.parametrize("seed", [0, 1, *range(2, 30)])
def test_a_task_shows_its_rows_in_the_end_and_notes_which_were_tapped(phone: SimulatedPhone, seed: int) -> None:
    task = open_task(phone, seed)
    assert len(rows(phone)) == sum(not late for late in task.late)
    phone.sleep(2)
    if task.notice_ms:
        assert phone.shows("Something came up.")
        phone.person.tap("Close")
    assert rows(phone) == [task.rows[number] for number in task.order(task.moves)]
    for number in task.matches[:1]:
        assert tapped_rows(phone) == []
        phone.person.tap(task.rows[number])
        assert tapped_rows(phone)[0] in task.matches


def test_a_task_is_opened_by_its_link_and_starts_afresh(phone: SimulatedPhone) -> None:
    for _ in range(2):
        assert phone.shell_script(f"am start -a android.intent.action.VIEW -d {LINK}4").code == 0
        assert tapped_rows(phone) == []
        phone.sleep(2)
        phone.person.tap(stress_task(4).target)
        assert len(tapped_rows(phone)) == 1
    for word in ("", "-1", "x", "9" * 30):
        phone.phone.open_with("com.clawperator.hard", LINK + word)
        assert rows(phone)


def test_the_fault_shift_moves_every_row_just_before_a_touch() -> None:
    with simulated_phone() as phone:
        phone.open_app("com.android.settings")
        before = phone.find("Display")
        assert before is not None
        phone.fault("shift", 1)
        phone.phone.tap(*before.bounds.centre)
        assert not phone.shows("Dark theme")
        phone.fault("shift", 0)
        after = phone.find("Display")
        assert after is None or after.bounds.top > before.bounds.top


def test_an_accessibility_click_reaches_the_row_that_has_moved(phone: SimulatedPhone) -> None:
    seed = next(seed for seed in SEEDS if stress_task(seed).moves == 5 and len(stress_task(seed).matches) == 1)
    task = open_task(phone, seed)
    (number,) = task.matches
    found = None
    while found is None:
        found = phone.find(task.target)
        phone.sleep(0.1)
    node = next(node for node in (found, *found.ancestors()) if node.flag("clickable"))
    for _ in range(12):
        phone.sleep(0.1)
        if phone.shows("Something came up."):
            phone.person.tap("Close")
    placed = node.source
    assert phone.phone.click(placed)  # type: ignore[arg-type]
    assert tapped_rows(phone) == [number]


def test_an_accessibility_click_on_a_row_that_is_gone_does_nothing(phone: SimulatedPhone) -> None:
    phone.open_app("com.clawperator.hard")
    phone.click("Restless list")
    ghost = phone.find("Alpha")
    assert ghost is not None
    row = next(node for node in (ghost, *ghost.ancestors()) if node.flag("clickable"))
    phone.click(desc="Leave")
    phone.click("Ghost")
    assert not phone.phone.click(row.source)  # type: ignore[arg-type]
