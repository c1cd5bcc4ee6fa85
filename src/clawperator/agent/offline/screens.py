"""The captured screen: find the node, field, switch or value that a target names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from clawperator._base.text import is_blank, one_line
from clawperator.agent.offline.grammar import is_role_only
from clawperator.agent.offline.instructions import TargetPhrase
from clawperator.agent.offline.known_places import find_place, is_typo, normalize_label, similar_known_names
from clawperator.agent.offline.labels import (
    ANY_CASE,
    DESCRIPTION,
    ID_WORDS,
    LEVELS,
    PREFIX,
    RESOURCE_ID,
    TO_READ,
    TO_SEE,
    TO_TAP,
    TO_TYPE,
    WHOLE_NAME,
    click_target,
    closest_labels,
    contains_words,
    display_label,
    in_same_row,
    is_checkable,
    list_rows,
    match_name,
    own_label,
    quote,
    row_switch,
    row_value,
    selected_option,
    word_set,
)
from clawperator.api.snapshot import Snapshot
from clawperator.engine.targets import nearest_self_or_ancestor
from clawperator.errors import ClawError
from clawperator.ui.node import HIDDEN, Node, is_field, role_of, visible_nodes

_MAX_LABEL_LENGTH = 200
# Kinds of rows that only a list has.
_RESULTS = ("result", "suggestion", "one")
_MAX_LISTED = 8
_MAX_SIMILAR = 5
_PROGRESS_CLASSES = ("progressbar", "progressindicator")
_LIST_WORDS = re.compile(r",\s|\s(?:and|or|then)\s", re.IGNORECASE)
# Read no more than this many nodes of one name: more are a list.
_MAX_READ = 50
# Common names of fields, and the names that apps give them.
_FIELD_SYNONYMS = {"address": "url", "e-mail address": "email", "user name": "username"}
# The target of a text without a named field.
ANY_FIELD = TargetPhrase("text field", "text field", role="textfield")


class CapturedScreen(Struct, frozen=True, dict=True):
    """One capture of the screen."""

    snapshot: Snapshot

    @property
    def package(self) -> str:
        return self.snapshot.package or ""

    @cached_property
    def nodes(self) -> list[Node]:
        """The visible nodes, depth first."""
        return visible_nodes(self.snapshot.hierarchy, self.snapshot.frame)

    @property
    def labels(self) -> list[str]:
        """The visible labels, without the contents of password fields."""
        return [label for node in self.nodes if not is_blank(label := own_label(node))]

    @property
    def scrolls(self) -> bool:
        return any(node.flag("scrollable") for node in self.nodes)

    @property
    def is_loading(self) -> bool:
        """Whether it shows a progress indicator."""
        return any(part in node.class_name.lower() for node in self.nodes for part in _PROGRESS_CLASSES)


def parse_screen(data: Mapping[str, str]) -> CapturedScreen:
    """The screen in the data of a ``snapshot_ui`` step. ``HIERARCHY_INVALID`` when it cannot be parsed."""
    screen = CapturedScreen(
        Snapshot(data.get("text", ""), data.get("foreground_package"), data.get("overlay_package"), 0)
    )
    assert screen.nodes is not None  # parse now, so that an error is raised here
    return screen


def find_candidates(screen: CapturedScreen, target: TargetPhrase, loosest: int = TO_SEE) -> list[list[Node]]:
    """The nodes that match a target, grouped by how well, best first.

    ``loosest`` limits the match level. The whole phrase counts before its parts: a row "First name" is not the
    first "name".
    """
    whole = target.phrase != target.name and not target.exact
    role_only = is_role_only(target)
    limit = DESCRIPTION if target.exact else ANY_CASE if role_only else loosest
    levels: list[list[Node]] = [[] for _ in range(3 * LEVELS)]
    for node in screen.nodes:
        if whole:
            level = match_name(target.phrase, node, loosest)
            if level is not None:
                levels[level if level <= ANY_CASE else 2 * LEVELS + level].append(node)
        level = match_name(target.name, node, loosest)
        if level is not None and level <= limit and (role_only or _may_have_role(node, target.role)):
            levels[LEVELS + level].append(node)
    if role_only:
        if target.role == "row":
            levels.append(list_rows(screen.nodes, in_list=target.name.casefold() in _RESULTS))
        else:
            levels.append([node for node in screen.nodes if _has_role(node, target.role)])
    if target.beside:
        others = next(iter(find_candidates(screen, TargetPhrase(target.beside, target.beside), TO_TAP)), [])
        levels = [in_same_row(nodes, others) for nodes in levels]
    return [nodes for nodes in levels if nodes]


def _may_have_role(node: Node, wanted: str) -> bool:
    """Whether a node with a matching name may have this role. Users call any clickable element a button."""
    match wanted:
        case "textfield":
            return is_field(node)
        case "switch" | "checkbox":
            clicked = click_target(node)
            return is_checkable(node) or (clicked is not None and row_switch(node) is not None)
        case "tab":
            return role_of(node) == "tab" or any(role_of(child) == "tab" for child in node.children)
        case "button" | "icon" | "row" | "link":
            return click_target(node) is not None
        case _:
            return True


def _has_role(node: Node, wanted: str) -> bool:
    """Whether a node has this role, for targets without a name."""
    name = node.class_name.lower()
    match wanted:
        case "textfield":
            return is_field(node)
        case "switch" | "checkbox":
            return is_checkable(node)
        case "tab":
            return role_of(node) == "tab"
        case "button":
            return node.flag("clickable") and "button" in name and not is_checkable(node)
        case "icon":
            return node.flag("clickable") and "image" in name
        case "link":
            pages = ("webview" in clicked.class_name.lower() for clicked in node.ancestors())
            return node.flag("clickable") and not is_blank(own_label(node)) and any(pages)
        case _:
            return False


def choose_node(screen: CapturedScreen, target: TargetPhrase, *, clickable_only: bool = False) -> Node | None:
    """The node to tap; None when there is none.

    With ``clickable_only`` it must be clickable; otherwise it must have the whole name. ``INSTRUCTION_AMBIGUOUS``
    when several match equally well and have different click targets.
    """
    best = next(iter(find_candidates(screen, target, TO_TAP if clickable_only else WHOLE_NAME)), [])
    if clickable_only:
        best = [node for node in best if click_target(node) is not None]
    return pick_one(group_by_click_target(best, target), target)


def is_disabled(node: Node, *, hold: bool = False) -> bool:
    """Whether the element that receives the click is disabled."""
    clicked = nearest_self_or_ancestor(node, lambda n: n.flag("long-clickable" if hold else "clickable"))
    return (clicked or node).attributes.get("enabled") == "false"


def group_by_click_target(nodes: Iterable[Node], target: TargetPhrase) -> list[Node]:
    """One node per click target; unclickable nodes only when there are no others."""
    by_target: dict[int, Node] = {}
    unclickable: list[Node] = []
    for node in nodes:
        clicked = click_target(node)
        if clicked is None:
            unclickable.append(node)
        else:
            by_target.setdefault(id(clicked), node)
    found = list(by_target.values()) or unclickable
    if target.role == "button" and len(found) > 1:
        found = [node for node in found if "button" in node.class_name.lower()] or found
    return found


def pick_one(found: list[Node], target: TargetPhrase) -> Node | None:
    """The node that the ordinal selects, in reading order. Without an ordinal there must be one candidate."""
    found = sorted(found, key=lambda node: (node.bounds.top, node.bounds.left))
    if target.ordinal:
        if not found:
            return None
        if target.ordinal > len(found):
            raise ClawError(
                "NODE_NOT_FOUND",
                f"the screen has {len(found)} of {quote(target.name or target.role)}, not {target.ordinal}",
                hint="Scroll first, or use a smaller ordinal.",
                target=target.phrase,
            )
        return found[target.ordinal - 1 if target.ordinal > 0 else -1]
    if len(found) > 1:
        raise ambiguous_error(target, found)
    return found[0] if found else None


def ambiguous_error(target: TargetPhrase, found: list[Node]) -> ClawError:
    names = [display_label(node) or node.resource_id.rpartition("/")[2] for node in found[:_MAX_LISTED]]
    named = [quote(name) if name else "an element without a name" for name in names]
    listed = [f"{name} at {node.bounds.centre}" for name, node in zip(named, found, strict=False)]
    more = f" and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    return ClawError(
        "INSTRUCTION_AMBIGUOUS",
        f"{quote(target.phrase)} matches {len(found)} elements: {', '.join(listed)}{more}; none was tapped",
        hint="Use 'the first …', 'the second …', or '… next to <label>' for the one in the same row.",
        details={
            "candidates": [
                {"label": one_line(own_label(n), _MAX_LABEL_LENGTH), "bounds": str(n.bounds)} for n in found[:50]
            ]
        },
        operation="find",
        target=target.phrase,
    )


def not_found_error(
    target: TargetPhrase, screen: CapturedScreen, where: str = "on the screen", labels: list[str] | None = None
) -> ClawError:
    """Nothing has this name. The message lists the most similar of ``labels``, by default of the whole screen."""
    name = target.name or target.phrase
    visible = any(is_typo(normalize_label(name), normalize_label(label)) for label in screen.labels)
    known = [] if target.exact or labels is not None or visible else similar_known_names(name)
    nearest = closest_labels(name, screen.labels if labels is None else labels)
    similar = [quote(label) for label in dict.fromkeys((*known, *nearest))][:_MAX_SIMILAR]
    listed = (
        f"; nearest: {', '.join(similar)}" if similar else "; the screen has no labels" if labels is None else ""
    )
    hint = "Run 'claw bootstrap \"describe the screen\"' to list the labels."
    if not target.exact and _LIST_WORDS.search(target.phrase):
        hint = "Write one instruction per element, and quote a name that contains 'and' or 'or'."
    return ClawError(
        "NODE_NOT_FOUND",
        f"nothing {where} is named {_quote_target(target)}{listed}",
        hint=hint,
        operation="find",
        target=target.phrase,
    )


def reject_typo(screen: CapturedScreen, target: TargetPhrase) -> None:
    """``NODE_NOT_FOUND`` with the nearest names when the name is a misspelled label or known name.

    Called before a search that scrolls or opens pages: nothing is done for a misspelled name.
    """
    if target.exact or is_role_only(target) or find_place(target.name):
        return
    wanted = normalize_label(target.name)
    if similar_known_names(target.name) or any(is_typo(wanted, normalize_label(label)) for label in screen.labels):
        raise not_found_error(target, screen)


def labels_that_mention(screen: CapturedScreen, text: str) -> list[str]:
    """The labels with the words of a text, in the order of the screen."""
    return [label for label in dict.fromkeys(screen.labels) if contains_words(text, label)]


def describe_node(node: Node, target: TargetPhrase) -> str:
    """The name of a node in an answer: its label in quotes, or the phrase it was found by."""
    return quote((node.content_desc if is_field(node) else display_label(node)) or target.phrase)


def _quote_target(target: TargetPhrase) -> str:
    return f"{quote(target.name)} next to {quote(target.beside)}" if target.beside else quote(target.phrase)


class ScreenValue(Struct, frozen=True):
    """A label and its value."""

    label: str
    value: str


# Fields


def find_field(screen: CapturedScreen, target: TargetPhrase | None) -> Node | None:
    """The field that a target names; without a name the focused one, or the only one."""
    fields = [node for node in screen.nodes if is_field(node)]
    if target is None or is_role_only(target):
        focused = [node for node in fields if node.flag("focused") and not (target and target.ordinal)]
        return pick_one(focused or fields, target or ANY_FIELD)
    for name in dict.fromkeys(
        (target.name, target.phrase, _FIELD_SYNONYMS.get(target.name.casefold(), target.name))
    ):
        best: dict[int, list[Node]] = {}
        for node, before in _fields_with_labels(screen):
            levels = [
                match_name(name, node, TO_TYPE),
                None if before is None else match_name(name, before, TO_TYPE),
            ]
            # A label before a field counts like a prefix of the field's own name.
            known = [level + place * PREFIX for place, level in enumerate(levels) if level is not None]
            if known and not (target.exact and min(known) > PREFIX + 1):
                best.setdefault(min(known), []).append(node)
        if best:
            return pick_one(best[min(best)], target)
    return None


def _fields_with_labels(screen: CapturedScreen) -> Iterator[tuple[Node, Node | None]]:
    """Every field with the label right before it, if there is one."""
    before: Node | None = None
    for node in screen.nodes:
        if is_field(node):
            yield node, before
            before = None
        elif not is_blank(own_label(node)):
            before = None if click_target(node) is not None else node


# Switches


def find_switch(screen: CapturedScreen, target: TargetPhrase) -> tuple[Node, Node] | None:
    """The label with this whole name, or with "Use" before it, and its switch, checkbox or radio button."""
    use_target = TargetPhrase(f"Use {target.name}", f"Use {target.name}", target.ordinal, exact=target.exact)
    for nodes in (*find_candidates(screen, target, WHOLE_NAME), *find_candidates(screen, use_target, WHOLE_NAME)):
        found: dict[int, tuple[Node, Node]] = {}
        for node in nodes:
            control = row_switch(node)
            if control is not None:
                found.setdefault(id(control), (node, control))
        if found:
            labels = [node for node, _ in found.values()]
            chosen = pick_one(labels, target)
            return next(pair for pair in found.values() if pair[0] is chosen)
    return None


def is_on(control: Node) -> bool:
    return control.flag("checked")


# Values


def find_value(screen: CapturedScreen, target: TargetPhrase, loosest: int = TO_READ) -> ScreenValue | None:
    """The value of a name on the screen. ``INSTRUCTION_AMBIGUOUS`` when there are several."""
    for nodes in find_candidates(screen, target, loosest):
        found: dict[str, tuple[Node, ScreenValue]] = {}
        for node in nodes[:_MAX_READ]:
            reading = value_of_node(node, target)
            if reading is not None:
                found.setdefault(reading.value, (node, reading))
        if found:
            chosen = pick_one([node for node, _ in found.values()], target)
            return next(reading for node, reading in found.values() if node is chosen)
    field = find_field(screen, target) if loosest == TO_READ and not is_role_only(target) else None
    return None if field is None else value_of_node(field, target)


def value_of_node(node: Node, target: TargetPhrase) -> ScreenValue | None:
    """The value that a matching node holds for a target."""
    if is_field(node):
        if normalize_label(node.text) == normalize_label(target.name):
            return None  # an empty field shows its name
        return ScreenValue(target.phrase, HIDDEN if node.flag("password") else node.text)
    level = match_name(target.name, node)
    label = own_label(node)
    if level in (DESCRIPTION, RESOURCE_ID, ID_WORDS) and not is_blank(node.text) and not is_checkable(node):
        return ScreenValue(target.phrase, node.text)
    control = row_switch(node)
    if control is not None:
        return ScreenValue(label, "on" if is_on(control) else "off")
    value = row_value(node)
    if value is not None:
        return ScreenValue(label, value)
    chosen = selected_option(node)
    if chosen is not None:
        return ScreenValue(label, chosen)
    if level == PREFIX and len(word_set(label)) > len(word_set(target.name)):
        return ScreenValue(target.phrase, label)
    return None
