"""Selectors on the command line."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from clawperator.contract.commands import find_command
from clawperator.contract.fields import fields_of
from clawperator.contract.selectors import NodeSelector, render_flags
from tests.support.running import clawperator
from tests.ui.test_select import selectors


def matcher(*argv: str) -> Any:
    """The selector of a command, as its document has it."""
    ran = clawperator(*argv, "--validate-only")
    assert ran.code == 0, ran
    return ran.json["execution"]["actions"][0]["params"]["matcher"]


def refusal(*argv: str) -> tuple[str, str]:
    document = clawperator(*argv, "--validate-only").json
    return document["code"], document["message"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--id", "search"), {"resourceId": "search"}),
        (("--id", "a:id/search"), {"resourceId": "a:id/search"}),
        (("--ref", "e12@s1a2b3c4d5"), {"ref": "e12@s1a2b3c4d5"}),
        (
            ("--class", "Switch", "--right-of", "Wi-Fi"),
            {"className": "Switch", "rightOf": {"textEquals": "Wi-Fi"}},
        ),
        (("--text-matches", "W.*", "--index", "2"), {"textMatches": "W.*", "index": 2}),
        (
            ("--role", "switch", "--state", "checked", "--state", "disabled"),
            {"role": "switch", "checked": True, "enabled": False},
        ),
        (("--text", "A", "--ancestor", '{"role":"list"}'), {"textEquals": "A", "ancestor": {"role": "list"}}),
        (
            ("--any-of", "OK", "--any-of", '{"id":"a"}', "--unique"),
            {"anyOf": [{"textEquals": "OK"}, {"resourceId": "a"}], "unique": True},
        ),
        (
            ("--any-of", '[{"text":"OK"},{"text":"Allow"}]'),
            {"anyOf": [{"textEquals": "OK"}, {"textEquals": "Allow"}]},
        ),
        (("--text", "A", "--not", "B"), {"textEquals": "A", "not": {"textEquals": "B"}}),
    ],
)
def test_flags_set_the_fields_of_a_selector(flags: tuple[str, ...], expected: dict[str, Any]) -> None:
    for command in ("click", "read"):
        assert matcher(command, *flags) == expected


def test_a_reference_may_be_the_argument() -> None:
    for command in ("click", "double-tap", "read", "submit", "wait"):
        assert matcher(command, "e12") == {"ref": "e12"}
    assert refusal("click", "e12", "--text", "A")[0] == "EXECUTION_VALIDATION_FAILED"
    assert refusal("click", "e12", "e13") == ("USAGE", "unexpected argument 'e13' for click")


def test_any_other_argument_gets_the_command_that_was_meant() -> None:
    ran = clawperator("click", "Display")
    assert (ran.json["code"], ran.json["message"]) == ("USAGE", "unexpected argument 'Display' for click")
    assert "click --text Display" in ran.json["hint"]
    assert "--coordinate 540 700" in clawperator("tap", "540", "700").json["hint"]
    assert "type hello --ref e3" in clawperator("type", "hello", "e3").json["hint"]
    assert "install-apk app.apk" in clawperator("install", "app.apk").json["hint"]
    assert "swipe up'" in clawperator("swipe", "upwards").json["hint"]


@pytest.mark.parametrize(
    "flags",
    [
        ("--state", "purple"),
        ("--index", "-1"),
        ("--index=first",),
        ("--below", " "),
        ("--below", "{not json"),
        ("--any-of", "[1]"),
        ("--text-matches", "("),
        ("--text-matches", r"(a)\1"),
        ("--index", "1"),
        ("--unique",),
        ("--ref", "e12", "--text", "A"),
        ("--ref", "12"),
        ("--selector", '{"text":"A"}', "--state", "checked"),
    ],
)
def test_an_invalid_selector_is_refused(flags: tuple[str, ...]) -> None:
    code, _ = refusal("click", *flags)
    assert code in ("EXECUTION_VALIDATION_FAILED", "USAGE")


def test_every_command_with_a_selector_has_a_flag_for_each_field() -> None:
    names = {field.flag for field in fields_of(NodeSelector) if field.name != "shortId"}
    for name in (
        "click",
        "read",
        "scroll-until",
        "scroll-and-click",
        "wait-for-nav",
        "query",
        "drag",
        "double-tap",
    ):
        command = find_command(name)
        assert command is not None
        assert names <= {flag.name for flag in command.flags}, name


@given(selectors)
def test_the_flags_of_a_selector_mean_the_same_selector(wanted: NodeSelector) -> None:
    fields = msgspec.to_builtins(wanted)
    if next(wanted.problems(), None) is not None or {"resourceId", "shortId"} <= fields.keys():
        return  # not a selector, or one with two ids
    ran = clawperator("click", *render_flags(fields), "--validate-only")
    assert ran.code == 0, (fields, json.loads(ran.out))
    assert ran.json["execution"]["actions"][0]["params"]["matcher"] == {
        ("resourceId" if name == "shortId" else name): value for name, value in fields.items()
    }
