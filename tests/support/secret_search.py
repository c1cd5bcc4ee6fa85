"""Search everything that was written or printed for a planted secret, in every spelling."""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_SHORTEST = 4  # a shorter secret is searched for as a word of its own
_EDGE = rb"A-Za-z0-9_"


def find_secret(
    secret: str, folders: Iterable[Path] = (), outputs: Mapping[str, bytes | str] | None = None
) -> list[str]:
    """The files below the folders, and the named outputs, that have the secret. File names count, too."""
    pattern = _pattern(secret)
    named = {name: text.encode() if isinstance(text, str) else text for name, text in (outputs or {}).items()}
    found = [name for name, data in named.items() if pattern.search(data)]
    return found + [
        str(path)
        for path in _files(folders)
        if pattern.search(path.read_bytes()) or pattern.search(path.name.encode("utf-8", "surrogateescape"))
    ]


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())


def _pattern(secret: str) -> re.Pattern[bytes]:
    if len(secret) < _SHORTEST:
        word = re.escape(secret.encode())
        # Attributes such as index="1" and JSON numbers are no texts.
        return re.compile(rb"(?<![%b=\[,.:-])(?<!=\\\")(?<!=\")%b(?![%b,\]-])" % (_EDGE, word, _EDGE))
    return re.compile(b"|".join(re.escape(spelling) for spelling in _spellings(secret)))


def _spellings(secret: str) -> set[bytes]:
    data = secret.encode()
    in_xml = secret.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    spellings = {
        data,
        json.dumps(secret)[1:-1].encode(),
        json.dumps(json.dumps(secret)[1:-1])[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        in_xml.encode(),
        in_xml.replace("'", "&apos;").encode(),
        urllib.parse.quote(secret).encode(),
        urllib.parse.quote_plus(secret).encode(),
        data.hex().encode(),
        secret.encode("utf-16-le"),
    }
    for shift in range(3):  # base64 at each position in its group of three bytes, without the edges
        encoded = base64.b64encode(b"\0" * shift + data).rstrip(b"=")
        middle = encoded[(0, 2, 3)[shift] : len(encoded) - 1]
        if len(middle) >= _SHORTEST:
            spellings.add(middle)
    return spellings
