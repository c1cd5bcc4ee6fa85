"""A list in a large JSON document, decoded page by page each time it is read.

It works for documents that are indented by two spaces, as ``export`` writes them. There a line end is never inside
a string, so an element of a top-level list ends where a line closes an object at the second level.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Generic, TypeVar

from clawperator.errors import ClawperatorException

T = TypeVar("T")

_PAGE = 1024 * 1024
_HEAD_BYTES = 64 * 1024
_NEXT, _LAST = b"\n    },\n", b"\n    }\n  ]"


class NotPagedError(ClawperatorException, ValueError):
    """The document is not indented in this way, or it is not valid."""


class PagedList(Generic[T]):
    """The elements of the list ``name``. Each iteration reads the file again; nothing of it is kept in memory.

    ``decode`` turns a JSON list into its elements. ``rest`` is the document with an empty list. All elements are
    read once when the object is created: an invalid list is found before the first use.
    """

    def __init__(self, file: IO[bytes], name: str, decode: Callable[[bytes], list[T]]) -> None:
        self._descriptor = os.dup(file.fileno())
        self._decode = decode
        start = b'\n  "%b": [' % name.encode()
        head = os.pread(self._descriptor, _HEAD_BYTES, 0)
        at = head.find(start)
        if at < 0:
            raise NotPagedError
        self._start = at + len(start)
        self._count = 0
        self._end = 0
        for page in self.pages():
            self._count += len(page)
        self.rest = head[: self._start] + self._tail()

    def __del__(self) -> None:
        os.close(self._descriptor)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[T]]:
        """The elements in lists of about a megabyte of JSON."""
        position, text = self._start, b""
        while True:
            block = os.pread(self._descriptor, _PAGE, position)
            position += len(block)
            searched = max(len(text) - len(_LAST), 0)
            text += block
            end = text.find(_LAST, searched)
            cut = end if end >= 0 else text.rfind(_NEXT, searched)
            if cut >= 0:
                cut += len(_NEXT) - len(b",\n")
                yield self._elements(text[:cut])
                if end >= 0:
                    self._end = position - len(text) + cut
                    return
                text = text[cut + 1 :]
            if not block:
                raise NotPagedError

    def _elements(self, text: bytes) -> list[T]:
        try:
            return self._decode(b"[" + text + b"]")
        except ValueError:
            raise NotPagedError from None

    def _tail(self) -> bytes:
        """The document after the last element."""
        pieces, position = [], self._end
        while block := os.pread(self._descriptor, _PAGE, position):
            pieces.append(block)
            position += len(block)
        return b"".join(pieces)


def pages_of(elements: Iterable[T]) -> Iterable[Sequence[T]]:
    """The elements of a list that is in memory, or of a paged one, page by page."""
    if isinstance(elements, PagedList):
        return elements.pages()
    return (elements if isinstance(elements, Sequence) else list(elements),)
