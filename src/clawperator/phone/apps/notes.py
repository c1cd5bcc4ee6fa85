"""Notes: a list, a form with every kind of control, and an account to sign in to."""

from typing import Any

from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    View,
    button,
    checkbox,
    column,
    field,
    frame,
    icon,
    image,
    item,
    listing,
    progress,
    radio,
    row,
    scroll,
    text,
    title,
)

PACKAGE = "com.clawperator.notes"
_CATEGORIES = ("Personal", "Work", "Ideas")
_LONGEST_TITLE = 80
_SHORTEST_PASSWORD = 6
_SIGN_IN_MS = 500
_MOST_NOTES = 500

_EMPTY = {"title": "", "body": "", "category": _CATEGORIES[0], "pinned": False}
# The form is filled from the note when it is opened and written back when it is saved.
_FORM = {"title": "form_title", "body": "form_body", "category": "form_category", "pinned": "form_pinned"}
_STATE = {
    **{key: _EMPTY[name] for name, key in _FORM.items()},
    "form_error": "",
    "email": "",
    "password": "",
    "email_error": "",
    "password_error": "",
    "signing_in": False,
}


def apps() -> list[App]:
    # Notes lie in a dict by number; the next number is never one that was used before.
    data = {"notes": {}, "next": 1, "account": ""}
    app = App(PACKAGE, "Notes", state=_STATE, data=data, version="2.1.0")
    app.screen("home", title="Notes", activity=f"{PACKAGE}.MainActivity")(_home)
    app.screen("edit", title="Edit note", on_show=_fill)(_edit)
    app.dialog("delete", title="Delete note?")(_delete)
    app.dialog("discard", title="Discard changes?")(_discard)
    app.screen("sign_in", title="Sign in", on_show=_clear_sign_in)(_sign_in)
    return [app]


def _bar(label: str, *actions: View, up: Effect | None = None) -> View:
    first = (icon("Navigate up", up, id="up", picture="<"),) if up else ()
    named = text(label, id="toolbar_title", heading=True, size=20, weight=1, padding=12)
    name = "androidx.appcompat.widget.Toolbar"
    return row(*first, named, *actions, id="toolbar", class_name=name, height=56, tone="surface")


def _question(asked: str, message: str, no: str, yes: str, effect: Effect) -> View:
    buttons = row(
        button(no, back, id="android:id/button2", weight=1),
        button(yes, effect, id="android:id/button1", weight=1, tone="danger"),
        gap=8,
    )
    words = (title(asked, id="android:id/alertTitle"), text(message, id="android:id/message"))
    return column(*words, buttons, padding=16, tone="surface")


# The list


def _home(here: AppContext) -> View:
    account = here.data["account"]
    who = icon("Account", go("sign_in"), id="account_button")
    notes = sorted(here.data["notes"].items(), key=lambda each: (not each[1]["pinned"], -each[0]))
    if notes:
        shown = listing(*(_note_row(number, note) for number, note in notes), id="notes_list")
    else:
        shown = column(
            text("No notes yet", id="empty_title", size=20, padding=12),
            text("Tap + to write one", id="empty_hint", tone="muted", padding=12),
            id="empty_view",
            weight=1,
        )
    add = icon("Add note", go("edit"), id="fab_add", width=56, height=56, corner=True, tone="accent")
    hello = (text(f"Signed in as {account}", id="account_label", tone="muted", padding=12),) if account else ()
    return column(_bar("Notes", who), *hello, frame(shown, add, weight=1), weight=1)


def _note_row(number: int, note: dict[str, Any]) -> View:
    first = note["body"].partition("\n")[0]
    summary = f"{note['category']} - {first}" if first else note["category"]
    pin = image("Pinned", id="pin", width=24, height=24) if note["pinned"] else None
    opens, asks = go("edit", number=number), go("delete", number=number)
    return item(note["title"], summary, opens, end=pin, on_long_click=asks, id="note_row")


# The form


def _note(here: AppContext) -> dict[str, Any]:
    """The note this form was opened for; an empty one when it is new, or gone by now."""
    found: dict[str, Any] = here.data["notes"].get(here.args.get("number"), _EMPTY)
    return found


def _fill(here: AppContext) -> None:
    note = _note(here)
    here.state.update({key: note[name] for name, key in _FORM.items()}, form_error="")


