"""Score the offline brain by the phone's state: run sentences on a simulated phone and check what they claim.

Each line of ``tests/fixtures/sentences/*.jsonl`` is one row::

    {"id": "q-12", "category": "question", "start": "settings:Display", "sentence": "is Dark theme on?",
     "expect": {"answer_has": ["off"]}}

``start`` is where the phone stands before the sentence:

- ``home``, ``settings``, ``youtube``, ``notes``, ``solar``, ``browser``, or the label of any installed app;
- ``settings:Display > Screen timeout``: a page of an app, by the labels to tap, separated by ``>``;
- ``notes:Milk,Bread``: the list of Notes after notes with these titles were saved, in this order;
- ``notes:new``: the form of a new note.

``expect`` is ``{"refuse": true}`` when nothing may be claimed to be done, or any of:

- ``package``: the package in the foreground;
- ``shows``, ``not_shows``: texts that labels on the screen contain, or do not contain, ignoring case;
- ``switch``: label to true or false, for switches, checkboxes and radio buttons ("Bluetooth" is also "Use Bluetooth");
- ``value``: label to the text beside or below it in its row;
- ``field``: hint, description, id or label of a text field to its text;
- ``setting``: ``table/key`` to value, for example ``{"secure/ui_night_mode": "2"}``;
- ``answer_has``, ``answer_has_any``, ``answer_not``: texts of the answer, ignoring case;
- ``answer_yes``: true for an answer that means yes ("Yes", "is on"), false for one that means no;
- ``on_page``: a ``start`` to open after the run; then ``shows``, ``not_shows``, ``switch`` and ``value`` are read
  there, from the whole page. All other keys are read before it is opened;
- ``also``: further expectations, for example on another page.

A run claims to be done when its outcome is ``done``. It is **wrong** when it claims that and must be refused or one
expectation is false, **truthful** when it claims that and all expectations are true, and otherwise **refused**.

Run ``python -m tests.agent.offline.sentences [file ...]`` to print the score and every row that is not truthful.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clawperator._base.home import PhoneFolder, PhoneRecord
from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.offline.brain import OfflineBrain
from clawperator.agent.offline.labels import enclosing_rows, is_checkable, own_label
from clawperator.agent.ports import Answer, BrainRequest, ToolCall, ToolContext, ToolResult
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.api.results import only_step
from clawperator.contract.actions import ACTIONS
from clawperator.errors import ClawError
from clawperator.phone.toolkit.layout import PlacedView, field_text
from clawperator.policy.rules import Policy
from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Node, is_field, visible_nodes
from tests.support.paths import REPOSITORY

FOLDER = REPOSITORY / "tests" / "fixtures" / "sentences"
DEVELOPMENT = Path(__file__).with_name("development.jsonl")
SERIAL = "claw-1"
MAX_CALLS = 120
MAX_SCROLLS = 40
SETTLE_SECONDS = 2
APPS = {
    "settings": "com.android.settings",
    "youtube": "com.google.android.youtube",
    "notes": "com.clawperator.notes",
    "solar": "com.solaxcloud.starter",
    "browser": "com.android.chrome",
}
Verdict = Literal["truthful", "refused", "wrong"]


class SentenceRow(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    category: str
    start: str
    sentence: str
    expect: "Expected"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    refuse: bool = False
    package: str = ""
    shows: list[str] = []
    not_shows: list[str] = []
    switch: dict[str, bool] = {}
    value: dict[str, str] = {}
    field: dict[str, str] = {}
    setting: dict[str, str] = {}
    answer_has: list[str] = []
    answer_has_any: list[str] = []
    answer_not: list[str] = []
    answer_yes: bool | None = None
    on_page: str = ""
    also: list["Expected"] = []


class SentenceScore(Struct, frozen=True):
    """The result of a row. ``problem`` is the first false expectation, or why the sentence was refused."""

    row: SentenceRow
    verdict: Verdict
    answer: str
    calls: tuple[str, ...]
    problem: str = ""


def sentence_files() -> list[Path]:
    """The sentences to develop with, and the sentences of the fixtures."""
    return [DEVELOPMENT, *sorted(FOLDER.glob("*.jsonl"))]


def load_rows(path: Path) -> list[SentenceRow]:
    lines = (line for line in path.read_bytes().splitlines() if line.strip())
    return [msgspec.json.decode(line, type=SentenceRow) for line in lines]


def score(row: SentenceRow) -> SentenceScore:
    """Run a row on a new phone. ``CLAWPERATOR_HOME`` must be a folder that may be written."""
    with simulated_phone(serial=SERIAL) as phone:
        go_to_start(phone, row.start)
        calls, answer = run_sentence(phone, row.sentence)
        if answer.outcome != "done":
            return SentenceScore(row, "refused", answer.text, calls, answer.error.code if answer.error else "")
        if row.expect.refuse:
            return SentenceScore(row, "wrong", answer.text, calls, "it had to be refused")
        phone.sleep(SETTLE_SECONDS)  # a page that was opened may still be loading
        problem = next(iter(problems(phone, row.expect, answer.text)), "")
        return SentenceScore(row, "wrong" if problem else "truthful", answer.text, calls, problem)


# Running a sentence


class PhoneDeadline(TurnDeadline):
    """A deadline whose sleeps pass on the phone's virtual clock."""

    def __init__(self, phone: SimulatedPhone) -> None:
        super().__init__()
        self._phone = phone

    def sleep(self, seconds: float) -> None:
        self._phone.sleep(seconds)
        self.check()


