"""Speed of parsing, searching and outlining a screen.

The first two are compared with a bare pass: the same bytes through the same parser, with handlers that do nothing.
Searches run on freshly parsed trees, so that nothing is cached.
"""

from pyexpat import ParserCreate
from random import Random
from time import perf_counter
from typing import NamedTuple

from clawperator.contract.selectors import NodeMatcher
from clawperator.ui.node import Bounds, Hierarchy
from clawperator.ui.outline import outline_of, render_outline
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.select import find_nodes
from hierarchy import FOREIGN_LABELS, LABELS, PACKAGES, hierarchy
from measure import fastest

_SEED = 20_260_101
_PARSE_ROUNDS = 400
_MATCH_ROUNDS = 100
_NODES = 500
_NODE_SIZE = 374  # the characters of a node, on average
_SCREEN = Bounds(0, 0, 1_080, 2_400)

# Searches with different costs: by name, by words, by role, and by a letter that most labels contain.
MATCHERS = {
    "id": NodeMatcher(resourceId=f"{PACKAGES[0]}:id/title"),
    "label": NodeMatcher(textEquals="Battery"),
    "words": NodeMatcher(textContains="BATTERY"),
    "role": NodeMatcher(role="button"),
    "rare role": NodeMatcher(role="pager"),
    "letter": NodeMatcher(textContains="e"),
}


class Searches(NamedTuple):
    """The seconds of a bare pass over a screen of 500 nodes, and of finding all nodes of each of ``MATCHERS``."""

    bare: float
    found: dict[str, float]


def measure_parse() -> float:
    """The time to read a screen of 500 nodes into a tree, in bare passes over the same bytes."""
    data = _screen()
    best = fastest({"bare": lambda: _pass(data), "tree": lambda: parse_hierarchy(data)}, _PARSE_ROUNDS)
    return best["tree"] / best["bare"]


def measure_matchers() -> Searches:
    """Search each tree once, directly after parsing, as a wait for a node does."""
    data = _screen()
    bare = float("inf")
    best = dict.fromkeys(MATCHERS, float("inf"))
    for _ in range(_MATCH_ROUNDS):
        for name, matcher in MATCHERS.items():
            tree = _fresh(data)
            start = perf_counter()
            find_nodes(tree, matcher, _SCREEN)
            best[name] = min(best[name], perf_counter() - start)
        start = perf_counter()
        _pass(data)
        bare = min(bare, perf_counter() - start)
    return Searches(bare, best)


def measure_outline() -> float:
    """The time to make and render the outline of a parsed screen of 500 nodes, in times of parsing it."""
    data = _screen()
    parsing = outlining = float("inf")
    for _ in range(_MATCH_ROUNDS):
        tree = _fresh(data)
        start = perf_counter()
        render_outline(outline_of(tree, _SCREEN))
        outlining = min(outlining, perf_counter() - start)
        start = perf_counter()
        parse_hierarchy(data)
        parsing = min(parsing, perf_counter() - start)
    return outlining / parsing


def _pass(data: bytes) -> None:
    parser = ParserCreate("utf-8")
    parser.StartElementHandler = _ignore_start
    parser.EndElementHandler = _ignore_end
    parser.Parse(data, True)


def _screen() -> bytes:
    return hierarchy(Random(_SEED), PACKAGES[0], _NODES * _NODE_SIZE, LABELS + FOREIGN_LABELS).encode()


def _fresh(data: bytes) -> Hierarchy:
    """The screen as a tree, all of it within the display and no two nodes in the same place."""
    tree = parse_hierarchy(data)
    for i, node in enumerate(tree.nodes):
        node.attributes["bounds"] = f"[{i},{i}][{1_080 - i},{2_400 - i}]"
    return tree


def _ignore_start(_name: str, _attributes: dict[str, str]) -> None:
    pass


def _ignore_end(_name: str) -> None:
    pass
