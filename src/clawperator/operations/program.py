"""Operations about this program: its version, settings, schemas, shell completion and help."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from clawperator import __version__
from clawperator.contract.fields import about
from clawperator.operations.model import NoParams, Params, Rule, cli_operation, operation

if TYPE_CHECKING:
    from clawperator.device.setup.version_check import Compatibility
    from clawperator.operations.call import Caller

_HANDLERS = "clawperator.cli.handlers."


class VersionParams(Params, frozen=True, kw_only=True):
    """Print the version."""

    check_compat: Annotated[bool, about("compare it with the Operator on the device")] = False


class ProgramVersion(Struct, frozen=True):
    cliVersion: str


@operation(
    "version",
    "clawperator.device.setup.version_check:Compatibility",
    level="read-only",
    ok=lambda result: getattr(result, "compatible", True),
    message=lambda result, _: f"clawperator {result.cliVersion}",
    text="clawperator.cli.text.reports:compatibility_blocks",
    on_device=True,
    examples=("clawperator version", "clawperator version --check-compat"),
)
def version(params: VersionParams, caller: "Caller") -> "ProgramVersion | Compatibility":
    if not params.check_compat:
        return ProgramVersion(__version__)
    from clawperator.device.settings import find_operator, named_operator
    from clawperator.device.setup.version_check import probe_compatibility

    device = caller.connected_device()
    return probe_compatibility(device, find_operator(device, named_operator(caller.operator_package)))


cli_operation(
    "config",
    NoParams,
    _HANDLERS + "program:print_settings",
    purpose="Print the settings in force, and where each comes from.",
    level="read-only",
    text="clawperator.cli.text.listings:config_blocks",
    examples=("clawperator config", "CLAWPERATOR_BACKEND=adb clawperator config --output text"),
)


class SchemaParams(Params, frozen=True, kw_only=True):
    """Print the JSON Schema of a document, or the tool schemas for function calling."""

    name: Annotated[str | UnsetType, about("name of a document, or tools", word=1)] = UNSET
    form: Annotated[Literal["openai", "anthropic"] | UnsetType, about("with tools: only this form")] = UNSET
    all: Annotated[bool, about("with tools: every tool of claw, not only the compact set for models")] = False


cli_operation(
    "schema",
    SchemaParams,
    _HANDLERS + "program:print_schema",
    level="read-only",
    subject="name",
    rules=(Rule("form", "name", ("tools",)), Rule("all", "name", ("tools",))),
    text="clawperator.cli.text.listings:schemas_blocks",
    examples=(
        "clawperator schema",
        "clawperator schema execution",
        "clawperator schema tools --form anthropic",
    ),
    notes="Without a name, the names are listed. The name tools prints the tool schemas.",
)


class CompletionParams(Params, frozen=True, kw_only=True):
    """Print the completion script of a shell, for clawperator and claw."""

    shell: Annotated[Literal["bash", "zsh", "fish"], about("the shell", word=1, metavar="<bash|zsh|fish>")]


cli_operation(
    "completion",
    CompletionParams,
    _HANDLERS + "completion:print_script",
    level="read-only",
    examples=("clawperator completion bash", "clawperator completion zsh > _clawperator"),
    notes="Load it in the running shell:\n"
    "  bash, zsh: source <(clawperator completion bash)\n"
    "  fish: clawperator completion fish | source\n"
    "The script runs the command for each completion. After --device it lists the connected devices.",
)


class HelpParams(Params, frozen=True, kw_only=True):
    """Print help for all commands, or for one."""

    command: Annotated[list[str], about("name of a command", word=1)] = []


cli_operation(
    "help", HelpParams, "clawperator.cli.help:print_help", level="read-only", examples=("clawperator help click",)
)
