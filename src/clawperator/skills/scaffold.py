"""Create a skill: write its four files and add it to a registry."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import resources
from typing import Any

from msgspec import UNSET, Struct

from clawperator._base.environment import parent_process
from clawperator._base.files import AtomicFile, open_regular, why
from clawperator._base.secrets import known_secrets
from clawperator._base.text import printable
from clawperator._base.trust import folder_trust, registry_trust, trust_folder, trust_registry
from clawperator.contract.selectors import NodeMatcher
from clawperator.errors import ClawError
from clawperator.policy.gate import inherited_policy
from clawperator.recording.actions import UserKey, UserText, read_actions
from clawperator.recording.compare.checkpoints import derive_checkpoints
from clawperator.recording.describe import DescribedStep, described_steps
from clawperator.recording.export import Export, ExportedClick, ExportedEvent, ExportedTextChange, read_export
from clawperator.recording.writing import pretty_json
from clawperator.skills.registry import (
    SkillRegistry,
    configured_registry,
    home_registry,
    local_registry,
    read_json,
    read_registry,
    shipped_registry,
    skill_error,
)
from clawperator.ui.parse import parse_hierarchy
from clawperator.ui.privacy import mask
from clawperator.ui.select import find_nodes

# The steps of a recording, with selectors for their targets, and SKILL.md

_MAX_BYTES = 256 * 1024 * 1024
_MAX_STEPS = 200
_MAX_SUGGESTIONS = 4


class SelectorSuggestion(Struct, frozen=True):
    """A selector for a target. ``matches`` counts the nodes it finds on the recorded screen, if known."""

    matcher: NodeMatcher
    reason: str
    matches: int | None


class RecordedStep(Struct, frozen=True):
    """One user action of a recording, with selectors for its target, best first.

    ``field`` is the resource id of the text field that it clicked or filled, if known.
    """

    step: DescribedStep
    suggestions: list[SelectorSuggestion]
    field: str = ""


def _read_context(path: str) -> Export:
    """Read the export of a recording; ``SKILLS_SCAFFOLD_FAILED`` when that fails."""
    try:
        with open_regular(path) as file:
            # A longer file is cut and fails to parse.
            return mask(read_export(file.read(_MAX_BYTES)), known_secrets())
    except (OSError, ValueError) as e:
        message, hint = f"cannot read the recording {path}: {why(e)}", "Give the export of a recording."
        raise skill_error("SKILLS_SCAFFOLD_FAILED", path, message, hint) from e


def recorded_steps(export: Export) -> list[RecordedStep]:
    """The user actions of a recording, each with selectors in the order to try them."""
    events = {event.seq: event for event in export.events}
    steps = []
    for step in described_steps(read_actions(export.events)):
        event = events.get(step.lastSeq)
        if event is None:
            steps.append(RecordedStep(step, []))
            continue
        field = _field(event)
        if step.kind == "enter_text" and not field and steps and steps[-1].step.kind == "click":
            field = steps[-1].field  # the event of a text may not name its field; the click before it does
        steps.append(RecordedStep(step, suggest(event, field), field))
    return steps


def _field(event: ExportedEvent) -> str:
    """The resource id of the text field of an event; empty when it has none."""
    if isinstance(event, ExportedTextChange):
        return event.resourceId or ""
    if not isinstance(event, ExportedClick) or not event.resourceId:
        return ""
    is_field = _count(NodeMatcher(resourceId=event.resourceId, role="textfield"), event.snapshot.xml)
    return event.resourceId if is_field else ""


def suggest(event: ExportedEvent, field: str = "") -> list[SelectorSuggestion]:
    """Selectors for the target of an event. Those that find one node come first, then the more stable ones.

    ``field`` is the resource id of the field that a text went into, if its event has none.
    """
    if not isinstance(event, ExportedClick | ExportedTextChange):
        return []
    xml = event.snapshot.xml
    found = [
        SelectorSuggestion(matcher, named, _count(matcher, xml)) for matcher, named in _candidates(event, field)
    ]
    return sorted(found, key=lambda one: 0 if one.matches in (1, None) else 2 if one.matches == 0 else 1)


def _candidates(event: ExportedClick | ExportedTextChange, field: str) -> Iterator[tuple[NodeMatcher, str]]:
    name = event.resourceId or None
    if isinstance(event, ExportedTextChange):
        name = name or field or None
        if name:
            yield NodeMatcher(resourceId=name), "its resource id"
        yield NodeMatcher(role="textfield"), "if it is the only field of its screen"
        return
    text, desc = event.text or None, event.contentDesc or None
    if name and text:
        yield NodeMatcher(resourceId=name, textEquals=text), "its resource id and its label"
    if desc:
        yield NodeMatcher(contentDescEquals=desc), "its description"
    if text:
        yield NodeMatcher(textEquals=text), "its label"
    if name:
        yield NodeMatcher(resourceId=name), "its resource id alone"


def _count(matcher: NodeMatcher, xml: str | None) -> int | None:
    if not xml:
        return None
    try:
        hierarchy = parse_hierarchy(xml)
        frame = hierarchy.roots[0].bounds if hierarchy.roots else None
    except ClawError:
        return None
    return len(find_nodes(hierarchy, matcher, frame)) if frame is not None else None


def _keywords(matcher: NodeMatcher) -> str:
    """A matcher as keyword arguments of the methods of ``clawperator.connect()``."""
    names = {"textEquals": "text", "resourceId": "id", "contentDescEquals": "desc", "role": "role"}
    values = ((word, getattr(matcher, field)) for field, word in names.items())
    return ", ".join(f"{word}={quote_literal(value)}" for word, value in values if isinstance(value, str))


class SkillTemplate(Struct, frozen=True):
    """The values for the files of a new skill. ``recording`` is the recording it is based on, if any."""

    skill_id: str
    app: str
    intent: str
    summary: str
    recording: Export | None = None


def render_files(template: SkillTemplate, entry: dict[str, Any]) -> dict[str, str]:
    """The files of a new skill, by their paths in its folder. ``entry`` is its entry in the registry."""
    steps = [] if template.recording is None else recorded_steps(template.recording)
    return {
        "SKILL.md": _render_skill_md(template, steps),
        "skill.json": f"{pretty_json(entry).decode()}\n",
        "scripts/run.py": _render_script(template, steps[:_MAX_STEPS]),
        "scripts/run.sh": _read_template("run.sh"),
    }


def _render_skill_md(template: SkillTemplate, steps: Sequence[RecordedStep]) -> str:
    text = _read_template("SKILL.md").format(
        skill_id=template.skill_id,
        app=template.app,
        intent=template.intent,
        description=quote_literal(template.summary),
        summary=_escape_inline(template.summary),
    )
    if template.recording is None:
        return text
    lines = [line for number, step in enumerate(steps[:_MAX_STEPS], 1) for line in _step(number, step)]
    if len(steps) > _MAX_STEPS:
        lines.append(f"{len(steps) - _MAX_STEPS} more steps are in the export.")
    session = _escape_inline(template.recording.session.sessionId)
    return text + _read_template("evidence.md").format(session=session, steps="\n".join(lines))


def _read_template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


def _step(number: int, step: RecordedStep) -> list[str]:
    action = step.step
    label = f" {quote_literal(action.target)}" if action.target else ""
    text = f", text {quote_literal(action.text)}" if action.text else ""
    lines = [f"{number}. {action.kind}{label} in `{_escape_inline(action.packageName)}` (seq {action.seq}){text}"]
    for suggestion in step.suggestions[:_MAX_SUGGESTIONS]:
        seen = "" if suggestion.matches is None else f"; found {suggestion.matches} on the recorded screen"
        lines.append(f"   - `{_keywords(suggestion.matcher)}`: {suggestion.reason}{seen}")
    return lines


def quote_literal(text: str) -> str:
    """An untrusted text as a literal for both Python and YAML that cannot end a code span."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\x60")
    return f'"{printable(escaped)}"'


