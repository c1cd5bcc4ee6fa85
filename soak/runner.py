"""The shared runner of the soak campaigns: time, random numbers, counts, findings and reproducers.

A campaign is a function of a ``Run``. It draws its inputs from ``run.random``, so that the same seed tries the
same inputs, and passes each to ``run.check``, which counts it and records whatever must not happen.
"""

import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from msgspec import Struct

from clawperator.errors import ClawError

CPU_SECONDS = 10.0
"""CPU time limit of one input, which hardly depends on the load of the machine."""
WALL_SECONDS = 120.0
"""Time limit of one input: longer than any deadline of the product."""


class Finding(Struct, frozen=True):
    """Something that must not happen. ``count`` inputs led to it; ``data`` is the first of them."""

    campaign: str
    target: str
    problem: str
    detail: str
    data: bytes
    count: int = 1


class PartResult(Struct, frozen=True):
    """The result of one part of a campaign."""

    campaign: str
    inputs: int
    seconds: float
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


class Campaign(Struct, frozen=True):
    """A campaign, its share of the time, and in how many parts it may run at once."""

    name: str
    run: "Callable[[Run], None]"
    share: float
    parts: int = 2


class OracleError(AssertionError):
    """A statement about the product that an input has disproved."""


class _TooSlowError(BaseException):
    """Raised by the timer. Not an ``Exception``, so that no handler of the product catches it."""


class Run:
    """One part of a campaign while it runs. ``part`` of ``parts`` counts from 0.

    ``seconds`` is its time. With ``most`` it ends after that many inputs instead, whatever the time: the tests use
    this, because their result must not depend on the machine.
    """

    def __init__(  # noqa: PLR0913 - the facts of one part
        self,
        campaign: str,
        seed: int,
        *,
        seconds: float = 0.0,
        most: int | None = None,
        part: int = 0,
        parts: int = 1,
        progress: "Callable[[Run], None]" = lambda _: None,
    ) -> None:
        self.campaign = campaign
        self.seed = seed
        self.part = part
        self.parts = parts
        self.random = Random(f"{seed}:{campaign}:{part}")
        self.folder = Path(tempfile.mkdtemp(prefix="clawperator-soak-", dir=_fast_folder()))
        self.inputs = 0
        self.notes: list[str] = []
        self._findings: dict[tuple[str, str], Finding] = {}
        self._progress = progress
        self.most = most
        self._started = time.monotonic()
        self._end = self._started + seconds
        self._next_report = self._started

    def goes_on(self) -> bool:
        """Whether there is time for another input."""
        now = time.monotonic()
        if now >= self._next_report:
            self._next_report = now + 2.0
            self._progress(self)
        return self.inputs < self.most if self.most is not None else now < self._end

    def seconds_left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def rounds(self, most: int) -> Iterator[int]:
        """Numbers up to ``most`` while there is time."""
        for number in range(most):
            if not self.goes_on():
                return
            yield number

    def check(self, target: str, data: bytes, call: Callable[[bytes], object], *, may_refuse: bool = True) -> None:
        """Try an input. Only ``ClawError`` may escape from ``call``, if it ``may_refuse``, and only in time."""
        self.inputs += 1
        try:
            with _time_limit():
                call(data)
        except ClawError as e:
            if not may_refuse:
                self.report(target, f"failed with {e.code}", str(e), data)
        except _TooSlowError as e:
            self.report(target, "too slow", "".join(traceback.format_exception(e)[-8:]), data)
        except OracleError as e:
            self.report(target, str(e).split(":")[0][:120], str(e), data)
        except Exception as e:  # noqa: BLE001 - this is what the campaign looks for
            frame = traceback.extract_tb(e.__traceback__)[-1]
            place = f"{type(e).__name__} in {Path(frame.filename).name}:{frame.lineno}"
            self.report(target, place, "".join(traceback.format_exception(e)), data)

    def report(self, target: str, problem: str, detail: str, data: bytes) -> None:
        """Record a finding. Findings of the same target and problem are one."""
        key = (target, problem)
        known = self._findings.get(key)
        found = Finding(self.campaign, target, problem, detail, data)
        if known is not None:
            found = Finding(self.campaign, target, problem, known.detail, known.data, known.count + 1)
        self._findings[key] = found

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings.values())

    def result(self) -> PartResult:
        seconds = time.monotonic() - self._started
        return PartResult(self.campaign, self.inputs, seconds, self.findings, tuple(self.notes))

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def started(campaign: Campaign, seed: int, **more: object) -> Iterator[Run]:
    """A run of a campaign, without its temporary files at the end."""
    run = Run(campaign.name, seed, **more)  # type: ignore[arg-type]
    try:
        yield run
    finally:
        run.close()


@contextmanager
def _time_limit() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def install_timers() -> None:
    """Let the timers interrupt the main thread. Call it once per process."""

    def interrupt(*_: object) -> None:
        raise _TooSlowError

    signal.signal(signal.SIGVTALRM, interrupt)
    signal.signal(signal.SIGALRM, interrupt)


def require(condition: object, statement: str) -> None:
    """An oracle: ``statement`` is reported when the condition is not met."""
    if not condition:
        raise OracleError(statement)


def _fast_folder() -> str | None:
    """A folder in memory, where there is one: most inputs are files."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
