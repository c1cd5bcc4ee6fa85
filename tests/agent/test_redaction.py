"""Redaction: secrets are replaced, other text is unchanged, and the time is linear."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from clawperator.agent.redaction import (
    REDACTED,
    TOO_DEEP,
    Redactor,
    StreamRedactor,
    environment_secrets,
    intended_texts,
    prompt_secrets,
    secret_places,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\nMIIEow-IBAAKCAQEA\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("use sk-ant-api03-AbCdEfGhIjKlMnOp now", "use [redacted] now"),
        ("sk_live_0123456789abcdefXYZ", "[redacted]"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer [redacted]"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted]"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345 ok", "[redacted] ok"),
        ("github_pat_11ABCDEFG0123456789_abcdefghij", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."),
        ("AIzaSyA-0123456789abcdefghijklmnopqrstu", "[redacted]"),
        ("xoxb-123456789012-abcdefghij", "[redacted]"),
        (f"jwt {JWT}, done", "jwt [redacted], done"),
        (f"a\n{PEM}\nb", "a\n[redacted]\nb"),
        (PEM.replace("\n", "\\n"), "[redacted]"),
        (PEM[:60], "[redacted]"),
        ("https://ann:hunter2@example.org/x", "https://[redacted]@example.org/x"),
        ("password=hunter2&next=1", "password=[redacted]&next=1"),
        ("DB_PASSWORD = hunter2", "DB_PASSWORD = [redacted]"),
        ("Passwort passwd: 'a b' c", "Passwort passwd: '[redacted]' c"),
        ('{"api_key": "a\\"b c", "n": 1}', '{"api_key": "[redacted]", "n": 1}'),
        ('{"password": " x"}', '{"password": "[redacted]"}'),
        (r'"{\"accessToken\": \"a b\", \"n\": 1}"', r'"{\"accessToken\": \"[redacted]\", \"n\": 1}"'),
        ("x-api-key: 123", "x-api-key: [redacted]"),
        ("client_secret: abc\nnext: line", "client_secret: [redacted]\nnext: line"),
        ("İ token=x", "İ token=[redacted]"),
        ('password="never closed', 'password="[redacted]'),
    ],
)
def test_texts_that_look_like_secrets_are_redacted(text: str, left: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == left
    assert redactor.text(left) == left, "hiding once is enough"


@pytest.mark.parametrize(
    "text",
    [
        '<node text="Password:" resource-id="com.a:id/password" password="true" index="0"/>',
        '<node text="Password: " password="false"/><node text="Token:"/>',
        "press the key: back",
        '{"key": "home", "input_tokens": 12, "output_tokens": 4}',
        "type my password into the second field",
        "task-list-0123456789abcdefghij",
        "password: null, token=''",
        "https://example.org:8080/a?b=c",
        "monkey=banana; the keyboard: on",
        "typed text into 'password': the screen changed",
        "eyJ and sk- and Bearer",
        "",
    ],
)
def test_other_texts_are_unchanged(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_secrets_are_redacted_everywhere() -> None:
    redactor = Redactor(["hunter2", "hunter2-and-more", "a\"b<c&d'e"])
    assert redactor.text("xhunter2y hunter2-and-more") == f"x{REDACTED}y {REDACTED}"
    assert redactor.text("plain a\"b<c&d'e") == f"plain {REDACTED}"
    assert redactor.text(r"json a\"b<c&d" + "'e") == f"json {REDACTED}"
    assert (
        redactor.text("""xml a"b&lt;c&amp;d'e and a&quot;b&lt;c&amp;d&apos;e""")
        == f"xml {REDACTED} and {REDACTED}"
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("abc    abcd xabc abc-d", f"{REDACTED}    abcd xabc abc-d"),
        ('type "abc" into the field, then abc.', f'type "{REDACTED}" into the field, then {REDACTED}.'),
        (
            '<node index="7" text="7" bounds="[7,7][9,9]"/>',
            f'<node index="7" text="{REDACTED}" bounds="[7,7][9,9]"/>',
        ),
        ("PIN 7, not 77", f"PIN {REDACTED}, not 77"),
    ],
)
def test_short_secrets_are_redacted_as_whole_words(text: str, left: str) -> None:
    assert Redactor(["abc", "7", "", "    "]).text(text) == left


def test_a_short_secret_does_not_hide_numbers() -> None:
    assert Redactor(["7"]).value({"index": 7, "text": "7", "token": 7}) == {
        "index": 7,
        "text": REDACTED,
        "token": REDACTED,
    }


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I typed the password Zx10-correcthorse", f"I typed the password {REDACTED}"),
        ("Your PIN is 4711, keep it", f"Your PIN is {REDACTED} keep it"),
        ('<node text="My password is Hunter2x"/>', f'<node text="My password is {REDACTED}"/>'),
    ],
)
def test_sentences_with_a_value_that_looks_like_a_secret_are_redacted(text: str, left: str) -> None:
    assert Redactor().text(text) == left


