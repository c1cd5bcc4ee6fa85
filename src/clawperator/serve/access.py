"""What the clients of a server may do: the tools, under the policy of the user's settings and the flags."""

from msgspec import Struct

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolContext
from clawperator.agent.settings import user_settings
from clawperator.agent.tool_registry import ToolRegistry
from clawperator.agent.tools.builtin import builtin_tools
from clawperator.agent.turns.assembly import AgentOptions, agent_policy, rule_warnings
from clawperator.policy.rules import Policy


class ServerAccess(Struct, frozen=True):
    """The tools of a server under its policy. ``warnings`` are about the user's settings and the rules."""

    options: AgentOptions
    registry: ToolRegistry
    warnings: tuple[str, ...] = ()

    @property
    def policy(self) -> Policy:
        return self.registry.policy

    def context(self, deadline: TurnDeadline) -> ToolContext:
        """The environment of one call."""
        return self.options.tool_context(deadline)


def open_access(options: AgentOptions) -> ServerAccess:
    """The access that the flags and the user's settings give. Settings of the working folder do not count.

    A server has no terminal: what requires confirmation is denied. A policy inherited from a parent restricts it.
    """
    settings = user_settings()
    registry = ToolRegistry(builtin_tools(), agent_policy(options, settings))
    return ServerAccess(options, registry, (*settings.warnings, *rule_warnings(registry.policy)))
