"""Running the steps of a recording on a device, each verified before the next.

The apps that the recording opens are closed first: an app opens where it was left, and the recording shows the way
from its first page. A step is proved when the device performed it and the screen shows what the recording shows
after it. The run stops at the first step that is not proved.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.deadline import Deadline
from clawperator._base.text import printable, utc_timestamp
from clawperator.api.phone import ConnectedPhone
from clawperator.api.results import only_step, read_scrolled
from clawperator.api.snapshot import Snapshot, read_snapshot
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.targets import touch_point
from clawperator.errors import ClawError
from clawperator.recording.actions import Direction
from clawperator.recording.heuristics import is_keyboard
from clawperator.replay.planner import RecordedSteps, ReplayStep
from clawperator.replay.screens import MIN_SIMILARITY, ScreenMarks, explain_screen, screen_labels, screen_marks
from clawperator.replay.target import (
    RecordedTarget,
    click_taker,
    first_label,
    matching_nodes,
    switch_state,
    text_fields,
)
from clawperator.ui.node import NOWHERE, Node, role_of
from clawperator.ui.select import find_nodes

# Locating a recorded target on a live screen, as a selector that matches this node only, or as a point

FoundBy = Literal[
    "id_and_text", "text", "description", "id", "role_and_label", "position", "coordinate", "focus", "only_field"
]
_MAX_CANDIDATES = 8
_MAX_LABEL_LENGTH = 80


class LocatedTarget(Struct, frozen=True):
    """Where to act: a selector that matches one node, or a point. ``node`` is on the screen that was searched."""

    found_by: FoundBy
    matcher: dict[str, Any] | None
    point: tuple[int, int] | None
    description: str
    node: Node | None = None

    @property
    def params(self) -> dict[str, Any]:
        if self.matcher is not None:
            return {"matcher": self.matcher}
        assert self.point is not None
        return {"coordinate": {"x": self.point[0], "y": self.point[1]}}


def find_target(
    step: ReplayStep, screen: Snapshot, *, allow_position: bool = False, best_only: bool = False
) -> LocatedTarget:
    """The node that a recorded click was on.

    ``REPLAY_TARGET_AMBIGUOUS`` when a locator matches several nodes and none matches one;
    ``REPLAY_TARGET_NOT_FOUND`` when none matches any. With ``allow_position`` the position on the screen decides
    where nothing else does. With ``best_only`` only the best locator is tried: a node that is scrolled out of
    sight may match it, while a visible one matches a worse locator.
    """
    target = step.target
    assert target is not None
    candidates: list[Node] = []
    for locator in target.locators[:1] if best_only else target.locators:
        matching = matching_nodes(locator.name, target, screen)
        if len(matching) > 1 and target.role:
            matching = [node for node in matching if role_of(node) == target.role] or matching
        if len(matching) == 1:
            return _located(locator.name, matching[0], screen)
        if allow_position and matching and locator.count == len(matching):
            node = matching[locator.position]  # at its own place on the live screen
            return LocatedTarget("position", None, _touch_point(node, screen), _describe(node), node)
        candidates = candidates or matching
    if candidates:
        raise _ambiguous(step, candidates)
    if allow_position and not best_only and target.bounds != NOWHERE:
        return _recorded_point(target, screen)
    raise _not_found(step, screen)


def find_field(step: ReplayStep, screen: Snapshot) -> LocatedTarget:
    """The field a text was typed into: the one that was tapped for it, the focused one, or the only one."""
    target = step.target
    found = text_fields(screen, step.package)
    if target is not None and target.resource_id:
        same_id = [node for node in found if node.resource_id == target.resource_id]
        if len(same_id) == 1:
            return _located("id", same_id[0], screen)
    focused = [node for node in found if node.flag("focused")]
    if len(focused) == 1:
        return _located("focus", focused[0], screen)
    if len(found) == 1:
        return _located("only_field", found[0], screen)
    if found:
        raise _ambiguous(step, found)
    raise _not_found(step, screen)


def _located(found_by: FoundBy, node: Node, screen: Snapshot) -> LocatedTarget:
    description = _describe(node)
    for matcher in _matchers(node):
        matched = find_nodes(screen.hierarchy, NodeMatcher(**matcher), screen.frame)
        if matched and all(click_taker(other) is node or other is node for other in matched):
            return LocatedTarget(found_by, matcher, None, description, node)
    return LocatedTarget(found_by, None, _touch_point(node, screen), description, node)


def _matchers(node: Node) -> list[dict[str, Any]]:
    """Selectors for a node, the most specific ones first. The content of a password field is in none."""
    ids = {"resourceId": node.resource_id} if node.resource_id else {}
    label = {"textEquals": node.label} if node.label and not node.flag("password") else {}
    inner = next((n.label for n in node.walk() if n.label and not n.flag("password")), "")
    matchers = [
        {**ids, **label} if ids and label else {},
        ids,
        label,
        {"textEquals": inner} if inner and inner != node.label else {},
        {**ids, "role": role_of(node)} if ids else {},
        {**label, "role": role_of(node)} if label else {},
        {"role": role_of(node)} if role_of(node) == "textfield" else {},
    ]
    return [m for m in matchers if m and all(len(v) <= MAX_MATCHER_VALUE_LENGTH // 2 for v in m.values())]


def _touch_point(node: Node, screen: Snapshot) -> tuple[int, int]:
    return touch_point(screen.hierarchy, node, screen.frame)


def _recorded_point(target: RecordedTarget, screen: Snapshot) -> LocatedTarget:
    """The recorded point, scaled to the size of this display."""
    x, y = target.bounds.centre
    if target.frame.width > 0 and target.frame.height > 0:
        x = round(x * screen.frame.width / target.frame.width)
        y = round(y * screen.frame.height / target.frame.height)
    return LocatedTarget("coordinate", None, (x, y), f"({x},{y})")


def _error(step: ReplayStep, code: str, reason: str, hint: str | None, **details: Any) -> ClawError:
    """The error of a step that was not performed."""
    message = f"cannot {step.description}: {reason}"
    return ClawError(code, message, hint=hint, details={"seq": step.seq, **details}, operation="replay")


def _found(nodes: list[Node]) -> dict[str, Any]:
    return {"candidateCount": len(nodes), "candidates": [_describe(node) for node in nodes[:_MAX_CANDIDATES]]}


def _ambiguous(step: ReplayStep, candidates: list[Node]) -> ClawError:
    hint = "Nothing was touched. If coordinates are allowed, the recorded position among them decides."
    reason = f"{len(candidates)} nodes on the screen match"
    return _error(step, "REPLAY_TARGET_AMBIGUOUS", reason, hint, **_found(candidates))


def _not_found(step: ReplayStep, screen: Snapshot) -> ClawError:
    target = step.target
    similar: list[Node] = []
    if target is not None:
        clickable = (node for node in screen.hierarchy.nodes if node.flag("clickable"))
        nodes = [node for node in clickable if node.package == target.package]
        same_id = [node for node in nodes if target.resource_id and node.resource_id == target.resource_id]
        similar = same_id or [node for node in nodes if target.role and role_of(node) == target.role]
    reason, hint = "it is not on the screen", None
    if target is not None and not target.locators:
        reason = "the recording holds no locator for it"
        hint = "If coordinates are allowed, the recorded point is tapped."
    return _error(step, "REPLAY_TARGET_NOT_FOUND", reason, hint, **_found(similar))


def _describe(node: Node) -> str:
    label = "" if node.flag("password") else printable(first_label(node))[:_MAX_LABEL_LENGTH]
    parts = [f'"{label}"' if label else "", node.resource_id, str(node.bounds)]
    return " ".join(filter(None, [node.class_name.rpartition(".")[2], *parts]))


# Steps

POLL_INTERVAL_MS = 250
MAX_POLLS = 24
POLL_SECONDS = 12.0
MAX_SCROLLS = 40
_EXECUTION_SECONDS = 60.0
_POLLS_BEFORE_SCROLLING = 3


class StepOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of a step. ``envelope`` is the index of the execution that performed it."""

    step: ReplayStep
    status: Literal["proved", "failed", "not_run"]
    at: str | UnsetType = UNSET
    found_by: str | UnsetType = UNSET
    evidence: str | UnsetType = UNSET
    envelope: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class ReplayRun(Struct, frozen=True):
    """The outcome of every step, the executions that acted, the closed apps, and the screen at the end."""

    steps: tuple[StepOutcome, ...]
    envelopes: tuple[ResultEnvelope, ...]
    closed: tuple[str, ...]
    screen: Snapshot | None
    error: ClawError | None


