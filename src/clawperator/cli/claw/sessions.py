"""``list-sessions``, ``load-session``, ``delete-session`` and ``flush-transcript``."""

from typing import Any

from clawperator.agent.sessions.store import LoadedSession, SessionStore, SessionSummary
from clawperator.cli.claw.inputs import chosen_session, directory, text_of
from clawperator.cli.claw.parsing import Read
from clawperator.cli.claw.response import Told, absent, failure
from clawperator.errors import ClawError


def answer(asked: Read) -> Told:
    match asked.name:
        case "list-sessions":
            return _list(asked)
        case "load-session":
            return _load(asked)
        case "delete-session":
            return _delete(asked)
        case _:
            return _flush(asked)


def _list(asked: Read) -> Told:
    folder = directory(asked)
    listing = SessionStore(folder).list()
    rows = [_row(summary) for summary in listing.sessions]
    payload = {
        "directory": folder,
        "sessions_count": len(rows),
        "sessions": rows,
        "count": len(rows),
        "invalid_count": sum(not summary.valid for summary in listing.sessions),
    }
    text = "\n".join(summary.session_id for summary in listing.sessions) or "(no sessions)"
    problems = tuple(f"{s.session_id}: {s.problem}" for s in listing.sessions if s.problem)
    return Told(payload, text, warnings=problems)


def _row(summary: SessionSummary) -> dict[str, Any]:
    return {
        "session_id": summary.session_id,
        "created_at": summary.created_at,
        "last_modified": summary.last_modified,
        "prompt_count": summary.prompt_count,
        "stopped": summary.stopped,
        "path": summary.path,
        "messages_count": summary.message_count,
        "valid": summary.valid,
        "size_bytes": summary.size_bytes,
        "problem": summary.problem,
    }


def _load(asked: Read) -> Told:
    session_id, folder = asked.words[0], directory(asked)
    try:
        session = SessionStore(folder).load(session_id)
    except ClawError as e:
        told = {**absent(e, session_id), "session_id": session_id, "loaded": False, "directory": folder}
        return failure(e, asked.name, told)
    lines = (
        session.session_id,
        f"{session.message_count} messages",
        f"in={session.input_tokens} out={session.output_tokens}",
    )
    return Told(_loaded(session, folder), "\n".join(lines), warnings=tuple(session.warnings))


def _loaded(session: LoadedSession, folder: str) -> dict[str, Any]:
    import msgspec

    turns: list[dict[str, Any]] = msgspec.to_builtins(session.turns)
    return {
        "session_id": session.session_id,
        "loaded": True,
        "directory": folder,
        "path": session.path,
        "messages_count": session.message_count,
        "prompt_count": session.prompt_count,
        "input_tokens": session.input_tokens,
        "output_tokens": session.output_tokens,
        "created_at": session.created_at,
        "last_modified": session.last_modified,
        "legacy": session.legacy,
        "turns": [_turn(turn) for turn in turns],
    }


def _turn(record: dict[str, Any]) -> dict[str, Any]:
    """A turn as all documents show it. One that was kept is complete; a prompt alone has no output."""
    kept = {name: value for name, value in record.items() if name != "type"}
    return {**kept, "output": kept["output"] or "", "cancel_observed": False}


def _delete(asked: Read) -> Told:
    session_id, folder = asked.words[0], directory(asked)
    try:
        deleted = SessionStore(folder).delete(session_id)
    except ClawError as e:
        told = {"session_id": session_id, "deleted": False, "status": "failed", "directory": folder}
        return failure(e, asked.name, told)
    status = "deleted" if deleted else "not_found"
    payload = {"session_id": session_id, "deleted": deleted, "status": status, "directory": folder}
    return Told(payload, f"{status.replace('_', ' ')}: {session_id}")


def _flush(asked: Read) -> Told:
    """Keep a prompt as a session of its own, or at the end of one. No brain and no phone has a part in it."""
    prompt, folder = text_of(asked.words[0]), directory(asked)
    wanted, resume = chosen_session(asked)
    try:
        with SessionStore(folder).open(wanted, resume=resume) as session:
            session.append_prompt(prompt)
    except ClawError as e:
        told = {**absent(e, wanted), "session_id": wanted, "flushed": False, "directory": folder}
        return failure(e, asked.name, told)
    payload = {
        "session_id": session.session_id,
        "path": session.path,
        "flushed": True,
        "messages_count": session.message_count,
        "input_tokens": session.usage.input_tokens,
        "output_tokens": session.usage.output_tokens,
        "directory": folder,
    }
    return Told(payload, f"{session.path}\nflushed=True", warnings=tuple(session.warnings))