def _edit(here: AppContext) -> View:
    number = here.args.get("number")
    chosen, error = here.state["form_category"], here.state["form_error"]
    delete = (icon("Delete", go("delete", number=number), id="action_delete"),) if number else ()
    kinds = (
        radio(name, put("form_category", name), id=f"category_{name.lower()}", checked=name == chosen)
        for name in _CATEGORIES
    )
    return column(
        _bar("Edit note" if number else "New note", *delete, up=_leave),
        scroll(
            field("form_title", "Title", id="note_title", on_change=_forget_error),
            *((text(error, id="title_error", tone="danger"),) if error else ()),
            field("form_body", "Write something", id="note_body", height=160, multiline=True),
            text("Category", id="category_label", padding=12),
            column(*kinds, class_name="android.widget.RadioGroup", id="category_group"),
            checkbox("Pin to top", "form_pinned", id="note_pinned"),
            button("Save", _save, id="save_button"),
            id="form",
            padding=8,
        ),
        weight=1,
    )


def _forget_error(here: AppContext, _: str) -> None:
    here.state["form_error"] = ""


def _save(here: AppContext) -> None:
    number = here.args.get("number")
    named = " ".join(here.state["form_title"].split())
    if not named:
        here.state["form_error"] = "Title is required"
    elif len(named) > _LONGEST_TITLE:
        here.state["form_error"] = f"Title may have at most {_LONGEST_TITLE} characters"
    elif number is None and len(here.data["notes"]) >= _MOST_NOTES:
        here.state["form_error"] = "There is no room for another note"
    else:
        if number is None:
            number = here.data["next"]
            here.data["next"] += 1
        note = {name: here.state[key] for name, key in _FORM.items()}
        here.data["notes"][number] = {**note, "title": named}
        here.toast("Note saved")
        here.back()


def _leave(here: AppContext) -> None:
    note = _note(here)
    if all(here.state[key] == note[name] for name, key in _FORM.items()):
        here.back()
    else:
        here.go("discard", leave=here.back)


def _discard(_: AppContext) -> View:
    def leave(there: AppContext) -> None:
        there.args["leave"]()

    return _question("Discard changes?", "They have not been saved.", "Keep editing", "Discard", leave)


def _delete(here: AppContext) -> View:
    note = _note(here)

    def delete(there: AppContext) -> None:
        there.data["notes"].pop(there.args["number"], None)
        there.toast("Note deleted")
        there.home()

    return _question("Delete note?", f"“{note['title']}” will be deleted.", "Cancel", "Delete", delete)


# The account


def _clear_sign_in(here: AppContext) -> None:
    here.state.update(email="", password="", email_error="", password_error="", signing_in=False)


def _sign_in(here: AppContext) -> View:
    account, state = here.data["account"], here.state
    bar = _bar("Account" if account else "Sign in", up=back)
    if account:
        return column(
            bar,
            title(f"Welcome, {account.partition('@')[0]}", id="welcome"),
            text(account, id="account_label", padding=12),
            button("Sign out", _sign_out, id="sign_out_button"),
            weight=1,
        )
    if state["signing_in"]:
        return column(bar, progress("Signing in", id="progress"), text("Signing in", padding=12), weight=1)
    errors = {name: state[f"{name}_error"] for name in ("email", "password")}
    told = {
        name: (text(error, id=f"{name}_error", tone="danger"),) if error else () for name, error in errors.items()
    }
    return column(
        bar,
        scroll(
            field("email", "E-mail", id="email"),
            *told["email"],
            field("password", "Password", id="password", edits="password", on_submit=_check),
            *told["password"],
            button("Sign in", _check, id="sign_in_button"),
            padding=8,
        ),
        weight=1,
    )


def _check(here: AppContext) -> None:
    email, password = here.state["email"].strip(), here.state["password"]
    name, _, host = email.partition("@")
    if not email:
        here.state["email_error"] = "Enter your e-mail"
    else:
        good = bool(name) and "." in host.strip(".") and "@" not in host and " " not in email
        here.state["email_error"] = "" if good else "That is not an e-mail address"
    if not password:
        here.state["password_error"] = "Enter your password"
    else:
        short = len(password) < _SHORTEST_PASSWORD
        here.state["password_error"] = f"Use at least {_SHORTEST_PASSWORD} characters" if short else ""
    if not here.state["email_error"] and not here.state["password_error"]:
        here.state["signing_in"] = True
        here.after(_SIGN_IN_MS, _welcome)


def _welcome(here: AppContext) -> None:
    if here.state["signing_in"]:
        here.data["account"] = here.state["email"].strip()
        _clear_sign_in(here)


def _sign_out(here: AppContext) -> None:
    here.data["account"] = ""
    _clear_sign_in(here)
