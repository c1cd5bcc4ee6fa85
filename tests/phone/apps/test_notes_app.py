"""The Notes app: its list, its form, its account."""

from collections.abc import Callable, Iterator

import pytest

from clawperator.phone.apps.notes import PACKAGE
from clawperator.phone.core.phone import Phone
from tests.phone.screen import execute, find, found, reveal, tap, texts, wander


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    phone.launch(PACKAGE)
    yield phone
    phone.close()


def write_into(phone: Phone, name: str, words: str) -> None:
    tap(phone, id=name)
    phone.type_text(words)
    phone.go_back()  # puts the keyboard away


def save(phone: Phone) -> None:
    reveal(phone, id="save_button")
    tap(phone, id="save_button")


def add_note(phone: Phone, title: str, body: str = "") -> None:
    tap(phone, desc="Add note")
    write_into(phone, "note_title", title)
    if body:
        write_into(phone, "note_body", body)
    save(phone)


def titles(phone: Phone) -> list[str]:
    return [node.text for node in found(phone, id="android:id/title")]


def data(phone: Phone) -> dict[str, object]:
    process = phone.process_of(PACKAGE)
    assert process is not None
    return process.data


def test_an_empty_list_shows_a_hint(phone: Phone) -> None:
    assert find(phone, id="empty_title").text == "No notes yet"
    assert not found(phone, id="notes_list")


def test_a_saved_note_is_listed_first_and_outlives_the_app(phone: Phone) -> None:
    add_note(phone, "Bread")
    add_note(phone, "Milk", "two bottles\nand cream")
    assert phone.windows.toast_text() == "Note saved"
    phone.stop_app(PACKAGE)
    phone.launch(PACKAGE)
    assert titles(phone) == ["Milk", "Bread"]
    assert "Personal - two bottles" in texts(phone)


def test_a_body_may_have_several_lines(phone: Phone) -> None:
    add_note(phone, "Poem", "one\ntwo")
    tap(phone, text="Poem")
    assert find(phone, id="note_body").text == "one\ntwo"


def test_a_title_is_kept_on_one_line(phone: Phone) -> None:
    add_note(phone, "  one\n two ")
    assert titles(phone) == ["one two"]


def test_a_note_without_a_title_is_not_saved_until_it_has_one(phone: Phone) -> None:
    add_note(phone, "   ")
    assert find(phone, id="title_error").text == "Title is required"
    write_into(phone, "note_title", "x")
    assert not found(phone, id="title_error")
    save(phone)
    assert titles(phone) == ["x"]


def test_a_title_that_is_too_long_is_refused(phone: Phone) -> None:
    add_note(phone, "x" * 81)
    assert find(phone, id="title_error").text == "Title may have at most 80 characters"


def test_at_the_limit_notes_can_be_edited_but_not_added(phone: Phone) -> None:
    add_note(phone, "first")
    notes = data(phone)["notes"]
    assert isinstance(notes, dict)
    notes.update(dict.fromkeys(range(2, 501), notes[1]))
    add_note(phone, "one more")
    assert find(phone, id="title_error").text == "The limit of 500 notes is reached"
    phone.go_back()
    tap(phone, text="Discard")
    tap(phone, id="note_row")
    write_into(phone, "note_title", "!")
    save(phone)
    assert titles(phone)[0] == "first!"


def test_exactly_one_category_is_chosen(phone: Phone) -> None:
    tap(phone, desc="Add note")
    assert [node.flag("checked") for node in found(phone, cls="RadioButton")] == [True, False, False]
    tap(phone, text="Ideas")
    assert [node.flag("checked") for node in found(phone, cls="RadioButton")] == [False, False, True]
    write_into(phone, "note_title", "Kite")
    save(phone)
    assert "Ideas" in texts(phone)


def test_a_pinned_note_stays_on_top(phone: Phone) -> None:
    tap(phone, desc="Add note")
    write_into(phone, "note_title", "Pinned one")
    tap(phone, id="note_pinned")
    assert find(phone, id="note_pinned").flag("checked")
    save(phone)
    add_note(phone, "Later one")
    assert titles(phone) == ["Pinned one", "Later one"]
    assert len(found(phone, desc="Pinned")) == 1


def test_a_form_starts_with_what_the_note_holds_not_with_the_one_before(phone: Phone) -> None:
    add_note(phone, "Bread", "rye")
    tap(phone, desc="Add note")
    assert find(phone, id="note_title").text == "Title"
    assert find(phone, id="note_body").text == "Write something"


@pytest.mark.parametrize("leave", [lambda phone: tap(phone, desc="Navigate up"), Phone.go_back])
def test_leaving_a_changed_form_asks_for_confirmation(phone: Phone, leave: Callable[[Phone], None]) -> None:
    add_note(phone, "Bread")
    tap(phone, text="Bread")
    write_into(phone, "note_title", " and butter")
    phone.windows.hide_keyboard()
    leave(phone)
    tap(phone, text="Keep editing")
    assert find(phone, id="note_title").text == "Bread and butter"
    leave(phone)
    tap(phone, text="Discard")
    assert titles(phone) == ["Bread"]