def _escape_inline(text: str) -> str:
    """An untrusted text on one line that cannot end a code span."""
    return printable(text).replace("`", "'")


# scripts/run.py: the steps of a recording as code, or only the opening of the app

_NOT_NAME = re.compile(r"[^A-Z0-9]+")


class _Variable(Struct, frozen=True):
    """A text that the script enters. A ``secret`` one comes from the environment."""

    name: str
    text: str
    secret: bool


def _render_script(template: SkillTemplate, steps: Sequence[RecordedStep]) -> str:
    """The script. It closes the apps first, so that every run begins on the same screen."""
    plan = [] if template.recording is None else [point.id for point in derive_checkpoints(template.recording)]
    reached = {step.step.checkpoint for step in steps}
    plan = [name for name in plan if name in reached] or ["app_opened"]
    writer = _ScriptWriter(template, steps)
    return _read_template("run.py.txt").format(
        skill_id=template.skill_id,
        quoted_id=quote_literal(template.skill_id),
        app=quote_literal(writer.app),
        variables="".join(f"{line}\n" for line in writer.variables()),
        plan="\n".join(f"    {quote_literal(name)}," for name in plan),
        body="\n".join(f"    {line}" for line in writer.body()),
    )


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
        # Keys that only hid a keyboard are left out: text is entered here without one.
        actions = read_actions(self._recording.events) if self._recording is not None else []
        hidden = {a.first_seq for a in actions if isinstance(a, UserKey) and a.hides_keyboard}
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

    def _package(self, name: str) -> str:
        return "APP" if name == self.app else quote_literal(name)


def _selector(recorded: RecordedStep) -> str:
    """The best selector of a step as keyword arguments; empty when it has none."""
    if recorded.step.kind not in ("click", "choose_suggestion", "enter_text") or not recorded.suggestions:
        return ""
    return _keywords(recorded.suggestions[0].matcher)