def _pieces(text: str, cuts: list[int]) -> list[str]:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@given(
    st.lists(
        st.sampled_from(
            [
                "hunter2",
                "correct horse battery",
                "x7",
                "the password is ",
                "fine. ",
                " ",
                "hunter",
                "corr",
                "\n",
                'password: "a b c"',
                "sk-ant-api03-AbCdEfGhIjKlMnOp",
                "Bearer abc.def-123456",
                "ä",
            ]
        ),
        max_size=12,
    ).map("".join),
    st.lists(st.integers(0, 120), max_size=30),
)
def test_a_streamed_text_has_no_secret_however_it_is_cut(text: str, cuts: list[int]) -> None:
    stream = StreamRedactor(Redactor(["hunter2", "correct horse battery", "x7"]))
    shown = "".join([*map(stream.add, _pieces(text, cuts)), stream.end()])
    assert shown == Redactor(["hunter2", "correct horse battery", "x7"]).text(text)


def test_a_streamed_text_is_released_word_by_word() -> None:
    stream = StreamRedactor(Redactor(["correct horse battery"]))
    assert [stream.add(piece) for piece in ("I t", "ap Dis", "play, ", "correct ", "answer ")] == [
        "I ",
        "tap ",
        "Display, ",
        "",
        "correct answer ",
    ]


def test_a_long_word_is_released_before_its_end() -> None:
    stream = StreamRedactor(Redactor(["hunter2"]))
    shown = "".join(stream.add("語" * 100) for _ in range(200))
    assert len(shown) > 10_000


def test_values_are_redacted_by_name_and_by_content() -> None:
    value = {
        "password": "hunter2",
        "apiKey": ["a", {"deeper": "b"}],
        "token": 123456,
        "is": {"password": True, "secret": None, "user_token": "false"},
        "text": "swordfish",
        "swordfish": [1, 2.5, "Bearer abcdefghij"],
        "pin": 44444,
    }
    assert Redactor(["swordfish", "44444"]).value(value) == {
        "password": REDACTED,
        "apiKey": [REDACTED, {"deeper": "b"}],
        "token": REDACTED,
        "is": {"password": True, "secret": None, "user_token": "false"},
        "text": REDACTED,
        REDACTED: [1, 2.5, f"Bearer {REDACTED}"],
        "pin": REDACTED,
    }
    assert value["text"] == "swordfish", "the original is untouched"


class Pair(Struct):
    name: str
    password: str


def test_values_of_all_types_become_plain_json() -> None:
    redacted = Redactor(["swordfish"]).value
    assert redacted(Pair("swordfish", "x")) == {"name": REDACTED, "password": REDACTED}
    assert redacted({1: ("a", b"swordfish")}) == {"1": ["a", f"b'{REDACTED}'"]}
    assert redacted(10**6_000) == "[number too long]"


def test_an_endlessly_nested_document_is_truncated() -> None:
    deep: Any = "bottom"
    for _ in range(10_000):
        deep = {"a": [deep]}
    redacted = Redactor().value(deep)
    depth = 0
    while isinstance(redacted, dict | list):
        redacted = redacted["a"] if isinstance(redacted, dict) else redacted[0]
        depth += 1
    assert (depth, redacted) == (100, TOO_DEEP)


def test_secrets_of_the_environment_are_found() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "long-enough",
        "X_AUTH_TOKEN": "12345678",
        "my_password": "p4ssw0rd",
        "A_TOKEN": "short",
        "TOKENS": "long-enough-2",
        "PATH": "/usr/bin:/bin",
    }
    assert environment_secrets(environment) == ("long-enough", "12345678", "p4ssw0rd")