@pytest.mark.parametrize("leave", [lambda phone: tap(phone, desc="Navigate up"), Phone.go_back])
def test_leaving_an_unchanged_form_needs_no_confirmation(phone: Phone, leave: Callable[[Phone], None]) -> None:
    tap(phone, desc="Add note")
    leave(phone)
    assert find(phone, id="empty_view")


def test_a_note_is_deleted_after_confirmation(phone: Phone) -> None:
    add_note(phone, "Bread")
    tap(phone, text="Bread")
    tap(phone, desc="Delete")
    assert find(phone, id="android:id/message").text == "“Bread” will be deleted."
    tap(phone, text="Cancel")
    tap(phone, desc="Delete")
    tap(phone, text="Delete")
    assert phone.windows.toast_text() == "Note deleted"
    assert find(phone, id="empty_view")


def test_a_long_press_asks_to_delete_just_that_note(phone: Phone) -> None:
    add_note(phone, "Bread")
    add_note(phone, "Milk")
    phone.tap(*find(phone, text="Bread").bounds.centre, hold_ms=650)
    tap(phone, text="Delete")
    assert titles(phone) == ["Milk"]


def test_a_number_is_never_reused(phone: Phone) -> None:
    add_note(phone, "Bread")
    phone.tap(*find(phone, text="Bread").bounds.centre, hold_ms=650)
    tap(phone, text="Delete")
    add_note(phone, "Milk")
    assert data(phone)["notes"] == {2: {"title": "Milk", "body": "", "category": "Personal", "pinned": False}}


def test_an_execution_writes_a_note(phone: Phone) -> None:
    def at(name: str) -> dict[str, dict[str, str]]:
        return {"matcher": {"resourceId": f"{PACKAGE}:id/{name}"}}

    steps = execute(
        phone,
        ("click", at("fab_add")),
        ("enter_text", {**at("note_title"), "text": "Ünï — 字"}),
        ("enter_text", {**at("note_body"), "text": "one\ntwo"}),
        ("click", {"matcher": {"textEquals": "Work"}}),
        ("scroll_and_click", at("save_button")),
        ("read_text", {"matcher": {"resourceId": "android:id/title"}}),
    )
    assert [step.success for step in steps] == [True] * 6, steps
    assert steps[-1].data["text"] == "Ünï — 字"


def test_each_empty_field_has_an_error(phone: Phone) -> None:
    tap(phone, desc="Account")
    tap(phone, id="sign_in_button")
    assert find(phone, id="email_error").text == "Enter your e-mail"
    assert find(phone, id="password_error").text == "Enter your password"


@pytest.mark.parametrize("email", ["ada", "@example.com", "ada@example", "ada@b@c.d", "a da@example.com", "ada@."])
def test_an_invalid_address_is_refused(phone: Phone, email: str) -> None:
    tap(phone, desc="Account")
    write_into(phone, "email", email)
    write_into(phone, "password", "long enough")
    tap(phone, id="sign_in_button")
    assert find(phone, id="email_error").text == "Enter a valid e-mail address"
    assert not found(phone, id="password_error")


def test_a_short_password_is_refused_and_never_shown(phone: Phone) -> None:
    tap(phone, desc="Account")
    write_into(phone, "email", "ada@example.com")
    tap(phone, id="password")
    phone.type_text("short\n")
    assert find(phone, id="password_error").text == "Use at least 6 characters"
    field = find(phone, id="password")
    assert field.flag("password")
    assert "short" not in phone.windows.xml()


def sign_in(phone: Phone) -> None:
    tap(phone, desc="Account")
    write_into(phone, "email", "ada@example.com")
    tap(phone, id="password")
    phone.type_text("correct horse\n")


def test_signing_in_shows_progress_and_then_a_welcome(phone: Phone) -> None:
    sign_in(phone)
    assert find(phone, desc="Signing in", cls="ProgressBar")
    phone.clock.sleep(0.6)
    assert find(phone, id="welcome").text == "Welcome, ada"
    phone.go_back()
    assert find(phone, id="account_label").text == "Signed in as ada@example.com"
    process = phone.process_of(PACKAGE)
    assert process is not None
    assert process.state["password"] == ""


def test_signing_out_removes_the_account(phone: Phone) -> None:
    sign_in(phone)
    phone.clock.sleep(0.6)
    tap(phone, text="Sign out")
    assert find(phone, id="sign_in_button")
    assert data(phone)["account"] == ""


def test_stopping_the_app_cancels_a_sign_in(phone: Phone) -> None:
    sign_in(phone)
    phone.stop_app(PACKAGE)
    phone.clock.sleep(1)
    phone.launch(PACKAGE)
    assert data(phone)["account"] == ""


@pytest.mark.parametrize("seed", range(4))
def test_random_input_does_not_crash_the_app(phone: Phone, seed: int) -> None:
    wander(phone, PACKAGE, 80, seed)
