"""Commands that serve clients, and what their clients may do. They exist on command lines only."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract.fields import Level, about
from clawperator.operations.model import FAMILIES, Family, FilePath, Params, cli_operation

_HANDLERS = "clawperator.cli.handlers."
InstructionFormat = Literal["agents", "skill"]
DenyTool = Annotated[list[str], about("deny this tool")]
DenyPrefix = Annotated[list[str], about("deny every tool whose name starts with this")]
PassEnv = Annotated[
    list[str], about("variable that skills and MCP servers also receive", metavar="<name>", raises="full")
]


class AgentPermissions(Params, frozen=True, kw_only=True):
    """The permissions of an agent: of a claw command, or of the clients of a server.

    An agent must not be able to allow itself, by a command, what its caller was denied.
    """

    permission_mode: Annotated[
        Level | UnsetType,
        about("read-only observes, act also acts, full also deletes and installs (default: act)", raises="full"),
    ] = UNSET
    allow_tool: Annotated[list[str], about("allow this tool in every mode", raises="full")] = []
    deny_tool: DenyTool = []
    deny_prefix: DenyPrefix = []
    ask_tool: Annotated[list[str], about("require confirmation for this tool")] = []
    allow_scheme: Annotated[list[str], about("URI scheme to open besides http and https", raises="full")] = []
    pass_env: PassEnv = []


class AccessParams(AgentPermissions, frozen=True, kw_only=True):
    """What the clients of a server may do, and where."""

    folder: Annotated[
        FilePath | UnsetType, about("folder for the files of clients (default: the working folder)", path="out")
    ] = UNSET


class ServeParams(AccessParams, frozen=True, kw_only=True):
    """Serve the page for browsers, and the HTTP API for other programs."""

    open: Annotated[bool, about("open the page in the browser of this computer")] = False
    host: Annotated[str, about("address to listen on", metavar="<address>", aliases=("--bind",))] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535), about("port to listen on; 0 means any free port")] = 3000
    allow_remote: Annotated[bool, about("accept connections of other computers")] = False
    token_file: Annotated[
        FilePath | UnsetType,
        about("file with the token of clients; created if missing (default: in the product home)", path="in"),
    ] = UNSET


cli_operation(
    "serve",
    ServeParams,
    _HANDLERS + "servers:serve",
    level="full",
    runs_plans=True,
    examples=(
        "clawperator serve",
        "clawperator serve --open",
        "clawperator serve --port 0 --permission-mode read-only",
    ),
    notes=(
        "Needs the extra 'serve'. Prints the address and the token file to stderr. With --open a terminal also "
        "gets the address that signs a browser in, once and within a minute.\n"
        "Clients read and write files only inside --folder. Ctrl-C stops it."
    ),
)


class McpParams(AccessParams, frozen=True, kw_only=True):
    """Serve the tools to an MCP client over stdin and stdout."""

    config: Annotated[Literal["config"] | UnsetType, about("print a configuration", word=1, metavar="config")] = (
        UNSET
    )
    client: Annotated[str | UnsetType, about("the client to configure", word=2)] = UNSET


cli_operation(
    "mcp",
    McpParams,
    _HANDLERS + "servers:serve_mcp",
    level="full",
    runs_plans=True,
    text="clawperator.cli.text.listings:client_blocks",
    examples=(
        "clawperator mcp",
        "clawperator mcp --permission-mode read-only --device claw-1",
        "clawperator mcp config cursor",
    ),
    notes="Needs the extra 'mcp'. 'mcp config' lists clients; 'mcp config <client>' prints the configuration of "
    "one, with the flags that are given.\n"
    "Clients read and write files only inside --folder.",
)

FAMILIES["agents"] = Family("Set up agents that use this command line.")


class AgentsInitParams(Params, frozen=True, kw_only=True):
    """Print instructions for an agent: the text of AGENTS.md or SKILL.md."""

    form: Annotated[InstructionFormat, about("form of AGENTS.md, or of SKILL.md")] = "agents"
    write: Annotated[
        FilePath | UnsetType,
        about("file to add the instructions to, as a marked section", metavar="<file>", path="out", raises="act"),
    ] = UNSET


cli_operation(
    "agents init",
    AgentsInitParams,
    _HANDLERS + "program:init",
    level="read-only",
    text="clawperator.cli.text.listings:written_blocks",
    examples=("clawperator agents init", "clawperator agents init --write AGENTS.md"),
    notes=(
        "--write appends the section, or replaces the section that it wrote before.\n"
        "Other text of the file stays as it is."
    ),
)
