"""The screens of devices while clients look at them: one thread looks at each device, for any number of readers.

A reader waits in the event loop, not in a thread. A device that no reader asks about any more is left alone.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from clawperator._base.deadline import limited
from clawperator.device.run.lease import lease_conflict
from clawperator.device.run.references import References
from clawperator.device.run.secrets import active_recording
from clawperator.device.screen.live_view import LiveLook, LiveSource, is_live_view
from clawperator.errors import ClawError
from clawperator.operations.call import listed_entry
from clawperator.operations.model import find_operation
from clawperator.policy.actions import action_entry
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.policy.rules import Policy
from clawperator.serve.page.screen_document import ShownScreen, read_screen

# How long a reader may wait for a change.
MAX_WAIT_MS = 25_000
_MAX_DEVICES = 16
_MAX_READERS = 32
# A device is looked at for so long after the last reader asked.
_IDLE_SECONDS = 3.0
_RETRY_SECONDS = 1.0
_LOOK_SECONDS = 30.0
# Screens that are kept, for clients that ask about an element of one that has just changed.
_KEPT_SCREENS = 4
_PICTURE_SECONDS = 0.15
# What touches, keys and text of the page are for the policy.
_ACTIONS = ("click", "swipe", "press_key", "enter_text")
_CONFLICT = "EXECUTION_CONFLICT_IN_FLIGHT"


class ScreenProblem(Struct, frozen=True):
    """Why there is no newer screen."""

    code: str
    message: str
    hint: str


class LeaseHolder(Struct, frozen=True, kw_only=True):
    """The command that uses the device now."""

    message: str
    commandId: str = ""
    action: str = ""
    pid: int = 0


class LiveState(Struct, frozen=True, kw_only=True):
    """What is known of a device. ``stateId`` is another one after every change.

    Readers that know the state get it without its screen.
    """

    deviceId: str
    simulated: bool
    stateId: str
    pictureId: str = ""
    screenId: str = ""
    package: str = ""
    width: int = 0
    height: int = 0
    awake: bool = True
    readOnly: Annotated[bool, Meta(description="whether the permissions of the server forbid all touches")] = False
    canReset: Annotated[bool, Meta(description="whether the server may reset the phone, a simulated one")] = False
    recording: str | None = None
    busy: LeaseHolder | None = None
    error: ScreenProblem | None = None
    canRecord: bool = True
    nodes: Raw | UnsetType = UNSET
    cutNodes: Raw | UnsetType = UNSET
    outline: Raw | UnsetType = UNSET
    notices: Raw | UnsetType = UNSET
    drawing: Raw | UnsetType = UNSET


class WatchedScreen:
    """One device. ``state`` is changed in the event loop only; ``screens`` by its thread, the newest first."""

    def __init__(
        self,
        serial: str,
        source: LiveSource,
        publish: Callable[["WatchedScreen", LiveState], None],
        *,
        read_only: bool = False,
        can_reset: bool = False,
    ) -> None:
        self.serial = serial
        self.source = source
        self.state = LiveState(
            deviceId=serial,
            simulated=source.is_simulated,
            stateId=f"{os.urandom(4).hex()}-0",
            readOnly=read_only,
            canReset=can_reset and source.is_simulated,
        )
        self.screens: tuple[ShownScreen, ...] = ()
        self.readers: set[asyncio.Future[LiveState]] = set()
        self.is_closed = False
        self._lock = threading.Lock()
        self._asked = time.monotonic()
        self._has_ended = False
        self._publish = publish
        self._latest = self.state
        self._wake = threading.Event()
        self._picture_lock = threading.Lock()
        self._picture: tuple[str, float, bytes] | None = None

    def look_soon(self) -> None:
        """Look again at once: something was done on the device."""
        self._wake.set()

    def close(self) -> None:
        self.is_closed = True
        self._wake.set()

    @property
    def has_ended(self) -> bool:
        return self._has_ended or self.is_closed

    def find_screen(self, screen_id: str) -> ShownScreen | None:
        return next((one for one in self.screens if one.id == screen_id), None)

    def picture(self) -> bytes:
        """The screen now as PNG.

        A simulated phone reports each change: its picture is used again until then. Another device does not: a
        picture that was just taken is used again.
        """
        with self._picture_lock:
            wanted, now = self._latest.pictureId, time.monotonic()
            if self._picture is not None:
                taken_for, taken_at, png = self._picture
                is_simulated = self.source.is_simulated
                if (bool(wanted) and taken_for == wanted) if is_simulated else now - taken_at < _PICTURE_SECONDS:
                    return png
            png = self.source.picture()
            self._picture = wanted, now, png
            return png

    def run(self, policy: Policy) -> None:
        """Look until no reader has asked for some time. The work of the thread."""
        references = References(self.serial)
        while self._is_wanted():
            self._wake.clear()
            seconds = self.source.seconds
            try:
                with enforcing(PolicyGate(policy)), limited(_LOOK_SECONDS):
                    self._look(references)
            except ClawError as e:
                if e.code != _CONFLICT:
                    seconds = max(seconds, _RETRY_SECONDS)
                    self._note(error=ScreenProblem(e.code, e.message, e.hint), busy=self._user())
                else:
                    self._note(busy=_user(e))
            self._wake.wait(seconds)

    def ask(self) -> bool:
        """Keep looking for some time. False when the thread has ended."""
        with self._lock:
            self._asked = time.monotonic()
            return not self._has_ended

    def _is_wanted(self) -> bool:
        with self._lock:
            is_recent = bool(self.readers) or time.monotonic() - self._asked < _IDLE_SECONDS
            self._has_ended = self.is_closed or not is_recent
            return not self._has_ended

    def _look(self, references: References) -> None:
        busy = self._user()
        if busy is not None and not self.source.is_simulated:
            self._note(busy=busy)
            return
        look = self.source.look(self._latest.pictureId if self.screens else "")
        recording = look.recording if self.source.is_simulated else active_recording(self.serial)
        changes: dict[str, Any] = {"busy": busy, "error": None, "recording": recording}
        changes["canRecord"] = look.can_record
        if look.data:
            changes |= self._screen(look, references)
        elif look.picture_id != self._latest.pictureId:
            changes["pictureId"] = look.picture_id
        self._note(**changes)

    def _screen(self, look: LiveLook, references: References) -> dict[str, Any]:
        """The changes that a new screen makes."""
        facts = {"pictureId": look.picture_id, "width": look.width, "height": look.height, "awake": look.is_awake}
        if look.data["snapshot_id"] == self._latest.screenId and self.screens:
            if not self.source.is_simulated:
                facts["pictureId"] = self._latest.pictureId  # it may be the same picture
            return {**facts, "package": look.data.get("foreground_package", "")}
        screen = read_screen(look.data, references)
        self.screens = (screen, *self.screens[: _KEPT_SCREENS - 1])
        return {**facts, "screenId": screen.id, "package": screen.package, **screen.document}

    def _user(self) -> LeaseHolder | None:
        conflict = lease_conflict(self.serial)
        return None if conflict is None else _user(conflict)

    def _note(self, **changes: Any) -> None:
        """Publish the state with these changes, if there are any."""
        changed = replace(self._latest, **changes)
        if _facts(changed) != _facts(self._latest):
            epoch, _, number = changed.stateId.rpartition("-")
            self._latest = replace(changed, stateId=f"{epoch}-{int(number) + 1}")
            self._publish(self, self._latest)


# What makes a state another one; the id of the screen stands for its nodes.
_facts = attrgetter(
    *("pictureId", "screenId", "package", "width", "height", "awake", "recording", "busy", "error", "canRecord")
)


def _user(conflict: ClawError) -> LeaseHolder | None:
    """The user of the device; None when it is the page itself."""
    if is_live_view(conflict):
        return None
    details = dict(conflict.details or {})
    return LeaseHolder(
        message=conflict.message,
        commandId=str(details.get("commandId", "")),
        action=str(details.get("action", "")),
        pid=int(details.get("pid", 0)),
    )


class WatchedScreens:
    """The devices that clients look at. ``open`` may be called from any thread; ``wait`` in the event loop."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._is_read_only = not any(policy.may_allow(action_entry(name), can_ask=False) for name in _ACTIONS)
        self._can_reset = policy.may_allow(listed_entry(find_operation("phone reset")), can_ask=False)
        self._lock = threading.Lock()
        self._screens: dict[str, WatchedScreen] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    def bind(self) -> None:
        """Answer readers in the running event loop from now on."""
        self._loop = asyncio.get_running_loop()

    def open(self, serial: str, make_source: Callable[[], LiveSource], *, simulated: bool) -> WatchedScreen:
        """The screen of a device, which is looked at from now on. ``SERVER_BUSY`` when there are too many."""
        with self._lock:
            if self._is_closed:
                raise ClawError("SERVER_STOPPING", "the server is stopping", operation="serve")
            live = self._screens.get(serial)
            if live is not None:
                if live.source.is_simulated == simulated and live.ask():
                    return live
                live.close()
            self._screens = {name: one for name, one in self._screens.items() if not one.has_ended}
            if len(self._screens) >= _MAX_DEVICES:
                message = f"clients look at {_MAX_DEVICES} devices already"
                hint = "Close the page of another device, then try again."
                raise ClawError("SERVER_BUSY", message, hint=hint, operation="serve")
            live = WatchedScreen(
                serial, make_source(), self._publish, read_only=self._is_read_only, can_reset=self._can_reset
            )
            self._screens[serial] = live
            threading.Thread(target=live.run, args=(self._policy,), name=f"live-{serial}", daemon=True).start()
            return live

    def find(self, serial: str) -> WatchedScreen | None:
        """The screen of a device that clients look at."""
        return self._screens.get(serial)

    def _publish(self, live: WatchedScreen, state: LiveState) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: the server has stopped
                self._loop.call_soon_threadsafe(partial(_answer, live, state))

    async def wait(self, live: WatchedScreen, since: str, seconds: float) -> LiveState:
        """The state, when it is another one than ``since``, or after these seconds."""
        if live.state.stateId != since or live.is_closed or not seconds:
            return live.state
        if len(live.readers) >= _MAX_READERS:
            message = f"{_MAX_READERS} clients wait for the screen of {live.serial}"
            hint = "Close another page of this device, then try again."
            raise ClawError("SERVER_BUSY", message, hint=hint, operation="serve", target=live.serial)
        reader: asyncio.Future[LiveState] = asyncio.get_running_loop().create_future()
        live.readers.add(reader)
        try:
            async with asyncio.timeout(seconds):
                return await reader
        except TimeoutError:
            return live.state
        finally:
            live.readers.discard(reader)
            live.ask()

    def close(self) -> None:
        """End all looks, and answer all readers. In the event loop."""
        with self._lock:
            self._is_closed = True
            screens = list(self._screens.values())
        for live in screens:
            live.close()
            _answer(live, live.state)


def _answer(live: WatchedScreen, state: LiveState) -> None:
    live.state = state
    for reader in list(live.readers):
        if not reader.done():
            reader.set_result(state)


def encode_state(state: LiveState, since: str) -> Raw:
    """The answer to a reader: without the screen when nothing has changed since."""
    shown = state
    if state.stateId == since:
        shown = replace(state, nodes=UNSET, cutNodes=UNSET, outline=UNSET, notices=UNSET, drawing=UNSET)
    return Raw(msgspec.json.encode(shown))
