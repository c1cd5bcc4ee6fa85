"""The states of a device that ``GET /screen`` answers with."""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from tests.support.hanging import HANG_SECONDS
from tests.support.http_client import Client


def look(client: Client, **fields: Any) -> Any:
    reply = client.get(f"/screen?{urlencode(fields)}")
    assert reply.status == 200, reply.document
    return reply.document


def shown(client: Client, until: Callable[[Any], Any] = lambda _: True, **fields: Any) -> Any:
    """The first state with a screen for which ``until`` holds."""
    state = look(client, **fields)
    end = time.monotonic() + HANG_SECONDS
    while "nodes" not in state or not until(state):
        assert time.monotonic() < end, [one["text"] for one in state.get("nodes", ())]
        state = look(client, since=state["stateId"], waitMs=5_000, **fields)
        if "nodes" not in state:
            state = look(client, **fields)
    return state


def node(state: Any, text: str) -> Any:
    return next(one for one in state["nodes"] if text in (one["text"], one["description"]))


def centre(found: Any) -> dict[str, int]:
    left, top, right, bottom = found["bounds"]
    return {"x": (left + right) // 2, "y": (top + bottom) // 2}


def has_label(label: str) -> Callable[[Any], bool]:
    return lambda state: any(label in (one["text"], one["description"]) for one in state["nodes"])
