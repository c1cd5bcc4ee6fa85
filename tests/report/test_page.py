"""The page itself: no text can leave its place, whatever it is."""

import base64
import hashlib
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.report.page import TextTable, shown_text
from tests.recording.samples import HEADER, click, event_lists, typed, window, write
from tests.report.samples import WrittenReport, node, report_of, screen
from tests.support.paths import REPOSITORY

HOSTILE = [
    "</script><script>window.ran = 1</script>",
    "<!--<script>",
    "<img src=x onerror=window.ran=1>",
    "]]>&lt;/script&gt;",
    "\u202egnp.exe",
    "\u2028\u2029\x00\x07\x1b[31m",
    "{{DATA}} {{SCRIPT}}",
    "\ud83d",
    "__proto__",
]


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(report: WrittenReport) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Elements()
    parser.feed(report.html)
    parser.close()
    return parser.found


def test_the_policy_allows_this_style_and_these_scripts_only(tmp_path: Path) -> None:
    report = report_of(tmp_path, [window(0)])
    style = re.search(r"<style>(.*?)</style>", report.html, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", report.html, re.DOTALL)
    assert style is not None
    assert script is not None

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    rules = dict(rule.strip().split(" ", 1) for rule in report.policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": source(script[1]),
        "style-src": source(style[1]),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_the_page_names_no_other_resource_and_no_handler(tmp_path: Path) -> None:
    found = elements(report_of(tmp_path, [window(0)]))
    names = {name for _, attributes in found for name in attributes}
    assert not names & {"src", "href", "style", "srcset", "action"}
    assert not [name for name in names if name.startswith("on")]
    assert [tag for tag, _ in found].count("script") == 2


def test_the_scripts_write_texts_only_as_text() -> None:
    for path in (REPOSITORY / "src/clawperator/report/assets").glob("*.js"):
        source = path.read_text("utf-8")
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
            assert word not in source, path.name


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_changes_the_page(tmp_path: Path, text: str) -> None:
    plain = report_of(tmp_path, _with_text("plain"))
    written = text.encode("utf-8", "replace").decode()  # a recording with a lone surrogate is refused
    hostile = report_of(tmp_path, _with_text(written))
    assert elements(hostile) == elements(plain)
    assert len(hostile.rows("Events")) == 3


def _with_text(text: str) -> list[dict[str, Any]]:
    tree = screen(node(text.replace("\x00", "").replace("\x07", "").replace("\x1b", ""), resource_id=text[:5]))
    return [
        window(0, text, title=text, className=text, snapshot=tree),
        click(1, text, text, resourceId=text, contentDesc=text, snapshot=tree),
        typed(2, text, text),
    ]


@given(events=event_lists)
def test_any_recording_has_a_report(tmp_path_factory: pytest.TempPathFactory, events: list[Any]) -> None:
    report = report_of(tmp_path_factory.mktemp("any"), events)
    assert [tag for tag, _ in elements(report)].count("script") == 2
    assert len(report.rows("Events") if events else []) == len(events)
    for text in report.data["texts"]:
        assert not [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\u200d"]


@given(st.text(st.characters(), max_size=40))
def test_shown_texts_have_no_control_and_no_bidi_characters(text: str) -> None:
    shown = shown_text(text)
    assert not [
        c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and c not in "\n\u200d"
    ]
    assert shown.encode().decode() == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("50\u202f%", "50 %"),
        ("a\u202eb", "a\\u202eb"),
        ("a\r\nb\tc", "a\nb c"),
        ("x\ud800", "x\\ud800"),
        ("שלום", "שלום"),
    ],
)
def test_shown_text(text: str, expected: str) -> None:
    assert shown_text(text) == expected


def test_a_long_text_is_cut_with_its_length(tmp_path: Path) -> None:
    label = "x" * 1_000_000
    report = report_of(tmp_path, [click(0, label, snapshot=screen(node(label)))])
    assert report.result.bytes < 200_000
    assert report.labels(0) == ["x" * 300 + "… (1,000,000 characters)"]
    assert report.rows("Steps")[0].title.endswith("characters)")


def test_many_long_texts_are_cut_shorter() -> None:
    table = TextTable()
    for number in range(2_000):
        table.add(f"{number} " + "x" * 5_000, 4_000)
    assert sum(map(len, table.texts)) < 3_500_000


def test_too_many_nodes_and_screens_are_left_out_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawperator.report.page.MAX_SCREENS", 2)
    monkeypatch.setattr("clawperator.report.page.MAX_NODES", 3)
    trees = [screen(*(node(f"{k} {i}", f"[0,{9 * i}][9,{9 * i + 9}]") for i in range(9))) for k in range(4)]
    report = report_of(tmp_path, [window(k, snapshot=tree) for k, tree in enumerate(trees)])
    assert [len(one[2]) for one in report.data["screens"]] == [3, 3]
    assert report.data["warnings"] == ["Too many screens: 2 snapshots left out."]


def test_hostile_trees_are_noted_and_not_drawn(tmp_path: Path) -> None:
    trees = [
        "<hierarchy",
        "<!DOCTYPE x><hierarchy/>",
        "<hierarchy>" + "<node>" * 300 + "</node>" * 300 + "</hierarchy>",
    ]
    report = report_of(tmp_path, [window(k, snapshot=tree) for k, tree in enumerate(trees)])
    assert report.data["warnings"] == ["3 snapshots could not be read."]


def test_a_wheel_has_the_files_of_the_page(tmp_path: Path) -> None:
    """The build backend packs the folder of the package: the page is in it."""
    names = {path.name for path in (REPOSITORY / "src/clawperator/report/assets").iterdir()}
    assert names == {"colours.css", "report.html", "report.css", "report.js", "screen.js"}
    with ZipFile(tmp_path / "package.zip", "w") as archive:
        for path in (REPOSITORY / "src/clawperator").rglob("*"):
            if path.suffix in (".py", ".html", ".css", ".js"):
                archive.write(path, path.relative_to(REPOSITORY / "src"))
    recording = write(tmp_path / "demo.ndjson", [window(0)], HEADER)
    code = "import sys; from clawperator.report.write import write_report; print(write_report(sys.argv[1]).ok)"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(recording)],
        env={"PYTHONPATH": str(tmp_path / "package.zip"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.stdout == "True\n", ran.stderr
