"""The commands that find, check, make, fetch and run skills."""

from clawperator.commands.model import Command, Flag, switch

_REGISTRY = Flag("--registry", "the registry to use, or 'shipped' for the product's own", "<file>")
_ID = Flag("--skill-id", "the id, instead of the argument", "<id>")
_DRY_RUN = switch("--dry-run", "check the artifacts as executions too")
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
    "Find, check, make, fetch and run skills.",
    subcommands=(
        Command(
            "list", "List the skills of the registry.", flags=(_REGISTRY,), examples=("clawperator skills list",)
        ),
        Command(
            "get",
            "Tell what the registry says of one skill.",
            "<id>",
            flags=(_ID, _REGISTRY),
            examples=(f"clawperator skills get {_SHIPPED}",),
        ),
        Command(
            "search",
            "Find skills by app, intent or a keyword, the best first.",
            "[<keyword>]",
            flags=(
                Flag("--app", "of this app only", "<package>", ("--package",)),
                Flag("--intent", "with this intent only", "<intent>"),
                Flag("--keyword", "the keyword, instead of the argument", "<text>"),
                _REGISTRY,
            ),
            examples=("clawperator skills search battery",),
        ),
        Command(
            "for-app",
            "List the skills for an app.",
            "<package>",
            flags=(_REGISTRY,),
            examples=("clawperator skills for-app com.android.settings",),
        ),
        Command(
            "validate",
            "Check that a skill is what the registry says.",
            "[<id>]",
            flags=(_ID, switch("--all", "check every skill"), _DRY_RUN, _REGISTRY),
            examples=(f"clawperator skills validate {_SHIPPED}", "clawperator skills validate --all --dry-run"),
        ),
        Command(
            "new",
            "Write the files of a new skill.",
            "<id>",
            flags=(
                _ID,
                Flag("--summary", "what it does, in a sentence", "<text>"),
                Flag("--recording-context", "a recording's export, as evidence for it", "<export.json>"),
                _REGISTRY,
            ),
            examples=(_NEW,),
            notes="The id is the app's package name, a dot and the intent. A registry that is not there is made.",
        ),
        Command(
            "compile-artifact",
            "Fill in an artifact and print the execution.",
            "<id>",
            flags=(
                _ID,
                Flag("--artifact", "its name, with or without .recipe.json", "<name>"),
                Flag("--vars", "values of its placeholders, as a JSON object", "<json>"),
                _REGISTRY,
            ),
            examples=(_COMPILE,),
        ),
        Command(
            "run",
            "Run a skill, and hold its result to what it promises.",
            "<id> [-- <argument>...]",
            flags=(
                _ID,
                Flag("--expect-contains", "a text its output must hold", "<text>"),
                switch("--skip-validate", "do not check the skill first"),
                _REGISTRY,
            ),
            notes=(
                "What follows -- goes to the skill. --timeout is the skill's time, 120000 ms if absent; when\n"
                "it is over, the skill and all it started are ended."
            ),
        ),
        Command("install", "Fetch the published skills with git."),
        Command(
            "update",
            "Bring the fetched skills up to date.",
            flags=(Flag("--ref", "a branch, tag or commit, main if absent", "<ref>"),),
        ),
        Command(
            "sync",
            "Bring the fetched skills to a branch, tag or commit.",
            flags=(Flag("--ref", "the branch, tag or commit", "<ref>"),),
        ),
    ),
)
