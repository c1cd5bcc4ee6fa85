"""The screen as data: the hierarchy tree, labels, roles, matching. No I/O."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.ui.changes import EarlierLine, changed_lines, earlier_lines, has_other_order
    from clawperator.ui.describe import describe_matches, query_nodes, reference_of, selector_flags
    from clawperator.ui.find import find_node, find_nodes
    from clawperator.ui.hit_test import HitTest, TouchPoint, takes_touch
    from clawperator.ui.nearest import NearMatch, nearest_matches
    from clawperator.ui.node import HIDDEN, NOWHERE, Bounds, Hierarchy, Node, read_bounds
    from clawperator.ui.notices import appeared_notices
    from clawperator.ui.outline import Outline, OutlineElement, outline_of, screen_frame
    from clawperator.ui.outline_text import (
        BYTES_PER_TOKEN,
        cut_lines,
        outline_objects,
        render_element,
        render_outline,
    )
    from clawperator.ui.parse import NOT_XML, parse_hierarchy
    from clawperator.ui.passwords import has_password
    from clawperator.ui.refs import (
        MAX_ALIKE,
        ElementFingerprint,
        Located,
        RegionPrint,
        ScreenPrint,
        find_same,
        fingerprints,
        is_same_page,
        locate,
        stale_reference,
    )
    from clawperator.ui.roles import role_of
    from clawperator.ui.select import AmbiguousSelectorError, select_nodes
    from clawperator.ui.suggest import contract_selector, suggest_selectors
    from clawperator.ui.visible import visible_nodes
    from clawperator.ui.write import ATTRIBUTES, write_hierarchy
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "changes": "EarlierLine changed_lines earlier_lines has_other_order",
            "describe": "describe_matches query_nodes reference_of selector_flags",
            "find": "find_node find_nodes",
            "hit_test": "HitTest TouchPoint takes_touch",
            "nearest": "NearMatch nearest_matches",
            "node": "Bounds HIDDEN Hierarchy NOWHERE Node read_bounds",
            "notices": "appeared_notices",
            "outline": "Outline OutlineElement outline_of screen_frame",
            "outline_text": "BYTES_PER_TOKEN cut_lines outline_objects render_element render_outline",
            "parse": "NOT_XML parse_hierarchy",
            "passwords": "has_password",
            "refs": "MAX_ALIKE ElementFingerprint Located RegionPrint ScreenPrint find_same fingerprints "
            "is_same_page locate stale_reference",
            "roles": "role_of",
            "select": "AmbiguousSelectorError select_nodes",
            "suggest": "contract_selector suggest_selectors",
            "visible": "visible_nodes",
            "write": "ATTRIBUTES write_hierarchy",
        },
    )

__all__ = [
    "ATTRIBUTES",
    "BYTES_PER_TOKEN",
    "HIDDEN",
    "MAX_ALIKE",
    "NOT_XML",
    "NOWHERE",
    "AmbiguousSelectorError",
    "Bounds",
    "EarlierLine",
    "ElementFingerprint",
    "Hierarchy",
    "HitTest",
    "Located",
    "NearMatch",
    "Node",
    "Outline",
    "OutlineElement",
    "RegionPrint",
    "ScreenPrint",
    "TouchPoint",
    "appeared_notices",
    "changed_lines",
    "contract_selector",
    "cut_lines",
    "describe_matches",
    "earlier_lines",
    "find_node",
    "find_nodes",
    "find_same",
    "fingerprints",
    "has_other_order",
    "has_password",
    "is_same_page",
    "locate",
    "nearest_matches",
    "outline_objects",
    "outline_of",
    "parse_hierarchy",
    "query_nodes",
    "read_bounds",
    "reference_of",
    "render_element",
    "render_outline",
    "role_of",
    "screen_frame",
    "select_nodes",
    "selector_flags",
    "stale_reference",
    "suggest_selectors",
    "takes_touch",
    "visible_nodes",
    "write_hierarchy",
]
