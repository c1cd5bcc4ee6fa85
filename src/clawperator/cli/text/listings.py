"""Lists and facts as text: devices, simulated phones, emulators, skills, settings, the host log."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from clawperator._base.text import count
from clawperator.cli.text.layout import Block, Fields, Line, Painted, Part, Table, state
from clawperator.cli.text.values import facts, scalar, table, warning_lines, words

Document = Mapping[str, Any]
# Members of a line of the host log that have columns of their own, or repeat the event.
_LOG_COLUMNS = ("ts", "level", "event", "message")
_GRANTS = ("accessibility", "notification", "notificationListener")


def device_blocks(document: Document) -> Iterator[Block]:
    yield table(document["devices"], {"SERIAL": "serial", "STATE": "state"}, "no devices")


def paired_blocks(document: Document) -> Iterator[Block]:
    name = f" ({document['guid']})" if "guid" in document else ""
    yield f"paired with {document['address']}{name}"
    if "deviceId" in document:
        yield f"connected as {document['deviceId']}"
    yield document["nextStep"]


def package_blocks(document: Document) -> Iterator[Block]:
    yield from document["packages"] or ["no packages"]


def granted_blocks(document: Document) -> Iterator[Block]:
    yield from operator_setup_blocks({**document, "permissions": {name: document[name] for name in _GRANTS}})


def operator_setup_blocks(document: Document) -> Iterator[Block]:
    yield (state("ok"), f": {document['message']}")
    yield facts(*((words(name), _grant_state(grant)) for name, grant in document["permissions"].items()))


def _grant_state(grant: Document) -> Part:
    if not grant["ok"]:
        return state("failed")
    if grant.get("skipped"):
        return "not needed"
    return "already granted" if grant.get("alreadyEnabled") else "granted"


def phone_blocks(document: Document) -> Iterator[Block]:
    """A started phone and how to reach it."""
    recovered = ", recovered after a crash" if document.get("recovered") else ""
    yield f"started {document['serial']}{recovered}"
    yield facts(
        ("page", "clawperator serve --open"),
        ("adb", document.get("connect")),
        ("operator", document.get("operatorPackage")),
        ("apps", document.get("apps")),
        ("seed", document.get("seed")),
        ("pid", document.get("pid")),
        ("folder", document["folder"]),
    )


def phones_blocks(document: Document) -> Iterator[Block]:
    rows = [
        (
            phone["serial"],
            state(phone["state"]) if phone.get("answering", True) else Painted(phone["problem"], "red"),
            phone.get("foreground", ""),
            phone.get("connect", "").removeprefix("adb connect "),
            scalar(phone.get("faults", {})),
            scalar(phone.get("pid")),
        )
        for phone in document["phones"]
    ]
    headings = ("SERIAL", "STATE", "FOREGROUND", "ADB ADDRESS", "FAULTS", "PID")
    yield Table(headings, rows) if rows else "no simulated phones"


def stopped_blocks(document: Document) -> Iterator[Block]:
    if "stopped" in document:
        stopped = document["stopped"]
        yield f"stopped {', '.join(stopped)}" if stopped else "no simulated phone was running"
    elif document["crashed"]:
        yield f"{document['serial']} had crashed; its files are kept"
    else:
        serial = document["serial"]
        yield f"stopped {serial}" if document["wasRunning"] else f"{serial} was not running"


def reset_blocks(document: Document) -> Iterator[Block]:
    yield (f"reset {document['serial']}, which is ", state(document["state"]))


def deleted_blocks(document: Document) -> Iterator[Block]:
    yield f"deleted {document['serial']}" + (", which was running" if document["wasRunning"] else "")


def fault_blocks(document: Document) -> Iterator[Block]:
    """One fault that was set, or all faults with their values."""
    if "fault" in document:
        yield f"{document['fault']} is {_fault_value(document['value'])} on {document['serial']}"
        return
    rows = [
        (name, _fault_value(fault["value"]), fault["kind"], scalar(fault["on"]), fault["description"])
        for name, fault in document["faults"].items()
    ]
    yield Table(("FAULT", "VALUE", "KIND", "ON SETS", "DESCRIPTION"), rows)


def _fault_value(value: float) -> str:
    return "off" if value == 0 else str(value)


def screenshot_blocks(document: Document) -> Iterator[Block]:
    yield f"saved the screenshot of {document['serial']} to {document['path']} ({document['bytes']} bytes)"


def avds_blocks(document: Document) -> Iterator[Block]:
    rows = [
        (
            avd["name"],
            state("running") if avd["running"] else "stopped",
            scalar(avd["apiLevel"]),
            scalar(avd["abi"]),
            scalar(avd["deviceProfile"]),
            "yes" if avd["supported"] else Painted(f"no: {scalar(avd['unsupportedReasons'])}", "red"),
        )
        for avd in document["avds"]
    ]
    yield Table(("NAME", "STATE", "API", "ABI", "PROFILE", "SUPPORTED"), rows) if rows else "no virtual devices"


def avd_blocks(avd: Document) -> Iterator[Block]:
    """One virtual device, or that there is none of this name."""
    if not avd["exists"] and not avd["running"]:
        yield f"{avd['name']}: does not exist"
        return
    yield (avd["name"], ": ", state("running") if avd["running"] else "stopped")
    yield _avd_facts(avd)


def created_avd_blocks(avd: Document) -> Iterator[Block]:
    yield f"created {avd['name']}"
    yield _avd_facts(avd)


def _avd_facts(avd: Document) -> Fields:
    return facts(
        ("api level", avd["apiLevel"]),
        ("abi", avd["abi"]),
        ("profile", avd["deviceProfile"]),
        ("system image", avd["systemImage"]),
        ("Play Store", avd["playStore"]),
        ("supported", avd["supported"]),
        ("reasons", avd["unsupportedReasons"]),
    )


def emulators_blocks(document: Document) -> Iterator[Block]:
    columns = {"SERIAL": "serial", "NAME": "avdName", "BOOTED": "booted", "SUPPORTED": "supported"}
    yield table(document["devices"], columns, "no emulator is running")


def emulator_blocks(document: Document) -> Iterator[Block]:
    """An emulator that was started, provisioned, stopped or deleted."""
    name = document["avdName"]
    if "serial" not in document:
        yield f"{'deleted' if document.get('deleted') else 'stopped'} {name}"
        return
    done = "reused" if document.get("reused") else "created and started" if document.get("created") else "started"
    yield f"{done} {name} as {document['serial']}" + ("" if document["booted"] else "; it is still booting")


def skills_blocks(document: Document) -> Iterator[Block]:
    yield table(document["skills"], {"ID": "id", "SUMMARY": "summary"}, "no skills")


def skill_blocks(document: Document) -> Iterator[Block]:
    skill = document["skill"]
    contract = skill.get("contract") or {}
    yield f"{skill['id']}: {scalar(skill.get('summary'))}"
    yield facts(
        ("app", skill.get("applicationId")),
        ("intent", skill.get("intent")),
        ("inputs", contract.get("inputs")),
        ("verification", contract.get("verification")),
        ("agent", skill.get("agent")),
        ("keywords", skill.get("keywords")),
    )
    yield "  files:"
    yield from (f"    {path}" for path in (skill["skillFile"], *skill["scripts"], *skill["artifacts"]))


def created_skill_blocks(document: Document) -> Iterator[Block]:
    yield f"created {document['skillId']} in {document['skillPath']}"
    yield from (f"  {path}" for path in document["files"])
    yield f"next: {document['next']}"


def synced_blocks(document: Document) -> Iterator[Block]:
    yield document["message"]
    if instruction := document.get("envInstruction"):
        yield f"next: {instruction}"


def config_blocks(document: Document) -> Iterator[Block]:
    """The settings in force, then the configuration file and its lists."""
    rows = [
        (row["name"], scalar(row["value"]) or "-", row["origin"], row["flag"], scalar(row["variables"]))
        for row in document["settings"]
    ]
    yield Table(("SETTING", "VALUE", "ORIGIN", "FLAG", "VARIABLES"), rows)
    yield ""
    yield Fields(
        [
            ("file", document["file"] + ("" if document["exists"] else " (does not exist)")),
            ("allow_schemes", scalar(document["allow_schemes"])),
            ("pass_env", scalar(document["pass_env"])),
        ]
    )
    yield from warning_lines(document["warnings"])


def client_blocks(document: Document) -> Iterator[Block]:
    """The MCP clients whose configuration can be printed."""
    yield table(document["clients"], {"NAME": "name", "CLIENT": "title", "FILE": "file"})
    yield "print the configuration of one with 'clawperator mcp config <name>'"


def written_blocks(document: Document) -> Iterator[Block]:
    """The file that ``agents init --write`` wrote."""
    yield (state(document["status"]), f": {document['path']} ({document['bytes']} bytes)")


def schemas_blocks(document: Document) -> Iterator[Block]:
    rows = document["schemas"]
    yield table(rows, {"NAME": "name", "DESCRIPTION": "description"})
    yield f"{count(len(rows), 'schema')}; print one with 'clawperator schema <name>'"


def log_line(entry: Any, text: str) -> Line:
    """A line of the host log: local time, level, event, message and the other members. Any other text as it is."""
    if not isinstance(entry, Mapping) or not all(isinstance(entry.get(name), str) for name in _LOG_COLUMNS):
        return text
    level, event = entry["level"], entry["event"]
    message = "" if entry["message"] == event else f" {entry['message']}"
    more = {name: value for name, value in entry.items() if name not in _LOG_COLUMNS}
    shown: Part = f"{level:<5}"
    if level in ("warn", "error"):
        shown = Painted(f"{level:<5}", "yellow" if level == "warn" else "red")
    rest = Painted(f"  {scalar(more)}" if more else "", "dim")
    return (Painted(_local_time(entry["ts"]), "dim"), " ", shown, f" {event}{message}", rest)


def _local_time(stamp: str) -> str:
    """The time of day of a UTC time, in local time; as it is when it is none."""
    from calendar import timegm

    whole, _, rest = stamp.partition(".")
    try:
        moment = timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return stamp
    return f"{time.strftime('%H:%M:%S', time.localtime(moment))}.{rest.rstrip('Z')}"