# The files of a skill, and its entry in the registry

_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_MAX_ID_LENGTH = 200


class CreatedSkill(Struct, frozen=True):
    """The document of ``skills new``."""

    created: bool
    skillId: str
    registryPath: str
    skillPath: str
    files: list[str]
    next: str


def new_skill(
    skill_id: str, *, summary: str | None = None, context: str | None = None, registry: str | None = None
) -> CreatedSkill:
    """Write a new skill into the current registry; the first one is created in the current folder.

    ``context`` is the export of a recording: its steps become the script, and evidence in SKILL.md.
    """
    app, _, intent = skill_id.rpartition(".")
    if not _ID.fullmatch(skill_id) or len(skill_id) > _MAX_ID_LENGTH:
        hint = "Use the app's package name, a dot and the intent: com.android.settings.overview."
        raise skill_error("SKILL_ID_INVALID", skill_id, f"invalid skill id {skill_id!r}", hint)
    path = _target_registry(registry)
    before = _trust_before(path)
    known = read_registry(path) if os.path.exists(path) else SkillRegistry(path, [])
    relative = f"skills/{skill_id}"
    folder = known.file(relative)
    if os.path.lexists(folder) or any(entry.get("id") == skill_id for entry in known.entries):
        raise ClawError("SKILL_ALREADY_EXISTS", f"skill {skill_id} already exists", target=skill_id)
    recording = None if context is None else _read_context(context)
    template = SkillTemplate(skill_id, app, intent, summary or f"TODO: describe {intent}", recording)
    entry = _registry_entry(template, relative)
    files = render_files(template, entry)
    try:
        _write(folder, files)
        _register(path, entry)
    except OSError as e:
        _remove(folder, files)
        message = f"cannot write skill {skill_id}: {why(e)}"
        raise skill_error("SKILLS_SCAFFOLD_FAILED", folder, message, operation="write") from e
    _remember(path, before)
    return CreatedSkill(
        created=True,
        skillId=skill_id,
        registryPath=path,
        skillPath=folder,
        files=[os.path.join(folder, name) for name in files],
        next=f"Edit {relative}/scripts/run.py, then run 'clawperator skills validate {skill_id} --dry-run'."
        + _advice(skill_id, path),
    )


def _trust_before(path: str) -> tuple[bool, bool]:
    """Whether the folder and the registry are trusted. One that does not exist yet is: the user creates it."""
    folder = folder_trust(os.path.dirname(os.path.dirname(path))).is_trusted
    return folder, not os.path.lexists(path) or registry_trust(path).is_trusted


def _remember(path: str, before: tuple[bool, bool]) -> None:
    """Keep the trust of a registry that we have changed. An agent cannot make a registry trusted."""
    if parent_process() or inherited_policy() is not None:
        return
    folder, registry = before
    with suppress(ClawError):  # the skill exists; running it will name the problem
        if folder:
            trust_folder(os.path.dirname(os.path.dirname(path)))
        if registry:
            trust_registry(path)


def _advice(skill_id: str, path: str) -> str:
    shipped = read_registry(shipped_registry()).entries
    if not any(entry.get("id") == skill_id for entry in shipped):
        return ""
    return f" A shipped skill has this id: run yours with '--registry {path}'."


def _registry_entry(template: SkillTemplate, path: str) -> dict[str, Any]:
    return {
        "id": template.skill_id,
        "applicationId": template.app,
        "intent": template.intent,
        "summary": template.summary,
        "path": path,
        "skillFile": f"{path}/SKILL.md",
        "scripts": [f"{path}/scripts/run.py", f"{path}/scripts/run.sh"],
        "artifacts": [],
    }


def _target_registry(given: str | None) -> str:
    """The registry for a new skill: never the shipped one, unless configured."""
    configured = configured_registry(given)
    if configured is not None:
        return configured
    places = (local_registry(), home_registry())
    return next((path for path in places if os.path.exists(path)), places[0])


def _write(folder: str, files: dict[str, str]) -> None:
    os.makedirs(os.path.join(folder, "scripts"))
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
        if name.endswith((".sh", ".py")):
            os.chmod(path, 0o755)  # noqa: S103 - executable by all


def _register(path: str, entry: dict[str, Any]) -> None:
    document: dict[str, Any] = {"schemaVersion": "1.0", "skills": []}
    if os.path.exists(path):
        document = read_json(path, lambda where, reason: OSError(f"{where}: {reason}"))
    skills = sorted([*document["skills"], entry], key=lambda each: str(each.get("id")))
    with AtomicFile(path) as out:
        out.file.write(pretty_json({**document, "skills": skills}) + b"\n")


def _remove(folder: str, files: dict[str, str]) -> None:
    """Remove the files of a skill that could not be completed."""
    for name in files:
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
    for part in (os.path.join(folder, "scripts"), folder):
        with suppress(OSError):
            os.rmdir(part)
