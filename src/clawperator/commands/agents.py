"""Commands for those who build agents."""

from clawperator.commands.model import Command, Flag

AGENTS = Command(
    "agents",
    "Set up agents that use this command line.",
    subcommands=(
        Command(
            "init",
            "Print instructions for an agent: the text of AGENTS.md or SKILL.md.",
            flags=(
                Flag(
                    "--form",
                    "agents (AGENTS.md) or skill (SKILL.md); default: agents",
                    "<agents|skill>",
                    choices=("agents", "skill"),
                ),
                Flag("--write", "file to add the instructions to, as a marked section", "<file>", path="out"),
            ),
            examples=("clawperator agents init", "clawperator agents init --write AGENTS.md"),
            notes=(
                "--write appends the section, or replaces the section that it wrote before.\n"
                "Other text of the file stays as it is."
            ),
            handler="clawperator.cli.handlers.agents:init",
            level="read-only",
            raised_by={"--write": "act"},
        ),
    ),
)
COMMANDS = (AGENTS,)
