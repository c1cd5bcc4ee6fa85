"""Building blocks of the Settings pages."""

from clawperator.phone.apps.settings.pages import StoredValue, is_on, write
from clawperator.phone.toolkit.app import back, go
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, icon, item, listing, row, text, title

PACKAGE = "com.android.settings"
# The activity of pages without one of their own.
SUB = f"{PACKAGE}.SubSettings"


def bar(label: str, *actions: View, up: bool = True) -> View:
    named = text(label, id="action_bar", heading=True, size=20, weight=1, padding=12)
    first = (icon("Navigate up", back, picture="<"),) if up else ()
    return row(*first, named, *actions, id="settings_toolbar", height=60, tone="surface")


def sub(label: str, *rows: View, above: tuple[View, ...] = ()) -> View:
    """A sub-page: a bar, optional fixed views, and a list."""
    return column(bar(label), *above, listing(*rows, id="recycler_view"), weight=1)


def switch(label: str, summary: str, on: bool, toggle: Effect) -> View:  # noqa: FBT001 - the switch's state
    """A row that is clickable as a whole; the switch in it only displays the state."""
    shown = View(
        class_name="android.widget.Switch",
        id="android:id/switch_widget",
        checked=on,
        clickable=False,
        width=52,
        height=32,
    )
    return item(label, summary, toggle, end=shown)


def stored_switch(context: AppContext, label: str, stored: StoredValue, summary: str = "") -> View:
    def toggle(context: AppContext) -> None:
        write(context, stored, stored.off if is_on(context, stored) else stored.on)

    return switch(label, summary, is_on(context, stored), toggle)


def confirm(context: AppContext) -> View:
    """A dialog that runs ``effect`` when the button labelled ``yes`` is tapped."""

    def agree(context: AppContext) -> None:
        context.back()
        context.args["effect"](context)

    return column(
        title(context.args["question"], id="android:id/alertTitle"),
        text(context.args["detail"], id="android:id/message"),
        row(
            button("Cancel", back, id="android:id/button2", weight=1),
            button(context.args["yes"], agree, id="android:id/button1", weight=1),
            gap=8,
        ),
        padding=16,
        tone="surface",
    )


def ask(question: str, detail: str, yes: str, effect: Effect) -> Effect:
    """Run ``effect`` after a confirmation dialog."""
    return go("confirm", question=question, detail=detail, yes=yes, effect=effect)
