"""``clawperator skills``: each command imports only the modules that it needs."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clawperator.cli.handler import Call, soft_usage
from clawperator.cli.parsing import usage
from clawperator.cli.signals import ended_with_us
from clawperator.skills.registry import SkillRegistry, open_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from clawperator.skills.process import OutputListener, Stream


def answer(call: Call) -> Any:
    verbs: dict[str, Callable[[Call], Any]] = {
        "skills list": _list,
        "skills get": _get,
        "skills search": _search,
        "skills for-app": _for_app,
        "skills validate": _validate,
        "skills new": _new,
        "skills compile-artifact": _compile,
        "skills run": _run,
        "skills install": _install,
        "skills update": _update,
        "skills sync": _update,
    }
    return verbs[call.name](call)


def _registry(call: Call) -> SkillRegistry:
    return open_registry(call.arguments.get("--registry"))


def _id(call: Call) -> str | None:
    words = call.arguments.words
    return call.arguments.get("--skill-id") or (words[0] if words else None)


def _listed(found: list[Any]) -> dict[str, Any]:
    return {"skills": found, "count": len(found)}


def _list(call: Call) -> Any:
    return _listed(_registry(call).entries)


def _get(call: Call) -> Any:
    skill_id = _id(call)
    if skill_id is None:
        return soft_usage("skills get needs a skill id", hint="Run 'clawperator skills list'.")
    return {"skill": _registry(call).entry(skill_id)}


def _search(call: Call) -> Any:
    from clawperator.skills.registry import search_skills

    words = call.arguments.words
    keyword = call.arguments.get("--keyword") or (words[0] if words else None)
    app, intent = call.arguments.get("--app"), call.arguments.get("--intent")
    if not (keyword or app or intent):
        return soft_usage(
            "skills search needs a keyword, --app or --intent", example="clawperator skills search battery"
        )
    return _listed(search_skills(_registry(call).entries, app=app, intent=intent, keyword=keyword))


def _for_app(call: Call) -> Any:
    from clawperator.skills.registry import search_skills

    if not call.arguments.words:
        return soft_usage("skills for-app needs a package name")
    return _listed(search_skills(_registry(call).entries, app=call.arguments.words[0]))


def _validate(call: Call) -> Any:
    from clawperator.skills.validation import validate_all, validate_skill

    skill_id, dry_run = _id(call), call.arguments.has("--dry-run")
    if call.arguments.has("--all"):
        if skill_id is not None:
            raise usage("skills validate takes a skill id or --all, not both")
        return validate_all(_registry(call), dry_run=dry_run)
    if skill_id is None:
        return soft_usage("skills validate needs a skill id or --all")
    return validate_skill(_registry(call), skill_id, dry_run=dry_run)


def _new(call: Call) -> Any:
    from clawperator.skills.scaffold import new_skill

    skill_id = _id(call)
    if skill_id is None:
        return soft_usage(
            "skills new needs a skill id", example="clawperator skills new com.android.settings.overview"
        )
    return new_skill(
        skill_id,
        summary=call.arguments.get("--summary"),
        context=call.arguments.get("--recording-context"),
        registry=call.arguments.get("--registry"),
    )


def _compile(call: Call) -> Any:
    from clawperator.skills.artifacts import compile_artifact

    skill_id, artifact = _id(call), call.arguments.get("--artifact")
    if skill_id is None or not artifact:
        return soft_usage("skills compile-artifact needs a skill id and --artifact <name>")
    return {"execution": compile_artifact(_registry(call), skill_id, artifact, call.arguments.get("--vars"))}


def _run(call: Call) -> Any:
    from clawperator.skills.run import SkillRunRequest, run_skill

    arguments, named = call.arguments, call.arguments.get("--skill-id")
    skill_id = _id(call)
    if skill_id is None:
        return soft_usage("skills run needs a skill id", hint="Run 'clawperator skills list'.")
    request = SkillRunRequest(
        skill_id,
        args=tuple(arguments.words if named else arguments.words[1:]),
        device=call.options.device,
        operator_package=call.options.operator_package,
        timeout_ms=call.options.timeout_ms,
        expect=arguments.get("--expect-contains"),
        check=not arguments.has("--skip-validate"),
    )
    registry = _registry(call)
    if call.options.pretty:
        call.console.lines("info", [_banner(skill_id), _operator_line(request.device, request.operator_package)])
    with ended_with_us():
        return run_skill(registry, request, _relay() if call.options.pretty else None)


def _banner(skill_id: str) -> str:
    from clawperator import __version__
    from clawperator.device.host_log import log_file

    return f"clawperator {__version__}: running {skill_id}; log: {log_file()}"


def _operator_line(serial: str | None, named: str | None) -> str:
    """A line about the Operator on the device. Never raises."""
    from clawperator.device.run import operator_package
    from clawperator.device.setup.version_check import probe_compatibility
    from clawperator.device.wakefulness import phone_at_hand
    from clawperator.errors import ClawError

    package = operator_package(named)
    try:
        device = phone_at_hand(serial)
    except ClawError as e:
        return f"Operator {package}: {e.message}"
    if device is None:
        return f"Operator {package}: the skill selects its device"
    found = probe_compatibility(device, package)
    if found.error:
        return f"Operator {package} on {device.serial}: {found.error.message}"
    return f"Operator {package} on {device.serial}: version {found.apkVersion}"


def _relay() -> "OutputListener":
    """A listener that prints a skill's output while it runs. A closed pipe is not an error."""

    def relay(stream: "Stream", data: bytes) -> None:
        target = sys.stdout if stream == "stdout" else sys.stderr
        with suppress(OSError, ValueError, AttributeError):
            target.buffer.write(data)
            target.buffer.flush()

    return relay


def _install(_: Call) -> Any:
    from clawperator.skills.sync import install

    return install()


def _update(call: Call) -> Any:
    from clawperator.skills.sync import MAIN, sync

    ref = call.arguments.get("--ref")
    if ref is None and call.name == "skills sync":
        return soft_usage("skills sync needs --ref <ref>", example="clawperator skills sync --ref main")
    return sync(MAIN if ref is None else ref)