def run_sentence(phone: SimulatedPhone, sentence: str) -> tuple[tuple[str, ...], Answer]:
    """Run a sentence. Actions run in the phone's engine; all other tools are real and reach the phone by adb."""
    context = ToolContext(PhoneDeadline(phone), folder=os.environ["CLAWPERATOR_HOME"], device=SERIAL)
    registry = ToolRegistry(builtin_tools(), Policy())
    steps = OfflineBrain().respond(BrainRequest(sentence, registry.tools, context.deadline))
    calls: list[str] = []
    result: ToolResult | None = None
    with ExitStack() as served:
        while True:
            try:
                call: ToolCall = next(steps) if result is None else steps.send(result)
            except StopIteration as e:
                answer: Answer = e.value
                return tuple(calls), answer
            calls.append(call.name)
            if len(calls) > MAX_CALLS:
                error = ClawError("TURN_STEPS_REACHED", f"tool-call limit ({MAX_CALLS}) reached")
                return tuple(calls), Answer(error.message, "failed", error)
            if call.name in ACTIONS and call.name != "take_screenshot":
                result = _run_action(phone, call)
            else:
                if all(name in ACTIONS for name in calls[:-1]):
                    served.enter_context(_reachable(phone))
                result = registry.call(call, context)


def _run_action(phone: SimulatedPhone, call: ToolCall) -> ToolResult:
    try:
        envelope = phone.run({"type": call.name, "params": dict(call.params)})
        only_step(envelope, SERIAL)
    except ClawError as e:
        return ToolResult(False, e.message, error=e)
    return ToolResult(True, call.name, {"envelope": msgspec.to_builtins(envelope), "deviceId": SERIAL})


@contextmanager
def _reachable(phone: SimulatedPhone) -> Iterator[None]:
    """Let other processes and our adb client find the phone by its serial."""
    folder = PhoneFolder(SERIAL)
    folder.make()
    with folder.lock() as ours, phone.serve() as ports:
        assert ours
        folder.write(
            PhoneRecord(
                serial=SERIAL,
                pid=0,
                seed=0,
                host="127.0.0.1",
                adbd_port=ports.adbd_port,
                server_port=ports.server_port,
                control_port=0,
                token="",
                started_at=0,
                operator_package=phone.phone.operator.package,
                apps=[],
            )
        )
        try:
            yield
        finally:
            folder.forget()


# The phone's state


