"""Every command of ``claw``: names, flags, words of help and examples.

Parsing, suggestions, ``--help``, the inventory and the reference in the docs come from this one table.
"""

from clawperator.commands.model import BACKEND, Command, Flag, switch

_FORMAT = Flag("--output-format", "text for people, or json: one document on one line", "<text|json>")
CLAW_GLOBALS = (
    _FORMAT,
    switch("--help", "this text", "-h"),
    switch("--version", "the version", "-V"),
)

_DIRECTORY = Flag("--directory", "the folder of the sessions, .claw/sessions if absent", "<folder>")
_LIMIT = Flag("--limit", "how many matches at most, 5 if absent", "<n>")
_NO_MCP = switch("--no-mcp", "leave the tools of MCP servers out; no server is started")
_DENY_TOOL = Flag("--deny-tool", "a tool that must not be used; may be repeated", "<name>", repeats=True)
_DENY_PREFIX = Flag(
    "--deny-prefix", "no tool whose name begins with this; may be repeated", "<prefix>", repeats=True
)

_SESSION = (
    _DIRECTORY,
    Flag("--session-id", "the id of the new session, made up if absent", "<id>"),
    Flag("--resume", "go on with the session of this id", "<id>"),
)
_PHONE = (
    Flag("--device", "serial of the phone; the only one there is if absent", "<serial>"),
    Flag("--operator-package", "package of the Operator app", "<package>"),
    BACKEND,
)
_POLICY = (
    Flag(
        "--permission-mode",
        "what may be done: read-only looks, act also acts, full also deletes and installs; act if absent",
        "<read-only|act|full>",
    ),
    Flag("--allow-tool", "a tool that may be used whatever the mode; may be repeated", "<name>", repeats=True),
    _DENY_TOOL,
    _DENY_PREFIX,
    Flag("--ask-tool", "a tool to ask somebody about first; may be repeated", "<name>", repeats=True),
)
_TIME = Flag("--timeout-seconds", "how long all of it may take; no limit if absent", "<s>")
_ACTING = (*_PHONE, *_POLICY, _TIME)
_THINKING = (
    _LIMIT,
    Flag("--brain", "who turns the prompt into calls, offline if absent", "<offline|openai|anthropic>"),
    Flag("--model", "the name of the model, for a brain that has one", "<name>"),
    Flag(
        "--events",
        "where to write events as lines of JSON while it works; - is stdout, before the answer",
        "<file|->",
    ),
    Flag("--heartbeat-seconds", "how often to write an event while nothing else happens, 5 if absent", "<s>"),
    Flag(
        "--max-budget-tokens",
        "the most tokens the session may come to; if absent 2000, and 200000 for a model",
        "<n>",
    ),
    Flag(
        "--max-session-turns",
        "the most turns the session may have; 8 if absent, or --max-turns if that is more",
        "<n>",
    ),
    Flag("--max-steps", "the most tool calls in a turn, 120 if absent", "<n>"),
    _NO_MCP,
    switch("--strict", "exit 1 when a turn was refused for a limit, or cancelled"),
)
_STDIN = "A prompt of - is read from stdin."
_ASKED = "A denied call is an answer, not an end. Where nobody can be asked, to ask means no."
_OFFLINE = "The offline brain needs no key and no network. It takes plain sentences such as 'open settings'."

