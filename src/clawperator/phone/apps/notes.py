"""Notes: a list, a form with every kind of control, and an account to sign in to."""

from typing import Any

from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    View,
    alert,
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
_MAX_TITLE_LENGTH = 80
_MIN_PASSWORD_LENGTH = 6
_SIGN_IN_MS = 500
_MAX_NOTES = 500

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
    # Notes are keyed by number; numbers are never reused.
    data = {"notes": {}, "next": 1, "account": ""}
    app = App(PACKAGE, "Notes", state=_STATE, data=data, version="2.1.0")
    app.screen("home", title="Notes", activity=f"{PACKAGE}.MainActivity")(_home)
    app.screen("edit", title="Edit note", on_show=_fill, on_back=_leave)(_edit)
    app.dialog("delete", title="Delete note?")(_delete)
    app.dialog("discard", title="Discard changes?")(_discard)
    app.screen("sign_in", title="Sign in", on_show=_clear_sign_in)(_sign_in)
    return [app]


def _bar(label: str, *actions: View, up: Effect | None = None) -> View:
    first = (icon("Navigate up", up, id="up", picture="<"),) if up else ()
    named = text(label, id="toolbar_title", heading=True, size=20, weight=1, padding=12)
    name = "androidx.appcompat.widget.Toolbar"
    return row(*first, named, *actions, id="toolbar", class_name=name, height=56, tone="surface")


def _confirmation(question: str, message: str, no: str, yes: str, effect: Effect) -> View:
    buttons = button(no, back), button(yes, effect, tone="danger")
    return alert(question, text(message, id="android:id/message"), *buttons)


# The list


def _home(context: AppContext) -> View:
    account = context.data["account"]
    account_button = icon("Account", go("sign_in"), id="account_button")
    notes = sorted(context.data["notes"].items(), key=lambda each: (not each[1]["pinned"], -each[0]))
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
    status = (text(f"Signed in as {account}", id="account_label", tone="muted", padding=12),) if account else ()
    return column(_bar("Notes", account_button), *status, frame(shown, add, weight=1), weight=1)


def _note_row(number: int, note: dict[str, Any]) -> View:
    first = note["body"].partition("\n")[0]
    summary = f"{note['category']} - {first}" if first else note["category"]
    pin = image("Pinned", id="pin", width=24, height=24) if note["pinned"] else None
    edit, delete = go("edit", number=number), go("delete", number=number)
    return item(note["title"], summary, edit, end=pin, on_long_click=delete, id="note_row")


# The form


def _note(context: AppContext) -> dict[str, Any]:
    """The note being edited; an empty one when it is new or deleted."""
    found: dict[str, Any] = context.data["notes"].get(context.args.get("number"), _EMPTY)
    return found


def _fill(context: AppContext) -> None:
    note = _note(context)
    context.state.update({key: note[name] for name, key in _FORM.items()}, form_error="")


def _edit(context: AppContext) -> View:
    number = context.args.get("number")
    chosen, error = context.state["form_category"], context.state["form_error"]
    delete = (icon("Delete", go("delete", number=number), id="action_delete"),) if number else ()
    kinds = (
        radio(name, put("form_category", name), id=f"category_{name.lower()}", checked=name == chosen)
        for name in _CATEGORIES
    )
    return column(
        _bar("Edit note" if number else "New note", *delete, up=_leave),
        scroll(
            field(
                "form_title",
                "Title",
                id="note_title",
                on_change=lambda context, _: context.state.update(form_error=""),
            ),
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


def _save(context: AppContext) -> None:
    number = context.args.get("number")
    title_text = " ".join(context.state["form_title"].split())
    if not title_text:
        context.state["form_error"] = "Title is required"
    elif len(title_text) > _MAX_TITLE_LENGTH:
        context.state["form_error"] = f"Title may have at most {_MAX_TITLE_LENGTH} characters"
    elif number is None and len(context.data["notes"]) >= _MAX_NOTES:
        context.state["form_error"] = f"The limit of {_MAX_NOTES} notes is reached"
    else:
        if number is None:
            number = context.data["next"]
            context.data["next"] += 1
        note = {name: context.state[key] for name, key in _FORM.items()}
        context.data["notes"][number] = {**note, "title": title_text}
        context.toast("Note saved")
        context.back()


def _leave(context: AppContext) -> None:
    note = _note(context)
    if all(context.state[key] == note[name] for name, key in _FORM.items()):
        context.back()
    else:
        context.go("discard", leave=context.back)


def _discard(context: AppContext) -> View:
    leave = context.args["leave"]
    message = "They have not been saved."
    return _confirmation("Discard changes?", message, "Keep editing", "Discard", lambda _: leave())


def _delete(context: AppContext) -> View:
    note = _note(context)

    def delete(context: AppContext) -> None:
        context.data["notes"].pop(context.args["number"], None)
        context.toast("Note deleted")
        context.home()

    return _confirmation("Delete note?", f"“{note['title']}” will be deleted.", "Cancel", "Delete", delete)


# The account


def _clear_sign_in(context: AppContext) -> None:
    context.state.update(email="", password="", email_error="", password_error="", signing_in=False)


def _sign_in(context: AppContext) -> View:
    account, state = context.data["account"], context.state
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
    messages = {
        name: (text(error, id=f"{name}_error", tone="danger"),) if error else () for name, error in errors.items()
    }
    return column(
        bar,
        scroll(
            field("email", "E-mail", id="email"),
            *messages["email"],
            field("password", "Password", id="password", edits="password", on_submit=_submit_sign_in),
            *messages["password"],
            button("Sign in", _submit_sign_in, id="sign_in_button"),
            padding=8,
        ),
        weight=1,
    )


def _submit_sign_in(context: AppContext) -> None:
    email, password = context.state["email"].strip(), context.state["password"]
    name, _, host = email.partition("@")
    valid = name and "." in host.strip(".") and "@" not in host and " " not in email
    email_error = "" if valid else "Enter a valid e-mail address"
    short = len(password) < _MIN_PASSWORD_LENGTH
    password_error = f"Use at least {_MIN_PASSWORD_LENGTH} characters" if short else ""
    context.state["email_error"] = email_error if email else "Enter your e-mail"
    context.state["password_error"] = password_error if password else "Enter your password"
    if not context.state["email_error"] and not context.state["password_error"]:
        context.state["signing_in"] = True
        context.after(_SIGN_IN_MS, _finish_sign_in)


def _finish_sign_in(context: AppContext) -> None:
    if context.state["signing_in"]:
        context.data["account"] = context.state["email"].strip()
        _clear_sign_in(context)


def _sign_out(context: AppContext) -> None:
    context.data["account"] = ""
    _clear_sign_in(context)
