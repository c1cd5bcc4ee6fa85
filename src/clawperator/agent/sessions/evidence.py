"""The evidence of a session: a folder beside its file, with a file for each document that a turn brought back.

Files are written before the line of their turn, so that a line never names a file that is not there. What a turn
that never counted left behind is removed before the next one is written.
"""

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from clawperator._files import AtomicFile
from clawperator.agent.sessions.files import EVIDENCE_SUFFIX
from clawperator.agent.sessions.records import EvidenceLink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.agent.ports import Evidence
    from clawperator.agent.redaction import Redactor

_ASIDE = ".deleted"
_LONGEST_KIND = 40
# A longer file that lies elsewhere is named, and not read for its checksum.
_MOST_SUMMED = 64 * 1024 * 1024
_BLOCK = 1024 * 1024


class EvidenceFolder:
    """The folder of one session. Whoever writes or removes holds the session's lock. All raise ``OSError``."""

    def __init__(self, directory: str, session_id: str) -> None:
        self._directory = directory
        self._session_id = session_id
        self._name = session_id + EVIDENCE_SUFFIX
        self.path = os.path.join(directory, self._name)

    def keep(self, turn: int, evidence: "Sequence[Evidence]", redactor: "Redactor") -> tuple[EvidenceLink, ...]:
        """Write the documents of a turn, redacted and synced, and tell where they lie. All of them or none."""
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
                    links.append(replace(link, path=path, bytes=len(data), sha256=_sum(data)))
                if piece.path is not None:
                    size, checksum = _measure(piece.path)
                    path = redactor.text(piece.path)
                    links.append(replace(link, path=path, bytes=size, sha256=checksum))
            sync_folder(self.path)
        except BaseException:
            self.forget_from(turn)
            raise
        return tuple(links)

    def forget_from(self, turn: int) -> None:
        """Remove what turns from this number on left, and files that were never finished."""
        try:
            names = os.listdir(self.path) if not os.path.islink(self.path) else []
        except OSError:
            return
        for name in names:
            number = name.removeprefix("turn-").partition("-")[0]
            of_turn = name.startswith("turn-") and number.isdecimal() and int(number) >= turn
            if of_turn or (name.startswith(".clawperator-") and name.endswith(".part")):
                with suppress(OSError):
                    os.unlink(os.path.join(self.path, name))
        with suppress(OSError):  # it holds evidence of earlier turns
            os.rmdir(self.path)

    def set_aside(self) -> str | None:
        """Give the folder a name of no session, in one step; None when there is none. A link goes by itself."""
        aside = os.path.join(self._directory, f".{self._session_id}.{os.urandom(6).hex()}{_ASIDE}")
        try:
            os.rename(self.path, aside)
        except FileNotFoundError:
            return None
        return aside

    def put_back(self, aside: str) -> None:
        with suppress(OSError):
            os.rename(aside, self.path)

    def remove_aside(self) -> None:
        """Remove for good what was set aside, now or by a process that did not come to its end."""
        before, length = f".{self._session_id}.", len(self._session_id) + 2 + 12 + len(_ASIDE)
        for name in os.listdir(self._directory):
            if name.startswith(before) and name.endswith(_ASIDE) and len(name) == length:
                _remove(os.path.join(self._directory, name))

    def _write(self, name: str, data: bytes) -> None:
        with suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        if os.path.islink(self.path):
            raise OSError(f"{self.path} is a link, and evidence is kept in a folder")
        with AtomicFile(os.path.join(self.path, name)) as out:
            os.fchmod(out.file.fileno(), 0o600)
            out.file.write(data)
            out.file.flush()
            os.fsync(out.file.fileno())


def sync_folder(path: str) -> None:
    """Make the names in a folder last. Some file systems cannot, and need not."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _file_name(kind: str) -> str:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in kind[:_LONGEST_KIND])
    return plain or "document"


def _sum(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _measure(path: str) -> tuple[int | None, str | None]:
    """Size and checksum of a file that lies elsewhere, as far as they can be had."""
    import hashlib

    try:
        # Not blocking: it may be a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None, None
    try:
        import stat

        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None, None
        if about.st_size > _MOST_SUMMED:
            return about.st_size, None
        checksum, size = hashlib.sha256(), 0
        while block := os.read(descriptor, _BLOCK):
            checksum.update(block)
            size += len(block)
            if size > _MOST_SUMMED:
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
        return  # somebody else was quicker