def go_to_start(phone: SimulatedPhone, start: str) -> None:
    """Bring the phone to a ``start``, from the first page of its app."""
    name, _, rest = start.partition(":")
    name = name.strip()
    if name.casefold() == "home":
        phone.phone.go_home()
        return
    package = APPS.get(name.casefold()) or _package(phone, name)
    phone.phone.stop_app(package)
    phone.open_app(package)
    phone.sleep(3)
    if package == APPS["notes"] and rest.strip() == "new":
        _tap(phone, "Add note")
    elif package == APPS["notes"] and rest and ">" not in rest:
        for title in rest.split(","):
            _save_note(phone, title.strip())
    else:
        for label in filter(None, (part.strip() for part in rest.split(">"))):
            _tap(phone, label)


def _package(phone: SimulatedPhone, label: str) -> str:
    found = [p.app.package for p in phone.phone.packages.all() if p.app.label.casefold() == label.casefold()]
    if len(found) != 1:
        raise ValueError(f"start: no app is labelled {label!r}")
    return found[0]


def _tap(phone: SimulatedPhone, label: str) -> None:
    """Tap a label, scrolling down to it."""
    if phone.shows(label):
        phone.click(label)
    elif phone.shows(desc=label):
        phone.click(desc=label)
    else:
        phone.scroll_and_click(label)
    phone.sleep(2)


def _save_note(phone: SimulatedPhone, title: str) -> None:
    _tap(phone, "Add note")
    _run(phone, "enter_text", matcher={"textEquals": "Title"}, text=title)
    _tap(phone, "Save")


def _run(phone: SimulatedPhone, action: str, **params: Any) -> None:
    only_step(phone.run({"type": action, "params": params}), SERIAL)


def problems(phone: SimulatedPhone, expect: Expected, answer: str) -> Iterator[str]:
    """The false expectations, in the order in which they are checked."""
    if expect.package and phone.foreground() != expect.package:
        yield f"{phone.foreground()} is in the foreground"
    folded = answer.casefold()
    yield from (f"the answer lacks {text!r}" for text in expect.answer_has if text.casefold() not in folded)
    if expect.answer_has_any and not any(text.casefold() in folded for text in expect.answer_has_any):
        yield f"the answer has none of {expect.answer_has_any}"
    yield from (f"the answer has {text!r}" for text in expect.answer_not if text.casefold() in folded)
    if expect.answer_yes is not None and means_yes(answer) is not expect.answer_yes:
        yield f"the answer does not mean {'yes' if expect.answer_yes else 'no'}"
    for name, wanted in expect.field.items():
        texts = [text for node in _nodes(phone) if is_field(node) and (text := _content(node, name)) is not None]
        if wanted not in texts:
            yield f"field {name!r}: {texts}"
    for name, wanted in expect.setting.items():
        table, _, key = name.partition("/")
        stored = phone.phone.settings.get(table, key)
        if stored != wanted:
            yield f"setting {name} is {stored!r}"
    yield from _screen_problems(phone, expect)
    for further in expect.also:
        yield from problems(phone, further, answer)


def means_yes(answer: str) -> bool | None:
    """Whether an answer means yes or no, by its first word or its last words; None when it is not clear."""
    words: list[str] = re.findall(r"[a-z]+", re.sub(r"'[^']*'", " ", answer.casefold()))
    if words and words[0] in ("yes", "no"):
        return words[0] == "yes"
    positive = any(word in ("yes", "on", "enabled", "active") for word in words)
    negative = any(word in ("no", "not", "off", "disabled", "inactive") for word in words)
    return positive if positive is not negative else None


