"""Measure the performance limits of docs/internals/speed.md and print one table: measurement, limit, verdict."""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from time import process_time
from typing import Literal, NamedTuple

import msgspec

import data
import phone
import routing
import servers
import tree
from clawperator.recording.compare.checkpoints import REQUIRED
from clawperator.recording.compare.compare import compare_recording
from clawperator.recording.export import export_recording
from clawperator.recording.parse import parse_recording
from measure import CommandFailedError, Work, fastest, peak_memory, run_command

_MB = 1_000_000
_START_ROUNDS = 100
_SESSIONS = 10
_RECORDING_ROUNDS = 20
_INFORMING_ROUNDS = 5
_COMPARE_ROUNDS = 60
_COMPARED_EVENTS = 10_000
_MEMORY_BAR = 64 * _MB
_MANY_EVENTS_BAR = 200 * _MB

_PLAN = {
    "commandId": "settings-nav-1",
    "taskId": "settings-nav-1",
    "source": "bench",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 30_000,
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {
            "id": "wait",
            "type": "wait_for_navigation",
            "params": {"expectedPackage": "com.android.settings", "timeoutMs": 5_000},
        },
        {"id": "snap", "type": "snapshot_ui"},
    ],
}


class Sizes(NamedTuple):
    """How large the recordings are, in MB: the timed one, that for memory, those of small and of many events."""

    timed: int
    large: int
    small: int
    many: int

    @property
    def needed_bytes(self) -> int:
        # The large recording, an export of it with snapshots, and everything else.
        return 3 * self.large * _MB


_FULL = Sizes(timed=100, large=1_000, small=20, many=200)
_QUICK = Sizes(timed=20, large=100, small=5, many=20)


class Row(NamedTuple):
    """One row of the table. A row without a limit is for information."""

    what: str
    measured: str
    bar: str = ""
    kept: bool | None = None

    @property
    def verdict(self) -> str:
        return "" if self.kept is None else "ok" if self.kept else "MISSED"


def main() -> int:
    options = _options()
    sizes = _QUICK if options.quick else _FULL
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < sizes.needed_bytes:
        _log(
            f"not enough disk space in {tempfile.gettempdir()}: {sizes.needed_bytes / 1e9:.1f} GB are needed, "
            f"{free / 1e9:.1f} GB are free. Set TMPDIR to a folder with more."
        )
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit, so that the folder below is removed
    try:
        with tempfile.TemporaryDirectory(prefix="clawperator-bench-") as folder:
            rows = [*_start(folder, os.path.dirname(sys.executable))]
            rows += _start(folder, options.servers, " with extras") if options.servers else ()
            rows += [*_driving(folder, options.servers), *_screens(), *_routes(), *_phones()]
            rows += [*_compare(folder), *_recordings(folder, sizes), *_memory(folder, sizes)]
    except KeyboardInterrupt:
        _log("stopped; everything it made is removed")
        return 130
    except CommandFailedError as e:
        _log(str(e))
        return 2
    _print(rows, quick=options.quick)
    return 1 if any(row.kept is False for row in rows) else 0


def _start(folder: str, programs: str, where: str = "") -> Iterator[Row]:
    """Commands that reach no phone. ``programs`` is the folder of an environment's commands."""
    _log(f"starting commands{where}")
    clawperator, claw = ([os.path.join(programs, name)] for name in ("clawperator", "claw"))
    sessions = os.path.join(folder, f"sessions{where}")
    for number in range(_SESSIONS):
        kept = ("--session-id", f"s{number}", "--directory", sessions)
        run_command([*claw, "flush-transcript", "open settings", *kept])
    plan = json.dumps(_PLAN, separators=(",", ":"))
    commands = {
        "bare": [os.path.join(programs, "python"), "-I", "-c", "pass"],
        "version": [*clawperator, "--version"],
        "validate": [*clawperator, "exec", "--validate-only", "--execution", plan],
        "list": [*claw, "list-sessions", "--directory", sessions, "--output-format", "json"],
    }
    contenders = {name: partial(run_command, command) for name, command in commands.items()}
    best = fastest(contenders, _START_ROUNDS)
    bars = {
        "version": ("clawperator --version", 2.2),
        "validate": ("clawperator exec --validate-only", 4.5),
        "list": (f"claw list-sessions, of {_SESSIONS}", 4.5),
    }
    for name, (what, bar) in bars.items():
        ratio = best[name] / best["bare"]
        measured = f"{ratio:.2f} x bare python ({best[name] * 1e3:.1f} ms, bare {best['bare'] * 1e3:.1f} ms)"
        yield Row(what + where, measured, f"<= {bar} x", ratio <= bar)


