"""The execution each flat command stands for: its fixed words, and the document made from them."""

import os
import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawperator.contract.limits import EXPECTED_FORMAT, MAX_EXECUTION_TIMEOUT_MS

# An execution gets so much more than what it waits for.
_WAIT_MARGIN_MS = 5_000
LONGEST_WAIT_MS = MAX_EXECUTION_TIMEOUT_MS - _WAIT_MARGIN_MS
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


class Literals(Struct, frozen=True):
    """The words a builder always uses. An empty ``task`` means: the same as the command id."""

    action: str
    prefix: str
    source: str
    timeout_ms: int
    action_id: str
    task: str = ""
    mode: str | None = None

    def command_id(self) -> str:
        """``<prefix>_<ms>``, or ``<prefix><ms>-<random>`` where the prefix ends in a dash."""
        now = time.time_ns() // 1_000_000
        if not self.prefix.endswith("-"):
            return f"{self.prefix}_{now}"
        return f"{self.prefix}{now}-" + "".join(_BASE36[byte % 36] for byte in os.urandom(7))


_OBSERVE, _ACTION, _CLI = "clawperator-observe", "clawperator-action", "clawperator-cli"

LITERALS: Mapping[str, Literals] = {
    "snapshot": Literals("snapshot_ui", "snapshot-", _OBSERVE, 30_000, "snap", mode="direct"),
    "screenshot": Literals("take_screenshot", "screenshot-", _OBSERVE, 30_000, "snap"),
    "click": Literals("click", "click-", _ACTION, 30_000, "click", mode="direct"),
    "read": Literals("read_text", "read-", _ACTION, 30_000, "read", mode="direct"),
    "read-value": Literals("read_key_value_pair", "read-value-", _ACTION, 30_000, "read-value", mode="direct"),
    "wait": Literals("wait_for_node", "wait-", _ACTION, 30_000, "wait", mode="direct"),
    "wait-for-nav": Literals(
        "wait_for_navigation", "wait-for-nav-", _ACTION, 30_000, "wait-for-nav", mode="direct"
    ),
    "type": Literals("enter_text", "type-", _ACTION, 30_000, "type", mode="direct"),
    "open-app": Literals("open_app", "open_app", _CLI, 15_000, "a1", "cli-action-open-app"),
    "open-uri": Literals("open_uri", "open_uri", _CLI, 15_000, "a1", "cli-action-open-uri"),
    "press": Literals("press_key", "press_key", _CLI, 10_000, "a1", "cli-action-press-key"),
    "close": Literals("close_app", "close-", _CLI, 30_000, "close"),
    "sleep": Literals("sleep", "sleep-", _CLI, 30_000, "sleep"),
    "scroll": Literals("scroll", "scroll-", _CLI, 30_000, "a1", "cli-action-scroll"),
    "scroll-until": Literals("scroll_until", "scroll-until-", _CLI, 30_000, "a1"),
    "scroll-and-click": Literals("scroll_and_click", "scroll-until-", _CLI, 30_000, "a1"),
    "recording start": Literals("start_recording", "start_recording", _CLI, 10_000, "a1", "cli-record-start"),
    "recording stop": Literals("stop_recording", "stop_recording", _CLI, 15_000, "a1", "cli-record-stop"),
}


def build(
    builder: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | float | None = None
) -> dict[str, Any]:
    """The execution document of one flat command. ``params`` is None for an action that has none."""
    words = LITERALS[builder]
    command_id = words.command_id()
    action: dict[str, Any] = {"id": words.action_id, "type": words.action}
    if params is not None:
        action["params"] = dict(params)
    document: dict[str, Any] = {
        "commandId": command_id,
        "taskId": words.task or command_id,
        "source": words.source,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": words.timeout_ms if timeout_ms is None else timeout_ms,
        "actions": [action],
    }
    if words.mode:
        document["mode"] = words.mode
    return document


def waiting_timeout(wait_ms: int | float) -> int | float:
    """The execution's time for an action that itself may take ``wait_ms``, at most ``LONGEST_WAIT_MS``."""
    return max(wait_ms + _WAIT_MARGIN_MS, 30_000)
