"""Reports as text: a verdict with its reasons. ``doctor``, recordings, replays, skills."""

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clawperator._base.text import count
from clawperator.cli.text.layout import Block, Colour, Line, Painted, Part, Table, state
from clawperator.cli.text.values import document_blocks, facts, scalar, seconds, table, warning_lines
from clawperator.contract.skill_result import FRAME_MARKER

if TYPE_CHECKING:
    from clawperator.recording.describe import Description

Document = Mapping[str, Any]
_COLOURS: Mapping[str, Colour] = {"[OK]": "green", "[WARN]": "yellow", "[FAIL]": "red"}
_HEADINGS = ("Clawperator doctor", "Critical", "Advisory", "Repairs", "Next actions")


def doctor_blocks(document: Document) -> Iterator[Block]:
    """The checks of ``doctor``, what was repaired, the verdict and the next actions."""
    from clawperator.device.setup.doctor import Report, report_text

    report = msgspec.convert(document, Report)
    for line in report_text(report).splitlines():
        word = line.strip().partition(" ")[0]
        if word in _COLOURS:
            before, _, after = line.partition(word)
            yield (before, Painted(word, _COLOURS[word]), after)
        elif line.startswith("Overall: "):
            yield ("Overall: ", Painted(line.removeprefix("Overall: "), "green" if report.criticalOk else "red"))
        else:
            yield Painted(line, "bold") if line in _HEADINGS else line


def compatibility_blocks(found: Document) -> Iterator[Block]:
    """The versions of the program and the Operator, and whether they fit."""
    if "compatible" not in found:
        yield f"clawperator {found['cliVersion']}"
        return
    verdict = Painted("compatible", "green") if found["compatible"] else Painted("not compatible", "red")
    apk = found.get("apkVersion")
    yield (verdict, f": clawperator {found['cliVersion']}, Operator {apk or 'of unknown version'}")
    yield from (f"  {step}" for step in found.get("remediation", ()))


def compare_blocks(report: Document) -> Iterator[Block]:
    """The outcome of a comparison, its reasons, and the path step by step."""
    from clawperator.recording.compare.compare import MATCHES

    is_match = report["outcome"] in MATCHES
    yield (Painted(report["outcome"], "green" if is_match else "red"), f": {report['summary']}")
    coverage, actual = report["baselineCoverage"], report["actual"]
    yield facts(
        ("run", f"{actual['skillId']} ({actual['status']})"),
        ("verification", state(report["terminalVerificationStatus"])),
        ("path", "the same" if report["pathMatches"] else Painted("differs", "yellow")),
        ("checkpoints", f"{coverage['covered']} of the baseline's {coverage['declared']}"),
        ("strategy", f"{report['normalizationStrategy']}, {report['compareMode']}"),
        ("reason", report.get("reason")),
    )
    yield from _divergence(report)
    columns = {"RELATION": "relation", "CHECKPOINT": "checkpoint", "STATUS": "actualStatus", "NOTE": "note"}
    yield table(report.get("alignment", ()), columns, indent=2)
    if omitted := report.get("alignmentOmitted"):
        yield f"  … {omitted} more rows; --json has all"
    yield from warning_lines(report.get("warnings"))
    if hint := report.get("hint"):
        yield f"hint: {hint}"


def _divergence(report: Document) -> Iterator[Line]:
    first = report.get("firstDivergence")
    if not first:
        return
    wanted, found = first["baselineCheckpoint"], first["actualCheckpoint"]
    status = f" ({first['actualStatus']})" if first.get("actualStatus") else ""
    yield f"  first difference at checkpoint {first['index'] + 1}: expected {wanted}, found {found}{status}"
    if note := first.get("actualNote"):
        yield f"    {note}"
    if rejoined := report.get("rejoinedAt"):
        yield f"  on the path again at {rejoined['checkpoint']}"


def replay_blocks(report: Document) -> Iterator[Block]:
    """A replay, or with --dry-run its plan: each recorded step and how it was proved."""
    steps = [{**step, "seq": f"[{step['seq']}]"} for step in report["steps"]]
    if report.get("dryRun"):
        yield f"dry run: {report['sessionId']} would replay {count(report['stepCount'], 'step')}"
        rows = [{**step, "note": step.get("refusal") or step.get("note")} for step in steps]
        if closes := report.get("closes"):
            yield f"closes first: {', '.join(closes)}"
        columns = {"SEQ": "seq", "STEP": "description", "FOUND BY": "locators", "NOTE": "note"}
        yield table(rows, columns, indent=2)
        yield from warning_lines(report.get("warnings"))
        return
    proved = f"{report['provedCount']} of {count(report['stepCount'], 'step')} proved on {report['deviceId']}"
    yield (Painted("replayed", "green") if report["ok"] else Painted("failed", "red"), f": {proved}")
    if closed := report.get("closedApps"):
        yield f"closed first: {', '.join(closed)}"
    rows = [{**step, "evidence": step.get("evidence") or step.get("error", {}).get("code")} for step in steps]
    found = {"FOUND BY": "foundBy", "EVIDENCE": "evidence"}
    yield table(rows, {"SEQ": "seq", "STATUS": "status", "STEP": "description", **found}, indent=2)
    yield from warning_lines((report["skillResult"].get("diagnostics") or {}).get("warnings"))


