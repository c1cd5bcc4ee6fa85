"""Long random walks: the phone keeps running, and its screen stays valid."""

import os
from random import Random

import pytest

from clawperator.phone.core.faults import FAULTS
from clawperator.phone.core.phone import Phone
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.parse import parse_hierarchy

_STEPS = 10_000
_SOAK_WALKS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 1
_KEYS = (3, 4, 4, 4, 19, 21, 22, 24, 26, 61, 66, 67, 112, 122, 123, 187, 223, 224, 224, 224)
_WORDS = ("hello", "漢字🙂", "<&\"'>", "\x00\x1b[31m", "\u202eabc", "a\nb", " " * 5, "x" * 300)
_PACKAGES = (
    *("com.android.settings", "com.solaxcloud.starter", "com.google.android.youtube", "com.android.chrome"),
    *("com.clawperator.notes", "com.clawperator.hard", "com.clawperator.operator"),
)
_LINKS = ("https://example.com/", "https://youtu.be/abc", "nonsense:", "HTTPS://\u202e/", "vnd.youtube:1")
# These end or hold the walk rather than disturb it.
_LEFT_OUT = ("offline", "unauthorized", "slow_dump")


def step(phone: Phone, chance: Random) -> None:  # noqa: C901 - a table of things to do
    """One random action, likely or unlikely."""
    display = phone.windows.display

    def point() -> tuple[int, int]:
        return chance.randrange(-50, display.width + 50), chance.randrange(-50, display.height + 50)

    match chance.randrange(20):
        case 0:
            phone.swipe(point(), point(), chance.randrange(1_000))
        case 1:
            phone.key(chance.choice(_KEYS))
        case 2:
            phone.type_text(chance.choice(_WORDS))
        case 3:
            phone.launch(chance.choice(_PACKAGES))
        case 4:
            phone.view(chance.choice(_LINKS))
        case 5:
            phone.clock.sleep(chance.choice((0.01, 0.2, 1, 5)))
        case 6 if chance.random() < 0.1:
            phone.stop_app(chance.choice(_PACKAGES))
        case 7 if chance.random() < 0.2:
            phone.windows.rotate(chance.randrange(4))
        case 8:
            phone.tap(*point(), hold_ms=700)
        case n if n < 14:
            phone.tap(*point())
        case _:  # something that can be touched
            nodes = [node for node in phone.windows.hierarchy().nodes if node.flag("clickable")]
            if nodes:
                phone.tap(*chance.choice(nodes).bounds.centre)


def check(hierarchy: Hierarchy, display: Bounds) -> None:
    for node in hierarchy.nodes:
        box = node.bounds
        assert display.left <= box.left <= box.right <= display.right
        assert display.top <= box.top <= box.bottom <= display.bottom


def walk(phone: SimulatedPhone, seed: int, steps: int, *, faults: bool) -> list[str]:
    """Go, check after each step, and give what was seen on the way."""
    chance = Random(seed)
    names = [name for name in FAULTS if name not in _LEFT_OUT]
    seen: list[str] = []
    for number in range(steps):
        step(phone.phone, chance)
        if faults and number % 50 == 0:
            phone.fault(chance.choice(names), chance.choice(("on", "off", "off")))
        hierarchy = phone.hierarchy()
        if seen and seen[-1] == phone.xml():
            continue
        seen.append(phone.xml())
        check(hierarchy, phone.phone.windows.display.bounds)
        assert parse_hierarchy(seen[-1]).has_same_content(hierarchy) or "\ufffd" in seen[-1]
    return seen


@pytest.mark.parametrize("seed", range(_SOAK_WALKS))
@pytest.mark.random
def test_ten_thousand_random_actions_leave_a_valid_screen(seed: int) -> None:
    with simulated_phone(seed=seed) as phone:
        seen = walk(phone, seed, _STEPS, faults=False)
        assert len(seen) > _STEPS // 4
        phone.phone.key(224)
        phone.person.home()
        assert phone.foreground() == "com.android.launcher3"
        assert not any("FATAL" in entry.message for entry in phone.phone.log.read())


def run_with_faults(seed: int) -> tuple[list[str], list[str]]:
    with simulated_phone(seed=seed) as phone:
        for name, setting in (("dropped_tap", 0.3), ("dialog", 0.05), ("log_noise", 0.5), ("stale_tree", 0.3)):
            phone.fault(name, setting)
        seen = walk(phone, 77, 400, faults=True)
        return seen, [f"{e.time_ms} {e.tag} {e.message}" for e in phone.phone.log.read()]


def test_a_seeded_run_with_faults_replays_identically_and_another_seed_does_not() -> None:
    first, again, other = run_with_faults(5), run_with_faults(5), run_with_faults(6)
    assert first == again
    assert first != other