HOSTILE = [
    "eyJ",
    "eyJaaaaaaaaa.",
    "a" * 50 + ".",
    "sk-",
    "sk-aaaaaaaaaaaaaaa ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "-----END",
    "password",
    "password=",
    'password="',
    "password='",
    "password=\\",
    'password=\\"',
    'password"',
    'password="\\',
    "api_key : ",
    "secret_",
    "token:\t \t",
    "key",
    "://a:",
    "://" + "a" * 60,
    "ghp_",
    "Bearer ",
    "AKIA",
    "xoxb-",
    "\\",
    '"',
    "'\"",
    " ",
    "İtoken",
    "\ud800",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_redaction_time_is_linear(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    began = time.process_time()
    Redactor(["abcdefgh", "aaaaaaab"]).text(text)
    # Some tenths of a second at most; were it the square of the length, minutes.
    assert time.process_time() - began < 3


@pytest.mark.random
@given(st.lists(st.sampled_from([*HOSTILE, "x", "=", ":", "1", "\n", "hunter2", "é"]), max_size=12).map("".join))
def test_any_text_can_be_encoded_and_contains_no_known_secret(text: str) -> None:
    redacted = Redactor(["hunter2"]).text(text)
    redacted.encode()
    assert "hunter2" not in redacted


# Secrets that a prompt names in a sentence

SEPARATORS = (
    " - ",
    " -- ",
    " \u2013 ",
    "\u2014",
    " \u2212 ",
    " -> ",
    "->",
    "=>",
    " \u2192 ",
    " | ",
    " ~ ",
    " ... ",
    "\u2026",
    " / ",
)


@pytest.mark.parametrize(
    ("prompt", "secret"),
    [
        ("my password is swordfish", "swordfish"),
        ("My Password is: swordfish", "swordfish"),
        ("my password is secret", "secret"),
        ("log in with password correcthorse", "correcthorse"),
        ("the PIN is 1234", "1234"),
        ("my passcode is 77", "77"),
        ("my pin is 7", "7"),
        ("use abc as my new wifi password", "abc"),
        ("enter the password Zx6d-correcthorse", "Zx6d-correcthorse"),
        ('type "Zk99-hunter" into the secret box', "Zk99-hunter"),
        ('type "q7z" into the password field', "q7z"),
        ("type hunter two into the password field", "hunter two"),
        ("put s3 in the PIN box", "s3"),
        ("my passphrase is correct horse battery staple and then tap ok", "correct horse battery staple"),
        ("log in with user bob and password hunter!", "hunter!"),
        ("sign in as bob, password swordfish", "swordfish"),
        ("set the password to abcdef.", "abcdef"),
        ('fill the password field with "a b c"', "a b c"),
        ("the password for gmail is hunter", "hunter"),
        ("hunter is my password", "hunter"),
        ("'x y' is the pin", "x y"),
        ("my password is \u201chunter two\u201d", "hunter two"),
        ("password X9", "X9"),
        ("enter pin code 4411 and confirm", "4411"),
        ("the verification code is 998877", "998877"),
        ("the code is 123456", "123456"),
        ("my password's hunter22", "hunter22"),
        ("pw: hunter22", "hunter22"),
        ("mein Passwort ist hunter22", "hunter22"),
        ("mot de passe: hunter22", "hunter22"),
        *((f"Password{separator}swordfish", "swordfish") for separator in SEPARATORS),
        *((f"log in: user - bob, my PIN{separator}abcd", "abcd") for separator in SEPARATORS),
        ("Login - Password - hunter22", "hunter22"),
    ],
)
def test_a_prompt_names_a_secret(prompt: str, secret: str) -> None:
    assert secret in prompt_secrets(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "type my password into the second field",
        "open the password manager",
        "what is my password",
        "tap password settings",
        "use the menu to open the password manager",
        "open settings and password options",
        "is the password field empty?",
        "the password is wrong",
        "open Settings - Password - Biometrics",
        "open Settings > Password > Biometrics",
        "open the password-protected note",
        "open the password - settings",
        "type a password, then tap OK",
        "turn off the pin lock",
        "type hello in notes and then open the passwords page",
        "press key 5",
        "pin the app",
        "scan the code",
        "enter 35 and confirm",
        "tell me if the password is required",
    ],
)
def test_a_prompt_without_a_value_has_no_secret(prompt: str) -> None:
    assert prompt_secrets(prompt) == ()


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ('type "q7z" into the second field', ("q7z",)),
        ("enter hunter two into the box", ("hunter two",)),
        ('write "a" and paste "b"', ("a", "b")),
        ("type my password into the second field", ()),
        ("open Settings", ()),
    ],
)
def test_the_texts_to_type_are_found_by_the_form_of_the_prompt(prompt: str, texts: tuple[str, ...]) -> None:
    assert intended_texts(prompt) == texts


HOSTILE_SENTENCES = [
    "password ",
    "type ",
    "type a in ",
    "password for a ",
    "is my ",
    "enter a into the ",
    "pin",
    '"',
    "use a as ",
]


@pytest.mark.parametrize("piece", HOSTILE_SENTENCES)
def test_the_time_is_linear(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.process_time()
        prompt_secrets(text)
        intended_texts(text)
        list(secret_places(text))
        return time.process_time() - started

    small, large = min(seconds(10_000) for _ in range(2)), seconds(80_000)
    assert large < 0.2 or large < small * 8 * 4
