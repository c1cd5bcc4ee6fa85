"""What a cassette asks for: the place of each click, the field of each text, the beginning of each app."""

from clawperator.phone.cassette.cassette import Cassette, Shot
from clawperator.phone.cassette.screen import Target, click_area, fields, find_target
from clawperator.phone.cassette.steps import TapStep, TextStep, steps_of


class Script:
    """The steps of a cassette. What they mean is worked out when it is asked for, and kept."""

    def __init__(self, cassette: Cassette) -> None:
        self.steps = steps_of(cassette)
        self._shots: list[Shot] = cassette.shots
        self._targets: dict[int, Target | None] = {}

    def beginning(self, package: str, after: int | None) -> tuple[int, int]:
        """Where an app begins: the step, and how many windows before it belong to others.

        Where the recording goes to that app right ``after`` a step, it is there; otherwise at its first screen.
        """
        steps = list(enumerate(self.steps))
        if after is not None:
            steps = steps[after + 1 : after + 2] + steps
        for i, step in steps:
            for skip, came in enumerate(step.windows):
                if came.package == package:
                    return i, skip
            if self._shots[step.shot].package == package:
                return i, len(step.windows)
        raise KeyError(package)

    def target(self, at: int) -> Target | None:
        """What a click was on: on its own snapshot, or, where that is too late, on the screen before."""
        if at not in self._targets:
            step = self.steps[at]
            assert isinstance(step, TapStep)
            earlier = [step.windows[-1].shot] if step.windows else [self.steps[at - 1].shot] if at else []
            shots = dict.fromkeys((step.shot, *earlier))
            found = (find_target(self._shots[n].tree(), n, step.click) for n in shots)
            target = next(filter(None, found), None)
            area = click_area(step.click)
            if target is None and not area.is_empty:
                target = Target(step.shot, "", area)
            self._targets[at] = target
        return self._targets[at]

    def field_of(self, at: int) -> tuple[str, str] | None:
        """The field a text went into, as far as the recording tells, and what it shows there."""
        step = self.steps[at]
        assert isinstance(step, TextStep)
        found = dict(fields(self._shots[step.shot].tree()))
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

        It is the one in hand, or one that only further taps into the same field come before, or the one just
        done: who goes on typing has not finished it.
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
