"""scripts/run.py of a new skill: the steps of a recording as code, or only the opening of the app."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET, Struct

from clawperator._base.text import printable
from clawperator.recording.actions import UserKey, UserText, read_actions
from clawperator.recording.compare.checkpoints import derive_checkpoints
from clawperator.recording.export import Export
from clawperator.skills.templates import (
    RecordedStep,
    SkillTemplate,
    matcher_keywords,
    quote_literal,
    recorded_steps,
)

_MAX_STEPS = 200
_NOT_NAME = re.compile(r"[^A-Z0-9]+")


class _Variable(Struct, frozen=True):
    """A text that the script enters. A ``secret`` one comes from the environment."""

    name: str
    text: str
    secret: bool


def render_script(template: SkillTemplate) -> str:
    """The script. It closes the apps first, so that every run begins on the same screen."""
    steps = recorded_steps(template.recording)[:_MAX_STEPS] if template.recording is not None else []
    plan = [point.id for point in derive_checkpoints(template.recording)] if template.recording is not None else []
    reached = {step.step.checkpoint for step in steps}
    plan = [name for name in plan if name in reached] or ["app_opened"]
    writer = _ScriptWriter(template, steps)
    body = "".join(f"    {line}\n" for line in writer.body())
    listed = "".join(f"    {quote_literal(name)},\n" for name in plan)
    variables = "".join(f"{line}\n" for line in writer.variables())
    return f'''"""The skill {template.skill_id}. See SKILL.md."""

import os

from clawperator.skill_api import Skill

APP = {quote_literal(writer.app)}
{variables}# How long to wait for a screen, in seconds.
WAIT = 15
# The checkpoints of this skill, in order.
PLAN = (
{listed})

with Skill(os.environ.get("CLAWPERATOR_SKILL_ID", {quote_literal(template.skill_id)}), plan=PLAN) as skill:
    phone = skill.phone
{body}'''


class _ScriptWriter:
    """Writes the steps of a recording as calls."""

    def __init__(self, template: SkillTemplate, steps: Sequence[RecordedStep]) -> None:
        self._recording = template.recording
        self._steps = steps
        opened = [step.step.packageName for step in steps if step.step.kind == "open_app"]
        self.app = opened[0] if opened else template.app
        self._packages = list(dict.fromkeys([self.app, *opened]))
        self._entered = dict(self._texts(template.recording)) if template.recording is not None else {}

    def _texts(self, export: Export) -> Iterator[tuple[int | float, _Variable]]:
        """The entered texts by the seq of their steps."""
        used: dict[str, int] = {}
        masked = {
            action.first_seq: action.is_masked
            for action in read_actions(export.events)
            if isinstance(action, UserText)
        }
        for recorded in self._steps:
            step = recorded.step
            if step.kind != "enter_text":
                continue
            name = _NOT_NAME.sub("_", recorded.field.rpartition("/")[2].upper()).strip("_") or "TEXT"
            name = f"TEXT_{name}" if name[0].isdigit() or name in ("APP", "PLAN", "WAIT") else name
            used[name] = count = used.get(name, 0) + 1
            text = step.text if isinstance(step.text, str) else ""
            variable = name if count == 1 else f"{name}_{count}"
            yield step.seq, _Variable(variable, text, masked.get(step.seq, False))

    def variables(self) -> Iterator[str]:
        shown = [entered for entered in self._entered.values() if not entered.secret]
        secret = [entered for entered in self._entered.values() if entered.secret]
        if shown:
            yield "# The texts of the recording. Declare inputs in skill.json to give them for each run."
        for entered in shown:
            yield f"{entered.name} = {quote_literal(entered.text)}"
        if secret:
            yield "# Secrets are not in the recording. Set these variables, and run the skill with"
            yield "# " + " ".join(f"--pass-env {entered.name}" for entered in secret) + "."
        for entered in secret:
            yield f'{entered.name} = os.environ["{entered.name}"]'

    def body(self) -> Iterator[str]:
        for package in self._packages:
            yield f"phone.close_app({self._package(package)})"
        if not any(step.step.kind == "open_app" for step in self._steps):
            yield "phone.open_app(APP)"
            yield "phone.wait_for_nav(APP, timeout=WAIT)"
            if not self._steps:
                yield "skill.checkpoint(PLAN[0])"
                yield "# Continue here: run each step and its checkpoint, then read the screen, call skill.verify."
                return
        hidden = self._keys_that_hide_keyboards()
        for number, recorded in enumerate(self._steps):
            step = recorded.step
            yield f"# {number + 1}. {printable(step.sentence)}"
            yield from self._calls(number, recorded, is_hidden=step.seq in hidden)
            if step.checkpoint is not UNSET:
                yield f"skill.checkpoint({quote_literal(str(step.checkpoint))})"
        last = next(s.step.packageName for s in reversed(self._steps) if s.step.packageName)
        yield "# The app at the end of the recording. To verify more, read the result from the screen."
        package = self._package(last)
        yield f"skill.verify(expected={package}, observed=phone.wait_for_nav({package}, timeout=WAIT).package)"

    def _calls(self, number: int, recorded: RecordedStep, *, is_hidden: bool) -> Iterator[str]:
        step = recorded.step
        selector = _selector(recorded)
        match step.kind:
            case "open_app":
                package = self._package(step.packageName)
                yield f"phone.open_app({package})"
                yield f"phone.wait_for_nav({package}, timeout=WAIT)"
            case "screen" | "dialog":
                following = next(filter(None, map(_selector, self._steps[number + 1 :][:1])), "")
                if following:
                    yield f"phone.wait({following}, timeout=WAIT)"
            case "click" if self._focuses_field(number):
                yield "# Not needed: enter_text finds the field."
            case "click" | "choose_suggestion" if selector:
                was_scrolled = number > 0 and self._steps[number - 1].step.kind == "scroll"
                yield f"phone.{'scroll_and_click' if was_scrolled else 'click'}({selector})"
            case "enter_text":
                field = selector or 'role="textfield"'
                yield f"phone.enter_text({self._entered[step.seq].name}, {field}, clear=True)"
                yield "skill.hide_keyboard()"
            case "back" | "home" | "recents" if not is_hidden:
                yield f'phone.press("{step.kind}")'
            case "scroll" if not self._is_clicked(number + 1):
                yield "phone.scroll()"
            case "click" | "choose_suggestion":
                yield "# Add a selector: the recording has no label, description or id of this element."

    def _focuses_field(self, number: int) -> bool:
        """Whether a click only put the cursor into the field that is filled next."""
        following = self._steps[number + 1 : number + 2]
        field = self._steps[number].field
        is_filled = bool(following) and following[0].step.kind == "enter_text" and following[0].field == field
        return bool(field) and is_filled

    def _is_clicked(self, number: int) -> bool:
        following = self._steps[number : number + 1]
        return bool(following) and following[0].step.kind == "click" and bool(_selector(following[0]))

    def _keys_that_hide_keyboards(self) -> set[int | float]:
        """Keys that only hid a keyboard: text is entered here without one."""
        actions = read_actions(self._recording.events) if self._recording is not None else []
        return {a.first_seq for a in actions if isinstance(a, UserKey) and a.hides_keyboard}

    def _package(self, name: str) -> str:
        return "APP" if name == self.app else quote_literal(name)


def _selector(recorded: RecordedStep) -> str:
    """The best selector of a step as keyword arguments; empty when it has none."""
    if recorded.step.kind not in ("click", "choose_suggestion", "enter_text") or not recorded.suggestions:
        return ""
    keywords: dict[str, Any] = matcher_keywords(recorded.suggestions[0].matcher)
    return ", ".join(f"{name}={quote_literal(value)}" for name, value in keywords.items())
