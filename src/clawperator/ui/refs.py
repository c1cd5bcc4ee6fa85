"""References: how an element is recognised on a later screen.

An element is the same when its package, class, id, label and row are the same and the screen is the same page. Its
state, value and position may differ. Elements that are alike on one screen are told apart by all texts of their
rows, or else by their order while their list is unchanged. In every other case the element is not located.
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from zlib import crc32

from msgspec import Struct

from clawperator.errors import ClawError
from clawperator.ui.node import Bounds, Hierarchy, Node
from clawperator.ui.outline import Outline, OutlineElement, outline_of, parents_of
from clawperator.ui.privacy import mask

# The part of the labels of the smaller screen that the other one must have. A few labels are more often shared by
# different pages, such as two dialogs.
_MIN_SHARED = 0.5
_MIN_SHARED_OF_FEW = 0.75
_FEW = 8
# Every dialog has these buttons.
_DIALOG_BUTTONS = "android:id/button"
# Of more elements that are alike none has a lasting reference: the time to compare them would be unlimited.
MAX_ALIKE = 100
_MAX_MARKS = 64
_MAX_GROUP = 8
_MAX_LABEL = 80
_DIGITS = re.compile(r"\d+")


class RegionPrint(Struct, frozen=True, array_like=True):
    """A list, or all that is outside of lists: the order of its elements, and its first static text."""

    sequence: str
    headline: str


class ScreenPrint(Struct, frozen=True, array_like=True):
    """The labels of a screen as sorted checksums: all of them, and those outside of lists.

    ``texts`` are the static texts outside of lists, each as the checksums of its place and of its words.
    """

    marks: tuple[int, ...]
    fixed: tuple[int, ...]
    texts: tuple[tuple[int, int], ...] = ()


class ElementFingerprint(Struct, frozen=True, array_like=True):
    """What an element is recognised by. It has no content of a field, and no text of a password field.

    ``key`` stands for package, class, id, label and row; ``texts`` for all texts of the row. ``alike`` and
    ``alike_texts`` are how many elements of the screen have the same, ``place`` is its position among the first.
    """

    key: str
    texts: str
    role: str
    label: str
    alike: int
    alike_texts: int
    place: int
    is_fixed: bool
    bounds: tuple[int, int, int, int]
    region: RegionPrint
    screen: ScreenPrint


class Located(Struct, frozen=True):
    """The node of an element on a live screen. None when it is gone or cannot be told apart.

    Without a node, ``alike`` are those that may be the element.
    """

    node: Node | None
    alike: tuple[Node, ...] = ()

    @property
    def is_ambiguous(self) -> bool:
        return len(self.alike) > 1


def locate(
    hierarchy: Hierarchy, frame: Bounds, fingerprint: ElementFingerprint, secrets: Sequence[str] = ()
) -> Located:
    """Find an element on a live screen. Never a guess.

    ``secrets`` are masked in what was seen before, so they are masked here, too.
    """
    found = masked_outline(outline_of(hierarchy, frame), secrets)
    live = fingerprints(found)
    alike = [at for at, one in enumerate(live) if one.key == fingerprint.key]
    at = find_same(fingerprint, live, alike)
    if at is not None and not _is_about_something_else(fingerprint, live[at]):
        return Located(found.elements[at].node)
    return Located(None, tuple(found.elements[i].node for i in alike))


def masked_outline(screen: Outline, secrets: Sequence[str]) -> Outline:
    """Mask the texts of an outline in place."""
    for element in screen.elements if secrets else ():
        element.texts = mask(element.texts, secrets)
        element.content = mask(element.content, secrets)
    return screen


def find_same(known: ElementFingerprint, live: list[ElementFingerprint], alike: list[int]) -> int | None:
    """The position of a known element. ``alike`` are the positions with its key; of very many none is taken."""
    if len(alike) > MAX_ALIKE:
        return None
    same_page = [at for at in alike if is_same_page(known, live[at])]
    if not same_page:
        return None
    if known.alike == 1:
        return same_page[0] if len(alike) == 1 else None
    if known.alike_texts == 1:
        same_texts = [at for at in same_page if live[at].texts == known.texts]
        return same_texts[0] if len(same_texts) == 1 else None
    in_place = [at for at in same_page if live[at].place == known.place and live[at].region == known.region]
    return in_place[0] if len(in_place) == 1 else None


def is_same_page(known: ElementFingerprint, live: ElementFingerprint) -> bool:
    """Whether both are on the same page. In doubt it is another page."""
    if known.bounds == live.bounds and known.region.headline != live.region.headline:
        return False  # a page of the same layout about something else
    if (
        known.is_fixed
        and live.is_fixed
        and len(known.screen.fixed) > 1
        and known.screen.fixed == live.screen.fixed
    ):
        return True
    return _share_labels(known.screen.marks, live.screen.marks)


def _is_about_something_else(known: ElementFingerprint, live: ElementFingerprint) -> bool:
    """Whether an element outside of lists is now on a page with other static texts in the same places.

    Its page may show another contact or order than before, with the same buttons.
    """
    if not (known.is_fixed and live.is_fixed):
        return False
    before = dict(known.screen.texts)
    return any(before.get(place, words) != words for place, words in live.screen.texts)


def _share_labels(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    fewest = min(len(a), len(b))
    if fewest == 0:
        return a == b
    shared = len(set(a).intersection(b)) / fewest
    return shared >= _MIN_SHARED if fewest >= _FEW else shared > _MIN_SHARED_OF_FEW


def fingerprints(screen: Outline) -> list[ElementFingerprint]:
    """The fingerprint of each element of a screen, in its order."""
    rows = _Rows(screen.elements)
    keys, texts, regions = [], [], []
    for at, element in enumerate(screen.elements):
        context = rows.context(at)
        node = element.node
        label = "" if _shows_hint(element) else element.label
        name = (node.package, node.class_name, node.resource_id, label, context[0] if context else "")
        keys.append(_digest(name))
        texts.append(_digest((*element.texts, "", *context)))
        regions.append(rows.scroller(at))
    screen_print = _screen_print(screen.elements, regions)
    region_prints = _region_prints(screen.elements, regions, keys, texts)
    alike, alike_texts = Counter(keys), Counter(zip(keys, texts, strict=True))
    places: Counter[str] = Counter()
    made = []
    for at, element in enumerate(screen.elements):
        bounds = element.node.bounds
        made.append(
            ElementFingerprint(
                keys[at],
                texts[at],
                element.role,
                element.label[:_MAX_LABEL],
                alike[keys[at]],
                alike_texts[keys[at], texts[at]],
                places[keys[at]],
                regions[at] is None,
                (bounds.left, bounds.top, bounds.right, bounds.bottom),
                region_prints[id(regions[at])],
                screen_print,
            )
        )
        places[keys[at]] += 1
    return made


def _shows_hint(element: OutlineElement) -> bool:
    """Whether the label of a field may be a hint that it shows while it is empty.

    Its own text is needed to know it where it has no id.
    """
    node = element.node
    if element.role != "textfield" or node.content_desc or node.attributes.get("hint", ""):
        return False
    return bool(node.resource_id) or element.label != node.text.strip()


class _Rows:
    """The rows of a screen: which texts an element without children shares its row with."""

    def __init__(self, elements: list[OutlineElement]) -> None:
        self._elements = elements
        self._parents = parents_of(elements)
        # The static texts below each node, up to the row of a list.
        self._texts: dict[int, list[str]] = {}
        for element in elements:
            if element.role == "text" and not element.is_touchable:
                for above in _row_of(element.node):
                    self._texts.setdefault(id(above), []).extend(element.texts)

    def context(self, at: int) -> list[str]:
        """The texts of the row that an element is in, without its own; none for a static text."""
        element = self._elements[at]
        parent = self._parents[at]
        if parent is not None and parent.texts and not parent.node.flag("scrollable"):
            return parent.texts
        if element.role == "text":
            return []
        for above in _row_of(element.node):
            texts = self._texts.get(id(above))
            if texts:
                return texts if len(texts) <= _MAX_GROUP else []
        return []

    def scroller(self, at: int) -> Node | None:
        """The nearest scrollable node above an element."""
        return next((above for above in self._elements[at].node.ancestors() if above.flag("scrollable")), None)


def _row_of(node: Node) -> list[Node]:
    """The nodes above one up to its row in a list: the list and its only child are left out."""
    above: list[Node] = []
    for one in node.ancestors():
        parent = one.parent
        is_only_child = parent is not None and parent.flag("scrollable") and len(parent.children) == 1
        if one.flag("scrollable") or is_only_child:
            break
        above.append(one)
    return above


def _screen_print(elements: list[OutlineElement], regions: list[Node | None]) -> ScreenPrint:
    marks: set[int] = set()
    fixed: set[int] = set()
    texts: set[tuple[int, int]] = set()
    for element, region in zip(elements, regions, strict=True):
        if element.node.resource_id.startswith(_DIALOG_BUTTONS):
            continue
        name = _DIGITS.sub("0", element.label) or f"#{element.node.resource_id}"
        mark = crc32(name.encode("utf-8", "replace"))
        marks.add(mark)
        if region is None:
            fixed.add(mark)
            if _is_static(element):
                left, top = element.node.bounds.left, element.node.bounds.top
                texts.add((crc32(f"{left},{top}".encode()), mark))
    return ScreenPrint(
        tuple(sorted(marks)[:_MAX_MARKS]), tuple(sorted(fixed)[:_MAX_MARKS]), tuple(sorted(texts)[:_MAX_MARKS])
    )


def _is_static(element: OutlineElement) -> bool:
    """Whether an element is a text with words that cannot be touched."""
    return element.role == "text" and not element.is_touchable and any(c.isalpha() for c in element.label)


def _region_prints(
    elements: list[OutlineElement], regions: list[Node | None], keys: list[str], texts: list[str]
) -> dict[int, RegionPrint]:
    sequences: dict[int, list[str]] = {}
    headlines: dict[int, str] = {}
    for at, element in enumerate(elements):
        region = id(regions[at])
        sequences.setdefault(region, []).extend((keys[at], texts[at]))
        if _is_static(element) and region not in headlines:
            headlines[region] = _digest((element.label,))
    return {region: RegionPrint(_digest(seen), headlines.get(region, "")) for region, seen in sequences.items()}


def stale_reference(ref: str, reason: str) -> ClawError:
    """``REF_STALE``: nothing was touched."""
    message = f"reference {ref} {reason}"
    return ClawError("REF_STALE", message, details={"ref": ref}, operation="resolve", target=ref)


def _digest(parts: tuple[str, ...] | list[str]) -> str:
    data = "\0".join(parts).encode("utf-8", "replace")
    return blake2b(data, digest_size=8).hexdigest()
