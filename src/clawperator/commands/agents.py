"""Commands for those who build agents: instructions to paste, and schemas of documents and tools."""

from clawperator.commands.model import Command, Flag, switch

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
SCHEMA = Command(
    "schema",
    "Print the JSON Schema of a document, or the tool schemas for function calling.",
    "[<name>]",
    flags=(
        Flag(
            "--form",
            "with tools: only the form of openai or anthropic",
            "<openai|anthropic>",
            choices=("openai", "anthropic"),
        ),
        switch("--all", "with tools: every tool of claw, not only the compact set for models"),
    ),
    examples=(
        "clawperator schema",
        "clawperator schema execution",
        "clawperator schema tools --form anthropic",
    ),
    notes="Without a name, the names are listed. The name tools prints the tool schemas.",
    handler="clawperator.cli.handlers.schema:print_schema",
    level="read-only",
)
COMMANDS = (AGENTS, SCHEMA)
