"""Built-in tools: one row per tool, with its parameters, its level and its function.

The actions come from the registry in ``contract.actions``. The other tools inspect phones, process recordings and
run skills. A tool that acts on the phone or writes a file has the level ``act``; one that only reads is
``read-only``.
"""

from functools import lru_cache

from clawperator.agent.ports import Tool


@lru_cache(maxsize=1)
def builtin_tools() -> tuple[Tool, ...]:
    """All built-in tools, in the order of lists."""
    from clawperator.agent.tools.actions import ACTION_TOOLS
    from clawperator.agent.tools.operations import operation_tools
    from clawperator.agent.tools.phones import PHONE_TOOLS

    return (*ACTION_TOOLS, *PHONE_TOOLS, *operation_tools())
