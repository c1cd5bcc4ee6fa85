"""``list-sessions``, ``load-session``, ``delete-session`` and ``flush-transcript``."""

from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from clawperator.agent.sessions.store import SessionStore
from clawperator.cli.claw.command_line import chosen_session, directory, text_of
from clawperator.cli.claw.dispatch import Response, failure, not_found_members
from clawperator.cli.parsing import ParsedArguments
from clawperator.errors import ClawError
from clawperator.operations.sessions import FlushParams, SessionFolderParams, SessionParams


def list_sessions(arguments: ParsedArguments, params: SessionFolderParams) -> Response:
    folder = directory(params, arguments.name)
    listing = SessionStore(folder).list()
    rows = [asdict(summary) for summary in listing.sessions]
    payload = {
        "directory": folder,
        "sessions_count": len(rows),
        "sessions": rows,
        "count": len(rows),
        "invalid_count": sum(not summary.valid for summary in listing.sessions),
    }
    text = "\n".join(summary.session_id for summary in listing.sessions) or "(no sessions)"
    problems = [f"{s.session_id}: {s.problem}" for s in listing.sessions if s.problem]
    if listing.problem:
        problems.append(f"{listing.problem}; it has no sessions")
    return Response(payload, text, warnings=tuple(problems))


def load_session(arguments: ParsedArguments, params: SessionParams) -> Response:
    session_id, folder = params.session_id, directory(params, arguments.name)
    try:
        session = SessionStore(folder).load(session_id)
    except ClawError as e:
        members = {
            **not_found_members(e, session_id),
            "session_id": session_id,
            "loaded": False,
            "directory": folder,
        }
        response = failure(e, arguments.name, members)
        return replace(response, to_stderr=False) if e.code == "SESSION_LOAD_FAILED" else response
    lines = (
        session.session_id,
        f"{session.messages_count} messages",
        f"in={session.input_tokens} out={session.output_tokens}",
    )
    members = {name: value for name, value in asdict(session).items() if name not in ("turns", "warnings")}
    turns = [_turn(turn) for turn in msgspec.to_builtins(session.turns)]
    payload = {"session_id": session.session_id, "loaded": True, "directory": folder, **members, "turns": turns}
    return Response(payload, "\n".join(lines), warnings=tuple(session.warnings))


def _turn(record: dict[str, Any]) -> dict[str, Any]:
    """A turn as every document shows it. A saved turn is complete; a prompt alone has no output."""
    members = {name: value for name, value in record.items() if name != "type"}
    return {**members, "output": members["output"] or "", "cancel_observed": False}


def delete_session(arguments: ParsedArguments, params: SessionParams) -> Response:
    session_id, folder = params.session_id, directory(params, arguments.name)
    try:
        deleted = SessionStore(folder).delete(session_id)
    except ClawError as e:
        members = {"session_id": session_id, "deleted": False, "status": "failed", "directory": folder}
        return failure(e, arguments.name, members)
    status = "deleted" if deleted else "not_found"
    payload = {"session_id": session_id, "deleted": deleted, "status": status, "directory": folder}
    return Response(payload, f"{status.replace('_', ' ')}: {session_id}")


def flush_transcript(arguments: ParsedArguments, params: FlushParams) -> Response:
    """Save a prompt in a new session, or append it to one. No brain and no device is involved."""
    prompt, folder = text_of(params.prompt), directory(params, arguments.name)
    wanted, resume = chosen_session(params, arguments.name)
    try:
        with SessionStore(folder).open(wanted, resume=resume) as session:
            session.append_prompt(prompt)
    except ClawError as e:
        members = {**not_found_members(e, wanted), "session_id": wanted, "flushed": False, "directory": folder}
        return failure(e, arguments.name, members)
    payload = {
        "session_id": session.session_id,
        "path": session.path,
        "flushed": True,
        "messages_count": session.message_count,
        "input_tokens": session.usage.input_tokens,
        "output_tokens": session.usage.output_tokens,
        "directory": folder,
    }
    return Response(payload, f"{session.path}\nflushed=True", warnings=tuple(session.warnings))