def skill_run_blocks(run: Document) -> Iterator[Block]:
    """A skill run: its verdict, its checkpoints, its verification, its result and its output.

    Also for a failed run, whose document is the error with the members of a run.
    """
    result = run.get("skillResult") or {}
    failed = run.get("code") is not None
    status = "failed" if failed else run["status"]
    yield (state(status), f": {run['skillId']} in {seconds(run['durationMs'])}")
    rows = [
        (state(point["status"]), point["id"], scalar(point.get("note")) or _evidence(point.get("evidence")))
        for point in result.get("checkpoints", ())
    ]
    yield Table(("", "", ""), rows, 2)
    verification = result.get("terminalVerification") or {}
    if verification:
        yield ("  verification: ", state(verification["status"]), *_verification_reason(verification))
    if shown := result.get("result"):
        yield "  result:"
        yield from document_blocks(shown.get("value", shown.get("text")), 4)
    diagnostics = result.get("diagnostics") or {}
    yield from warning_lines(diagnostics.get("warnings"))
    for name, text in (("output", run.get("output", run.get("stdout", ""))), ("stderr", run.get("stderr", ""))):
        lines = text.partition(f"{FRAME_MARKER}\n")[0].strip().splitlines()  # without the frame of the result
        if lines:
            yield f"  {name}:"
            yield from (f"    {line}" for line in lines)


def _verification_reason(verification: Document) -> Iterator[Part]:
    if note := verification.get("note"):
        yield f": {note}"
    elif verification["status"] == "failed":
        expected, observed = (_evidence(verification.get(name)) for name in ("expected", "observed"))
        yield f": expected {expected or 'nothing'}, observed {observed or 'nothing'}"


def _evidence(evidence: Any) -> str:
    if not isinstance(evidence, Mapping):
        return ""
    return scalar(evidence.get("value", evidence.get("text", "")))


def validated_blocks(document: Document) -> Iterator[Block]:
    """The verdict on one skill, or on all skills of a registry."""
    if "validSkills" in document:
        yield (state("valid"), f": {count(document['totalSkills'], 'skill')} in {document['registryPath']}")
        yield from (f"  {row['skill']['id']}" for row in document["validSkills"])
        return
    yield (state("valid"), f": {document['skill']['id']}")
    checks = document["checks"]
    files = [checks["skillJsonPath"], checks["skillFilePath"], *checks["scriptPaths"], *checks["artifactPaths"]]
    yield from (f"  {path}" for path in files)
    if dry_run := document.get("dryRun"):
        reason = f": {dry_run['reason']}" if dry_run.get("reason") else ""
        yield ("  artifacts: ", state(dry_run["payloadValidation"]), reason)


def parsed_blocks(document: Document) -> Iterator[Block]:
    yield f"wrote {count(document['stepCount'], 'step')} to {document['outputFile']}"
    yield from warning_lines(document.get("warnings"))
    if all_warnings := document.get("warningCount"):
        yield f"{all_warnings} warnings in all; the file has them"


def exported_blocks(document: Document) -> Iterator[Block]:
    events = count(document["eventCount"], "event")
    yield f"exported {events} of {document['sessionId']} to {document['outputFile']}"
    yield Table(("", ""), [(name, str(number)) for name, number in document["byType"].items()], 2)
    yield from warning_lines(document.get("warnings"))


def repaired_blocks(document: Document) -> Iterator[Block]:
    kept, dropped = count(document["eventCount"], "event"), document["droppedCount"]
    yield f"wrote {kept} of {document['sessionId']} to {document['outputFile']}; dropped {count(dropped, 'line')}"
    rows = document["dropped"]
    yield table(rows, {"LINE": "fileLine", "BYTES": "bytes", "REASON": "reason"}, indent=2)
    if dropped > len(rows):
        yield f"  … {dropped - len(rows)} more"


def recordings_blocks(document: Document) -> Iterator[Block]:
    rows = [
        (row["sessionId"], _minute(row["modifiedAt"]), str(row["bytes"]), row["path"])
        for row in document["recordings"]
    ]
    yield Table(("SESSION", "MODIFIED", "BYTES", "FILE"), rows) if rows else "no recordings"


def _minute(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(milliseconds / 1000))


def report_blocks(document: Document) -> Iterator[Block]:
    """Where a report was written, and what it is about."""
    what = f"{document['kind'].lower()} {document['title']}"
    yield f"wrote the report of {what} to {document['outputFile']}"
    outcome, rows, screens = (document.get(name) for name in ("outcome", "rowCount", "screenCount"))
    yield facts(("outcome", outcome), ("rows", rows), ("screens", screens))
    yield from warning_lines(document.get("warnings"))


def pulled_blocks(document: Document) -> Iterator[Block]:
    yield f"pulled {document['sessionId']} to {document['localPath']}"
    yield from warning_lines(document.get("warnings"))


def description_lines(description: "Description") -> Iterator[Line]:
    """A described recording, step by step; it may have more steps than memory should hold."""
    narrative = msgspec.to_builtins(description.head)
    duration = narrative.get("durationMs")
    steps, events = count(narrative["stepCount"], "step"), count(narrative["eventCount"], "event")
    yield f"{narrative['sessionId']}: {steps}, {events}" + (f", {seconds(duration)}" if duration else "")
    for step in description.steps():
        yield (Painted(f"[{step.seq}]", "dim"), f" {step.sentence}")
    if path := narrative.get("outputFile"):
        yield f"wrote {path}"
    yield from warning_lines(narrative.get("warnings"))
