"""Skills: scripts that do one job on a device and report checkpoints and a verified result."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.skills.artifacts import compile_artifact
    from clawperator.skills.process import OutputListener, Stream
    from clawperator.skills.registry import SkillRegistry, open_registry, parse_entry, read_registry, search_skills
    from clawperator.skills.run import SkillRunRequest, run_skill
    from clawperator.skills.scaffold import new_skill
    from clawperator.skills.sync import MAIN, install_skills, sync_skills
    from clawperator.skills.validation import read_skill_json, validate_all, validate_skill
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "artifacts": "compile_artifact",
            "process": "OutputListener Stream",
            "registry": "SkillRegistry open_registry parse_entry read_registry search_skills",
            "run": "SkillRunRequest run_skill",
            "scaffold": "new_skill",
            "sync": "MAIN install_skills sync_skills",
            "validation": "read_skill_json validate_all validate_skill",
        },
    )

__all__ = [
    "MAIN",
    "OutputListener",
    "SkillRegistry",
    "SkillRunRequest",
    "Stream",
    "compile_artifact",
    "install_skills",
    "new_skill",
    "open_registry",
    "parse_entry",
    "read_registry",
    "read_skill_json",
    "run_skill",
    "search_skills",
    "sync_skills",
    "validate_all",
    "validate_skill",
]
