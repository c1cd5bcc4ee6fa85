"""Errors: the class of each code, messages, copies and pickling."""

import ast
import builtins
import json
import pickle

import pytest

import clawperator
from clawperator._base.codes import GROUPS
from clawperator.errors import (
    CODES,
    ActionError,
    ClawError,
    DeviceError,
    TargetError,
)
from tests.support.sources import parsed_sources

BUILTIN = {n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException)}


def test_every_code_has_a_class_of_its_own_group() -> None:
    classes = {type(ClawError(code, "m")) for code in CODES}
    assert ClawError not in classes
    assert len(classes) == len(GROUPS)


def test_a_code_decides_the_class() -> None:
    with pytest.raises(TargetError) as raised:
        raise ClawError("NODE_NOT_FOUND", "no node")
    assert isinstance(raised.value, ActionError)
    assert isinstance(raised.value, clawperator.ClawError)
    assert type(ClawError("DEVICE_OFFLINE", "offline")) is DeviceError


def test_the_text_has_code_message_and_hint() -> None:
    assert str(ClawError("UNKNOWN", "it broke")).startswith(
        "UNKNOWN: it broke. Hint: Run it again in verbose mode"
    )
    text = str(ClawError("NODE_NOT_FOUND", "no node", hint="Run 'clawperator snapshot'."))
    assert text == "NODE_NOT_FOUND: no node. Hint: Run 'clawperator snapshot'."
    assert str(ClawError("UNKNOWN", "It broke.", hint="Try.")) == "UNKNOWN: It broke. Hint: Try."


def test_a_copy_leaves_the_error_as_it_was() -> None:
    error = ClawError("NODE_NOT_FOUND", "no node", details={"a": 1}, operation="click", target="x")
    copy = error.with_(hint="look", retryable=False)
    assert (error.own_hint, error.retryable) == (None, True)
    assert (copy.hint, copy.retryable, copy.details, copy.operation, copy.target) == (
        "look",
        False,
        {"a": 1},
        "click",
        "x",
    )
    assert type(copy) is TargetError


def test_an_error_after_an_effect_is_never_retryable() -> None:
    error = ClawError("NODE_NOT_FOUND", "no node")
    assert (error.after_effect, error.retryable) == (False, True)
    after = error.with_(after_effect=True)
    assert (after.after_effect, after.retryable) == (True, False)
    assert not after.with_(retryable=True).retryable
    assert not pickle.loads(pickle.dumps(after)).retryable


@pytest.mark.parametrize("code", ["NO_DEVICES", "DEVICE_NOT_FOUND", "DEVICE_UNAUTHORIZED"])
def test_an_error_that_needs_a_person_is_not_retryable(code: str) -> None:
    assert not ClawError(code, "connect a device").retryable


def test_an_error_survives_pickling_and_rendering() -> None:
    error = ClawError("NODE_NOT_FOUND", "no node", hint="look", details={"a": 1})
    for back in (pickle.loads(pickle.dumps(error)), ClawError.from_document(error.document())):
        assert type(back) is TargetError
        assert back.document() == error.document()


def test_every_exception_class_of_the_package_has_the_common_base() -> None:
    allowed = {"ClawperatorException", "KeyboardInterrupt"}
    for path, nodes in parsed_sources().items():
        if path.name == "errors.py":
            continue
        for node in nodes:
            if isinstance(node, ast.ClassDef) and any(b in BUILTIN for b in map(ast.unparse, node.bases)):
                assert {ast.unparse(base) for base in node.bases} & allowed, f"{path}: {node.name}"


def test_every_text_of_an_error_can_be_encoded() -> None:
    odd = "x\udcff\ud800"
    error = ClawError(
        "UNKNOWN", odd, hint=odd, details={odd: [odd]}, operation=odd, target=odd, extra={"more": (odd,)}
    )
    json.dumps([error.document(), error.operation, error.target, str(error)], ensure_ascii=False).encode()


def test_an_unknown_code_of_another_process_is_an_internal_error() -> None:
    assert ClawError.from_document({"code": "FROM_THE_FUTURE"}).code == "UNKNOWN"
