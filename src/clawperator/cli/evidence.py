"""``--evidence``: keep what a run printed, and the screen before and after it.

A folder that cannot be created is an error before the run. After that nothing about the evidence changes the
result of the run: what cannot be written is a warning.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct

from clawperator._base.files import why
from clawperator.cli.command_line import Call, CommandResult
from clawperator.cli.outcome import run_to_end
from clawperator.cli.parsing import ParsedArguments, usage
from clawperator.cli.time_limit import paused_limit
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import BackendName
from clawperator.errors import ClawError

if TYPE_CHECKING:
    from clawperator.contract.action_params import TextSource
    from clawperator.contract.execution import Plan
    from clawperator.device.adb.client import Device
    from clawperator.device.run.evidence import CaptureSource

FLAG = "--evidence"
_SECRET_TYPED = "a secret was typed"


class RunDescription(Struct, frozen=True, kw_only=True):
    """What a bundle is about. ``typed`` are texts that the run types, ``secrets`` where it reads further ones."""

    run_id: str
    command: str
    argv: tuple[str, ...]
    device: str | None
    operator_package: str | None
    backend: BackendName
    typed: tuple[str, ...] = ()
    secrets: "tuple[TextSource, ...]" = ()


class EvidenceRecorder:
    """Captures around one run. Its methods after the constructor never raise an error of their own."""

    def __init__(self, folder: str, about: RunDescription) -> None:
        from clawperator.device.run.evidence import EvidenceBundle

        self._about = about
        self._source: CaptureSource | None = None
        self.warning = ""
        try:
            self._bundle = EvidenceBundle(folder, about.run_id)
        except (OSError, ValueError) as e:
            raise usage(f"cannot create a folder in {folder}: {why(e)}", f"Pass a folder to {FLAG}.") from e

    def before(self) -> None:
        try:
            self._source = self._find()
        except ClawError as e:  # the run reports it, if it needs a device
            for name in ("before.xml", "before.png", "after.xml", "after.png"):
                self._bundle.leave_out(name, f"{e.code}: {e.message}")
            return
        self._bundle.capture("before", self._source)

    def after(self, document: Mapping[str, Any], exit_code: int, *, interrupted: bool) -> None:
        """Capture the screen, unless the run was interrupted, and complete the bundle."""
        from clawperator.device.run.evidence import FinishedRun

        about = self._about
        status = "interrupted" if interrupted else "failed" if exit_code else "success"
        try:
            if self._source is not None and interrupted:
                for name in ("after.xml", "after.png"):
                    self._bundle.leave_out(name, "the run was interrupted")
            elif self._source is not None:
                self._bundle.capture("after", self._source, no_picture=_SECRET_TYPED if about.secrets else "")
            run = FinishedRun(
                command=about.command,
                argv=list(self._argv()),
                deviceId=self._source.device.serial if self._source else about.device,
                exitCode=exit_code,
                status=status,
            )
            self._bundle.finish(msgspec.json.encode(document), run)
        except (OSError, ValueError) as e:
            self.warning = f"the evidence in {self._bundle.path} is incomplete: {why(e)}"

    def _find(self) -> "CaptureSource":
        from clawperator.device.discovery import resolve_device
        from clawperator.device.run.evidence import CaptureSource
        from clawperator.device.settings import named_operator

        device = resolve_device(self._about.device)
        package = named_operator(self._about.operator_package)
        return CaptureSource(device, package, self._about.backend, tuple(self._secret_texts(device)))

    def _secret_texts(self, device: "Device") -> Iterator[str]:
        """The secrets that the run reads. One that cannot be read cannot be typed."""
        from clawperator.device.run.secrets import SecretReader

        for source in self._about.secrets:
            with suppress(ClawError):
                yield SecretReader(device.serial).read(source)

    def _argv(self) -> Iterator[str]:
        from clawperator.agent.redaction import Redactor, host_secrets
        from clawperator.ui.node import HIDDEN

        typed = self._about.typed
        redactor = Redactor((*host_secrets(), *typed))
        before = ""
        for word in self._about.argv:
            flag = before if before.startswith("-") and "=" not in before else ""
            yield HIDDEN if word in typed else redactor.value({flag: word})[flag]
            before = word


def with_evidence(
    call: Call, about: RunDescription, run: Callable[[], CommandResult], folder: str
) -> CommandResult:
    """Run a command, and keep its evidence in a folder. Captures do not count for ``--timeout``."""
    recorder = EvidenceRecorder(folder, about)
    with paused_limit():
        recorder.before()
    outcome = run_to_end(run)
    interrupted = outcome.document.get("code") == "INTERRUPTED"
    try:
        with paused_limit():
            recorder.after(outcome.document, outcome.exit_code, interrupted=interrupted)
    except KeyboardInterrupt:  # the run itself has ended: report it
        recorder.warning = "interrupted from the keyboard; the evidence is incomplete"
    if recorder.warning:
        call.console.warn(recorder.warning)
    return outcome.unwrap()


def describe_run(call: Call, run_id: str, backend: BackendName, plan: "Plan | None" = None) -> RunDescription:
    """The description of a command of ``clawperator``; ``plan`` is the execution that it runs."""
    options = call.options
    shared = {
        "--device": options.device,
        "--operator-package": options.operator_package,
        "--timeout": options.timeout,
    }
    given = [word for name, value in shared.items() if value is not None for word in (name, value)]
    actions = () if plan is None else plan.execution.actions
    params = [(action.params, ACTIONS[action.type].typed_param) for action in actions]
    texts = (getattr(own, name) for own, name in params if name)
    sources = (getattr(own, "textFrom", UNSET) for own, _ in params)
    return RunDescription(
        run_id=run_id,
        command=call.name,
        argv=("clawperator", *call.name.split(), *words_of(call.arguments), *given),
        device=options.device,
        operator_package=options.operator_package,
        backend=backend,
        typed=tuple(text for text in texts if isinstance(text, str) and text),
        secrets=tuple(source for source in sources if source is not UNSET),
    )


def words_of(arguments: ParsedArguments) -> Iterator[str]:
    """The words and flags of a command, with the flags by their own names."""
    yield from arguments.words
    assert arguments.command is not None
    counts = {flag.name: flag.values for flag in arguments.command.flags}
    for name, values in arguments.values.items():
        if not values:
            yield name
        size = max(counts.get(name, 1), 1)
        for start in range(0, len(values), size):
            yield from (name, *values[start : start + size])


def refuse_without_run(arguments: ParsedArguments, *flags: str) -> None:
    """``USAGE`` when ``--evidence`` is given with a flag that runs nothing."""
    found = next((flag for flag in flags if arguments.has(flag)), None)
    if found is not None and arguments.has(FLAG):
        raise usage(f"{FLAG} keeps the evidence of a run; {found} runs nothing", f"Leave {FLAG} or {found} out.")
