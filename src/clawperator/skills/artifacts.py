"""Artifacts: execution templates with placeholders, compiled and validated."""

import os
import re
from typing import Any

import msgspec

from clawperator._base.files import open_regular, why
from clawperator._base.text import whole
from clawperator._base.typed import decode
from clawperator.contract.execution import validate
from clawperator.errors import ClawError
from clawperator.skills.registry import SkillEntry, SkillRegistry, parse_entry

SUFFIX = ".recipe.json"
_PLACEHOLDER = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")
_MAX_BYTES = 1024 * 1024
_HIGHEST_INDEX = 2**32 - 2
_LONGEST_INDEX = len(str(_HIGHEST_INDEX))


def compile_artifact(
    registry: SkillRegistry, skill_id: str, artifact: str, variables: str | None = None
) -> dict[str, Any]:
    """Compile an artifact to an execution, with values for its placeholders from a JSON object."""
    registry = registry.holding(skill_id)
    entry = parse_entry(registry.entry(skill_id))
    name = artifact.removesuffix(SUFFIX)
    path = registry.file(_artifact_path(entry, name))
    given = read_variables(variables)
    digest = fingerprint(skill_id, name, given)
    values = {"COMMAND_ID": f"cmd-{digest}", "TASK_ID": f"task-{digest}", **{k: v for k, v in given.items() if v}}
    text = _PLACEHOLDER.sub(lambda found: _value(found[1], values), _read(path))
    try:
        document = decode(text)
        if isinstance(document, dict):
            document["mode"] = "artifact_compiled"
        return validate(document).document
    except ValueError as e:
        raise _invalid_artifact(skill_id, name, f"not valid JSON: {e}") from None
    except ClawError as e:
        details = {"code": e.code, **(e.details or {})}
        raise _invalid_artifact(skill_id, name, e.message, hint=e.hint, details=details) from e


def read_variables(text: str | None) -> dict[str, str]:
    """The members of a JSON object as texts; ``COMPILE_VARS_PARSE_FAILED`` when it is not an object."""
    try:
        given = decode(text or "{}")
    except ValueError as e:
        raise _invalid_variables(str(e)) from None
    if not isinstance(given, dict):
        raise _invalid_variables("it is not an object")
    return {name: _as_text(value) for name, value in given.items()}


def fingerprint(skill_id: str, artifact: str, variables: dict[str, str]) -> str:
    """Twelve hex digits that depend only on skill, artifact and variables."""
    import hashlib

    in_order = {name: variables[name] for name in sorted(variables, key=_js_key_order)}
    encoded = msgspec.json.encode({"skillId": skill_id, "artifactName": artifact, "vars": in_order})
    return hashlib.sha256(encoded).hexdigest()[:12]


def _js_key_order(name: str) -> tuple[int, int, bytes]:
    """Sort key for the order of sorted keys in a JavaScript object: integers come first."""
    is_number = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    if is_number and len(name) <= _LONGEST_INDEX and int(name) <= _HIGHEST_INDEX:
        return 0, int(name), b""
    return 1, 0, name.encode("utf-16-be", "surrogatepass")


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        value = whole(value)
    return msgspec.json.encode(value).decode()


def _value(name: str, values: dict[str, str]) -> str:
    if not values.get(name):
        raise ClawError(
            "COMPILE_VAR_MISSING",
            f"placeholder {{{{{name}}}}} has no value",
            hint=f"""Pass it in --vars, as in --vars '{{"{name}":"..."}}'.""",
            details={"placeholder": name},
        )
    return msgspec.json.encode(values[name]).decode()[1:-1]


def _artifact_path(entry: SkillEntry, name: str) -> str:
    for path in entry.artifacts:
        if os.path.basename(path) == name + SUFFIX:
            return path
    known = [os.path.basename(path) for path in entry.artifacts]
    raise ClawError(
        "ARTIFACT_NOT_FOUND",
        f"skill {entry.id} has no artifact {name + SUFFIX!r}",
        hint=f"Artifacts: {', '.join(known)}." if known else "The skill has no artifacts.",
        details={"artifacts": known},
        target=name,
    )


def _read(path: str) -> str:
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _unreadable(path, f"it is longer than {_MAX_BYTES} bytes")
        return data.decode()
    except (OSError, UnicodeDecodeError) as e:
        raise _unreadable(path, why(e)) from e


def _unreadable(path: str, reason: str) -> ClawError:
    return ClawError("REGISTRY_READ_FAILED", f"cannot read the artifact {path}: {reason}", target=path)


def _invalid_variables(reason: str) -> ClawError:
    return ClawError(
        "COMPILE_VARS_PARSE_FAILED",
        f"--vars must be a JSON object: {reason}",
        hint="""Write --vars '{"NAME":"value"}'.""",
    )


def _invalid_artifact(
    skill_id: str, name: str, reason: str, *, hint: str | None = None, details: dict[str, Any] | None = None
) -> ClawError:
    return ClawError(
        "COMPILE_VALIDATION_FAILED",
        f"artifact {name} of {skill_id} is not a valid execution: {reason}",
        hint=hint,
        details={"artifact": name, "reason": reason, **(details or {})},
        target=name,
    )
