"""``--evidence`` of turns: one bundle per command, whose captures obey the agent's policy."""

import os
from collections.abc import Callable

from msgspec.structs import replace

from clawperator.agent.envelope import build_envelope
from clawperator.agent.redaction import Redactor, environment_secrets
from clawperator.agent.turns.assembly import AgentOptions, agent_policy
from clawperator.cli.claw.command_line import FORMAT_FLAG, FORMAT_VARIABLE
from clawperator.cli.claw.response import Response
from clawperator.cli.evidence import FLAG, EvidenceRecorder, RunDescription, words_of
from clawperator.cli.parsing import ParsedArguments
from clawperator.policy.gate import PolicyGate, enforcing


def turns_with_evidence(
    arguments: ParsedArguments, options: AgentOptions, run_id: str, run: Callable[[], Response]
) -> Response:
    """Run turns and keep their evidence. The document is redacted like a session."""
    folder = arguments.get(FLAG)
    assert folder is not None
    about = RunDescription(
        run_id=run_id,
        command=f"claw {arguments.name}",
        argv=("claw", arguments.name, *words_of(arguments)),
        device=options.device,
        operator_package=options.operator_package,
        backend=options.backend,
    )
    gate = PolicyGate(agent_policy(options))
    recorder = EvidenceRecorder(folder, about)
    with enforcing(gate):
        recorder.before()
    response = run()
    members = {**response.payload, "warnings": list(response.warnings)}
    document = Redactor(environment_secrets()).value(build_envelope(arguments.name, response.exit_code, members))
    interrupted = (response.payload.get("error") or {}).get("code") == "INTERRUPTED"
    with enforcing(gate):
        recorder.after(document, _exit_code(arguments, response), interrupted=interrupted)
    if not recorder.warning:
        return response
    return replace(response, warnings=(*response.warnings, recorder.warning))


def _exit_code(arguments: ParsedArguments, response: Response) -> int:
    """The exit code of the process, which depends on the format."""
    given = arguments.get(FORMAT_FLAG) or os.environ.get(FORMAT_VARIABLE) or "text"
    is_text = given.casefold() != "json"
    return response.text_code if is_text and response.text_code is not None else response.exit_code
