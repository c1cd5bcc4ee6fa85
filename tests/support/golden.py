"""Compare output with golden documents: the same keys in the same order. ``…`` in a text matches any text.

A golden value that is only ``…`` also matches any number.
"""

import json
import re
from typing import Any

from tests.support.paths import GOLDEN


def differences(name: str, document: Any, **known: str) -> list[str]:
    """Differences between a document and the golden one, in which ``{word}`` is replaced by ``known[word]``."""
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    for word, value in known.items():
        text = text.replace(f"{{{word}}}", value)
    return list(_compare(json.loads(text), document, "$"))


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
