"""Carrying out the steps of a recording on a phone, one after the other, and proving each before the next.

A step is proved when the phone did it and the screen shows what the recording shows after it. The first that is
not proved is the last that is done.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator.connection.phone import ConnectedPhone
from clawperator.connection.results import only_step, scrolled
from clawperator.connection.snapshot import Snapshot, read_snapshot
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.errors import ClawError
from clawperator.replay.fingerprint import ENOUGH, Landmarks, landmarks
from clawperator.replay.locate import Aim, find_field, find_target
from clawperator.replay.planner import Direction, Step, is_keyboard
from clawperator.replay.target import fields, state

LOOK_EVERY_MS = 250
MOST_LOOKS = 24
PATIENCE_SECONDS = 12.0
MOST_SCROLLS = 40
_EXECUTION_SECONDS = 60.0
_MOST_LABELS = 12
_LOOKS_BEFORE_SCROLLING = 3


class Proved(Struct, frozen=True, kw_only=True):
    """What became of a step. ``envelope`` is the number of the execution that did it."""

    step: Step
    status: Literal["proved", "failed", "not_run"]
    at: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    evidence: str | UnsetType = UNSET
    envelope: int | UnsetType = UNSET
    error: dict[str, Any] | UnsetType = UNSET


class Replay(Struct, frozen=True):
    """The run: every step, the executions that acted, and the screen at the end."""

    steps: tuple[Proved, ...]
    envelopes: tuple[ResultEnvelope, ...]
    package: str | None
    labels: tuple[str, ...]
    error: ClawError | None

    @property
    def is_proved(self) -> bool:
        return self.error is None


def replay_steps(
    phone: ConnectedPhone,
    steps: tuple[Step, ...],
    *,
    allow_coordinates: bool = False,
    watch: Callable[[Proved], None] | None = None,
) -> Replay:
    """Do the steps on the phone until one cannot be proved. ``watch`` hears of each as soon as it is decided."""
    return _Run(phone, allow_coordinates, watch).all(steps)


class _Run:
    def __init__(
        self,
        phone: ConnectedPhone,
        allow_coordinates: bool,  # noqa: FBT001 - a switch is on or off
        watch: Callable[[Proved], None] | None,
    ) -> None:
        self._phone = phone
        self._by_place = allow_coordinates
        self._watch = watch
        self._envelopes: list[ResultEnvelope] = []
        self._screen: Snapshot | None = None

    def all(self, steps: tuple[Step, ...]) -> Replay:
        done: list[Proved] = []
        error: ClawError | None = None
        for step in steps:
            if error is not None:
                done.append(Proved(step=step, status="not_run"))
                continue
            acted = len(self._envelopes)
            try:
                by, evidence = self._one(step)
            except ClawError as e:
                error = e
                proved = Proved(
                    step=step, status="failed", at=_now(), envelope=self._since(acted), error=e.document()
                )
            else:
                proved = Proved(
                    step=step,
                    status="proved",
                    at=_now(),
                    by=by or UNSET,
                    evidence=evidence,
                    envelope=self._since(acted),
                )
            done.append(proved)
            if self._watch is not None:
                self._watch(proved)
        package = self._screen.package if self._screen else None
        labels = tuple(_labels(self._screen)) if self._screen else ()
        return Replay(tuple(done), tuple(self._envelopes), package, labels, error)

    def _since(self, acted: int) -> int | UnsetType:
        """The execution that did the step: the last one since, scrolls come before it."""
        return len(self._envelopes) - 1 if len(self._envelopes) > acted else UNSET

    # Doing

    def _one(self, step: Step) -> tuple[str, str]:
        """Do a step and prove it. Tells by which clue and by what evidence."""
        if step.kind == "open_app":
            before = self._look()
            self._act("open_app", {"applicationId": step.package})
            return "", self._prove(step, before, must_change=False)
        if step.kind == "press":
            return "", self._press(step)
        if step.kind == "enter_text":
            return self._enter(step)
        return self._click(step)

    def _click(self, step: Step) -> tuple[str, str]:
        aim, before = self._find(step)
        if step.leaves_on is not None and aim.node is not None and state(aim.node) is step.leaves_on:
            # A second touch would undo what the recorded one did.
            return aim.by, f"it is {'on' if step.leaves_on else 'off'} already, and was not touched"
        told = self._act("click", aim.params)
        if step.target is not None and step.target.is_field and step.window is None:
            return aim.by, self._prove_focus(step)
        must_change = step.changes is not False
        proof = self._prove(step, before, must_change=must_change, effect=told.data.get("effect", ""))
        if step.leaves_on is not None:
            self._prove_state(step, step.leaves_on)
        return aim.by, proof

    def _prove_focus(self, step: Step) -> str:
        """See that a field has the focus; a field that had it before does not change by a touch."""
        for screen in self._looks():
            node = self._seek(step, screen).node
            if node is not None and node.flag("focused"):
                return "the field has the focus"
        raise self._unproved(step, "REPLAY_EFFECT_MISSING", "the field did not get the focus")

    def _prove_state(self, step: Step, wanted: bool) -> None:  # noqa: FBT001 - a switch is on or off
        """See that what was touched is now on, or off, as it was."""
        for screen in self._looks():
            node = self._seek(step, screen).node
            if node is not None and state(node) is wanted:
                return
        raise self._unproved(step, "REPLAY_EFFECT_MISSING", f"it is not {'on' if wanted else 'off'}")

    def _press(self, step: Step) -> str:
        before = self._look()
        if step.hides_keyboard and step.window is None:
            if not is_keyboard(before.overlay_package or ""):
                return "no keyboard is shown that could be put away"
            self._act("press_key", {"key": "back"})
            for screen in self._looks():
                if not is_keyboard(screen.overlay_package or "") and screen.package == before.package:
                    return "the keyboard is gone"
            raise self._unproved(step, "REPLAY_EFFECT_MISSING", "the keyboard did not go away")
        told = self._act("press_key", {"key": step.key})
        must_change = step.key == "back" and step.changes is not False
        return self._prove(step, before, must_change=must_change, effect=told.data.get("effect", ""))

    def _enter(self, step: Step) -> tuple[str, str]:
        aim, before = self._find(step)
        if aim.matcher is None:
            raise ClawError(
                "REPLAY_TARGET_AMBIGUOUS",
                f"no selector means only the field at {aim.told}: {step.told}",
                hint="Nothing was typed. Give the field an id in the app, or write a skill for this flow.",
                details={"seq": step.seq, "candidateCount": 1, "candidates": [aim.told]},
                operation="replay",
            )
        params = {**aim.params, "text": step.text, "submit": step.submit, "clear": True}
        self._act("enter_text", params)
        if step.submit:
            return aim.by, self._prove(step, before, must_change=True)
        was = aim.node.text if aim.node else ""
        untouched = step.target.text if step.target else ""
        for screen in self._looks():
            if any(node.text == step.text for node in fields(screen, step.package)):
                return aim.by, "the field shows the text"
            now = find_field(step, screen).node
            if not step.text and now is not None and (now.text != was or was == untouched):
                return aim.by, "the field was emptied"  # its hint stands there now
        raise self._unproved(step, "REPLAY_EFFECT_MISSING", "no field shows the text")

    def _act(self, action: str, params: dict[str, Any]) -> StepResult:
        envelope = self._phone.run([{"type": action, "params": params}], timeout=_EXECUTION_SECONDS)
        self._envelopes.append(envelope)
        return only_step(envelope, self._phone.serial)

    # Finding

    def _find(self, step: Step) -> tuple[Aim, Snapshot]:
        """The target, waited for while it may still come, and scrolled to where the recording scrolled."""
        missing: ClawError | None = None
        crowded = 0
        for screen, by_best in self._views(step):
            try:
                return self._seek(step, screen, by_best=by_best), screen
            except ClawError as e:
                missing = e
                crowded = crowded + 1 if e.code == "REPLAY_TARGET_AMBIGUOUS" else 0
            # A screen on its way may show two of what will be one; one that rests will not.
            if crowded > 1:
                break
        assert missing is not None
        raise missing

    def _views(self, step: Step) -> Iterator[tuple[Snapshot, bool]]:
        """The screens on which the target may be, and whether only its best clue counts there yet."""
        hurried = step.was_scrolled_to
        for screen in self._looks(_LOOKS_BEFORE_SCROLLING if hurried else MOST_LOOKS):
            yield screen, hurried
        if not step.scrolls:
            return
        for by_best in (True, False) if hurried else (False,):
            for way in step.scrolls:
                for screen in self._scroll(way):
                    yield screen, by_best
        yield self._look(), False  # where nothing scrolls, no other screen came

    def _seek(self, step: Step, screen: Snapshot, *, by_best: bool = False) -> Aim:
        wanted = step.package
        if wanted and screen.package not in (wanted, None) and not _shows(screen, wanted):
            raise ClawError(
                "REPLAY_SCREEN_UNEXPECTED",
                f"cannot {step.told}: {screen.package} is in front, not {wanted}",
                details={"seq": step.seq, "expected": wanted, **_observed(screen)},
                operation="replay",
            )
        if step.kind == "enter_text":
            return find_field(step, screen)
        return find_target(step, screen, by_place=self._by_place, by_best=by_best)

    def _scroll(self, way: Direction) -> Iterator[Snapshot]:
        """The screens that come into view, to the end of the list."""
        for _ in range(MOST_SCROLLS):
            action = {"type": "scroll", "params": {"direction": way}}
            envelope = self._phone.run([action], timeout=_EXECUTION_SECONDS)
            try:
                ended = scrolled(only_step(envelope, self._phone.serial)).at_edge
            except ClawError:
                return  # nothing here scrolls that way
            yield self._look()
            if ended:
                return

    # Looking and proving

    def _look(self, after_ms: int = 0) -> Snapshot:
        actions: list[dict[str, Any]] = [{"type": "snapshot_ui"}]
        if after_ms:
            actions.insert(0, {"type": "sleep", "params": {"durationMs": after_ms}})
        envelope = self._phone.run(actions, timeout=_EXECUTION_SECONDS)
        only_step(envelope, self._phone.serial)
        self._screen = read_snapshot(envelope.stepResults[-1])
        return self._screen

    def _looks(self, most: int = MOST_LOOKS) -> Iterator[Snapshot]:
        """One look after the other, the first at once, while there is patience."""
        end = time.monotonic() + PATIENCE_SECONDS
        yield self._look()
        for _ in range(most - 1):
            if time.monotonic() > end:
                return
            yield self._look(LOOK_EVERY_MS)

    def _prove(self, step: Step, before: Snapshot, *, must_change: bool, effect: str = "") -> str:
        """Look until the screen is what the recording shows after the step. Tells what proves it."""
        changed = effect == "changed" or not must_change
        screens = [*(step.window.screens if step.window else ()), *((step.after,) if step.after else ())]
        wanted = {step.window.package if step.window else step.package, step.next_package} - {""}
        alike = 0.0
        for screen in self._looks():
            changed = changed or not screen.hierarchy.says_the_same(before.hierarchy)
            in_front = not wanted or screen.package is None or screen.package in wanted
            alike = _alike(screens, screen, step.window.title if step.window else None)
            if changed and in_front and alike >= ENOUGH:
                return _evidence(step, alike, screens, screen)
        if not changed:
            raise self._unproved(step, "REPLAY_EFFECT_MISSING", "nothing on the screen changed")
        reason = "another screen came than the recorded one"
        raise self._unproved(step, "REPLAY_SCREEN_UNEXPECTED", reason, alike)

    def _unproved(self, step: Step, code: str, reason: str, alike: float | None = None) -> ClawError:
        wanted = step.window.package if step.window else step.package
        details: dict[str, Any] = {"seq": step.seq, "expected": wanted}
        if step.window is not None and step.window.title:
            details["expectedTitle"] = step.window.title
        if self._screen is not None:
            details |= _observed(self._screen)
        if alike is not None:
            details["likeness"] = round(alike, 2)
        return ClawError(code, f"could not prove: {step.told}: {reason}", details=details, operation="replay")


def _alike(wanted: list[Landmarks], screen: Snapshot, title: str | None) -> float:
    """How much of one of the recorded screens is there."""
    if not wanted:
        return 1.0
    there = landmarks(screen)
    return max(marks.seen_in(there, title) for marks in wanted)


def _evidence(step: Step, alike: float, screens: list[Landmarks], screen: Snapshot) -> str:
    if step.window is None and not screens:
        return "the screen changed" if step.changes is not False else "the recorded click changed nothing either"
    seen = f", with {round(alike * 100)} % of the recorded marks" if screens else ""
    return f"{screen.package or 'the app'} is in front{seen}"


def _shows(screen: Snapshot, package: str) -> bool:
    return any(root.package == package for root in screen.hierarchy.roots)


def _observed(screen: Snapshot) -> dict[str, Any]:
    return {"observed": screen.package, "labels": _labels(screen)}


def _labels(screen: Snapshot) -> list[str]:
    from clawperator._text import printable

    return [printable(label)[:80] for label in screen.labels()[:_MOST_LABELS]]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