def _screen_problems(phone: SimulatedPhone, expect: Expected) -> Iterator[str]:
    if expect.on_page:
        go_to_start(phone, expect.on_page)
    labels = _read(phone, expect, lambda node: None if is_field(node) else [own_label(node)])
    fields = [node.text for node in _nodes(phone) if is_field(node)]
    shown = "\n".join([*labels, *fields]).casefold()
    yield from (f"{text!r} is not on the screen" for text in expect.shows if text.casefold() not in shown)
    yield from (f"{text!r} is on the screen" for text in expect.not_shows if text.casefold() in shown)
    for label, on in expect.switch.items():
        states = set(_read(phone, expect, partial(_switch_state, label)))
        if states != {"on" if on else "off"}:
            yield f"switch {label!r}: {states or 'not found'}"
    for label, wanted in expect.value.items():
        values = _read(phone, expect, partial(_row_values, label))
        if not any(wanted.casefold() in value.casefold() for value in values):
            yield f"value {label!r}: {values or 'not found'}"


def _read(phone: SimulatedPhone, expect: Expected, find: Callable[[Node], list[str] | None]) -> list[str]:
    """What ``find`` returns for the nodes of the screen; with ``on_page``, of the whole page."""
    found = [text for node in _nodes(phone) for text in find(node) or ()]
    for _ in range(MAX_SCROLLS if expect.on_page else 0):
        before = phone.xml()
        phone.person.scroll_down()
        if phone.xml() == before:
            break
        found += [text for node in _nodes(phone) for text in find(node) or ()]
    if expect.on_page:
        for _ in range(MAX_SCROLLS):
            before = phone.xml()
            phone.person.scroll_up()
            if phone.xml() == before:
                break
    return found


def _nodes(phone: SimulatedPhone) -> list[Node]:
    return visible_nodes(phone.hierarchy(), phone.phone.windows.display.bounds)


def _content(field: Node, name: str) -> str | None:
    """The text of a field with this name, without its hint; None for another field."""
    placed = field.source
    assert isinstance(placed, PlacedView)
    ids = field.resource_id.rpartition("/")[2].casefold()
    before = [own_label(node) for _, labelled in enclosing_rows(field) for node in labelled if node is not field]
    names = (placed.view.hint, field.content_desc, ids, ids.rpartition("_")[2], *before)
    named = name.casefold() in (each.casefold() for each in names)
    return field_text(placed.view, placed.entry, placed.key) if named else None


def _switch_state(label: str, node: Node) -> list[str] | None:
    if own_label(node).casefold() not in (label.casefold(), f"use {label}".casefold()):
        return None
    rows = [node, *(row for row, _ in enclosing_rows(node))]
    for row in rows:
        controls = [each for each in row.walk() if is_checkable(each)]
        if controls:
            return ["on" if controls[0].flag("checked") else "off"]
    return None


def _row_values(label: str, node: Node) -> list[str] | None:
    if own_label(node).casefold() != label.casefold():
        return None
    for _, labelled in enclosing_rows(node):
        others = [own_label(each) for each in labelled if each is not node]
        if others:
            return others
    return None


# The report


def report(scores: list[SentenceScore]) -> str:
    """The score as text: totals, categories, and every row that is not truthful."""
    lines = [_totals("all", scores)]
    categories = dict.fromkeys(each.row.category for each in scores)
    lines += [_totals(name, [each for each in scores if each.row.category == name]) for name in categories]
    for verdict in ("wrong", "refused"):
        lines += [
            f"{verdict} {each.row.id} [{each.row.start}] {each.row.sentence}\n    {each.answer}\n    {each.problem}"
            for each in scores
            if each.verdict == verdict and not (verdict == "refused" and each.row.expect.refuse)
        ]
    return "\n".join(lines)


def _totals(name: str, scores: list[SentenceScore]) -> str:
    counts: Mapping[str, int] = Counter(each.verdict for each in scores)
    parts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("truthful", "refused", "wrong"))
    return f"{name}: {len(scores)} sentences: {parts} ({counts['truthful'] / max(len(scores), 1):.0%} truthful)"


def main(arguments: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as home:
        os.environ["CLAWPERATOR_HOME"] = home
        for path in [Path(each) for each in arguments] or sentence_files():
            print(f"{path.name}\n{report([score(row) for row in load_rows(path)])}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
