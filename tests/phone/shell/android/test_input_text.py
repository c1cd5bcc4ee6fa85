"""Text reaches a field unchanged by every input path.

``input text`` has no way to type a literal ``%s``: on every phone those two characters are a space.
"""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, field
from clawperator.testing import SimulatedPhone, simulated_phone

PACKAGE = "com.example.form"
ODD = " '\"\\$`;|&<>(){}[]*?!#~%^=\n\t\r\x01\x1b\x7f\xa0\xad\u200b\u202e\ufeff\ufffdäß漢😀👩‍👩‍👧"
# A NUL ends an argument on every phone, and half a surrogate pair is no text.
TEXTS = st.text(
    st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)


def form() -> App:
    app = App(PACKAGE, "Form", state={"entry": ""})

    @app.screen("home")
    def home(_: AppContext) -> View:
        return column(field("entry", hint="Type here", id="entry"))

    return app


@pytest.fixture(scope="module")
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone(apps=[form()]) as phone:
        yield phone


@pytest.fixture(autouse=True)
def _empty_field(phone: SimulatedPhone) -> None:
    begin(phone)


def begin(phone: SimulatedPhone) -> None:
    phone.phone.stop_app(PACKAGE)
    phone.open_app(PACKAGE)
    phone.person.tap("Type here")


def held(phone: SimulatedPhone) -> Any:
    return phone.phone.tasks.front.process.state["entry"]


def enter(phone: SimulatedPhone, text: str) -> None:
    envelope = phone.run(
        {"type": "enter_text", "params": {"matcher": {"resourceId": f"{PACKAGE}:id/entry"}, "text": text}}
    )
    assert envelope.status == "success", envelope


@pytest.mark.random
@given(TEXTS)
def test_any_quoted_text_is_typed_unchanged(phone: SimulatedPhone, text: str) -> None:
    begin(phone)
    ran = phone.shell_script(f"input text {shlex.quote(text)}".encode())
    assert (ran.code, ran.stderr) == (0, b"")
    assert held(phone) == text.replace("%s", " ")


@pytest.mark.random
@given(TEXTS)
def test_a_space_may_be_written_as_percent_s(phone: SimulatedPhone, text: str) -> None:
    begin(phone)
    phone.shell_script(f"input text {shlex.quote(text.replace(' ', '%s'))}".encode())
    assert held(phone) == text.replace("%s", " ")


@pytest.mark.random
@given(TEXTS.filter(lambda text: text.strip()))
def test_any_text_is_entered_unchanged(phone: SimulatedPhone, text: str) -> None:
    begin(phone)
    enter(phone, text)
    assert held(phone) == text


def test_a_literal_percent_s_needs_the_operator(phone: SimulatedPhone) -> None:
    phone.shell_script("input text '100%sure'")
    assert held(phone) == "100 ure"
    enter(phone, "100%sure")
    assert held(phone) == "100%sure"


def test_the_longest_text_is_entered_whole(phone: SimulatedPhone) -> None:
    text = "%s" * (MAX_MATCHER_VALUE_LENGTH // 2)
    enter(phone, text)
    assert held(phone) == text


@pytest.mark.parametrize("text", ["", "-", "--", "-5", "%", "%%s", "%S", "a%", "keyevent 4"])
def test_text_that_looks_like_options_or_syntax_is_typed(phone: SimulatedPhone, text: str) -> None:
    assert phone.shell_script(f"input text {shlex.quote(text)}").code == 0
    assert held(phone) == text.replace("%s", " ")