def _driving(folder: str, programs: str) -> Iterator[Row]:
    """Commands on a phone in its own process: a snapshot, and how its time is spent; clicks by reference; servers.

    ``programs`` is the folder of the commands in an environment with the extras of the servers.
    """
    _log("driving a simulated phone")
    os.environ["CLAWPERATOR_HOME"] = os.path.join(folder, "home")
    command = _command()
    run_command([*command, "phone", "start"])
    try:
        commands = {
            "bare": [sys.executable, "-I", "-c", "pass"],
            "validated": [*command, "snapshot", "--validate-only"],
            "snapshot": [*command, "snapshot"],
        }
        best = fastest({name: partial(run_command, words) for name, words in commands.items()}, _START_ROUNDS)
        trip = phone.measure_trip()
        clicks = phone.measure_clicks()
        calls = servers.measure_calls(programs) if programs else {}
    finally:
        run_command([*command, "phone", "stop"])
        del os.environ["CLAWPERATOR_HOME"]
    ratio = best["snapshot"] / best["validated"]
    measured = f"{ratio:.2f} x the validated command ({best['snapshot'] * 1e3:.1f} ms)"
    yield Row("clawperator snapshot, whole process", measured, "<= 1.5 x", ratio <= 1.5)
    rest = best["snapshot"] - best["validated"] - trip
    parts = (
        ("starting python", best["bare"]),
        ("our start and validation", best["validated"] - best["bare"]),
        ("to the phone and back", trip),
        ("loading the device modules, and the rest", rest),
    )
    for what, seconds in parts:
        yield Row(f"  of this, {what}", f"{seconds * 1e3:.1f} ms")
    ratio = clicks["ref"] / clicks["text"]
    times = f"{clicks['ref'] * 1e3:.1f} ms, by text {clicks['text'] * 1e3:.1f} ms"
    yield Row("click by reference", f"{ratio:.2f} x a click by text ({times})", "<= 2.5 x", ratio <= 2.5)
    for name, title in (("http", "snapshot over HTTP"), ("mcp", "snapshot by the MCP tool, over stdio")):
        if name in calls:
            ratio, milliseconds = calls[name] / calls["python"], calls[name] * 1e3
            times = f"{milliseconds:.1f} ms, in process {calls['python'] * 1e3:.1f} ms"
            yield Row(title, f"{ratio:.2f} x the Python API ({times})", "<= 2 x", ratio <= 2)


def _screens() -> Iterator[Row]:
    _log("reading and searching screens")
    ratio = tree.measure_parse()
    yield Row("read a screen of 500 nodes", f"{ratio:.2f} x a bare expat pass", "<= 1.35 x", ratio <= 1.35)
    bare, found = tree.measure_matchers()
    slowest = max(found, key=found.__getitem__)
    ratio = found[slowest] / bare
    slow = f"{found[slowest] * 1e3:.2f} ms, the slowest of {len(found)} selectors: {slowest}"
    measured = f"{ratio:.2f} x a bare expat pass ({slow})"
    yield Row("find all nodes of a selector among 500", measured, "<= 0.25 x", ratio <= 0.25)
    ratio = tree.measure_outline()
    yield Row("outline of a parsed screen of 500 nodes", f"{ratio:.2f} x reading it", "<= 0.5 x", ratio <= 0.5)


def _routes() -> Iterator[Row]:
    _log("routing prompts")
    prompts = routing.measure_routing()
    slowest = max(prompts, key=prompts.__getitem__)
    milliseconds = prompts[slowest] * 1e3
    measured = f"{milliseconds:.2f} ms, the slowest of {len(prompts)} prompts ({slowest})"
    yield Row(f"route over {routing.ENTRIES} entries", measured, "<= 5 ms", milliseconds <= 5)
    yield Row("  before this, once, building the index", f"{routing.measure_index() * 1e3:.1f} ms")


