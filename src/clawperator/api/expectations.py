"""What a method expects on the screen after its action."""

from typing import Any, TypedDict

from clawperator.api.calls import milliseconds
from clawperator.contract.execution import LONGEST_WAIT_MS


class Expect(TypedDict, total=False):
    """What the screen must show after an action: ``expect={"gone": "Saving", "timeout": 10}``.

    ``text`` is a label that must be on the screen, ``gone`` one that must not, ``app`` the package that must be in
    the foreground; with ``idle`` the screen must have stopped changing. ``timeout`` is in seconds, by default 5.
    """

    text: str
    gone: str
    app: str
    idle: bool
    timeout: float


Expected = str | Expect | None


def expectation(expect: Expected, *, settle: bool = False) -> dict[str, Any]:
    """What comes after the action, as params: the expectation, and whether the screen settles first.

    A text alone is a label that must be on the screen.
    """
    settling = {"settle": True} if settle else {}
    if expect is None:
        return settling
    given: Expect = {"text": expect} if isinstance(expect, str) else expect
    params: dict[str, Any] = {name: value for name, value in given.items() if name != "timeout"}
    if "timeout" in given:
        params["timeoutMs"] = milliseconds(given["timeout"], LONGEST_WAIT_MS)
    return {"expect": params, **settling}
