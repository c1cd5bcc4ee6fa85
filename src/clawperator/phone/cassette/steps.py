"""The steps of a cassette: what the user did in the recording, and what the phone showed before each step."""

from typing import Any

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.phone.cassette.cassette import Cassette, CassetteSnapshot
from clawperator.phone.cassette.screen import TapTarget, click_area, fields, find_target
from clawperator.recording.actions import CAUSED_WITHIN_MS, read_actions
from clawperator.recording.events import ClickFacts, Number
from clawperator.recording.heuristics import NavigationKey, is_launcher
from clawperator.recording.user_actions import UserKey, UserScroll, UserTap, UserText, WindowShown

MAX_WAIT_MS = 30_000
# A typed text is often submitted, and no event records that: leave time to do it.
_SUBMIT_MS = 3_000
_MAX_NAME_LENGTH = 60

# A window's package, class and title.
_WindowName = tuple[str, str, str | None]


class CassetteWindow(Struct, frozen=True):
    """A window that came to the front, and the screen it showed."""

    package: str
    class_name: str
    title: str | None
    snapshot: int


class CassetteStep(Struct, kw_only=True):
    """One step. ``windows`` come before it, ``snapshot`` is the screen it is done on.

    ``keyboard`` and ``scrolled``: a keyboard came up, or a list moved, since the step before.
    """

    seq: Number
    snapshot: int
    windows: list[CassetteWindow]
    keyboard: bool = False
    scrolled: bool = False


class TapStep(CassetteStep, kw_only=True):
    click: ClickFacts


class KeyStep(CassetteStep, kw_only=True):
    """A key, or a button of the navigation bar."""

    key: NavigationKey


class TextStep(CassetteStep, kw_only=True):
    """A text goes into a field; ``texts`` are the first and the second it held, and the last."""

    texts: tuple[str, str | None, str]
    is_masked: bool
    resource_id: str | None


class WaitStep(CassetteStep, kw_only=True):
    """No recorded action brings the next window: it comes after a while, or by any key.

    ``after_ms`` is None when only the user can have brought it, by going home or back.
    """

    after_ms: float | None


class EndStep(CassetteStep, kw_only=True):
    """The end of the recording."""


def steps_of(cassette: Cassette) -> list[CassetteStep]:
    """The steps of a recording, the last of them ``EndStep``. There is always a screen to show."""
    return _StepReader(cassette).steps


def first_snapshot(step: CassetteStep) -> int:
    """The first snapshot shown before a step."""
    return step.windows[0].snapshot if step.windows else step.snapshot


def labels(steps: list[CassetteStep], snapshots: list[CassetteSnapshot]) -> dict[str, str]:
    """Every package that is shown, with a name for its icon: that of the recorded icon, a title, or its own."""
    found: dict[str, str] = {}
    for i, step in enumerate(steps):
        before = steps[i - 1] if i else None
        is_icon = isinstance(before, TapStep) and is_launcher(before.click.packageName)
        icon = before.click.text if is_icon and isinstance(before, TapStep) else None
        for window in step.windows:
            name = printable(icon or window.title or _last_word(window.package))
            found.setdefault(window.package, name[:_MAX_NAME_LENGTH])
        package = snapshots[step.snapshot].package
        found.setdefault(package, _last_word(package))
    return found


def describe_step(step: CassetteStep) -> str:
    """The action that a step waits for, as text."""
    match step:
        case TapStep(click=click):
            label = click.text or click.contentDesc or click.resourceId or "an element without a label"
            return f"a tap on {printable(label)[:_MAX_NAME_LENGTH]}"
        case KeyStep(key=key):
            return f"the key {key}"
        case TextStep(is_masked=True):
            return "a text of its recorded length"
        case TextStep(texts=(_, _, text)):
            return f'the text "{printable(text)[:_MAX_NAME_LENGTH]}"'
        case WaitStep(after_ms=None):
            return "a key that leaves this screen"
        case WaitStep():
            return "the next window, by itself or by a key"
        case _:
            return "nothing more"


def _last_word(package: str) -> str:
    return package.rpartition(".")[2]


class CassetteSteps:
    """The steps of a cassette, with their targets. A target is searched when it is first needed, and cached."""

    def __init__(self, cassette: Cassette) -> None:
        self.steps = steps_of(cassette)
        self._snapshots: list[CassetteSnapshot] = cassette.snapshots
        self._targets: dict[int, TapTarget | None] = {}

    def beginning(self, package: str, after: int | None) -> tuple[int, int]:
        """Where an app begins: the step, and how many windows before it belong to other apps.

        If the recording goes to the app right ``after`` a step, that is the place; otherwise its first screen.
        """
        steps = list(enumerate(self.steps))
        if after is not None:
            steps = steps[after + 1 : after + 2] + steps
        for i, step in steps:
            for skip, window in enumerate(step.windows):
                if window.package == package:
                    return i, skip
            if self._snapshots[step.snapshot].package == package:
                return i, len(step.windows)
        raise KeyError(package)

    def target(self, at: int) -> TapTarget | None:
        """The target of a click: on its own snapshot, or, if that was taken too late, on the screen before."""
        if at not in self._targets:
            step = self.steps[at]
            assert isinstance(step, TapStep)
            earlier = [step.windows[-1].snapshot] if step.windows else [self.steps[at - 1].snapshot] if at else []
            snapshots = dict.fromkeys((step.snapshot, *earlier))
            found = (find_target(self._snapshots[n].tree(), n, step.click) for n in snapshots)
            target = next(filter(None, found), None)
            area = click_area(step.click)
            if target is None and not area.is_empty:
                target = TapTarget(step.snapshot, "", area)
            self._targets[at] = target
        return self._targets[at]

    def field_of(self, at: int) -> tuple[str, str] | None:
        """The key of the field of a text and the text it shows; None when the recording does not show it."""
        step = self.steps[at]
        assert isinstance(step, TextStep)
        found = dict(fields(self._snapshots[step.snapshot].tree()))
        clicked = self.target(at - 1) if at and isinstance(self.steps[at - 1], TapStep) else None
        for key, node in found.items():
            if node.resource_id == step.resource_id or (clicked is not None and key == clicked.key):
                return key, node.text
        focused = [key for key, node in found.items() if node.flag("focused")]
        for key in focused or (found if len(found) == 1 else ()):
            return key, found[key].text
        return None

    def type_step(self, now: int, key: str) -> int | None:
        """The step that a text in this field belongs to.

        It is the current one, or one after further taps into the same field, or the one just done: the user may go
        on typing.
        """
        at = now
        while isinstance(step := self.steps[at], TapStep) and (target := self.target(at)) and target.key == key:
            at += 1
        if not isinstance(step, TextStep):
            at = now - 1
            step = self.steps[at]
        if at < 0 or not isinstance(step, TextStep):
            return None
        found = self.field_of(at)
        return at if found is None or found[0] == key else None


