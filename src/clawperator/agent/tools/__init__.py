"""What ``claw`` can have done: one row per tool, with its parameters, its level and the function that does it.

The eighteen actions come from the one registry in ``contract.actions``. The others look at phones, work on
recordings and run skills. A tool that acts on the phone or writes a file has the level ``act``; what only looks,
or reads files, is ``read-only``.
"""

from functools import lru_cache

from clawperator.agent.ports import Tool


@lru_cache(maxsize=1)
def builtin_tools() -> tuple[Tool, ...]:
    """Every tool that comes with the product, in the order they are listed."""
    from clawperator.agent.tools.actions import ACTION_TOOLS
    from clawperator.agent.tools.phones import PHONE_TOOLS
    from clawperator.agent.tools.recordings import RECORDING_TOOLS
    from clawperator.agent.tools.screens import SCREEN_TOOLS
    from clawperator.agent.tools.skills import SKILL_TOOLS

    return (*ACTION_TOOLS, *SCREEN_TOOLS, *PHONE_TOOLS, *RECORDING_TOOLS, *SKILL_TOOLS)
