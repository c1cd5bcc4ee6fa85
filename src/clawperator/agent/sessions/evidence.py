"""Evidence of a session: a folder beside its file, with one JSON file for each document of a turn.

Files are written before the line of their turn, so a line never names a missing file. Files of a turn that was not
committed are removed before the next turn is written.
"""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from clawperator._base.files import AtomicFile, is_part
from clawperator.agent.sessions.files import EVIDENCE_SUFFIX
from clawperator.agent.sessions.records import EvidenceLink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.agent.ports import Evidence
    from clawperator.agent.redaction import Redactor

_DELETED = ".deleted"
_LONGEST_KIND = 40
# Larger external files are linked without a checksum.
_MOST_HASHED = 64 * 1024 * 1024
_BLOCK = 1024 * 1024


class EvidenceFolder:
    """The evidence folder of a session. Callers hold its lock. All methods may raise ``OSError``."""

    def __init__(self, directory: str, session_id: str) -> None:
        self._directory = directory
        self._session_id = session_id
        self._name = session_id + EVIDENCE_SUFFIX
        self.path = os.path.join(directory, self._name)

    def store(self, turn: int, evidence: "Sequence[Evidence]", redactor: "Redactor") -> tuple[EvidenceLink, ...]:
        """Write the documents of a turn, redacted and synced, and return links to them. All of them or none."""
        if not evidence:
            return ()
        links: list[EvidenceLink] = []
        try:
            for number, piece in enumerate(evidence, 1):
                device = None if piece.device_id is None else redactor.text(piece.device_id)
                link = EvidenceLink(piece.kind, redactor.text(piece.ref), "", device)
                if piece.document is not None or piece.path is None:
                    name = f"turn-{turn:04d}-{number:02d}-{_file_name(piece.kind)}.json"
                    data = msgspec.json.encode(redactor.value(piece.document)) + b"\n"
                    self._write(name, data)
                    path = os.path.join(self._name, name)
                    links.append(replace(link, path=path, bytes=len(data), sha256=_sha256(data)))
                if piece.path is not None:
                    size, checksum = _measure(piece.path)
                    path = redactor.text(piece.path)
                    links.append(replace(link, path=path, bytes=size, sha256=checksum))
            sync_folder(self.path)
        except BaseException:
            self.remove_from(turn)
            raise
        return tuple(links)

    def remove_from(self, turn: int) -> None:
        """Remove the files of this turn and later ones, and unfinished files."""
        try:
            names = os.listdir(self.path) if not os.path.islink(self.path) else []
        except OSError:
            return
        for name in names:
            number = name.removeprefix("turn-").partition("-")[0]
            of_turn = name.startswith("turn-") and number.isdecimal() and int(number) >= turn
            if of_turn or is_part(name):
                with suppress(OSError):
                    os.unlink(os.path.join(self.path, name))
        with suppress(OSError):  # not empty: evidence of earlier turns
            os.rmdir(self.path)

    def set_aside(self) -> str | None:
        """Rename the folder away from the session atomically; None when there is none. Links are not followed."""
        aside = os.path.join(self._directory, f".{self._session_id}.{os.urandom(6).hex()}{_DELETED}")
        try:
            os.rename(self.path, aside)
        except FileNotFoundError:
            return None
        return aside

    def restore(self, aside: str) -> None:
        with suppress(OSError):
            os.rename(aside, self.path)

    def remove_aside(self) -> None:
        """Delete the folders that were set aside, also by an interrupted process."""
        before, length = f".{self._session_id}.", len(self._session_id) + 2 + 12 + len(_DELETED)
        for name in os.listdir(self._directory):
            if name.startswith(before) and name.endswith(_DELETED) and len(name) == length:
                _remove(os.path.join(self._directory, name))

    def _write(self, name: str, data: bytes) -> None:
        with suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        if os.path.islink(self.path):
            raise OSError(f"{self.path} is a link, not a folder")
        with AtomicFile(os.path.join(self.path, name), private=True, follow_links=False) as out:
            out.file.write(data)
            out.file.flush()
            os.fsync(out.file.fileno())


def sync_folder(path: str) -> None:
    """Sync the entries of a folder to disk. Some file systems do not support it."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _file_name(kind: str) -> str:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in kind[:_LONGEST_KIND])
    return plain or "document"


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _measure(path: str) -> tuple[int | None, str | None]:
    """Size and checksum of an external file, as far as they are available."""
    import hashlib

    try:
        # Non-blocking: it may be a pipe without a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None, None
    try:
        import stat

        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None, None
        if about.st_size > _MOST_HASHED:
            return about.st_size, None
        checksum, size = hashlib.sha256(), 0
        while block := os.read(descriptor, _BLOCK):
            checksum.update(block)
            size += len(block)
            if size > _MOST_HASHED:
                return None, None
        return size, checksum.hexdigest()
    except OSError:
        return None, None
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    import shutil

    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            shutil.rmtree(path)
    except FileNotFoundError:
        return  # removed by another process
