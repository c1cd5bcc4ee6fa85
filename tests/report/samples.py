"""Recordings with screens for tests of reports, and the data of a written report."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from clawperator.report.write import ReportResult, write_report
from tests.recording.samples import click, typed, window, write

SHOP = "com.example.shop"

Node = Mapping[str, str]


def node(text: str = "", bounds: str = "[0,200][1080,300]", **attributes: str) -> str:
    """A node of a tree without children."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    all_ = {"text": text, "class": "android.widget.TextView", "enabled": "true", "bounds": bounds, **named}
    return f"<node {' '.join(f'{name}={quoteattr(value)}' for name, value in all_.items())} />"


def screen(*nodes: str, bounds: str = "[0,0][1080,2400]") -> str:
    root = f'<node class="android.widget.FrameLayout" enabled="true" bounds="{bounds}">'
    return f'<hierarchy rotation="0">{root}{"".join(nodes)}</node></hierarchy>'


def password(text: str, **more: str) -> str:
    return node(text, class_="android.widget.EditText", password="true", resource_id="a:id/secret", **more)


MENU = screen(
    node("Shop", resource_id=f"{SHOP}:id/title"),
    node("Cart", "[0,400][1080,500]", clickable="true", resource_id=f"{SHOP}:id/cart"),
    node("", "[900,600][1080,700]", class_="android.widget.Switch", checkable="true", checked="false"),
)
CART = screen(
    node("Cart", resource_id=f"{SHOP}:id/title"),
    node("2 items", "[0,400][1080,500]"),
    node("Note", "[0,600][1080,700]", class_="android.widget.EditText", focused="true", resource_id="a:id/note"),
)
CART_BOUNDS = {"left": 0, "top": 400, "right": 1080, "bottom": 500}


def shopping() -> list[dict[str, Any]]:
    """A user opens the cart and types a note."""
    return [
        window(0, SHOP, title="Shop", className="com.example.Main", snapshot=MENU),
        click(1, "Cart", SHOP, bounds=CART_BOUNDS, resourceId=f"{SHOP}:id/cart", snapshot=MENU),
        window(2, SHOP, title="Cart", className="com.example.Cart", snapshot=CART),
        typed(3, "two", SHOP),
        typed(4, "two bags", SHOP),
    ]


def large(events: int, screens: int) -> Iterator[dict[str, Any]]:
    """A long recording: clicks, windows and texts on many screens, in two apps."""
    trees = [
        screen(*(node(f"Item {k}-{i}", f"[40,{200 + 60 * i}][900,{250 + 60 * i}]") for i in range(30)))
        for k in range(screens)
    ]
    for seq in range(events):
        at, package = (seq - seq // 4) % screens, SHOP if seq % 97 else "com.example.other"
        if seq % 4 == 3:
            yield {**typed(seq, f"word {seq}", package), "resourceId": f"{package}:id/field{seq % 7}"}
        elif seq % 4 == 2:
            yield window(seq, package, title=f"Page {at}", className=f"com.example.Page{at}", snapshot=trees[at])
        else:
            bounds = {"left": 40, "top": 200, "right": 900, "bottom": 250}
            yield click(seq, f"Item {at}-0", package, bounds=bounds, snapshot=trees[at])


class WrittenReport:
    """A report on disk, read back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.html = self.path.read_text("utf-8")
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html, re.DOTALL)
        assert found is not None
        self.data: dict[str, Any] = json.loads(found[1])

    @property
    def uri(self) -> str:
        return self.path.absolute().as_uri()

    @property
    def policy(self) -> str:
        found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', self.html)
        assert found is not None
        return unescape(found[1])

    @property
    def lists(self) -> list[str]:
        return [one["name"] for one in self.data["lists"]]

    def rows(self, name: str) -> "list[ReadRow]":
        (found,) = (one for one in self.data["lists"] if one["name"] == name)
        return [ReadRow(self.data, row) for row in found["rows"]]

    def labels(self, position: int) -> list[str]:
        """The labels on a screen."""
        return [label for label, _ in self.nodes(position) if label]

    def nodes(self, position: int) -> list[tuple[str, str]]:
        """The label and the kind of each drawn node of a screen."""
        numbers = self.data["nodes"]
        return [
            (self.data["texts"][numbers[8 * i + 5]], self.data["kinds"][numbers[8 * i]])
            for i in self.data["screens"][position][2]
        ]


class ReadRow:
    """A row with its texts."""

    def __init__(self, data: Mapping[str, Any], row: Sequence[Any]) -> None:
        texts = data["texts"]
        kind, title, note, self.time, package, tone, status, self.before, self.after, self.mark, facts, *link = row
        self.kind, self.title, self.note = texts[kind], texts[title], texts[note]
        self.package, self.status, self.tone = texts[package], texts[status], data["tones"][tone]
        self.facts = {texts[facts[i]]: texts[facts[i + 1]] for i in range(0, len(facts), 2)}
        self.link: int = link[0] if link else -1
        self.compares: bool = bool(link and link[1])


def report_of(
    folder: Path, events: Sequence[Mapping[str, Any]] | Iterator[dict[str, Any]], *, run: Path | None = None
) -> "ReportedFile":
    """The report of a recording with these events."""
    path = write(folder / "demo.ndjson", events)
    return written(path, None if run is None else str(run))


def written(source: Path | str, run: str | None = None) -> "ReportedFile":
    """The report of a file or folder."""
    return ReportedFile(write_report(str(source), run=run))


class ReportedFile(WrittenReport):
    """A report that was written now, with its result."""

    def __init__(self, result: ReportResult) -> None:
        super().__init__(Path(result.outputFile))
        self.result = result
