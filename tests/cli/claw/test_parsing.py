"""Parsing the command line of ``claw``: strict, with consistent messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.cli.claw.command_line import attempted_command, parse_line, read_params, requested_format
from clawperator.errors import ClawError
from clawperator.operations.claw import claw_commands


def refusal(*argv: str, default: str | None = None) -> ClawError:
    with pytest.raises(ClawError) as e:
        parse_line(list(argv), default)
    assert e.value.code == "ARGUMENTS_INVALID"
    assert e.value.operation == "argparse"
    assert e.value.hint
    return e.value


def test_options_may_stand_before_and_after_the_command() -> None:
    for argv in (["--output-format", "json", "route", "x"], ["route", "x", "--output-format=json"]):
        parsed = parse_line(argv)
        assert parsed.name == "route"
        assert parsed.words == ("x",)
        assert parsed.get("--output-format") == "json"


@pytest.mark.parametrize("name", ["--output", "--out", "--output-form", "--lim", "--direct"])
def test_nothing_is_abbreviated(name: str) -> None:
    assert "unrecognized arguments" in refusal("route", "x", name, "json").message


def test_what_follows_two_dashes_is_never_an_option() -> None:
    assert parse_line(["route", "--", "--limit"]).words == ("--limit",)
    assert requested_format(["route", "--", "--output-format", "json"], None) == "text"


def test_a_value_that_begins_with_dashes_needs_the_equals_sign() -> None:
    assert "expected one argument" in refusal("turn-loop", "x", "--continuation-prompt", "--go").message
    assert parse_line(["turn-loop", "x", "--continuation-prompt=--go"]).get("--continuation-prompt") == "--go"


def test_arguments_in_one_word_are_no_option() -> None:
    parsed = parse_line(["exec-command", "read-value", '--label "Android version"', "--device=a b"])
    assert parsed.words == ("read-value", '--label "Android version"')
    assert parsed.get("--device") == "a b"


def test_negative_numbers_are_values_and_words() -> None:
    assert parse_line(["route", "-5", "--limit", "-1"]).words == ("-5",)
    with pytest.raises(ClawError, match="from 0 up"):
        read_params(parse_line(["route", "x", "--limit", "-1"]))


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], "required: command"),
        (["frobnicate"], "invalid choice: 'frobnicate' (choose from 'help', 'bootstrap'"),
        (["route"], "required: prompt"),
        (["exec-tool", "click"], "required: payload"),
        (["load-session"], "required: session_id"),
        (["list-sessions", "extra"], "unrecognized arguments: extra"),
        (["route", "a", "b"], "unrecognized arguments: b"),
        (["route", "x", "--limit"], "argument --limit: expected one argument"),
        (["route", "x", "--limit", "1", "--limit", "2"], "argument --limit: it is given more than once"),
        (["tool-pool", "--simple-mode=yes"], "argument --simple-mode: it takes no value"),
        (["route", "x", "--output-format", "yaml"], "argument --output-format: invalid choice: 'yaml'"),
    ],
)
def test_the_error_names_the_problem(argv: list[str], expected: str) -> None:
    assert expected in refusal(*argv).message


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    assert "'claw list-sessions --help'" in (refusal("list-session").hint or "")


def test_the_variable_must_name_a_format_unless_an_option_does() -> None:
    assert refusal("route", "x", default="yaml").message.startswith("CLAW_OUTPUT_FORMAT")
    assert parse_line(["route", "x", "--output-format", "TEXT"], "yaml").name == "route"


@pytest.mark.parametrize(
    ("argv", "default", "wanted"),
    [
        (["x"], None, "text"),
        (["x"], "JSON", "json"),
        (["x", "--output-format", "json"], None, "json"),
        (["x", "--output-format=Json"], "text", "json"),
        (["x", "--output-format", "text"], "json", "text"),
        (["x", "--output-format", "json", "--output-format", "text"], None, "text"),
        (["x", "--output-format", "yaml"], None, "text"),
        (["x", "--output-format", "yaml", "--output-format", "json"], None, "json"),
        (["x", "--output-format", "json", "--output-format", "yaml"], None, "json"),
        (["x", "--output-format"], "json", "json"),
        ([], "json", "json"),
    ],
)
def test_how_to_answer_is_known_before_the_line_is_read(argv: list[str], default: str | None, wanted: str) -> None:
    assert requested_format(argv, default) == wanted


def test_the_attempted_command_is_the_first_word_if_it_is_one() -> None:
    assert attempted_command(["nope", "--x"]) == "nope"
    assert attempted_command(["--x"]) == attempted_command([]) == "<missing>"


@pytest.mark.random
@given(
    st.lists(
        st.sampled_from(
            [*(c.name for c in claw_commands()), "--limit", "-", "--", "x", "-V", "--output-format", "json", "é"]
        )
        | st.text(max_size=8),
        max_size=8,
    )
)
def test_any_line_is_read_or_refused_with_a_typed_error(argv: list[str]) -> None:
    error = None
    try:
        parse_line(argv)
    except ClawError as e:
        error = e
    assert error is None or (error.code == "ARGUMENTS_INVALID" and error.hint)
