"""Secrets that a prompt names in a sentence."""

import time

import pytest

from clawperator.agent.spoken_secrets import intended_texts, prompt_secrets, secret_places

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


HOSTILE = [
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


@pytest.mark.parametrize("piece", HOSTILE)
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