CLAW_COMMANDS: tuple[Command, ...] = (
    Command(
        "flush-transcript",
        "Write a prompt into a session, and make sure that it is on the disk.",
        "<prompt>",
        flags=(*_SESSION, _FORMAT),
        examples=(
            'claw flush-transcript "open settings" --session-id demo',
            'echo "read the battery level" | claw flush-transcript - --output-format json',
        ),
        notes=f"Nothing is routed or run. {_STDIN}",
    ),
    Command(
        "load-session",
        "Tell what a session holds: its messages, its tokens, where it lies.",
        "<session_id>",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw load-session demo", "claw load-session demo --output-format json"),
    ),
    Command(
        "list-sessions",
        "List the sessions of a folder.",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw list-sessions", "claw list-sessions --directory .claw/sessions --output-format json"),
        notes="A folder that is not there has no sessions; that is no error.",
    ),
    Command(
        "delete-session",
        "Delete a session and its evidence.",
        "<session_id>",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw delete-session demo", "claw delete-session demo --output-format json"),
        notes="One that is not there is deleted already: exit 0.",
    ),
    Command(
        "show-command",
        "Tell where a command comes from and what it is for.",
        "<name>",
        flags=(_FORMAT,),
        examples=("claw show-command recording-parse", "claw show-command tap --output-format json"),
        notes="The name may be a synonym, in any case. Subcommands are written with a dash: recording-parse.",
    ),
    Command(
        "show-tool",
        "Tell where a tool comes from and what it is for.",
        "<name>",
        flags=(_FORMAT,),
        examples=("claw show-tool click", "claw show-tool snapshot --output-format json"),
        notes="The name may be a synonym, in any case.",
    ),
    Command(
        "exec-command",
        "Run a command of the inventory.",
        "<name> <prompt>",
        flags=(*_ACTING, _FORMAT),
        examples=(
            "claw exec-command open com.android.settings",
            "claw exec-command skills-search battery --output-format json",
        ),
        notes=f"The prompt is what follows the command's name, and may be empty. {_STDIN}",
    ),
    Command(
        "exec-tool",
        "Run a tool of the inventory.",
        "<name> <payload>",
        flags=(*_ACTING, _FORMAT),
        examples=(
            'claw exec-tool press_key \'{"key": "home"}\'',
            'echo \'{"applicationId": "com.android.settings"}\' | claw exec-tool open_app - --output-format json',
        ),
        notes="The payload is a JSON object with the tool's parameters. One of - is read from stdin.",
    ),
    Command(
        "route",
        "Tell which commands and tools fit a prompt, the best first.",
        "<prompt>",
        flags=(_LIMIT, _FORMAT),
        examples=('claw route "take a screenshot"', 'claw route "set the solar discharge limit" --limit 3'),
        notes=f"Nothing is run. No match is an answer too: exit 0. {_STDIN}",
    ),
    Command(
        "bootstrap",
        "Set everything up, do one turn, and keep it in a session.",
        "<prompt>",
        flags=(*_THINKING, *_ACTING, *_SESSION, _FORMAT),
        examples=(
            'claw bootstrap "open settings and tell me the Android version"',
            "echo help | claw bootstrap - --session-id help --output-format json",
        ),
        notes=f"{_OFFLINE}\n{_ASKED} {_STDIN}",
    ),
    Command(
        "turn-loop",
        "Do turns until the work is done or a limit is reached.",
        "<prompt>",
        flags=(
            Flag("--max-turns", "the most turns, 3 if absent", "<n>"),
            Flag(
                "--continuation-prompt",
                "what every turn after the first is told; without it there is one",
                "<text>",
            ),
            switch("--structured-output", "have each turn's output as a JSON object"),
            *_THINKING,
            *_ACTING,
            *_SESSION,
            _FORMAT,
        ),
        examples=(
            'claw turn-loop "open settings" --continuation-prompt "scroll down" --max-turns 3',
            "claw turn-loop help --timeout-seconds 30 --output-format json",
        ),
        notes=f"Exit 2 when --timeout-seconds ran out. {_OFFLINE}\n{_ASKED} {_STDIN}",
    ),
    Command(
        "command-graph",
        "List every command by its origin: built in, from a plugin, a skill.",
        flags=(_FORMAT,),
        examples=("claw command-graph", "claw command-graph --output-format json"),
    ),
    Command(
        "tool-pool",
        "List the tools there are.",
        flags=(
            switch("--simple-mode", "only the few tools that are enough to look and act"),
            _NO_MCP,
            _DENY_TOOL,
            _DENY_PREFIX,
            _FORMAT,
        ),
        examples=("claw tool-pool", "claw tool-pool --no-mcp --deny-prefix recording --output-format json"),
    ),
    Command(
        "bootstrap-graph",
        "List the stages bootstrap goes through, in their order.",
        flags=(_FORMAT,),
        examples=("claw bootstrap-graph", "claw bootstrap-graph --output-format json"),
    ),
)
