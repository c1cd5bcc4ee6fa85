"""The policy check under random rules: a second implementation of the documented rules must agree on every path.

``Policy.decide`` is compared with ``documented_decision``, thousands of times a second. Every path by which an
action can reach a phone is compared with the oracle of the policy tests, on a backend that only records.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from clawperator.contract.actions import ACTIONS
from clawperator.contract.fields import LEVELS, Level
from clawperator.device.run import run as device_run
from clawperator.operations.actions import ACTION_COMMANDS
from clawperator.policy.actions import action_entry, action_names
from clawperator.policy.rules import Policy, decode_policy, encode_policy, read_rule
from soak.runner import Run, require
from tests.agent.test_policy_paths import CASES, DENIED, PATHS, Rules, _Recorder, oracle
from tests.device.phone_servers import running_phone_server

_SUBJECTS = (
    "com.android.settings",
    "COM.Android",
    "https://a.b/c",
    "home",
    "Delete",
    "delete all",
    "",
    "*",
    "a(b)",
)
_NAMES = tuple(dict.fromkeys((*ACTIONS, *(alias for row in ACTIONS.values() for alias in row.aliases))))
_CLICKING_KEYS = ("enter", "space", "center")
_PARAMS = ("applicationId", "uri", "key", "sessionId")


def run_policies(run: Run) -> None:
    """Decisions and paths in turn."""
    with _reached_backend(run) as backend:
        while run.goes_on():
            for _ in run.rounds(10):
                _check_path(run, backend)
            for _ in run.rounds(2_000):
                _check_decision(run)


# Decisions


def _check_decision(run: Run) -> None:
    random = run.random
    texts = {kind: [_rule(random) for _ in range(random.randrange(4))] for kind in ("allow", "deny", "ask")}
    mode = random.choice(LEVELS)
    name = random.choice(tuple(ACTIONS))
    params: dict[str, Any] = {key: random.choice(_SUBJECTS) for key in random.sample(_PARAMS, random.randrange(3))}
    if random.random() < 0.4:
        params["matcher"] = {"textEquals": random.choice(_SUBJECTS)}
    if random.random() < 0.2:
        params["clickAfter"] = random.choice((True, False))
    described = json.dumps({"mode": mode, **texts, "name": name, "params": params})
    run.check("decision", described.encode(), lambda _: _compare(mode, texts, name, params))


def _rule(random: Random) -> str:
    name = random.choice(("*", random.choice(_NAMES), random.choice(_NAMES)[:4] + "*"))
    if random.random() < 0.3:
        name = name.upper()
    if random.random() < 0.4:
        return name
    subject = random.choice(_SUBJECTS)
    return f"{name}({subject}{random.choice(('', '*', ':*'))})"


def _compare(mode: Level, texts: dict[str, list[str]], name: str, params: dict[str, Any]) -> None:
    allow, deny, ask = (
        tuple(read_rule(text, "soak") for text in texts[kind]) for kind in ("allow", "deny", "ask")
    )
    policy = Policy(mode, allow, deny, ask)
    expected = documented_decision(mode, texts, name, params)
    for candidate in (policy, decode_policy(encode_policy(policy)), Policy("full", outer=policy)):
        decided = candidate.decide(action_entry(name), params)
        require(decided.decision == expected, f"the decision is {expected}: {decided}")
        require(decided.allowed == (expected == "allow"), "only an allowed call is allowed")


def documented_decision(mode: Level, texts: dict[str, list[str]], name: str, params: dict[str, Any]) -> str:
    """What docs/reference/claw.md promises: deny, then ask, then allow, then the mode."""
    row = ACTIONS[name]
    performed = set(row.performs)
    params = {**params, "key": params.get("key", "").strip().lower()}  # keys are names of the contract
    if name == "scroll_and_click" or params.get("clickAfter") is True or params["key"] in _CLICKING_KEYS:
        performed.add("click")
    is_sent = params.get("submit") or "\n" in params.get("text", "") or params["key"] == "enter"
    if name == "submit_text" or is_sent:
        performed |= {"submit_text", "press_key", "click"}
    if name != "open_uri" and row.uri_param and row.uri_param in params:
        performed.add("open_uri")
    names = {name, *action_names(name), *(known for one in performed for known in (one, *action_names(one)))}
    names |= {row.name for row in ACTION_COMMANDS.values() if name in row.actions}
    names |= {row.model_tool} - {"", "run_plan"}
    names = {text.replace("-", "_") for text in names}
    subjects = [params[key] for key in ("applicationId", "uri", "key", "sessionId") if params.get(key)]
    subjects += [text for text in (params.get("matcher", {}).get("textEquals"),) if text]
    targets = [text for text in (params.get("uri"), params.get("matcher", {}).get("textEquals")) if text]
    is_open = name == "stop_recording" and "sessionId" not in params
    subjects = [" ".join(targets), *subjects] if len(targets) > 1 else subjects or ([] if is_open else [""])
    for kind in ("deny", "ask"):
        for text in texts[kind]:
            rule, _, subject = text.partition("(")
            wanted = subject.removesuffix(")").strip().casefold() if "(" in text else "*"
            fits = is_open or any(_fits(wanted, given.strip().casefold()) for given in subjects)
            if fits and _names(rule.replace("-", "_"), names, names):
                return kind
    for text in texts["allow"]:
        rule, _, subject = text.partition("(")
        wanted = subject.removesuffix(")") if "(" in text else "*"
        own = {name, *action_entry(name).grants}  # exactly as they are written
        if _names(rule, own, own) and (wanted == "*" or any(_fits(wanted, one) for one in subjects[:1])):
            return "allow"
    needed: Level = "read-only" if row.read_only else row.level
    return "allow" if LEVELS.index(mode) >= LEVELS.index(needed) else "deny"


def _names(rule: str, names: set[str], prefixed: set[str]) -> bool:
    """Whether a rule has one of these names, or a prefix of one of those."""
    rule = rule.casefold()
    if rule.endswith("*"):
        return any(known.startswith(rule[:-1]) for known in prefixed)
    return rule in names


def _fits(wanted: str, subject: str) -> bool:
    if wanted.endswith("*"):
        return subject.startswith(wanted[:-1].removesuffix(":").strip() if wanted != "*" else "")
    return subject == wanted


# Paths


@contextmanager
def _reached_backend(run: Run) -> Iterator[_Recorder]:
    recorder = _Recorder()
    (run.folder / "work").mkdir()
    os.chdir(run.folder / "work")
    with ExitStack() as stack:
        home = {"HOME": str(run.folder), "CLAWPERATOR_HOME": str(run.folder / "home")}
        stack.enter_context(patch.dict(os.environ, home))
        stack.enter_context(patch.object(device_run, "choose_backend", lambda *_: recorder))
        stack.enter_context(running_phone_server())
        yield recorder
    os.chdir("/")


def _check_path(run: Run, backend: _Recorder) -> None:
    random = run.random
    path, case = random.choice(tuple(PATHS)), random.choice(CASES)
    names = ("press_key", "open_app", "click", "tap", "scroll*", "read_text", "*", "close_app", "snapshot_ui")
    rules = Rules(
        random.choice(("read-only", "act")),
        [
            (random.choice(names), random.choice((None, None, "Delete", "home", "com.example", "other")))
            for _ in range(random.randrange(3))
        ],
        random.sample(("*", "click", "press_key", "run_execution", "sleep"), random.randrange(3)),
    )

    def compare(_: bytes) -> None:
        act, wrappers = PATHS[path]
        backend.plans.clear()
        decided, expected = act(case, rules), oracle(case, rules, *wrappers)
        require(decided == expected, f"the oracle agrees: {decided}, not {expected}")
        require(decided != DENIED or not backend.plans, "nothing that is denied reaches the phone")

    run.check(f"path {path}", repr((case, rules)).encode(), compare)
