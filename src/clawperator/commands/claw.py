"""Every command of ``claw``: parsing, suggestions, ``--help``, the inventory and the reference derive from it."""

from clawperator.commands.model import (
    ALLOW_SCHEME,
    BACKEND,
    DENY_PREFIX,
    DENY_TOOL,
    EVIDENCE,
    PASS_ENV,
    POLICY,
    RAISED_BY,
    Command,
    Flag,
    switch,
)

_INVENTORY = "clawperator.cli.claw.inventory:"
_SESSIONS = "clawperator.cli.claw.sessions:"
_FORMAT = Flag(
    "--output-format", "text, or json: one document on one line", "<text|json>", choices=("text", "json")
)
CLAW_GLOBALS = (
    _FORMAT,
    switch("--help", "print help", "-h"),
    switch("--version", "print the version", "-V"),
)

_DIRECTORY = Flag("--directory", "session folder (default: .claw/sessions)", "<folder>", path="sessions")
_LIMIT = Flag("--limit", "maximum number of matches (default: 5)", "<n>")
_NO_MCP = switch("--no-mcp", "exclude MCP tools; no server is started")

_SESSION = (
    _DIRECTORY,
    Flag("--session-id", "id of the new session (default: generated)", "<id>"),
    Flag("--resume", "continue the session with this id", "<id>"),
)
_PHONE = (
    Flag("--device", "device serial (default: the only connected device)", "<serial>"),
    Flag("--operator-package", "package of the Operator app", "<package>"),
    BACKEND,
)
_TIME = Flag("--timeout-seconds", "time limit for the whole command (default: none)", "<s>")
_ACTING = (*_PHONE, *POLICY, ALLOW_SCHEME, PASS_ENV, _TIME)
_THINKING = (
    _LIMIT,
    Flag(
        "--brain",
        "brain that turns the prompt into tool calls (default: offline)",
        "<offline|openai|anthropic>",
        choices=("offline", "openai", "anthropic"),
    ),
    Flag("--model", "model name; not for the offline brain", "<name>"),
    Flag(
        "--events",
        "write events as JSON lines to this file; - is stdout, before the answer",
        "<file|->",
        path="out",
        not_paths=("-",),
    ),
    EVIDENCE,
    Flag("--heartbeat-seconds", "interval of heartbeat events (default: 5)", "<s>"),
    Flag(
        "--max-budget-tokens",
        "token limit of the session (default: 2000 offline, 200000 with a model)",
        "<n>",
    ),
    Flag(
        "--max-session-turns",
        "turn limit of the session (default: 8, or --max-turns if that is more)",
        "<n>",
    ),
    Flag("--max-steps", "tool-call limit of a turn (default: 120)", "<n>"),
    _NO_MCP,
    switch("--strict", "exit 1 when a limit refused or cancelled a turn"),
)
_STDIN = "A prompt of - is read from stdin."
_ASKED = 'Denied calls do not end the turn. Without a terminal, "ask" means deny.'
_OFFLINE = "The offline brain needs no key and no network. It understands plain sentences such as 'open settings'."

