"""Writing a session: each turn is appended completely, or not at all.

Evidence is a folder beside the file of the session, with one JSON file for each document of a turn. Its files are
written before the line of their turn, so a line never names a missing file. Files of a turn that was not committed
are removed before the next turn is written.
"""

import errno
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from clawperator._base.files import AtomicFile, closing, file_error, is_part, open_regular
from clawperator.agent.redaction import Redactor, host_secrets, map_strings, prompt_secrets
from clawperator.agent.sessions.records import (
    EVIDENCE_SUFFIX,
    MOST_BYTES,
    SUFFIX,
    TURN,
    EvidenceLink,
    SessionMeta,
    SessionRecords,
    TurnRecord,
    Usage,
    count_messages,
    encode_line,
    is_at,
    map_texts,
    now_ms,
    sum_usage,
    truncate,
    unwritable,
)
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.ports import Evidence


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

    def store(self, turn: int, evidence: "Sequence[Evidence]", redactor: Redactor) -> tuple[EvidenceLink, ...]:
        """Write the documents of a turn, redacted and synced, and return links to them. All of them or none."""
        if not evidence:
            return ()
        import hashlib

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
                    checksum = hashlib.sha256(data).hexdigest()
                    links.append(replace(link, path=path, bytes=len(data), sha256=checksum))
                if piece.path is not None:
                    size, measured = _measure(piece.path)
                    path = redactor.text(piece.path)
                    links.append(replace(link, path=path, bytes=size, sha256=measured))
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
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with suppress(OSError), closing(os.open(path, flags)) as descriptor:
        os.fsync(descriptor)


def _file_name(kind: str) -> str:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in kind[:_LONGEST_KIND])
    return plain or "document"


def _measure(path: str) -> tuple[int | None, str | None]:
    """Size and checksum of an external file, as far as they are available."""
    import hashlib

    checksum, size = hashlib.sha256(), 0
    try:
        with open_regular(path) as file:
            declared = os.fstat(file.fileno()).st_size
            if declared > _MOST_HASHED:
                return declared, None
            while size <= _MOST_HASHED and (block := file.read(_BLOCK)):
                checksum.update(block)
                size += len(block)
    except (OSError, ValueError):
        return None, None
    return (size, checksum.hexdigest()) if size <= _MOST_HASHED else (None, None)


def _remove(path: str) -> None:
    import shutil

    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            shutil.rmtree(path)
    except FileNotFoundError:
        return  # removed by another process


class OpenSession:
    """A session that is locked for writing until it is closed. Created by ``SessionStore.open``.

    A turn whose ``commit`` returned is on disk. One whose ``commit`` raised is not part of the session, and its
    evidence is removed. A new session without turns is removed when it is closed.
    """

    def __init__(
        self, directory: str, session_id: str, descriptor: int, records: SessionRecords, *, resumed: bool
    ) -> None:
        self.session_id = session_id
        self.path = os.path.join(directory, session_id + SUFFIX)
        self.turns = records.turns
        self.warnings = records.warnings
        self._directory = directory
        self._descriptor: int | None = descriptor
        self._committed = records.committed
        self._resumed = resumed
        self._is_clean = False  # whether the remains of a crash were removed
        self._secrets = set[str]()
        self._evidence = EvidenceFolder(directory, session_id)
        # An abandoned turn may still reach its commit while the session is being closed.
        self._guard = threading.Lock()

    @property
    def usage(self) -> Usage:
        return sum_usage(turn.usage for turn in self.turns)

    @property
    def prompt_count(self) -> int:
        return len(self.turns)

    @property
    def message_count(self) -> int:
        return count_messages(self.turns)

    def begin(self) -> None:
        """Write the meta line of a new session."""
        descriptor = self._descriptor
        assert descriptor is not None
        if self._committed:
            return
        line = encode_line(SessionMeta(session_id=self.session_id, created_at_ms=now_ms()))
        try:
            os.ftruncate(descriptor, 0)
            _write_once(descriptor, line)
        except OSError as e:
            raise unwritable(self.path, e) from e
        self._committed = len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(
        self, record: TurnRecord, evidence: "Sequence[Evidence]" = (), secrets: Iterable[str] = ()
    ) -> TurnRecord:
        """Append a turn and its evidence, and return it as written: numbered, redacted, with its links.

        ``secrets`` and those that the prompt names are redacted in this turn and all later ones.
        ``SESSION_WRITE_FAILED`` when it fails.
        """
        with self._guard:
            self._secrets.update(secrets, prompt_secrets(record.prompt))
            redactor = Redactor((*host_secrets(), *self._secrets))
            turn = self.turns[-1].turn + 1 if self.turns else 1
            try:
                written = self._write(replace(record, turn=turn), evidence, redactor)
            except OSError as e:
                raise unwritable(self.path, e) from e
            self.turns = (*self.turns, written)
            return written

    def append_prompt(self, prompt: str) -> TurnRecord:
        """Append a prompt without an answer. Its usage is its number of words."""
        now = now_ms()
        record = TurnRecord(
            correlation_id=os.urandom(8).hex(),
            prompt=prompt,
            started_at_ms=now,
            ended_at_ms=now,
            usage=Usage(len(prompt.split())),
        )
        return self.commit(record)

    def close(self) -> None:
        """Release the session. Idempotent."""
        with self._guard:
            if self._descriptor is None:
                return
            descriptor, self._descriptor = self._descriptor, None
            try:
                if not self.turns and not self._resumed and is_at(descriptor, self.path):
                    self._evidence.remove_from(1)
                    with suppress(OSError):
                        os.unlink(self.path)
            finally:
                os.close(descriptor)

    def _write(self, record: TurnRecord, evidence: "Sequence[Evidence]", redactor: Redactor) -> TurnRecord:
        descriptor = self._descriptor
        if descriptor is None or not is_at(descriptor, self.path):
            raise self._write_error("closed or removed meanwhile")
        if not self._is_clean:
            os.ftruncate(descriptor, self._committed)
            self._evidence.remove_from(record.turn)
            self._is_clean = True
        record = map_texts(
            record,
            lambda text: truncate(redactor.text(text)),
            lambda value: map_strings(redactor.value(value), lambda text, _: truncate(text)),
        )
        try:
            record = replace(record, evidence=self._evidence.store(record.turn, evidence, redactor))
            line = self._checked_line(record)
            _write_once(descriptor, line)
            os.fsync(descriptor)
            if not self.turns:
                sync_folder(self._directory)  # sync the file name, too
        except BaseException:
            self._is_clean = False  # if this fails, the next turn repeats it
            with suppress(OSError):
                os.ftruncate(descriptor, self._committed)
            self._evidence.remove_from(record.turn)
            raise
        self._committed += len(line)
        return record

    def _checked_line(self, record: TurnRecord) -> bytes:
        """Encode a turn, and decode it again: an unreadable line would make the whole session unreadable."""
        try:
            line = encode_line(record)
            TURN.decode(line)
        except (msgspec.MsgspecError, TypeError, ValueError) as e:
            raise self._write_error(f"invalid turn record: {e}") from e
        if self._committed + len(line) > MOST_BYTES:
            raise self._write_error(f"it would exceed {MOST_BYTES // 1024 // 1024} MiB")
        return line

    def _write_error(self, reason: str) -> ClawError:
        hint = "Continue in a new session, with another --session-id or none."
        return file_error("SESSION_WRITE_FAILED", "write", self.path, ValueError(reason), hint=hint)


def _write_once(descriptor: int, line: bytes) -> None:
    """Write the line with one system call, or fail: readers never see parts of two lines."""
    written = os.write(descriptor, line)
    if written < len(line):
        raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
