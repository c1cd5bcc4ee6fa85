"""``clawperator skills``: find, validate, create, install and run skills."""

from clawperator.commands.model import ALLOW_SCHEME, EVIDENCE, JUNIT, PASS_ENV, Command, Flag, switch

_HANDLERS = "clawperator.cli.handlers.skills:"
_REGISTRY = Flag(
    "--registry",
    "registry file, or 'shipped' for the skills of this package",
    "<file>",
    path="registry",
    not_paths=("shipped",),
)
_ID = Flag("--skill-id", "skill id, instead of the argument", "<id>")
_DRY_RUN = switch("--dry-run", "also validate the artifacts as executions")
_SHIPPED = "com.android.settings.overview"
_COMPILE = (
    f"clawperator skills compile-artifact {_SHIPPED} --artifact read-row"
    """ --vars '{"PAGE":"Battery","ROW":"Battery level"}'"""
)
_NEW = (
    "clawperator skills new com.example.app.greet --recording-context demo.export.json"
    " --registry mine/skills/skills-registry.json"
)

SKILLS = Command(
    "skills",
    "Find, validate, create, install and run skills.",
    subcommands=(
        Command(
            "list",
            "List the skills in the registry.",
            flags=(_REGISTRY,),
            examples=("clawperator skills list",),
            handler=_HANDLERS + "list_skills",
            level="read-only",
            tools=("list_skills",),
        ),
        Command(
            "get",
            "Print the registry entry of a skill.",
            "<id>",
            flags=(_ID, _REGISTRY),
            examples=(f"clawperator skills get {_SHIPPED}",),
            handler=_HANDLERS + "get",
            subject="--skill-id",
            level="read-only",
            tools=("list_skills",),
        ),
        Command(
            "search",
            "Search skills by app, intent or keyword; best match first.",
            "[<keyword>]",
            flags=(
                Flag("--app", "only skills of this app", "<package>", ("--package",)),
                Flag("--intent", "only skills with this intent", "<intent>"),
                Flag("--keyword", "keyword, instead of the argument", "<text>"),
                _REGISTRY,
            ),
            examples=("clawperator skills search battery",),
            handler=_HANDLERS + "search",
            subject="--keyword",
            level="read-only",
            tools=("list_skills",),
        ),
        Command(
            "for-app",
            "List the skills for an app.",
            "<package>",
            flags=(_REGISTRY,),
            examples=("clawperator skills for-app com.android.settings",),
            handler=_HANDLERS + "for_app",
            level="read-only",
            tools=("list_skills",),
        ),
        Command(
            "validate",
            "Validate a skill against its registry entry.",
            "[<id>]",
            flags=(_ID, switch("--all", "validate every skill"), _DRY_RUN, _REGISTRY),
            examples=(f"clawperator skills validate {_SHIPPED}", "clawperator skills validate --all --dry-run"),
            handler=_HANDLERS + "validate",
            subject="--skill-id",
            level="read-only",
        ),
        Command(
            "new",
            "Create the files of a new skill.",
            "<id>",
            flags=(
                _ID,
                Flag("--summary", "one sentence about the skill", "<text>"),
                Flag("--recording-context", "export of a recording, kept as evidence", "<export.json>", path="in"),
                _REGISTRY,
            ),
            examples=(_NEW,),
            notes="The id is the app's package name, a dot and the intent. A missing registry is created.",
            handler=_HANDLERS + "new",
            subject="--skill-id",
            level="act",
        ),
        Command(
            "compile-artifact",
            "Fill in an artifact and print the execution.",
            "<id>",
            flags=(
                _ID,
                Flag("--artifact", "artifact name, with or without .recipe.json", "<name>"),
                Flag("--vars", "values of its placeholders, as a JSON object", "<json>"),
                _REGISTRY,
            ),
            examples=(_COMPILE,),
            handler=_HANDLERS + "compile_artifact",
            subject="--skill-id",
            level="read-only",
        ),
        Command(
            "run",
            "Run a skill and check its result against its contract.",
            "<id> [-- <argument>...]",
            flags=(
                _ID,
                Flag("--expect-contains", "text that the output must contain", "<text>"),
                switch("--skip-validate", "do not validate the skill first"),
                JUNIT,
                EVIDENCE,
                ALLOW_SCHEME,
                PASS_ENV,
                _REGISTRY,
            ),
            examples=(
                f"clawperator skills run {_SHIPPED}",
                f"clawperator skills run {_SHIPPED} --pass-env OPENAI_API_KEY",
                f"clawperator skills run {_SHIPPED} --junit report.xml",
            ),
            notes=(
                "Arguments after -- go to the skill. --timeout limits the skill (default: 120000 ms); after it\n"
                "the skill and all its child processes are killed."
            ),
            handler=_HANDLERS + "run",
            subject="--skill-id",
            level="act",
            raised_by={"--registry": "full", "--allow-scheme": "full", "--pass-env": "full"},
            tools=("run_skill",),
        ),
        Command("install", "Install the published skills with git.", handler=_HANDLERS + "install"),
        Command(
            "update",
            "Update the installed skills.",
            flags=(Flag("--ref", "branch, tag or commit (default: main)", "<ref>"),),
            handler=_HANDLERS + "update",
        ),
        Command(
            "sync",
            "Check out a branch, tag or commit of the installed skills.",
            flags=(Flag("--ref", "branch, tag or commit", "<ref>"),),
            handler=_HANDLERS + "sync",
        ),
    ),
)
COMMANDS = (SKILLS,)
