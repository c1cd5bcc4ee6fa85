"""The stages of ``claw bootstrap``, in the order it goes through them. Each is an event when it is reached."""

from msgspec import Struct


class Stage(Struct, frozen=True):
    """``id`` is its name in events, ``label`` what people call it, ``order`` its place from 1."""

    id: str
    label: str
    description: str
    order: int


_ROWS = (
    ("settings", "Settings", "Read the settings of the person, the folder and this computer, and merge them."),
    (
        "inventory",
        "Inventory",
        "Gather the commands, tools, skills, plugins and MCP servers. One that is broken is a warning.",
    ),
    (
        "policy",
        "Policy",
        "Work out from settings and flags which tools may be used, and what somebody is asked about.",
    ),
    (
        "session",
        "Session",
        "Make the session, or take up the one to go on with, and keep others from writing to it.",
    ),
    (
        "phone",
        "Phone",
        "Note which phone is meant. It is looked for when the first tool needs it, and not before.",
    ),
    ("brain", "Brain", "Choose who turns the prompt into calls: the offline one, or a model."),
    ("route", "Routing", "Match the prompt with the inventory, offline, once for all turns."),
    (
        "turn",
        "Turn",
        "Let the brain call tools within policy, time and limits, and collect the evidence of what happened.",
    ),
    (
        "commit",
        "Commit",
        "Write the turn and its evidence to the session in one piece, and make sure it is on the disk.",
    ),
)

STAGES: tuple[Stage, ...] = tuple(Stage(*row, order) for order, row in enumerate(_ROWS, 1))
NOTE = "Stages follow each other in this order. A turn that does not reach commit is not part of the session."
