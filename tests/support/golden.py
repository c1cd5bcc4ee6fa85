"""Compare output with golden documents: the same keys in the same order. ``…`` in a text matches any text.

A golden value that is only ``…`` also matches any number.

The documents of ``claw`` differ from run to run only in times, sizes and generated ids, so for them a golden document
may also hold real values in those places: the output of ``claw <command> --output-format json <args>``, as it is, is
a golden document. ``UPDATE_GOLDEN=1 pytest tests/cli/claw/test_cli_parity_audit.py`` writes all of them anew.
"""

import difflib
import json
import os
import re
from pathlib import Path
from typing import Any

from tests.support.paths import GOLDEN

UPDATE = "UPDATE_GOLDEN"
# Members whose values differ from run to run.
_VARIABLE = frozenset(
    (
        *("timestamp", "created_at", "last_modified", "updated_at_ms", "started_at_ms", "ended_at_ms"),
        *("duration_ms", "settled_ms", "size_bytes", "bytes", "sha256"),
        *("correlation_id", "commandId", "taskId", "ref", "folder", "python_version", "platform_name"),
    )
)
_ELAPSED = re.compile(r"\bafter \d+ ms\b")


def differences(name: str, document: Any, **known: str) -> list[str]:
    """Differences between a document and the golden one, in which ``{word}`` is replaced by ``known[word]``."""
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    for word, value in known.items():
        text = text.replace(f"{{{word}}}", value)
    return list(_compare(json.loads(text), document, "$"))


def claw_differences(name: str, document: Any, folder: Path = GOLDEN) -> list[str]:
    """Differences between a document of ``claw`` and the golden one. With ``UPDATE_GOLDEN`` set it is written first."""
    path = folder / f"{name}.json"
    found = render(document)
    if os.environ.get(UPDATE):
        path.write_text(found, encoding="utf-8")
    wanted = render(json.loads(path.read_text(encoding="utf-8")))
    return list(
        difflib.unified_diff(wanted.splitlines(), found.splitlines(), str(path), "found", lineterm="", n=2)
    )


def render(document: Any) -> str:
    """A document of ``claw`` as its golden document is written, with ``…`` in place of values that vary."""
    return json.dumps(_masked(document), indent=2, ensure_ascii=False) + "\n"


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "…" if _varies(name, member) else _masked(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_masked(member) for member in value]
    return _ELAPSED.sub("after … ms", value) if isinstance(value, str) else value


def _varies(name: str, value: Any) -> bool:
    return name in _VARIABLE and type(value) in (str, int, float)


def _compare(golden: Any, found: Any, path: str) -> list[str]:
    if isinstance(golden, dict) and isinstance(found, dict):
        if list(golden) != list(found):
            return [f"{path} has the keys {list(found)}, not {list(golden)}"]
        return [line for key in golden for line in _compare(golden[key], found[key], f"{path}.{key}")]
    if isinstance(golden, list) and isinstance(found, list):
        if len(golden) != len(found):
            return [f"{path} has {len(found)} members, not {len(golden)}"]
        pairs = enumerate(zip(golden, found, strict=True))
        return [line for i, (a, b) in pairs for line in _compare(a, b, f"{path}[{i}]")]
    if isinstance(golden, str) and isinstance(found, str):
        pattern = ".+?".join(re.escape(piece) for piece in golden.split("…"))
        return [] if re.fullmatch(pattern, found, re.DOTALL) else [f"{path} is {found!r}, not like {golden!r}"]
    if golden == "…" and type(found) in (int, float):
        return []
    return [] if type(golden) is type(found) and golden == found else [f"{path} is {found!r}, not {golden!r}"]
