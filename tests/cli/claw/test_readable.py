"""Results as text: short lines that show what was seen, and a sentence as message."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.cli.claw.inventory import describe_parameters
from clawperator.cli.claw.readable import readable, summary_of
from tests.device.phone_servers import running_phone_server
from tests.support.running import claw, claw_json

pytestmark = pytest.mark.usefixtures("folder")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"devices": [{"serial": "d1"}]}, "1 device"),
        ({"packages": ["a", "b"]}, "2 packages"),
        ({"skills": [], "count": 0}, "no skills"),
        ({"ok": False, "checks": [{"id": "a"}, {"id": "b"}], "nextActions": ["x"]}, "not ok: 2 checks"),
        ({"cliVersion": "0.2.0"}, "cli version 0.2.0"),
        ({"summary": "all good", "rows": []}, "all good"),
        ({"outputFile": "a.json", "stepCount": 3, "warnings": ["w"]}, "title succeeded"),
        ([1, 2], "title succeeded"),
    ],
)
def test_the_message_is_a_short_sentence(document: Any, sentence: str) -> None:
    assert summary_of(document, "title") == sentence


def test_a_list_of_objects_is_a_table_and_an_object_lines_of_names_and_values() -> None:
    rows = [{"serial": "d1", "state": "device", "pid": 7, "folder": None}, {"serial": "d2", "state": "offline"}]
    assert readable("2 phones", {"phones": rows, "count": 2}).splitlines() == [
        "2 phones",
        "SERIAL  STATE    PID",
        "d1      device   7",
        "d2      offline",
    ]
    document = {"skill": {"id": "a", "applicationId": "com.a", "contract": {"inputs": {"n": 1}}, "artifacts": []}}
    assert readable("found", document).splitlines() == [
        "found",
        "id:             a",
        "application id: com.a",
        "contract:",
        "  inputs:",
        "    n: 1",
    ]


def test_long_results_are_cut_and_the_line_names_the_flag_for_all() -> None:
    lines = readable("many", {"rows": [str(number) for number in range(1_000)]}).splitlines()
    assert len(lines) == 402
    assert lines[-1] == "… 600 more lines; add '--output-format json' for all"


@given(json_values)
def test_every_result_can_be_shown_without_control_characters(document: Any) -> None:
    text = readable("message", document)
    if not (isinstance(document, dict) and isinstance(document.get("text"), str)):
        assert text.split("\n")[0] == "message"
        assert all(line.isprintable() for line in text.split("\n"))
    assert isinstance(summary_of(document, "title"), str)


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("exec-tool", "describe_screen", ""), ("the screen shows ", "LABEL ")),
        (("exec-tool", "snapshot_ui", ""), ("captured the screen of ", '"Settings"')),
        (("exec-tool", "snapshot_ui", '{"view": "outline"}'), ("captured the screen of ", "e1 ")),
        (("exec-tool", "list_packages", ""), (" packages on ", "\ncom.android.settings\n")),
        (("exec-tool", "list_skills", ""), ("4 skills", "\ncom.android.settings.overview  ")),
        (("exec-tool", "doctor", ""), ("ready", "host.python.version  ")),
        (("exec-command", "snapshot", ""), ("captured the screen of ", '"Settings"')),
        (("exec-command", "snapshot", "--view outline"), ("captured the screen of ", '"Settings"')),
        (("exec-command", "skills-list", ""), ("4 skills\n", "\ncom.android.settings.overview  ")),
        (("exec-command", "doctor", ""), (" checks\n", "host.python.version  ")),
        (("exec-command", "devices", ""), ("1 device\n", "STATE\nclaw-1  device\n")),
        (("exec-command", "packages-list", ""), (" packages\n", "\ncom.android.settings\n")),
        (("exec-command", "version", ""), ("cli version ",)),
        (("exec-command", "show-tool", "press_key"), ("press_key\n", "Press Back")),
    ],
)
def test_looking_shows_what_was_seen_as_text_and_a_sentence_as_message(
    argv: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    with running_phone_server():
        text = claw(*argv)
        message = claw_json(*argv).json["message"]
    assert (text.code, text.err) == (0, "")
    for piece in shown:
        assert piece in text.out.decode()
    assert "{" not in text.out.decode()
    assert "{" not in message
    assert len(message) <= 200


def test_show_tool_lists_the_parameters_as_text() -> None:
    shown = claw("show-tool", "enter_text").out.decode()
    assert "\n\nParameters:\n  matcher (object): field (default: the focused field)\n" in shown
    assert "\n    textEquals (string): exact label\n" in shown
    assert "\n  text (string): text to enter, not blank; with clear also an empty text\n" in shown
    assert claw("show-tool", "doctor").out.decode().endswith("\n\nNo parameters.\n")


@pytest.mark.parametrize(
    ("member", "line"),
    [
        ({"enum": ["a", 1]}, "  x (one of a, 1)"),
        ({"type": ["string", "null"], "description": "a\x1b[b"}, "  x (string or null): a\\x1b[b"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, 7]}, "  x (string or integer)"),
        ({"$ref": "#/$defs/X"}, "  x (any)"),
        (7, "  x (any)"),
    ],
)
def test_the_type_of_a_parameter_is_named(member: Any, line: str) -> None:
    assert describe_parameters({"properties": {"x": member}}) == [line]


@given(json_values)
def test_the_schema_of_a_foreign_server_may_be_anything(schema: Any) -> None:
    made = schema if isinstance(schema, dict) else {"properties": schema}
    assert all(line.isprintable() for line in describe_parameters(made))
    assert all(line.isprintable() for line in describe_parameters({"properties": {"a": made}, "$defs": made}))
