"""Garbage collection in a process with many phones.

A full collection visits every object of the process. With hundreds of phones, nearly all of them belong to phones
that stay. So after every 50 phones their objects are frozen (``gc.freeze``): collections skip them. When a phone
is closed they are released again, so its memory is freed. A process that freezes objects itself is left alone.
"""

import gc
import threading

FREEZE_EVERY = 50


class PhoneCount:
    """The open phones of this process. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._next = FREEZE_EVERY
        self._is_frozen = False

    def add(self) -> None:
        """Count a phone that is about to start, and freeze those before it when there are enough new ones."""
        with self._lock:
            if self._open >= self._next:
                # Once for each number of phones: a pool whose phones come and go must not collect at each of them.
                self._next += FREEZE_EVERY
                if gc.isenabled() and (self._is_frozen or not gc.get_freeze_count()):
                    gc.collect()
                    gc.freeze()
                    self._is_frozen = True
            self._open += 1

    def remove(self) -> None:
        """Forget a phone that was closed, and let its memory be freed."""
        with self._lock:
            self._open -= 1
            if self._is_frozen:
                gc.unfreeze()
                self._is_frozen = False
            if not self._open:
                self._next = FREEZE_EVERY


OPEN_PHONES = PhoneCount()
