"""Secrets through every path of claw and of the recorder, then a search of everything that was written.

A secret may be in the prompt, in a model's call, in its words, or typed by a person while a recording runs. It
must not be in a session, in events, in evidence, in the host log, in an export, or in any other file.
"""

import json
import os
import shutil
import string
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from unittest.mock import patch

from clawperator.errors import ClawError
from clawperator.recording.describe import describe_recording
from clawperator.recording.export import export_recording
from clawperator.recording.parse import parse_recording
from clawperator.testing import simulated_phone
from soak.runner import Run, require
from tests.agent.models.model_server import model_server
from tests.agent.models.openai_script import call_reply, text_reply
from tests.device.phone_servers import running_phone_server
from tests.support.running import claw
from tests.support.secret_search import find_secret

_OPEN = "open notes and tap Account and "
_PROMPTS = (
    _OPEN + 'type "{}" into the password field',
    "enter the password {}",
    'type "{}" into the secret box',
    'type "{}" into the box that is not there',
    "log in, my password is {}",
    "sign in as bob with password {}",
    "unlock it, the PIN is {}",
    "use {} as the password",
    "password: {} please",
)


def run_secrets(run: Run) -> None:
    paths: tuple[Callable[[Random, str, Path], str], ...] = (_by_prompt, _by_model, _by_person)
    number = 0
    while run.goes_on():
        number += 1
        path, secret = run.random.choice(paths), _secret(run.random)
        plant = partial(_check, path, secret, run.folder / str(number), Random(run.random.random()))
        run.check(path.__name__.removeprefix("_"), secret.encode(), plant, may_refuse=False)


def _secret(random: Random) -> str:
    letters = string.ascii_letters + string.digits
    word = "Z" + "".join(random.choices(letters, k=random.choice((6, 8, 12, 20)))) + random.choice("7qXz")
    return word if random.random() < 0.7 else f"{word[:5]}-{word[5:]}"


def _check(path: Callable[[Random, str, Path], str], secret: str, folder: Path, random: Random, _: bytes) -> None:
    folder.mkdir()
    os.chdir(folder)
    variables = {"HOME": str(folder), "CLAWPERATOR_HOME": str(folder / "home")}
    try:
        with patch.dict(os.environ, variables):
            output = path(random, secret, folder)
        found = find_secret(secret, [folder], {"stderr": output})
        require(not found, f"no secret is written: {found}")
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def _by_prompt(random: Random, secret: str, _: Path) -> str:
    prompt = random.choice(_PROMPTS).format(secret)
    command = random.choice(("bootstrap", "turn-loop"))
    denied = random.choice(((), ("--deny-tool", "enter_text"), ("--permission-mode", "read-only")))
    with running_phone_server():
        ran = claw(
            command, prompt, "--session-id", "s", "--events", "events.ndjson", "--output-format", "json", *denied
        )
        again = claw("bootstrap", "what is on the screen", "--resume", "s", "--events", "events.ndjson")
    return ran.err + again.err


def _by_model(random: Random, secret: str, _: Path) -> str:
    params = {"matcher": {"resourceId": "com.clawperator.notes:id/password"}, "text": secret}
    words = f"I typed the password {secret} there. It was {secret}, as asked."
    size = random.randint(1, 9)
    replies = (
        call_reply("open_app", '{"applicationId": "com.clawperator.notes"}'),
        call_reply("click", '{"matcher": {"textEquals": "Account"}}', call_id="c2"),
        call_reply("enter_text", json.dumps(params), call_id="c3"),
        text_reply(*(words[at : at + size] for at in range(0, len(words), size))),
    )
    with ExitStack() as stack:
        server = stack.enter_context(model_server(*replies))
        stack.enter_context(running_phone_server())
        stack.enter_context(patch.dict(os.environ, {"OPENAI_BASE_URL": server.url}))
        ran = claw(
            *("bootstrap", "sign in", "--session-id", "s", "--events", "events.ndjson"),
            *("--brain", "openai", "--model", "small"),
        )
    return ran.err


def _by_person(_: Random, secret: str, folder: Path) -> str:
    """A person types into a password field while the phone records."""
    with simulated_phone() as phone:
        phone.start_recording("demo")
        phone.open_app("com.clawperator.notes")
        phone.person.tap("Account")
        phone.run(
            {
                "type": "enter_text",
                "params": {"matcher": {"resourceId": "com.clawperator.notes:id/password"}, "text": secret},
            }
        )
        phone.sleep(1)
        recording = folder / "demo.ndjson"
        phone.stop_recording()
        recording.write_bytes(phone.read_recording())
    for act in (
        lambda: parse_recording(str(recording)),
        lambda: export_recording(str(recording), snapshots="include"),
        lambda: describe_recording(str(recording), str(folder / "described.json")),
    ):
        try:
            act()
        except ClawError:
            continue
    return ""
