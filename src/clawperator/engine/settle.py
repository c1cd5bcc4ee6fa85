"""The effect of an action: capture until the screen settles, and compare it with the screen before.

A capture may be stale: the screen of a moment ago. So the screen is captured several times before the action and
after it, and an effect is reported only when these captures agree.

Where each capture takes seconds, there is one after the action, and none before it beside the one in which the
action found its target. It proves a change when it differs from the last capture of the execution before the
action; otherwise the effect is unknown. An action with ``settle`` captures until two captures agree, and once
before it if the execution has no capture.

Nothing here fails a step: the action has been performed, and an effect that cannot be determined is ``unknown``.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from clawperator._base.text import is_blank, printable
from clawperator.contract.results import Effect
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.targets import resolve
from clawperator.ui.node import Hierarchy, Node, role_of, takes_click

BUDGET_MS = 1_000
POLL_MS = 50
# How long a snapshot waits for the screen to settle.
SETTLED_MS = 5_000
# A slow screen looks unchanged for a moment. Only one that stays the same for the length of a transition is
# reported as unchanged.
UNCHANGED_MS = 300
# How many captures must agree before an action, and after it, as far as the time allows; at least two.
LOOKS = 8
LOOKS_MS = 100
_MOST_NOTICES = 3
_LONGEST_NOTICE = 200
# At most this many heights of the text between a field and the text below it.
_GAP_IN_HEIGHTS = 1.5
_NAMED = ("error", "snackbar", "toast", "invalid", "warning")
_APOSTROPHES = str.maketrans("\u2019", "'")
_WORDED = re.compile(
    r"\b(?:required|invalid|incorrect|wrong|mandatory|missing|denied|expired|rejected|failed|failure|error|unable"
    r"|must|cannot|can't|couldn't|could not|did not|didn't|does not|doesn't|is not|isn't"
    r"|not (?:valid|found|allowed|supported|available)|already (?:exists|taken|used|in use)"
    r"|too (?:long|short|many|few|large|small|weak|high|low)|at (?:least|most)|no more than|try again"
    r"|no (?:internet|connection|network))\b|^(?:please )?(?:enter|use|choose|select) ",
    re.IGNORECASE,
)


class ScreenBefore(Struct, frozen=True):
    """The screen before an action: its last capture, and every different one among the captures."""

    screen: Hierarchy
    seen: tuple[Hierarchy, ...]

    def shows(self, screen: Hierarchy) -> bool:
        return any(screen.has_same_content(one) for one in self.seen)

    @property
    def is_sure(self) -> bool:
        """Whether all captures agreed."""
        return len(self.seen) == 1


class Settled(Struct, frozen=True):
    """``after_ms`` is the time until the screen settled, or the time waited. ``screen`` is the last capture."""

    effect: Effect
    after_ms: float
    screen: Hierarchy | None


def look(context: ActionContext, first: Hierarchy) -> ScreenBefore:
    """Capture the screen again before an action. ``first`` is a capture that was made just now."""
    if context.has_slow_captures:
        return ScreenBefore(first, (first,))
    seen = [first]
    last = first
    for screen in _more_captures(context, LOOKS - 1, at_least=1):
        last = screen
        if not any(screen.has_same_content(one) for one in seen):
            seen.append(screen)
    return ScreenBefore(last, tuple(seen))


def look_for(
    context: ActionContext, matcher: NodeMatcher, container: NodeMatcher | None = None
) -> tuple[ScreenBefore, list[Node]]:
    """The screen before an action, and the nodes that match on it. Raises as ``resolve``."""
    screen = context.capture()
    resolve(context, screen, matcher, container)
    before = look(context, screen)
    return before, resolve(context, before.screen, matcher, container)


def try_look(context: ActionContext) -> ScreenBefore | None:
    """Capture the screen before an action; None when that fails for any reason.

    Where captures are slow, it is the last one of the execution: only an action with ``settle`` waits for another.
    """
    if context.has_slow_captures:
        last = context.execution.screen
        if last is None and context.settle:
            last = context.try_dump()
        return None if last is None else ScreenBefore(last, (last,))
    first = context.try_dump()
    return None if first is None else look(context, first)


def _more_captures(context: ActionContext, most: int, *, at_least: int) -> Iterator[Hierarchy]:
    """Captures one after the other, until one fails or they take too long."""
    start = context.clock.monotonic()
    for number in range(most):
        if number >= at_least and context.since_ms(start) >= LOOKS_MS:
            return
        screen = context.try_dump()
        if screen is None:
            return
        yield screen


def settle(context: ActionContext, before: ScreenBefore | None, since: float | None = None) -> Settled:
    """Capture until two captures in a row agree. Time counts from ``since``, the time of the action, or from now.

    The first capture is immediate; there are at least two if time allows; the limit is ``BUDGET_MS``. A new screen
    is a change only if further captures agree, and if no capture shows the screen before again after it.
    """
    start = context.clock.monotonic() if since is None else since
    if context.has_slow_captures:
        return _settle_slowly(context, before, start)
    last: Hierarchy | None = None
    settled_at = 0.0
    captures = 0
    is_new = went_back = False
    while True:
        at = context.since_ms(start)
        screen = context.try_dump()
        captures += 1
        if screen is not None and before is not None:
            was_new, is_new = is_new, not before.shows(screen)
            went_back = went_back or (was_new and not is_new)
        if screen is not None and last is not None and screen.has_same_content(last):
            if before is None:
                return Settled("unknown", settled_at, screen)
            if is_new and not went_back:
                more = _more_captures(context, LOOKS - 2, at_least=0)
                if all(one.has_same_content(screen) for one in more):
                    return Settled("changed", settled_at, screen)
            elif not is_new and at >= UNCHANGED_MS:
                is_unchanged = before.is_sure and not went_back
                return Settled("unchanged" if is_unchanged else "unknown", settled_at, screen)
        else:
            settled_at = at
        last = screen
        if (captures > 1 and at >= BUDGET_MS) or not context.sleep_within(POLL_MS):
            return Settled("unknown", context.since_ms(start), screen)


def _settle_slowly(context: ActionContext, before: ScreenBefore | None, start: float) -> Settled:
    """One capture, or with ``settle`` as many as it takes until two agree. None where it could prove nothing."""
    screen, is_settled = None, False
    if (before is not None or context.settle) and context.has_time_for_capture():
        screen = context.try_dump()
    if screen is not None and context.settle:
        screen, is_settled = await_settled(context, screen)
    return Settled(_effect_of(before, screen, is_settled=is_settled), context.since_ms(start), screen)


def _effect_of(before: ScreenBefore | None, screen: Hierarchy | None, *, is_settled: bool) -> Effect:
    if before is None or screen is None:
        return "unknown"
    if not before.shows(screen):
        return "changed"
    return "unchanged" if is_settled else "unknown"


def await_settled(context: ActionContext, first: Hierarchy) -> tuple[Hierarchy, bool]:
    """Capture until two captures in a row agree. Also returns whether they did.

    The limit is ``SETTLED_MS``, or the time of three captures where they are slow.
    """
    start = context.clock.monotonic()
    last = first
    limit = max(SETTLED_MS, 3 * (context.execution.capture_ms or 0.0)) if context.has_slow_captures else SETTLED_MS
    while context.since_ms(start) < limit and context.sleep_within(2 * POLL_MS):
        if context.has_slow_captures and not context.has_time_for_capture():
            break
        screen = context.try_dump()
        if screen is not None:
            if screen.has_same_content(last):
                return screen, True
            last = screen
    return last, False


def evidence(
    target: str, candidates: int, method: str, settled: Settled, before: ScreenBefore | None = None
) -> StepData:
    """The fields that every mutating action reports beside its own data.

    With ``before``, the messages that the app shows after an input are among them, one on each line.
    """
    after = settled.screen if settled.effect != "unchanged" else None
    notices = appeared_notices(before.screen, after) if before is not None and after is not None else []
    return {
        "matched_target": target,
        "candidate_count": str(candidates),
        "dispatch_method": method,
        "effect": settled.effect,
        "settled_ms": str(round(settled.after_ms)),
        **({"screen_message": "\n".join(printable(notice) for notice in notices)} if notices else {}),
    }


def appeared_notices(before: Hierarchy, after: Hierarchy) -> list[str]:
    """The error and validation messages of ``after`` that ``before`` does not show, in tree order.

    An app rejects an input on the same page: the page stays, and a text appears. A text counts when it is new,
    when it cannot be clicked or edited, and when at least one of these holds: its id or class is that of an error,
    snackbar or toast; it is directly below a text field that kept its text (below a new text are results and
    suggestions); it is worded like an error. On a page that was replaced by another one every text is new, so
    none counts there.
    """
    known = {node.label for node in before.nodes if node.label}
    labelled = [node for node in after.nodes if node.label]
    if not _is_same_page(known, labelled):
        return []
    entered = {(node.resource_id, node.text) for node in before.nodes if role_of(node) == "textfield"}
    fields = [node for node in after.nodes if (node.resource_id, node.text) in entered]
    fields = [node for node in fields if role_of(node) == "textfield"]
    new = (node for node in labelled if node.label not in known and _is_static(node))
    found = (node.text[:_LONGEST_NOTICE] for node in new if _is_notice(node, fields))
    return list(dict.fromkeys(found))[:_MOST_NOTICES]


def _is_same_page(known: set[str], labelled: list[Node]) -> bool:
    """Whether most of the labels that were there before remain."""
    kept = known.intersection(node.label for node in labelled)
    return bool(kept) and 2 * len(kept) >= len(known)


def _is_static(node: Node) -> bool:
    """Whether the node is plain text. Rows, buttons and suggestions can be clicked."""
    return not (
        is_blank(node.text)
        or node.children
        or node.flag("checkable")
        or role_of(node) == "textfield"
        or takes_click(node)
    )


def _is_notice(node: Node, fields: list[Node]) -> bool:
    name = f"{node.resource_id.rpartition('/')[2]} {node.class_name}".lower()
    words = node.text[:_LONGEST_NOTICE].translate(_APOSTROPHES)
    if any(part in name for part in _NAMED) or _WORDED.search(words):
        return True
    has_words = any(character.isalpha() for character in node.text)  # a counter such as 3/40 has none
    return has_words and any(_is_below(node, field) for field in fields)


def _is_below(node: Node, field: Node) -> bool:
    """Whether the text is directly below the field, as input forms place their messages."""
    text, box = node.bounds.normalised(), field.bounds.normalised()
    overlaps = text.left < box.right and box.left < text.right
    return overlaps and 0 <= text.top - box.bottom <= _GAP_IN_HEIGHTS * text.height