def _phones() -> Iterator[Row]:
    _log("clicking on the simulated phone")
    cycles = phone.measure_cycles()
    what = "snapshot and click on the phone, in process"
    yield Row(what, f"{cycles:.0f} a second", ">= 500 a second", cycles >= 500)
    _log(f"weighing {phone.PHONES} phones")
    yield Row(f"memory of each of {phone.PHONES} phones in one process", f"{phone.measure_weight() / 1e3:.0f} kB")
    _log(f"growing to {phone.MANY_PHONES} phones")
    for what, ratio in phone.measure_growth().items():
        where = f"{what} with {phone.MANY_PHONES:,} phones in one process, CPU time"
        yield Row(where, f"{ratio:.2f} x with {phone.PHONES}", "<= 1.15 x", ratio <= 1.15)
    times = phone.measure_ports()
    for name, what in (("adbd", "adbd port"), ("server", "server port, connecting each time")):
        ratio = times[name] / times["direct"]
        measured = f"{times[name] * 1e3:.2f} ms, {ratio:.1f} x the same command in process"
        yield Row(f"shell round trip, {what}", measured)


def _recordings(folder: str, sizes: Sizes) -> Iterator[Row]:
    for size, kind, bar in ((sizes.timed, "", 1.6), (sizes.small, " of small events", None)):
        path = os.path.join(folder, "timed.ndjson")
        _log(f"generating a recording of {size} MB{kind}")
        data.write_recording(path, size * _MB, data.NO_SNAPSHOTS if kind else data.snapshot_pool())
        _log(f"parsing and exporting {size} MB{kind}")
        yield from _against_json(path, f"{size} MB{kind}", bar)
        os.remove(path)


def _against_json(path: str, name: str, bar: float | None) -> Iterator[Row]:
    """Compare the commands on a recording with a bare ``json.loads`` of the same lines."""
    out = path + ".out"

    def json_loop() -> None:
        with open(path, "rb") as file:
            for line in file:
                json.loads(line)

    def tidy() -> None:
        with suppress(FileNotFoundError):  # json.loads writes nothing
            os.remove(out)

    include = f"export {name}, snapshots included"
    commands: dict[str, Work] = {
        f"parse {name}": lambda: parse_recording(path, out),
        f"export {name}": lambda: export_recording(path, out),
    }
    shuffled = path + ".shuffled"
    if bar is not None:
        commands[include] = lambda: export_recording(path, out, snapshots="include")
    else:
        data.write_shuffled(shuffled, path)
        commands[f"export {name} out of order"] = lambda: export_recording(shuffled, out)
    rounds = _INFORMING_ROUNDS if bar is None else _RECORDING_ROUNDS
    best = fastest({"json": json_loop, **commands}, rounds, tidy)
    megabytes = os.path.getsize(path) / _MB
    for what in commands:
        ratio = best["json"] / best[what]
        speeds = f"{megabytes / best[what]:.0f} MB/s, json {megabytes / best['json']:.0f} MB/s"
        measured = f"{ratio:.2f} x json.loads ({speeds})"
        if bar is None or what == include:
            yield Row(what, measured)
        else:
            yield Row(what, measured, f">= {bar} x", ratio >= bar)


def _memory(folder: str, sizes: Sizes) -> Iterator[Row]:
    large, small, shuffled, out = (
        os.path.join(folder, name) for name in ("large.ndjson", "small.ndjson", "shuffled.ndjson", "out.json")
    )
    _log(f"generating a recording of {sizes.large} MB")
    data.write_recording(large, sizes.large * _MB, data.snapshot_pool())
    data.write_recording(small, sizes.small * _MB)
    data.write_shuffled(shuffled, small)
    included = ["export", "--snapshots", "include"]
    for what, verb, path in (
        (f"parse {sizes.large} MB", ["parse"], large),
        (f"export {sizes.large} MB", ["export"], large),
        (f"export {sizes.large} MB, snapshots included", included, large),
        (f"export {sizes.small} MB of small events out of order", ["export"], shuffled),
    ):
        _log(f"measuring the memory of {what}")
        peak = peak_memory([*_command(), "recording", *verb, "--input", path, "--out", out])
        yield Row(f"memory: {what}", f"{peak / _MB:.1f} MB", f"<= {_MEMORY_BAR // _MB} MB", peak <= _MEMORY_BAR)
        os.remove(out)
    yield from _memory_of_many_events(folder, sizes)


