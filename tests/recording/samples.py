"""Recordings for tests: small fixed ones, and random ones."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st

HEADER: Mapping[str, Any] = {
    "type": "recording_header",
    "schemaVersion": 1,
    "sessionId": "demo-session",
    "startedAt": 1710000000000,
    "operatorPackage": "com.clawperator.operator.dev",
}
SOLAR = "com.solaxcloud.starter"


def window(seq: int, package: str = "com.android.settings", **more: Any) -> dict[str, Any]:
    return {
        "ts": 1710000000000 + seq,
        "seq": seq,
        "type": "window_change",
        "packageName": package,
        "className": "com.android.settings.Settings",
        "title": "Settings",
        "snapshot": "<hierarchy .../>",
        **more,
    }


def click(
    seq: int, text: str | None = "Connected devices", package: str = "com.android.settings", **more: Any
) -> Any:
    return {
        "ts": 1710000000000 + seq,
        "seq": seq,
        "type": "click",
        "packageName": package,
        "resourceId": "android:id/title",
        "text": text,
        "contentDesc": None,
        "bounds": {"left": 216, "top": 1503, "right": 661, "bottom": 1573},
        "snapshot": "<hierarchy .../>",
        **more,
    }


def scroll(seq: int, package: str = "com.android.settings") -> dict[str, Any]:
    sizes = {"scrollX": 0, "scrollY": 420, "maxScrollX": 0, "maxScrollY": 2800}
    base = {"ts": 1710000000000 + seq, "seq": seq, "type": "scroll", "packageName": package, "resourceId": None}
    return {**base, **sizes, "snapshot": None}


def typed(seq: int, text: str, package: str = "com.google.android.youtube") -> dict[str, Any]:
    base = {"ts": 1710000000000 + seq, "seq": seq, "type": "text_change", "packageName": package}
    return {**base, "resourceId": None, "text": text, "snapshot": None}


def back(seq: int) -> dict[str, Any]:
    return {"ts": 1710000000000 + seq, "seq": seq, "type": "press_key", "key": "back", "snapshot": "<hierarchy/>"}


Spelling = Literal["type last", "text last", "spaced", "ascii"]
SPELLINGS: tuple[Spelling, ...] = ("type last", "text last", "spaced", "ascii")


def write(path: Path, events: Iterable[Any], header: Any = HEADER, spelling: Spelling = "type last") -> Path:
    """Write a recording: as a phone does, compact and with the type last, or in another right way."""
    path.write_bytes(b"".join(_line(item, spelling) for item in (header, *events)))
    return path


def _line(item: dict[str, Any], spelling: Spelling) -> bytes:
    if spelling in ("type last", "text last"):
        last = spelling.split()[0]
        item = {k: v for k, v in item.items() if k != last} | {k: v for k, v in item.items() if k == last}
    separators = (", ", ": ") if spelling == "spaced" else (",", ":")
    return json.dumps(item, ensure_ascii=spelling == "ascii", separators=separators).encode() + b"\n"


# Random recordings -------------------------------------------------------------------------------------------------

numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(-9.2e18, 9.2e18, allow_nan=False)
texts = st.text(max_size=30)
maybe = st.none() | texts
snapshots = st.none() | st.just("") | texts | st.text(alphabet='<>/"\\\n\té😀', min_size=1, max_size=40)
packages = st.sampled_from(["", "com.android.settings", SOLAR, "com.example.a"])


def _event(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    required = {"ts": numbers, "seq": numbers, "type": st.just(kind), **fields}
    return st.fixed_dictionaries(required, optional={"snapshot": snapshots, "extra": st.integers()})


events = st.one_of(
    _event("window_change", packageName=packages, className=maybe, title=maybe),
    _event(
        "click",
        packageName=packages,
        resourceId=maybe,
        text=maybe,
        contentDesc=maybe,
        bounds=st.fixed_dictionaries(dict.fromkeys(("left", "top", "right", "bottom"), numbers)),
    ),
    _event(
        "scroll",
        packageName=packages,
        resourceId=maybe,
        **dict.fromkeys(("scrollX", "scrollY", "maxScrollX", "maxScrollY"), numbers),
    ),
    _event("press_key", key=st.just("back")),
    _event("text_change", packageName=packages, resourceId=maybe, text=texts),
)
event_lists = st.lists(events, max_size=12)
