"""Generate the input files of the bench from a seed: the same on every run and every machine."""

import json
import os
from collections.abc import Iterator, Sequence
from random import Random

from clawperator.recording.compare.checkpoints import REQUIRED, SOLAR_PACKAGE
from clawperator.recording.export import export_recording
from hierarchy import FOREIGN_LABELS, LABELS, PACKAGES, hierarchy

SEED = 20_260_101
_POOL = 64
_SNAPSHOT_SIZES = (10_000, 80_000)
_FOREIGN_SHARE = 0.3  # of the snapshots hold text that is not ASCII
_STARTED_AT = 1_710_000_000_000
_HEADER = (
    b'{"type":"recording_header","schemaVersion":1,"sessionId":"bench","startedAt":%d,'
    b'"operatorPackage":"com.clawperator.operator"}\n' % _STARTED_AT
)
# The members are in the order in which the phone writes them.
_START = b'{"ts":%d,"seq":%d,"snapshot":%b,"packageName":"%b",'
_WINDOW = b'"className":"%b.MainActivity","title":"%b","type":"window_change"}\n'
_CLICK = (
    b'"resourceId":"%b:id/title","text":"%b","contentDesc":null,'
    b'"bounds":{"left":216,"top":%d,"right":661,"bottom":%d},"type":"click"}\n'
)
_SCROLL = b'"resourceId":null,"scrollX":0,"scrollY":%d,"maxScrollX":0,"maxScrollY":4200,"type":"scroll"}\n'
_TEXT = b'"resourceId":null,"text":"%b","type":"text_change"}\n'
_KINDS = ("window_change", "click", "scroll", "text_change")
_SHARES = (30, 30, 20, 20)
NO_SNAPSHOTS = (b"null",)


def snapshot_pool() -> list[bytes]:
    """Snapshots encoded as JSON strings once: encoding each one again would take minutes."""
    rng = Random(SEED)
    pool = []
    for i in range(_POOL):
        labels = LABELS + FOREIGN_LABELS if i < _POOL * _FOREIGN_SHARE else LABELS
        text = hierarchy(rng, rng.choice(PACKAGES), rng.randint(*_SNAPSHOT_SIZES), labels)
        pool.append(json.dumps(text, ensure_ascii=False).encode())
    return pool


def write_recording(path: str, size: int, snapshots: Sequence[bytes] = NO_SNAPSHOTS) -> None:
    """A recording of ``size`` bytes or one line more; without ``snapshots`` all events are small."""
    with open(path, "wb", buffering=1024 * 1024) as file:
        written = file.write(_HEADER)
        for line in _events(Random(SEED), snapshots, PACKAGES):
            written += file.write(line)
            if written >= size:
                return


def write_distinct(path: str, count: int) -> None:
    """A recording of clicks, each on a label of its own."""
    with open(path, "wb", buffering=1024 * 1024) as file:
        file.write(_HEADER)
        for seq in range(count):
            start = _START % (_STARTED_AT + 100 * seq, seq, b"null", SOLAR_PACKAGE.encode())
            file.write(start + _CLICK % (SOLAR_PACKAGE.encode(), b"Item %d of the list" % seq, 200, 270))


def write_shuffled(path: str, source: str) -> None:
    """The events of ``source`` in random order."""
    with open(source, "rb") as file:
        header, *events = file
    Random(SEED).shuffle(events)
    with open(path, "wb") as file:
        file.write(header)
        file.writelines(events)


def write_compare_documents(folder: str, count: int) -> tuple[str, str]:
    """An export with ``count`` events, and a saved run of a skill with as many checkpoints."""
    recording = os.path.join(folder, "demonstration.ndjson")
    baseline = os.path.join(folder, "demonstration.export.json")
    result = os.path.join(folder, "run.skills-run.json")
    events = _events(Random(SEED), NO_SNAPSHOTS, (SOLAR_PACKAGE,))
    with open(recording, "wb") as file:
        file.write(_HEADER)
        file.writelines(next(events) for _ in range(count))
    export_recording(recording, baseline)
    os.remove(recording)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(_run(count), file, indent=2)
    return baseline, result


def _events(rng: Random, snapshots: Sequence[bytes], packages: Sequence[str]) -> Iterator[bytes]:
    """Endless events in ``seq`` order: a user who stays in an app for a while, then switches to another."""
    names = [name.encode() for name in packages]
    labels = [label.replace("&amp;", "&").encode() for label in LABELS]
    package = names[0]
    ts = _STARTED_AT
    seq = 0
    while True:
        for kind in rng.choices(_KINDS, _SHARES, k=1_000):
            ts += rng.randrange(40, 3_000)
            shown = rng.choice(snapshots) if kind in ("window_change", "click") else b"null"
            if kind == "window_change":
                if rng.random() < 0.1:
                    package = rng.choice(names)
                own = _WINDOW % (package, rng.choice(labels))
            elif kind == "click":
                top = rng.randrange(200, 2_200)
                own = _CLICK % (package, rng.choice(labels), top, top + 70)
            elif kind == "scroll":
                own = _SCROLL % rng.randrange(4_200)
            else:
                own = _TEXT % rng.choice(labels)
            yield _START % (ts, seq, shown, package) + own
            seq += 1


def _run(count: int) -> dict[str, object]:
    """Output of ``skills run --json`` for an agent run with the demonstration's checkpoints and many more."""
    names = [*REQUIRED, *(f"step_{i}" for i in range(len(REQUIRED), count))]
    checkpoints = [
        {
            "id": name,
            "status": "ok",
            "observedAt": f"2026-01-01T10:{i // 60 % 60:02}:{i % 60:02}Z",
            "evidence": {"kind": "text", "text": f"{LABELS[i % len(LABELS)]} was on the screen"},
            "note": "seen before the next action was sent",
        }
        for i, name in enumerate(names)
    ]
    skill_result = {
        "contractVersion": "1.0.0",
        "skillId": "com.solaxcloud.starter.set-discharge-limit",
        "status": "success",
        "checkpoints": checkpoints,
        "terminalVerification": {"status": "verified", "note": "the row shows the limit"},
        "diagnostics": {"runtimeState": "healthy"},
        "source": {"kind": "agent", "agentCli": "claw"},
    }
    return {
        "status": "success",
        "skillId": skill_result["skillId"],
        "output": "",
        "exitCode": 0,
        "durationMs": 61_000,
        "skillResult": skill_result,
    }
