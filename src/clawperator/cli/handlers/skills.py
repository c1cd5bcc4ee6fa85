"""``clawperator skills``: each handler imports only what it needs."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.handlers.execution import warn_of_config
from clawperator.cli.parsing import usage
from clawperator.cli.signals import interrupt_on_signals
from clawperator.contract.execution import new_command_id
from clawperator.skills.registry import SkillRegistry, open_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from clawperator.skills.process import OutputListener, Stream


def _registry(call: Call) -> SkillRegistry:
    registry = open_registry(call.arguments.get("--registry"))
    for text in registry.warnings:
        call.console.warn(text)
    return registry


def _written_registry(call: Call) -> SkillRegistry:
    """The registry that is being written: also that of a folder which is not trusted, as nothing of it runs."""
    return open_registry(call.arguments.get("--registry"), to_validate=True)


def _id(call: Call, alternative: str = "") -> str:
    return call.require(call.arguments.get("--skill-id") or call.word, f"a skill id{alternative}")


def _listing(found: list[Any]) -> CommandResult:
    return CommandResult({"skills": found, "count": len(found)})


def list_skills(call: Call) -> CommandResult:
    return _listing(_registry(call).entries)


def get(call: Call) -> CommandResult:
    return CommandResult({"skill": _registry(call).entry(_id(call))})


def search(call: Call) -> CommandResult:
    from clawperator.skills.registry import search_skills

    keyword = call.arguments.get("--keyword") or call.word
    app, intent = call.arguments.get("--app"), call.arguments.get("--intent")
    call.require(keyword if call.word == "" else keyword or app or intent, "a keyword, --app or --intent")
    return _listing(search_skills(_registry(call).entries, app=app, intent=intent, keyword=keyword))


def for_app(call: Call) -> CommandResult:
    from clawperator.skills.registry import search_skills

    app = call.require(call.word, "a package name")
    return _listing(search_skills(_registry(call).entries, app=app))


def validate(call: Call) -> CommandResult:
    from clawperator.skills.validation import validate_all, validate_skill

    dry_run = call.arguments.has("--dry-run")
    if not call.arguments.has("--all"):
        return CommandResult(validate_skill(_written_registry(call), _id(call, " or --all"), dry_run=dry_run))
    if call.arguments.has("--skill-id") or call.arguments.words:
        raise usage("skills validate takes a skill id or --all, not both", "Leave one of them out.")
    return CommandResult(validate_all(_written_registry(call), dry_run=dry_run))


def new(call: Call) -> CommandResult:
    from clawperator.skills.scaffold import new_skill

    created = new_skill(
        _id(call),
        summary=call.arguments.get("--summary"),
        context=call.arguments.get("--recording-context"),
        registry=call.arguments.get("--registry"),
    )
    return CommandResult(created)


def compile_artifact(call: Call) -> CommandResult:
    from clawperator.skills.artifacts import compile_artifact as compile_

    skill_id = _id(call)
    artifact = call.require(call.arguments.get("--artifact"), "--artifact <name>")
    execution = compile_(_registry(call), skill_id, artifact, call.arguments.get("--vars"))
    return CommandResult({"execution": execution})


def run(call: Call) -> CommandResult:
    from clawperator.skills.run import SkillRunRequest, run_skill

    arguments, named = call.arguments, call.arguments.get("--skill-id")
    skill_id = _id(call)
    request = SkillRunRequest(
        skill_id,
        args=tuple(arguments.words if named else arguments.words[1:]),
        device=call.options.device,
        operator_package=call.options.operator_package,
        timeout_ms=call.options.timeout_ms,
        expect=arguments.get("--expect-contains"),
        check=not arguments.has("--skip-validate"),
        pass_env=arguments.all("--pass-env"),
        allow_schemes=arguments.all("--allow-scheme"),
    )
    registry = _registry(call)
    warn_of_config(call)
    if call.options.pretty or call.options.text:
        call.console.lines("info", [_banner(skill_id), _operator_line(request.device, request.operator_package)])

    def start() -> CommandResult:
        return CommandResult(run_skill(registry, request, _relay() if call.options.pretty else None))

    with interrupt_on_signals():
        if not call.arguments.has("--evidence"):
            return _with_report(call, skill_id, start)
        from clawperator.cli.evidence import describe_run, with_evidence
        from clawperator.device.settings import default_backend

        about = describe_run(call, new_command_id("skill-"), default_backend())
        return with_evidence(call, about, lambda: _with_report(call, skill_id, start))


def _with_report(call: Call, skill_id: str, run: "Callable[[], CommandResult]") -> CommandResult:
    """Run the skill and write its JUnit report, if there is to be one."""
    if not call.arguments.has("--junit"):
        return run()
    from clawperator.cli.junit import with_report
    from clawperator.cli.junit_suites import SkillRunSuite

    return with_report(call, run, SkillRunSuite(skill_id, call.options.device).suite)


def _banner(skill_id: str) -> str:
    from clawperator import __version__
    from clawperator.device.run.host_log import log_file

    return f"clawperator {__version__}: running {skill_id}; log: {log_file()}"


def _operator_line(serial: str | None, named: str | None) -> str:
    """A line about the Operator on the device. Errors are part of the line, never raised."""
    from clawperator.contract.wire import OPERATOR_PACKAGE
    from clawperator.device.discovery import known_device
    from clawperator.device.operators import find_operator
    from clawperator.device.settings import named_operator
    from clawperator.device.setup.version_check import probe_compatibility
    from clawperator.errors import ClawError

    named = named_operator(named)
    package = named or OPERATOR_PACKAGE
    try:
        device = known_device(serial)
    except ClawError as e:
        return f"Operator {package}: {e.message}"
    if device is None:
        return f"Operator {package}: the skill chooses its device"
    package = find_operator(device, named)
    found = probe_compatibility(device, package)
    if found.error:
        return f"Operator {package} on {device.serial}: {found.error.message}"
    return f"Operator {package} on {device.serial}: version {found.apkVersion}"


def _relay() -> "OutputListener":
    """Copies the output of a running skill to ours. A closed stream is ignored."""

    def relay(stream: "Stream", data: bytes) -> None:
        target = sys.stdout if stream == "stdout" else sys.stderr
        with suppress(OSError, ValueError, AttributeError):
            target.buffer.write(data)
            target.buffer.flush()

    return relay


def install(_: Call) -> CommandResult:
    from clawperator.skills.sync import install_skills

    return CommandResult(install_skills())


def update(call: Call) -> CommandResult:
    from clawperator.skills.sync import MAIN, sync_skills

    return CommandResult(sync_skills(call.arguments.get("--ref") or MAIN))


def sync(call: Call) -> CommandResult:
    from clawperator.skills.sync import sync_skills

    return CommandResult(sync_skills(call.require(call.arguments.get("--ref"), "--ref <ref>")))