CLAW_COMMANDS: tuple[Command, ...] = (
    Command(
        "bootstrap",
        "Run one turn and save it in a session.",
        "<prompt>",
        flags=(
            switch("--quiet", "in text mode print the answer only; errors go to stderr", "-q"),
            *_THINKING,
            *_ACTING,
            *_SESSION,
            _FORMAT,
        ),
        examples=(
            'claw bootstrap "open settings and tell me the Android version"',
            'claw bootstrap "what is on the screen" --quiet',
            'claw bootstrap "open settings" --evidence evidence',
            "echo help | claw bootstrap - --session-id help --output-format json",
        ),
        notes=f"{_OFFLINE}\n{_ASKED} {_STDIN}",
        handler="clawperator.cli.claw.turns:run_turns",
        level="act",
        raised_by=RAISED_BY,
    ),
    Command(
        "turn-loop",
        "Run turns until the task is done or a limit is reached.",
        "<prompt>",
        flags=(
            Flag("--max-turns", "turn limit (default: 3)", "<n>"),
            Flag(
                "--continuation-prompt",
                "prompt of every turn after the first; without it there is one turn",
                "<text>",
            ),
            switch("--structured-output", "format each turn's output as a JSON object"),
            *_THINKING,
            *_ACTING,
            *_SESSION,
            _FORMAT,
        ),
        examples=(
            'claw turn-loop "open settings" --continuation-prompt "scroll down" --max-turns 3',
            "claw turn-loop help --timeout-seconds 30 --output-format json",
        ),
        notes=f"Exit 2 when --timeout-seconds is exceeded. {_OFFLINE}\n{_ASKED} {_STDIN}",
        handler="clawperator.cli.claw.turns:run_turns",
        level="act",
        raised_by=RAISED_BY,
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
        notes="The payload is a JSON object with the tool's parameters. A payload of - is read from stdin.",
        handler="clawperator.cli.claw.execute:exec_tool",
        level="act",
        raised_by=RAISED_BY,
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
        notes=f"The prompt holds the command's arguments and may be empty. {_STDIN}",
        handler="clawperator.cli.claw.execute:exec_command",
        level="act",
        raised_by=RAISED_BY,
    ),
    Command(
        "route",
        "List the commands and tools that match a prompt, best match first.",
        "<prompt>",
        flags=(_LIMIT, _FORMAT),
        examples=('claw route "take a screenshot"', 'claw route "set the solar discharge limit" --limit 3'),
        notes=f"Nothing is run. Without a match the list is empty: exit 0. {_STDIN}",
        handler=_INVENTORY + "route",
        level="read-only",
    ),
    Command(
        "show-tool",
        "Print the source, purpose and parameters of a tool.",
        "<name>",
        flags=(_FORMAT,),
        examples=("claw show-tool click", "claw show-tool snapshot --output-format json"),
        notes="Accepts synonyms, in any case.",
        handler=_INVENTORY + "show_tool",
        level="read-only",
    ),
    Command(
        "show-command",
        "Print the source and purpose of a command.",
        "<name>",
        flags=(_FORMAT,),
        examples=("claw show-command recording-parse", "claw show-command tap --output-format json"),
        notes="Accepts synonyms, in any case. Subcommands are written with a dash: recording-parse.",
        handler=_INVENTORY + "show_command",
        level="read-only",
    ),
    Command(
        "tool-pool",
        "List the available tools.",
        flags=(
            switch("--simple-mode", "only the basic tools to observe and act"),
            _NO_MCP,
            DENY_TOOL,
            DENY_PREFIX,
            PASS_ENV,
            _FORMAT,
        ),
        examples=("claw tool-pool", "claw tool-pool --no-mcp --deny-prefix recording --output-format json"),
        handler=_INVENTORY + "list_tool_pool",
        level="read-only",
        raised_by={"--pass-env": "full"},
    ),
    Command(
        "command-graph",
        "List every command by origin: built-in, plugin or skill.",
        flags=(_FORMAT,),
        examples=("claw command-graph", "claw command-graph --output-format json"),
        handler=_INVENTORY + "command_graph",
        level="read-only",
    ),
    Command(
        "bootstrap-graph",
        "List the stages of bootstrap in order.",
        flags=(_FORMAT,),
        examples=("claw bootstrap-graph", "claw bootstrap-graph --output-format json"),
        handler=_INVENTORY + "bootstrap_graph",
        level="read-only",
    ),
    Command(
        "flush-transcript",
        "Write a prompt to a session and flush it to disk.",
        "<prompt>",
        flags=(*_SESSION, _FORMAT),
        examples=(
            'claw flush-transcript "open settings" --session-id demo',
            'echo "read the battery level" | claw flush-transcript - --output-format json',
        ),
        notes=f"Nothing is routed or run. {_STDIN}",
        handler=_SESSIONS + "flush_transcript",
        level="act",
    ),
    Command(
        "list-sessions",
        "List the sessions in a folder.",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw list-sessions", "claw list-sessions --directory .claw/sessions --output-format json"),
        notes="A missing folder has no sessions: exit 0.",
        handler=_SESSIONS + "list_sessions",
        level="read-only",
    ),
    Command(
        "load-session",
        "Print the messages, token counts and path of a session.",
        "<session_id>",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw load-session demo", "claw load-session demo --output-format json"),
        handler=_SESSIONS + "load_session",
        level="read-only",
    ),
    Command(
        "delete-session",
        "Delete a session and its evidence.",
        "<session_id>",
        flags=(_DIRECTORY, _FORMAT),
        examples=("claw delete-session demo", "claw delete-session demo --output-format json"),
        notes="Deleting a missing session succeeds: exit 0.",
        handler=_SESSIONS + "delete_session",
    ),
    Command(
        "trust",
        "Trust the settings, MCP servers, skills and plugins of a folder.",
        "[<folder>]",
        flags=(
            switch("--list", "list the trusted folders"),
            switch("--remove", "end the trust in the folder"),
            switch("--dry-run", "print what would be trusted; change nothing"),
            _FORMAT,
        ),
        examples=("claw trust", "claw trust --dry-run", "claw trust --list", "claw trust --remove"),
        notes=(
            "The default is the working folder. Without trust, its settings can only restrict, and its\n"
            "MCP servers, skills and plugins are ignored. A change to one of the files ends the trust.\n"
            "Agents cannot run this command."
        ),
        handler="clawperator.cli.claw.trust:trust",
        for_users=True,
    ),
)
