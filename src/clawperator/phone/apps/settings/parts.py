"""What the pages of the Settings app are put together from."""

from clawperator.phone.apps.settings.pages import Stored, is_on, write
from clawperator.phone.toolkit.app import back, go
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, icon, item, listing, row, text, title

PACKAGE = "com.android.settings"
# The activity of every page that has none of its own.
SUB = f"{PACKAGE}.SubSettings"


def bar(label: str, *actions: View, up: bool = True) -> View:
    named = text(label, id="action_bar", heading=True, size=20, weight=1, padding=12)
    first = (icon("Navigate up", back, picture="<"),) if up else ()
    return row(*first, named, *actions, id="settings_toolbar", height=60, tone="surface")


def sub(label: str, *rows: View, above: tuple[View, ...] = ()) -> View:
    """A page below the first one: a bar, perhaps something that stays, and a list."""
    return column(bar(label), *above, listing(*rows, id="recycler_view"), weight=1)


def switch(label: str, summary: str, on: bool, turn: Effect) -> View:  # noqa: FBT001 - a switch is on or off
    """A row that is tapped as a whole; the switch in it only shows."""
    shown = View(
        class_name="android.widget.Switch",
        id="android:id/switch_widget",
        checked=on,
        clickable=False,
        width=52,
        height=32,
    )
    return item(label, summary, turn, end=shown)


def stored_switch(here: AppContext, label: str, stored: Stored, summary: str = "") -> View:
    def turn(there: AppContext) -> None:
        write(there, stored, stored.off if is_on(there, stored) else stored.on)

    return switch(label, summary, is_on(here, stored), turn)


def confirm(here: AppContext) -> View:
    """Asks ``question``; ``yes`` is the word on the button that lets ``effect`` happen."""

    def agree(there: AppContext) -> None:
        there.back()
        there.args["effect"](there)

    return column(
        title(here.args["question"], id="android:id/alertTitle"),
        text(here.args["detail"], id="android:id/message"),
        row(
            button("Cancel", back, id="android:id/button2", weight=1),
            button(here.args["yes"], agree, id="android:id/button1", weight=1),
            gap=8,
        ),
        padding=16,
        tone="surface",
    )


def ask(question: str, detail: str, yes: str, effect: Effect) -> Effect:
    """Lets ``effect`` happen once a person has agreed."""
    return go("confirm", question=question, detail=detail, yes=yes, effect=effect)