def _memory_of_many_events(folder: str, sizes: Sizes) -> Iterator[Row]:
    """Describe and compare small events: a million of them with the full sizes."""
    names = ("many.ndjson", "many.export.json", "distinct.ndjson", "distinct.export.json")
    source, exported, clicks, distinct = (os.path.join(folder, name) for name in names)
    data.write_recording(source, sizes.many * _MB)
    count = export_recording(source, exported).eventCount
    data.write_distinct(clicks, count)
    export_recording(clicks, distinct)
    again = ["--baseline", distinct, "--result", distinct, "--strategy", "derived"]
    for verb, what, words in (
        ("describe", "events", ["--input", source]),
        ("compare", "events", ["--baseline", exported, "--result", exported]),
        ("compare", "events with a label each", again),
    ):
        _log(f"measuring the memory of {verb} of {count:,} {what}")
        peak = peak_memory([*_command(), "recording", verb, *words], exit_codes=(0, 1))
        limit = f"<= {_MANY_EVENTS_BAR // _MB} MB"
        measured = f"{peak / _MB:.1f} MB"
        yield Row(f"memory: {verb} {count:,} {what}", measured, limit, peak <= _MANY_EVENTS_BAR)


def _compare(folder: str) -> Iterator[Row]:
    _log("comparing a run with a demonstration")
    baseline, result = data.write_compare_documents(folder, _COMPARED_EVENTS)
    report = compare_recording(baseline, result)
    assert report.baselineCoverage.covered == len(REQUIRED)
    assert compare_recording(baseline, baseline).is_match
    cases: tuple[tuple[str, str, Literal["derived"] | None, float], ...] = (
        ("with as many checkpoints", result, None, 3),
        ("by derived checkpoints with as many others", result, "derived", 3),
        # Here the checkpoints of both documents are derived, not those of one.
        ("with as many of a second recording", baseline, "derived", 3.5),
    )
    for what, other, strategy, bar in cases:
        best = fastest(
            {
                "decode": partial(_decode, baseline, other),
                "compare": partial(compare_recording, baseline, other, strategy=strategy),
            },
            _COMPARE_ROUNDS,
            clock=process_time,
        )
        ratio = best["compare"] / best["decode"]
        times = f"{best['compare'] * 1e3:.1f} ms of CPU, decoding {best['decode'] * 1e3:.1f} ms"
        measured = f"{ratio:.2f} x decoding ({times})"
        yield Row(f"compare {_COMPARED_EVENTS:,} events {what}", measured, f"<= {bar:g} x", ratio <= bar)


def _decode(*paths: str) -> None:
    for path in paths:
        with open(path, "rb") as file:
            msgspec.json.decode(file.read())


def _command() -> list[str]:
    """The installed command, in the folder of the interpreter."""
    return [os.path.join(os.path.dirname(sys.executable), "clawperator")]


def _print(rows: list[Row], *, quick: bool) -> None:
    if quick:
        print("QUICK RUN on small files: for development only, not for a verdict.")
    print("Ratios compare the fastest rounds of commands that ran in turn: noise affects the minimum least.")
    passes = f"{_RECORDING_ROUNDS} passes over a recording, {_INFORMING_ROUNDS} over small events"
    print(f"Rounds: {_START_ROUNDS} starts, {_COMPARE_ROUNDS} compares, {passes}.\n")
    table = [("what", "measured", "limit", "verdict"), *((r.what, r.measured, r.bar, r.verdict) for r in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _log(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench",
        description="Measure the performance limits. Exits 1 if one is exceeded, 2 if it could not measure.",
        epilog="example: make bench, or .venv-plain/bin/python bench/run.py --quick",
    )
    parser.add_argument("--servers", default="", help="bin folder of an environment with their extras")
    parser.add_argument("--quick", action="store_true", help="use small files; for development only")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