def run_steps(
    phone: ConnectedPhone,
    recorded: RecordedSteps,
    *,
    keep_apps: bool = False,
    allow_coordinates: bool = False,
    on_step: Callable[[StepOutcome], None] | None = None,
) -> ReplayRun:
    """Close the apps that the steps open, and run the steps until one is not proved.

    ``on_step`` gets each outcome at once. An app that cannot be closed is an error; then no step has run.
    """
    runner = _StepRunner(phone, () if keep_apps else recorded.opened_apps, allow_coordinates=allow_coordinates)
    return runner.run(recorded.steps, on_step)


class _StepRunner:
    def __init__(self, phone: ConnectedPhone, to_close: Sequence[str], *, allow_coordinates: bool) -> None:
        self._phone = phone
        self._to_close = to_close
        self._allow_position = allow_coordinates
        self._envelopes: list[ResultEnvelope] = []
        self._screen: Snapshot | None = None

    def run(self, steps: tuple[ReplayStep, ...], on_step: Callable[[StepOutcome], None] | None) -> ReplayRun:
        closed = tuple(package for package in self._to_close if self._close(package))
        outcomes: list[StepOutcome] = []
        error: ClawError | None = None
        for step in steps:
            if error is not None:
                outcomes.append(StepOutcome(step=step, status="not_run"))
                continue
            executions = len(self._envelopes)
            try:
                found_by, evidence = self.run_step(step)
                outcome = StepOutcome(step=step, status="proved", found_by=found_by or UNSET, evidence=evidence)
            except ClawError as e:
                error = e
                outcome = StepOutcome(step=step, status="failed", error=e.document())
            envelope = len(self._envelopes) - 1 if len(self._envelopes) > executions else UNSET
            outcome = replace(outcome, at=utc_timestamp(time.time()), envelope=envelope)
            outcomes.append(outcome)
            if on_step is not None:
                on_step(outcome)
        return ReplayRun(tuple(outcomes), tuple(self._envelopes), closed, self._screen, error)

    def _close(self, package: str) -> bool:
        """Close an app. Returns whether it was running."""
        step = self._execute("close_app", {"applicationId": package})
        return step.data.get("was_running") != "false"

    # Performing steps

    def run_step(self, step: ReplayStep) -> tuple[str, str]:
        """Perform a step and prove it. Returns what found its target, and the evidence."""
        if step.kind == "open_app":
            before = self._observe()
            self._execute("open_app", {"applicationId": step.package})
            return "", self._prove(step, before, must_change=False)
        if step.kind == "press":
            return "", self._press(step)
        if step.kind == "enter_text":
            return self._enter_text(step)
        return self._click(step)

    def _click(self, step: ReplayStep) -> tuple[str, str]:
        target, before = self._find(step)
        wanted = step.switches_to
        if wanted is not None and target.node is not None and switch_state(target.node) is wanted:
            # A second tap would undo what the recorded one did.
            return target.found_by, f"it is {'on' if wanted else 'off'} already, and was not touched"
        result = self._execute("click", target.params)
        if step.target is not None and step.target.is_field and step.window is None:
            # A field that had the focus before does not change by a tap.
            self._prove_node(step, lambda node: node.flag("focused"), "the field did not get the focus")
            return target.found_by, "the field has the focus"
        must_change = step.changes is not False
        evidence = self._prove(step, before, must_change=must_change, effect=result.data.get("effect", ""))
        if wanted is not None:
            reason = f"it is not {'on' if wanted else 'off'}"
            self._prove_node(step, lambda node: switch_state(node) is wanted, reason)
        return target.found_by, evidence

    def _prove_node(self, step: ReplayStep, is_proved: Callable[[Node], bool], problem: str) -> None:
        """Poll until the target is as it should be after the step. ``problem`` is that it is not."""
        for screen in self._poll():
            node = self._locate(step, screen).node
            if node is not None and is_proved(node):
                return
        raise self._not_proved(step, "REPLAY_EFFECT_MISSING", problem)

    def _press(self, step: ReplayStep) -> str:
        before = self._observe()
        if step.hides_keyboard and step.window is None:
            if not is_keyboard(before.overlay_package or ""):
                return "no keyboard is shown that could be hidden"
            self._execute("press_key", {"key": "back"})
            for screen in self._poll():
                if not is_keyboard(screen.overlay_package or "") and screen.package == before.package:
                    return "the keyboard is hidden"
            raise self._not_proved(step, "REPLAY_EFFECT_MISSING", "the keyboard is still shown")
        result = self._execute("press_key", {"key": step.key})
        must_change = step.key == "back" and step.changes is not False
        return self._prove(step, before, must_change=must_change, effect=result.data.get("effect", ""))

    def _enter_text(self, step: ReplayStep) -> tuple[str, str]:
        target, before = self._find(step)
        if target.matcher is None:
            reason = f"no selector matches only the field at {target.description}"
            hint = "Nothing was typed. Give the field an id in the app, or write a skill for this flow."
            found = {"candidateCount": 1, "candidates": [target.description]}
            raise _error(step, "REPLAY_TARGET_AMBIGUOUS", reason, hint, **found)
        params = {**target.params, "text": step.text, "submit": step.submit, "clear": True}
        self._execute("enter_text", params)
        if step.submit:
            return target.found_by, self._prove(step, before, must_change=True)
        text_before = target.node.text if target.node else ""
        recorded_text = step.target.text if step.target else ""
        for screen in self._poll():
            if any(node.text == step.text for node in text_fields(screen, step.package)):
                return target.found_by, "the field shows the text"
            node = find_field(step, screen).node
            if not step.text and node is not None and (node.text != text_before or text_before == recorded_text):
                return target.found_by, "the field was cleared"  # it shows its hint now
        raise self._not_proved(step, "REPLAY_EFFECT_MISSING", "no field shows the text")

    def _execute(self, action: str, params: dict[str, Any]) -> StepResult:
        envelope = self._phone.run([{"type": action, "params": params}], timeout=_EXECUTION_SECONDS)
        self._envelopes.append(envelope)
        return only_step(envelope, self._phone.serial)

    # Finding targets

    def _find(self, step: ReplayStep) -> tuple[LocatedTarget, Snapshot]:
        """The target: waited for while it may still appear, and scrolled to where the recording scrolled."""
        error: ClawError | None = None
        ambiguous = 0
        for screen, best_only in self._search(step):
            try:
                return self._locate(step, screen, best_only=best_only), screen
            except ClawError as e:
                error = e
                ambiguous = ambiguous + 1 if e.code == "REPLAY_TARGET_AMBIGUOUS" else 0
            # A screen in transition may show two copies of one node; a settled one does not.
            if ambiguous > 1:
                break
        assert error is not None
        raise error

    def _search(self, step: ReplayStep) -> Iterator[tuple[Snapshot, bool]]:
        """The screens on which the target may be, and whether only its best locator counts there yet."""
        scroll_soon = step.was_scrolled_to
        for screen in self._poll(_POLLS_BEFORE_SCROLLING if scroll_soon else MAX_POLLS):
            yield screen, scroll_soon
        if not step.scrolls:
            return
        for best_only in (True, False) if scroll_soon else (False,):
            for direction in step.scrolls:
                for screen in self._scroll(direction):
                    yield screen, best_only
        yield self._observe(), False  # where nothing scrolls, no other screen was searched

    def _locate(self, step: ReplayStep, screen: Snapshot, *, best_only: bool = False) -> LocatedTarget:
        wanted = step.package
        is_elsewhere = bool(wanted) and screen.package not in (wanted, None)
        if is_elsewhere and all(root.package != wanted for root in screen.hierarchy.roots):
            why = explain_screen(wanted, screen, [])
            raise _error(step, "REPLAY_SCREEN_UNEXPECTED", why.reason, why.hint, expected=wanted, **why.details)
        if step.kind == "enter_text":
            return find_field(step, screen)
        return find_target(step, screen, allow_position=self._allow_position, best_only=best_only)

    def _scroll(self, direction: Direction) -> Iterator[Snapshot]:
        """The screens that come into view, to the end of the list."""
        for _ in range(MAX_SCROLLS):
            action = {"type": "scroll", "params": {"direction": direction}}
            envelope = self._phone.run([action], timeout=_EXECUTION_SECONDS)
            try:
                at_edge = read_scrolled(only_step(envelope, self._phone.serial)).at_edge
            except ClawError:
                return  # nothing scrolls in this direction
            yield self._observe()
            if at_edge:
                return

    # Observing and proving

    def _observe(self, after_ms: int = 0) -> Snapshot:
        actions: list[dict[str, Any]] = [{"type": "snapshot_ui"}]
        if after_ms:
            actions.insert(0, {"type": "sleep", "params": {"durationMs": after_ms}})
        envelope = self._phone.run(actions, timeout=_EXECUTION_SECONDS)
        only_step(envelope, self._phone.serial)
        self._screen = read_snapshot(envelope.stepResults[-1])
        return self._screen

    def _poll(self, most: int = MAX_POLLS) -> Iterator[Snapshot]:
        """Snapshots at intervals, the first at once, until the time is up."""
        deadline = Deadline(POLL_SECONDS)
        yield self._observe()
        for _ in range(most - 1):
            if deadline.is_over:
                return
            yield self._observe(POLL_INTERVAL_MS)

    def _prove(self, step: ReplayStep, before: Snapshot, *, must_change: bool, effect: str = "") -> str:
        """Poll until the screen is what the recording shows after the step. Returns the evidence."""
        changed = effect == "changed" or not must_change
        recorded = [*(step.window.screens if step.window else ()), *((step.after,) if step.after else ())]
        wanted = {step.window.package if step.window else step.package, step.next_package} - {""}
        similarity = 0.0
        for screen in self._poll():
            changed = changed or not screen.hierarchy.has_same_content(before.hierarchy)
            in_front = not wanted or screen.package is None or screen.package in wanted
            similarity = _similarity(recorded, screen, step.window.title if step.window else None)
            if changed and in_front and similarity >= MIN_SIMILARITY:
                return _evidence(step, similarity if recorded else None, screen)
        if not changed:
            raise self._not_proved(step, "REPLAY_EFFECT_MISSING", "nothing on the screen changed")
        assert self._screen is not None
        why = explain_screen(_expected_app(step), self._screen, recorded, how_to_begin=self._how_to_begin(step))
        details = {**why.details, "similarity": round(similarity, 2)}
        raise self._not_proved(step, "REPLAY_SCREEN_UNEXPECTED", why.reason, hint=why.hint, details=details)

    def _not_proved(
        self,
        step: ReplayStep,
        code: str,
        reason: str,
        *,
        hint: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> ClawError:
        expected: dict[str, Any] = {
            "seq": step.seq,
            "expected": _expected_app(step),
            "expectedSeq": step.expected_seq,
        }
        if step.window is not None and step.window.title:
            expected["expectedTitle"] = step.window.title
        if details is None and self._screen is not None:
            details = {"observed": self._screen.package, "labels": screen_labels(self._screen)}
        message = f"could not prove: {step.description}: {reason}"
        return ClawError(code, message, hint=hint, details={**expected, **(details or {})}, operation="replay")

    def _how_to_begin(self, step: ReplayStep) -> str:
        """What to do where the first app shows another page than the recorded one; empty for other steps."""
        if step.kind != "open_app" or step.package in self._to_close:
            return ""
        return (
            f"Go to the page on which the recording begins. If it is the first page of {step.package}, run "
            f"'clawperator close {step.package}'. Then replay again."
        )


def _similarity(recorded: list[ScreenMarks], screen: Snapshot, title: str | None) -> float:
    """The similarity of the live screen and the most similar recorded one."""
    if not recorded:
        return 1.0
    live = screen_marks(screen)
    return max(marks.similarity(live, title) for marks in recorded)


def _evidence(step: ReplayStep, similarity: float | None, screen: Snapshot) -> str:
    if step.window is None and similarity is None:
        return "the screen changed" if step.changes is not False else "the recorded click changed nothing either"
    marks = "" if similarity is None else f", with {round(similarity * 100)} % of the recorded ids and labels"
    return f"{screen.package or 'the app'} is in the foreground{marks}"


def _expected_app(step: ReplayStep) -> str:
    return step.window.package if step.window else step.package
