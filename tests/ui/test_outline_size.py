"""How large outlines are, on every built-in screen and on captures of real phones where there are any."""

import re
from functools import cache
from statistics import median

import pytest

from clawperator.ui.outline import outline_of, screen_frame
from clawperator.ui.outline_text import quote, render_outline
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.visible import visible_nodes
from tests.support.built_in_screens import built_in_screens
from tests.support.paths import REPOSITORY
from tests.ui.trees import DUMPS

MAX_MEDIAN = 0.07
MAX_WORST = 0.12
PAGE = REPOSITORY / "docs" / "snapshots.md"
_ROW = re.compile(r"\| ([^|]+) \| ([0-9.]+) % \| ([0-9.]+) % \|")
# The numbers in the documentation are rounded, and apps change a little.
_ROUNDED = 0.006


def rendered(xml: str) -> str:
    """The outline with references of three digits."""
    hierarchy = parse_hierarchy(xml)
    made = outline_of(hierarchy, screen_frame(hierarchy))
    for number, element in enumerate(made.elements, 100):
        element.ref = f"e{number}"
    return render_outline(made)


def ratio(xml: str) -> float:
    return len(rendered(xml).encode()) / len(xml.encode())


@cache
def built_in_ratios() -> dict[str, list[float]]:
    """By app."""
    ratios: dict[str, list[float]] = {}
    for screen in built_in_screens()[0]:
        ratios.setdefault(screen.name.partition(" > ")[0], []).append(ratio(screen.xml))
    return ratios


@cache
def capture_ratios() -> list[float]:
    return [ratio(path.read_text("utf-8", "replace")) for path in DUMPS]


def test_outlines_of_the_built_in_screens_are_small() -> None:
    ratios = [one for of_app in built_in_ratios().values() for one in of_app]

    assert len(ratios) > 200
    assert median(ratios) <= MAX_MEDIAN
    assert max(ratios) <= MAX_WORST


@pytest.mark.skipif(not DUMPS, reason="no captures")
def test_outlines_of_captures_are_small() -> None:
    assert median(capture_ratios()) <= MAX_MEDIAN
    assert max(capture_ratios()) <= MAX_WORST


def test_no_visible_text_of_a_built_in_screen_is_lost() -> None:
    for screen in built_in_screens()[0]:
        hierarchy = parse_hierarchy(screen.xml)
        shown = rendered(screen.xml)
        for node in visible_nodes(hierarchy, screen_frame(hierarchy)):
            if node.label and not node.flag("password"):
                assert quote(node.label.strip())[1:-1] in shown, f"{screen.name} lost {node.label!r}"


def test_the_table_in_the_documentation_is_true() -> None:
    table = {
        name: (float(middle) / 100, float(worst) / 100)
        for name, middle, worst in _ROW.findall(PAGE.read_text("utf-8"))
    }
    measured = dict(built_in_ratios())
    if DUMPS:
        measured["captures of real phones"] = capture_ratios()

    assert set(built_in_ratios()) <= set(table)
    for name, ratios in measured.items():
        assert table[name] == pytest.approx((median(ratios), max(ratios)), abs=_ROUNDED), name
