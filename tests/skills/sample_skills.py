"""Registries and skills for tests."""

import json
from pathlib import Path
from typing import Any

ID = "com.example.app.greet"


def entry(skill_id: str = ID, scripts: tuple[str, ...] = ("run.py",), **more: Any) -> dict[str, Any]:
    app, _, intent = skill_id.rpartition(".")
    path = f"skills/{skill_id}"
    return {
        "id": skill_id,
        "applicationId": app,
        "intent": intent,
        "summary": f"Does {intent}.",
        "path": path,
        "skillFile": f"{path}/SKILL.md",
        "scripts": [f"{path}/scripts/{name}" for name in scripts],
        "artifacts": [],
        **more,
    }


def write_registry(root: Path, *entries: dict[str, Any]) -> Path:
    path = root / "skills" / "skills-registry.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": "1.0", "skills": list(entries)}))
    return path


def write_skill(root: Path, script: str = "", name: str = "run.py", *, mode: int = 0o755, **more: Any) -> Path:
    """Write a registry with one skill of one script. Returns the registry's path."""
    described = entry(scripts=(name,), **more)
    folder = root / "skills" / ID
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("# greet\n")
    (folder / "skill.json").write_text(json.dumps(described))
    (folder / "scripts" / name).write_text(script)
    (folder / "scripts" / name).chmod(mode)
    return write_registry(root, described)


def frame(**more: Any) -> dict[str, Any]:
    """A valid result."""
    return {"contractVersion": "1.0.0", "skillId": ID, "status": "success", "checkpoints": [], **more}
