"""Deprecated alias of ``clawperator.skill_api``, kept for one release."""

import warnings

from clawperator.skill_api import Skill, declared_inputs

__all__ = ["Skill", "declared_inputs"]

warnings.warn(
    "clawperator.skill is deprecated and will be removed in the next release; import clawperator.skill_api",
    DeprecationWarning,
    stacklevel=2,
)