class _StepReader:
    """One pass over the user actions."""

    def __init__(self, cassette: Cassette) -> None:
        self._events = cassette.events
        self._snapshots = cassette.snapshots
        self._display = cassette.display
        self.steps: list[CassetteStep] = []
        self._windows: list[CassetteWindow] = []
        self._keyboard = self._scrolled = False
        # What is on the screen: the last snapshot; before the first, the first there is.
        self._snapshot = next(row.snapshot for row in cassette.events if row.snapshot is not None)
        self._front: _WindowName | None = None
        # Windows of apps that no snapshot has shown yet.
        self._undrawn: dict[str, _WindowName] = {}
        # A key that is only inferred from the window after it.
        self._inferred_key: UserKey | None = None
        for action in read_actions(row.facts for row in cassette.events):
            match action:
                case WindowShown():
                    self._add_window(action)
                case UserTap():
                    self._show(self._events[action.at].snapshot)
                    self._add(TapStep(seq=action.seq, click=action.click, **self._context()))
                case UserText():
                    texts = (action.first_text, action.second_text, action.text)
                    context = self._context()
                    step = TextStep(
                        seq=action.last_seq,
                        texts=texts,
                        is_masked=action.is_masked,
                        resource_id=action.field,
                        **context,
                    )
                    self._add(step)
                case UserKey(source="window"):
                    self._inferred_key = action
                case UserKey():
                    self._show(self._events[action.at].snapshot)
                    self._add(KeyStep(seq=action.seq, key=action.key, **self._context()))
                case UserScroll():
                    self._scrolled = True
        self._add(EndStep(seq=cassette.events[-1].facts.seq, **self._context()))

    def _add_window(self, window: WindowShown) -> None:
        snapshot = self._events[window.at].snapshot
        self._keyboard = self._keyboard or window.role == "keyboard"
        key, self._inferred_key = self._inferred_key, None
        if snapshot is None:
            return
        name = (window.package, window.class_name, window.title)
        if self._snapshots[snapshot].package != window.package:
            # A keyboard, a toast, a bar: the snapshot shows the app below it. Or the app is not drawn yet.
            self._show(snapshot)
            self._undrawn[window.package] = name
            return
        if window.role == "keyboard":
            return
        wait = self._wait_before(window, key)
        if wait is not None:
            self._add(WaitStep(seq=window.seq, after_ms=wait[0], **self._context()))
        self._windows.append(CassetteWindow(*name, snapshot))
        self._front = name
        self._show(snapshot)

    def _wait_before(self, window: WindowShown, key: UserKey | None) -> tuple[float | None] | None:
        """The wait before a window; None when it opens immediately."""
        if not self.steps and not self._windows:
            return None  # it is the first
        before = self._events[window.at - 1].facts.ts if window.at else window.ts
        elapsed = max(0.0, float(window.ts - before))
        typed = bool(self.steps) and isinstance(self.steps[-1], TextStep) and not self._windows
        if elapsed < CAUSED_WITHIN_MS and not typed:
            return None
        # A dialog or a loading screen may have closed by itself.
        if key is not None and not typed and (key.key != "back" or self._fills_display(self._snapshot)):
            return (None,)
        return (min(elapsed, MAX_WAIT_MS) + (_SUBMIT_MS if typed else 0),)

    def _fills_display(self, snapshot: int) -> bool:
        area, display = self._snapshots[snapshot].area, self._display
        return area.width * area.height * 10 >= display.natural_width * display.natural_height * 9

    def _show(self, snapshot: int | None) -> None:
        if snapshot is None:
            return
        self._snapshot = snapshot
        package = self._snapshots[snapshot].package
        name = self._undrawn.pop(package, None)
        if name is not None and (self._front is None or self._front[0] != package):
            self._windows.append(CassetteWindow(*name, snapshot))
            self._front = name

    def _context(self) -> dict[str, Any]:
        """The fields that all kinds of step share."""
        return {
            "snapshot": self._snapshot,
            "windows": self._windows,
            "keyboard": self._keyboard,
            "scrolled": self._scrolled,
        }

    def _add(self, step: CassetteStep) -> None:
        self.steps.append(step)
        self._windows, self._keyboard, self._scrolled = [], False, False
