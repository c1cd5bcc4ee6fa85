"""``make soak``: run every campaign for its share of the time, print a table, exit 1 on any finding."""

import argparse
import multiprocessing
import os
import queue
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soak.campaigns import CAMPAIGNS
from soak.runner import Campaign, Finding, PartResult, Run, install_timers, started

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

_WORKERS = 2
_REPORT_SECONDS = 10.0


def main() -> int:
    arguments = _arguments()
    chosen = [campaign for campaign in CAMPAIGNS if not arguments.only or campaign.name in arguments.only]
    if not chosen:
        sys.exit(f"soak: no such campaign; choose from {', '.join(c.name for c in CAMPAIGNS)}")
    folder = Path(arguments.findings or tempfile.mkdtemp(prefix="clawperator-soak-findings-"))
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    results = _run_all(chosen, arguments.seed, arguments.minutes * 60)
    print(_table(chosen, results, time.monotonic() - began))
    findings = [finding for result in results for finding in result.findings]
    for number, finding in enumerate(findings, 1):
        print(_described(number, finding, arguments.seed, folder))
    print(f"seed {arguments.seed}: {len(findings)} findings" + (f", reproducers in {folder}" if findings else ""))
    if not arguments.findings and not findings:
        folder.rmdir()
    return 1 if findings else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes in all (default: 10)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="random seed (default: the time)")
    parser.add_argument("--findings", help="folder for reproducers (default: a new temporary one)")
    parser.add_argument("only", nargs="*", help="campaigns to run (default: all)")
    return parser.parse_args()


def _run_all(campaigns: list[Campaign], seed: int, seconds: float) -> list[PartResult]:
    """Run the parts of all campaigns in two processes, the longest first."""
    context = multiprocessing.get_context("spawn")
    jobs: Queue[Any] = context.Queue()
    reports: Queue[Any] = context.Queue()
    whole = sum(campaign.share for campaign in campaigns)
    parts = sorted(
        (
            (c.name, part, seconds * _WORKERS * c.share / whole / c.parts)
            for c in campaigns
            for part in range(c.parts)
        ),
        key=lambda part: -part[2],
    )
    for job in (*parts, *[None] * _WORKERS):
        jobs.put(job)
    workers = [context.Process(target=_work, args=(jobs, reports, seed), daemon=False) for _ in range(_WORKERS)]
    for worker in workers:
        worker.start()
    results = _collect(reports, len(parts), workers)
    for worker in workers:
        worker.join()
    return results


def _collect(reports: "Queue[Any]", parts: int, workers: list[Any]) -> list[PartResult]:
    """Print progress to stderr until every part has reported."""
    results: list[PartResult] = []
    running: dict[tuple[str, int], tuple[int, int]] = {}
    next_line = time.monotonic()
    began = time.monotonic()
    while len(results) < parts:
        try:
            name, part, news = reports.get(timeout=1.0)
        except queue.Empty:
            if not any(worker.is_alive() for worker in workers) and reports.empty():
                died = Finding("runner", "worker", "a process of the soak tests died", "", b"")
                return [*results, PartResult("runner", 0, 0.0, (died,))]
            continue
        if isinstance(news, PartResult):
            results.append(news)
            running.pop((name, part), None)
            _progress(
                f"{name} {part + 1}: {news.inputs} inputs, {len(news.findings)} findings, {news.seconds:.0f} s"
            )
        else:
            running[name, part] = news
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + _REPORT_SECONDS
            inputs = sum(result.inputs for result in results) + sum(count for count, _ in running.values())
            rate = inputs / max(time.monotonic() - began, 0.001)
            now = ", ".join(
                f"{name} {part + 1}: {count} ({found})" for (name, part), (count, found) in running.items()
            )
            _progress(f"{inputs} inputs, {rate:.0f} per second; running {now}")
    return results


def _progress(text: str) -> None:
    print(f"soak: {text}", file=sys.stderr, flush=True)


def _work(jobs: "Queue[Any]", reports: "Queue[Any]", seed: int) -> None:
    """A worker process: one part after the other."""
    by_name = {campaign.name: campaign for campaign in CAMPAIGNS}
    while (job := jobs.get()) is not None:
        name, part, seconds = job
        campaign = by_name[name]

        def progress(run: Run, key: tuple[str, int] = (name, part)) -> None:
            reports.put((*key, (run.inputs, len(run.findings))))

        install_timers()
        with started(campaign, seed, seconds=seconds, part=part, parts=campaign.parts, progress=progress) as run:
            os.environ["TMPDIR"] = tempfile.tempdir = str(run.folder)
            try:
                campaign.run(run)
            except Exception as e:  # noqa: BLE001 - a campaign that fails is a finding too
                import traceback

                run.report(
                    "campaign", f"the campaign itself failed: {type(e).__name__}", traceback.format_exc(), b""
                )
            reports.put((name, part, run.result()))
    reports.close()
    reports.join_thread()
    os._exit(0)  # threads of phones may still run


def _table(campaigns: list[Campaign], results: list[PartResult], seconds: float) -> str:
    rows = [("campaign", "inputs", "findings", "seconds")]
    for campaign in campaigns:
        parts = [result for result in results if result.campaign == campaign.name]
        found = len({(f.target, f.problem) for part in parts for f in part.findings})
        rows.append(
            (
                campaign.name,
                f"{sum(p.inputs for p in parts):,}",
                str(found),
                f"{sum(p.seconds for p in parts):.0f}",
            )
        )
    inputs = sum(result.inputs for result in results)
    found = sum(len(result.findings) for result in results)
    rows.append(("all", f"{inputs:,}", str(found), f"{seconds:.0f}"))
    lines = [f"{name:<12} {count:>12} {findings:>9} {took:>8}" for name, count, findings, took in rows]
    notes = [note for result in results for note in result.notes]
    return "\n".join([*lines, *notes])


def _described(number: int, finding: Finding, seed: int, folder: Path) -> str:
    """A finding in two lines. Writes its input and its details beside each other."""
    name = re.sub(r"[^a-z0-9]+", "-", f"{finding.campaign}-{finding.target}".lower())
    path = folder / f"{number:03}-{name}"
    path.with_suffix(".input").write_bytes(finding.data)
    path.with_suffix(".txt").write_text(f"seed {seed}\n{finding.problem}\n\n{finding.detail}\n", "utf-8")
    title = f"{number}. {finding.campaign}, {finding.target}: {finding.problem} ({finding.count} inputs)"
    return f"{title}\n   {path}.input"


if __name__ == "__main__":
    sys.exit(main())
