"""The examples of docs/guides/agents.md: each row runs on a fresh simulated phone with the real tools."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from itertools import groupby, repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolContext
from tests.agent.offline.phone_runs import run_on_phone
from tests.device.phone_servers import running_phone_server
from tests.support.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "guides" / "agents.md"
HEAD = "| prompt | start | tool calls | answer |"
# Rows wait for the phone, so two run in parallel, each in a process with its own phone. The groups run in parallel too,
# and starting a process takes as long as several rows.
AT_ONCE = 2
PER_TEST = 32
SECONDS = 60


class Row(Struct, frozen=True):
    line: int
    prompt: str
    start: str
    called: tuple[str, ...]
    code: str
    answers: str


def _rows() -> Iterator[Row]:
    lines = PAGE.read_text().splitlines()
    first = lines.index(HEAD) + 2
    for number, line in enumerate(lines[first:], first + 1):
        if not line.startswith("|"):
            return
        prompt, start, called, answers = (cell.strip() for cell in line.strip("|").split(" | "))
        code, text = re.fullmatch(r"(?:`([A-Z_]+)` )?(.*)", answers).groups(default="")  # type: ignore[union-attr]
        yield Row(number, prompt, start, tuple(re.findall(r"`(\w+)`", called)), code, text)


ROWS = list(_rows())
GROUPS = [ROWS[at : at + PER_TEST] for at in range(0, len(ROWS), PER_TEST)]


def _run_row(row: Row, folder: Path) -> str:
    """The problem of a row; empty when it is true."""
    serial = f"row-{row.line}"
    with running_phone_server(serial):
        context = ToolContext(TurnDeadline(SECONDS), folder=str(folder), device=serial)
        if row.start != "home":
            _, before = run_on_phone(row.start, context)
            if before.outcome != "done":
                return f"line {row.line}: start: {before.text}"
        called, answer = run_on_phone(row.prompt, context)
    calls = tuple(name for name, _ in groupby(name for name in called if name != "snapshot_ui"))
    code = answer.error.code if answer.error else ""
    pattern = ".*".join(map(re.escape, row.answers.split("…")))
    if (calls, code) != (row.called, row.code) or not re.fullmatch(pattern, answer.text, re.DOTALL):
        return f"line {row.line}: {row.prompt}\n  called {calls}\n  answered {code} {answer.text}"
    outcome = {"": "done", "INSTRUCTION_NOT_UNDERSTOOD": "not_understood"}.get(code, "failed")
    return "" if answer.outcome == outcome else f"line {row.line}: the outcome is {answer.outcome}"


def _set_home(home: str) -> None:
    os.environ["CLAWPERATOR_HOME"] = home


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    home = str(tmp_path_factory.mktemp("home"))
    context = get_context("spawn")
    with ProcessPoolExecutor(AT_ONCE, mp_context=context, initializer=_set_home, initargs=(home,)) as pool:
        yield pool


@pytest.mark.parametrize("rows", GROUPS, ids=lambda rows: f"lines {rows[0].line} to {rows[-1].line}")
def test_every_documented_example_is_true(rows: list[Row], tmp_path: Path, pool: Executor) -> None:
    wrong = [fault for fault in pool.map(_run_row, rows, repeat(tmp_path)) if fault]
    assert wrong == [], "\n".join(wrong)


def test_the_examples_cover_every_kind_of_answer() -> None:
    assert len(ROWS) >= 30
    codes = {row.code for row in ROWS}
    refused = {"INSTRUCTION_NOT_UNDERSTOOD", "INSTRUCTION_AMBIGUOUS", "INSTRUCTION_CHECK_FAILED", "NODE_NOT_FOUND"}
    assert refused <= codes
    assert all(not row.called for row in ROWS if row.code == "INSTRUCTION_NOT_UNDERSTOOD")
