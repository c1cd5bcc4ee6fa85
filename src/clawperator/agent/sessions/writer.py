"""Writing a session: each turn is appended completely, or not at all."""

import errno
import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from clawperator.agent.redaction import Redactor, environment_secrets, map_strings
from clawperator.agent.sessions.evidence import EvidenceFolder, sync_folder
from clawperator.agent.sessions.files import MOST_BYTES, SUFFIX, is_at, now_ms, unwritable
from clawperator.agent.sessions.records import (
    SessionMeta,
    SessionRecords,
    TurnRecord,
    Usage,
    count_messages,
    encode_line,
    map_texts,
    read_turn,
    sum_usage,
    truncate,
)
from clawperator.agent.spoken_secrets import prompt_secrets
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.agent.ports import Evidence


class OpenSession:
    """A session that is locked for writing until it is closed. Created by ``SessionStore.open``.

    A turn whose ``commit`` returned is on disk. One whose ``commit`` raised is not part of the session, and its
    evidence is removed. A new session without turns is removed when it is closed.
    """

    def __init__(
        self,
        directory: str,
        session_id: str,
        descriptor: int,
        records: SessionRecords,
        *,
        resumed: bool,
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
        return sum_usage(self.turns)

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
            redactor = Redactor((*environment_secrets(), *self._secrets))
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
        return self.commit(
            TurnRecord(
                correlation_id=os.urandom(8).hex(),
                prompt=prompt,
                started_at_ms=now,
                ended_at_ms=now,
                usage=Usage(len(prompt.split())),
            )
        )

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
            read_turn(line)
        except (msgspec.MsgspecError, TypeError, ValueError) as e:
            raise self._write_error(f"invalid turn record: {e}") from e
        if self._committed + len(line) > MOST_BYTES:
            raise self._write_error(f"it would exceed {MOST_BYTES // 1024 // 1024} MiB")
        return line

    def _write_error(self, reason: str) -> ClawError:
        return ClawError(
            "SESSION_WRITE_FAILED",
            f"cannot write {self.path}: {reason}",
            hint="Continue in a new session, with another --session-id or none.",
            operation="write",
            target=self.path,
        )


def _write_once(descriptor: int, line: bytes) -> None:
    """Write the line with one system call, or fail: readers never see parts of two lines."""
    written = os.write(descriptor, line)
    if written < len(line):
        raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes could be written")
