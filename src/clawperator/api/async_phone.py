"""The Python API for asyncio: each method runs in a thread. ``make docs`` writes this file.

Cancelling a call stops waiting for it, not the action: its thread holds the device's lease until the device has
answered, so that nothing else runs in between.
"""

from asyncio import to_thread
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from clawperator.api.phone import AsyncRecording, ConnectedPhone, connect
from clawperator.contract.commands import BackendName

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    method: Callable[Concatenate[ConnectedPhone, P], R],
) -> Callable[Concatenate["AsyncConnectedPhone", P], Coroutine[Any, Any, R]]:
    """An awaitable version of a method of ``ConnectedPhone``."""

    @wraps(method)
    async def call(self: "AsyncConnectedPhone", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await to_thread(method, self.phone, *args, **kwargs)

    return call


class AsyncConnectedPhone:
    """A ``ConnectedPhone`` with awaitable methods: same names, keywords and results. ``phone`` is the original."""

    def __init__(self, phone: ConnectedPhone) -> None:
        self.phone = phone

    @property
    def serial(self) -> str:
        """The name of the device, as adb lists it."""
        return self.phone.serial

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.serial}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between calls, so nothing is closed."""

    def recording(self, session_id: str | None = None) -> AsyncRecording:
        """Record while an ``async with`` block runs."""
        return AsyncRecording(self.phone.recording(session_id))

    run = _in_thread(ConnectedPhone.run)
    open_app = _in_thread(ConnectedPhone.open_app)
    open_uri = _in_thread(ConnectedPhone.open_uri)
    close_app = _in_thread(ConnectedPhone.close_app)
    press = _in_thread(ConnectedPhone.press)
    back = _in_thread(ConnectedPhone.back)
    home = _in_thread(ConnectedPhone.home)
    recents = _in_thread(ConnectedPhone.recents)
    rotate = _in_thread(ConnectedPhone.rotate)
    start_activity = _in_thread(ConnectedPhone.start_activity)
    install_app = _in_thread(ConnectedPhone.install_app)
    uninstall_app = _in_thread(ConnectedPhone.uninstall_app)
    clear_app_data = _in_thread(ConnectedPhone.clear_app_data)
    grant_permission = _in_thread(ConnectedPhone.grant_permission)
    revoke_permission = _in_thread(ConnectedPhone.revoke_permission)
    read_logcat = _in_thread(ConnectedPhone.read_logcat)
    click = _in_thread(ConnectedPhone.click)
    swipe = _in_thread(ConnectedPhone.swipe)
    drag = _in_thread(ConnectedPhone.drag)
    double_tap = _in_thread(ConnectedPhone.double_tap)
    enter_text = _in_thread(ConnectedPhone.enter_text)
    enter_secret = _in_thread(ConnectedPhone.enter_secret)
    submit = _in_thread(ConnectedPhone.submit)
    scroll = _in_thread(ConnectedPhone.scroll)
    scroll_until = _in_thread(ConnectedPhone.scroll_until)
    scroll_and_click = _in_thread(ConnectedPhone.scroll_and_click)
    read = _in_thread(ConnectedPhone.read)
    read_all = _in_thread(ConnectedPhone.read_all)
    query = _in_thread(ConnectedPhone.query)
    read_value = _in_thread(ConnectedPhone.read_value)
    read_values = _in_thread(ConnectedPhone.read_values)
    snapshot = _in_thread(ConnectedPhone.snapshot)
    read_outline = _in_thread(ConnectedPhone.read_outline)
    read_elements = _in_thread(ConnectedPhone.read_elements)
    screenshot = _in_thread(ConnectedPhone.screenshot)
    find = _in_thread(ConnectedPhone.find)
    find_all = _in_thread(ConnectedPhone.find_all)
    shows = _in_thread(ConnectedPhone.shows)
    labels = _in_thread(ConnectedPhone.labels)
    foreground = _in_thread(ConnectedPhone.foreground)
    wait = _in_thread(ConnectedPhone.wait)
    wait_for_nav = _in_thread(ConnectedPhone.wait_for_nav)
    sleep = _in_thread(ConnectedPhone.sleep)
    wait_until_gone = _in_thread(ConnectedPhone.wait_until_gone)
    wait_for_text_change = _in_thread(ConnectedPhone.wait_for_text_change)
    wait_until_idle = _in_thread(ConnectedPhone.wait_until_idle)
    wait_for_any = _in_thread(ConnectedPhone.wait_for_any)
    start_recording = _in_thread(ConnectedPhone.start_recording)
    stop_recording = _in_thread(ConnectedPhone.stop_recording)
    pull_recording = _in_thread(ConnectedPhone.pull_recording)
    shell = _in_thread(ConnectedPhone.shell)
    type = _in_thread(ConnectedPhone.type)


async def connect_async(
    serial: str | None = None,
    *,
    operator_package: str | None = None,
    backend: BackendName | None = None,
    allow_schemes: Sequence[str] = (),
) -> AsyncConnectedPhone:
    """Like ``connect``, with methods to await."""
    phone = await to_thread(
        connect, serial, operator_package=operator_package, backend=backend, allow_schemes=allow_schemes
    )
    return AsyncConnectedPhone(phone)
