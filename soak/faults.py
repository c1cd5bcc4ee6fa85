"""The fault matrix: every fault with every command that uses a device, then random pairs of faults.

Each command runs on a fresh phone. Its answer is compared with the phone itself: a success must have happened, an
effect must be the true one, the deadline must be kept, and every failure must have a code.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import Struct

from clawperator import __version__
from clawperator.contract.commands import leaves
from clawperator.phone.core.faults import FAULTS
from clawperator.testing import SimulatedPhone
from clawperator.ui.parse import parse_hierarchy
from soak.runner import Run, require
from soak.virtual_host import Host, virtual_host
from tests.phone.core.apks import make_apk
from tests.support.running import clawperator

_TIMEOUT_MS = 8_000
_GRACE_MS = 5_000
_SETTINGS = "com.android.settings"
_SESSION = "soak"

Truth = Callable[[SimulatedPhone, Mapping[str, Any]], bool]


class Case(Struct, frozen=True):
    """A command line. ``start`` is where the phone is before it, ``truth`` what a success means on the phone.

    ``sees`` commands report what is on the screen: with ``stale_tree`` they may report the screen before.
    """

    argv: tuple[str, ...]
    start: str
    truth: Truth
    sees: bool = False

    @property
    def name(self) -> str:
        known = {name for name, _ in leaves()}
        return next(name for name in (" ".join(self.argv[:2]), self.argv[0]) if name in known)

    @property
    def has_backend(self) -> bool:
        return any(flag.name == "--backend" for name, row in leaves() for flag in row.flags if name == self.name)


def _data(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of the first step of an envelope."""
    steps = document.get("envelope", {}).get("stepResults") or [{}]
    data: Mapping[str, Any] = steps[0].get("data", {})
    return data


def _foreground(package: str) -> Truth:
    return lambda phone, _: phone.foreground() == package


def _shows(text: str) -> Truth:
    return lambda phone, _: phone.shows(text)


def _always(_: SimulatedPhone, __: Mapping[str, Any]) -> bool:
    return True


def _typed(phone: SimulatedPhone, _: Mapping[str, Any]) -> bool:
    node = phone.find(role="textfield")
    return node is not None and node.text == "hello"


def _recording(phone: SimulatedPhone) -> bytes:
    folder = f"/sdcard/Android/data/{phone.phone.operator.package}/files/recordings"
    return phone.phone.storage.system.read(f"{folder}/{_SESSION}.ndjson")


def _pulled(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    return Path(document["localPath"]).read_bytes() == _recording(phone)


def _packages(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    return all(package in phone.phone.packages for package in document["packages"])


def _read_true(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    return str(_data(document).get("text")) in phone.labels()


def _snapshot_true(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    labels = {node.label for node in parse_hierarchy(_data(document)["text"]).nodes}
    return all(label in labels for label in phone.labels())


def _outline_true(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    return bool(document["kind"] == "screen" and document["package"] == phone.foreground())


def _granted(phone: SimulatedPhone, _: Mapping[str, Any]) -> bool:
    services = phone.phone.settings.get("secure", "enabled_accessibility_services") or ""
    return phone.phone.operator.component in services


def _saved(_: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    return Path(_data(document)["path"]).read_bytes().startswith(b"\x89PNG")


def _listed(phone: SimulatedPhone, document: Mapping[str, Any]) -> bool:
    listed: str = _data(document)["count"]
    return (listed != "0") == phone.shows("Display")


def _display(phone: SimulatedPhone) -> tuple[int, int]:
    bounds = parse_hierarchy(phone.xml()).roots[0].bounds
    return bounds.width, bounds.height


def _has_camera(*, granted: bool) -> Truth:
    permission = "android.permission.CAMERA"
    return lambda phone, _: (permission in phone.phone.packages.granted("com.clawperator.notes")) == granted


_PLAN = json.dumps(
    {
        "commandId": "c",
        "taskId": "c",
        "source": "soak",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": _TIMEOUT_MS,
        "actions": [
            {"id": "a1", "type": "click", "params": {"matcher": {"textEquals": "Display"}}},
            {"id": "a2", "type": "press_key", "params": {"key": "home"}},
        ],
    }
)
_LAUNCHER = "com.android.launcher3"
_VIDEO = "com.google.android.youtube"
_APP = "com.example.app"

CASES = (
    Case(("snapshot",), "settings", _snapshot_true, sees=True),
    Case(("watch", "--count", "1"), "settings", _outline_true, sees=True),
    Case(("screenshot", "--path", "screen.png"), "settings", _saved),
    Case(("click", "--text", "Display"), "settings", _shows("Dark theme"), sees=True),
    Case(("click", "--text", "Nowhere"), "settings", lambda *_: False),
    Case(("open", _SETTINGS), "home", _foreground(_SETTINGS)),
    Case(("open", "https://example.com"), "home", _foreground("com.android.chrome")),
    Case(("type", "hello", "--role", "textfield"), "search", _typed, sees=True),
    Case(("read", "--text-contains", "Displ"), "settings", _read_true, sees=True),
    Case(("wait", "--text", "Display"), "settings", _shows("Display"), sees=True),
    Case(("press", "home"), "settings", _foreground(_LAUNCHER)),
    Case(("back",), "settings", _foreground(_LAUNCHER)),
    Case(("close", _SETTINGS), "settings", lambda phone, _: phone.phone.process_of(_SETTINGS) is None),
    Case(("sleep", "50"), "settings", _always),
    Case(("scroll", "down"), "settings", _foreground(_SETTINGS)),
    Case(("scroll-until", "--text", "About phone"), "settings", _shows("About phone"), sees=True),
    Case(("scroll-and-click", "--text", "About phone"), "settings", _shows("Android version"), sees=True),
    Case(("wait-for-nav", "--app", _SETTINGS), "settings", _foreground(_SETTINGS), sees=True),
    Case(("read-value", "--label", "Display"), "settings", _always, sees=True),
    Case(("exec", _PLAN), "settings", _foreground(_LAUNCHER), sees=True),
    Case(("recording", "start", "--session-id", _SESSION), "home", lambda phone, _: bool(_recording(phone))),
    Case(("recording", "stop", "--session-id", _SESSION), "recording", lambda phone, _: bool(_recording(phone))),
    Case(("recording", "pull", "--session-id", _SESSION, "--out", "pulled"), "recorded", _pulled),
    Case(("recording", "replay", "--input", "demo.ndjson"), "demo", _shows("Dark theme"), sees=True),
    Case(("query", "--text", "Display"), "settings", _listed, sees=True),
    Case(("click", "--text", "Display", "--class", "TextView"), "settings", _shows("Dark theme"), sees=True),
    Case(("swipe", "--from", "540", "1600", "--to", "540", "600"), "settings", _foreground(_SETTINGS)),
    Case(("drag", "--from", "540", "1600", "--to", "540", "1500"), "home", _foreground(_LAUNCHER)),
    Case(("double-tap", "--text", "Apps"), "settings", _foreground(_SETTINGS), sees=True),
    Case(("submit", "--role", "textfield"), "search", _foreground(_VIDEO), sees=True),
    Case(("rotate", "landscape"), "settings", lambda phone, _: _display(phone)[0] > _display(phone)[1]),
    Case(("start-activity", "--action", "android.settings.DISPLAY_SETTINGS"), "home", _foreground(_SETTINGS)),
    Case(("install-apk", "app.apk"), "app", lambda phone, _: _APP in phone.phone.packages),
    Case(("uninstall-app", _APP), "installed", lambda phone, _: _APP not in phone.phone.packages),
    Case(("clear-data", "com.clawperator.notes"), "home", _always),
    Case(("grant", "com.clawperator.notes", "CAMERA"), "home", _has_camera(granted=True)),
    Case(("revoke", "com.clawperator.notes", "CAMERA"), "home", _has_camera(granted=False)),
    Case(("logcat", "--app", _SETTINGS), "settings", _always),
    Case(("devices",), "home", _always),
    Case(("packages", "list"), "home", _packages),
    Case(("grant-device-permissions",), "home", _granted),
    Case(("operator", "setup", "--apk", "operator.apk"), "apk", _granted),
    Case(("doctor",), "home", lambda phone, _: phone.phone.operator.is_bound()),
    Case(("version", "--check-compat"), "home", _always),
)
NOT_ON_A_PHONE = frozenset(
    {
        *(f"recording {name}" for name in ("list", "parse", "describe", "export", "compare", "repair")),
        *(name for name, _ in leaves() if name.split()[0] in ("skills", "phone", "emulator", "provision")),
        *("setup", "logs", "schema", "completion", "config", "help", "agents init", "mcp", "serve", "pair"),
        "report",
    }
)
"""Commands that need no device, start programs of their own, or need files that the matrix has not."""


def fault_settings() -> Iterator[tuple[str, str]]:
    """Each fault at its usual value, and the random ones also when they strike every time."""
    for fault in FAULTS.values():
        yield fault.name, "on"
        if fault.kind == "chance":
            yield fault.name, "1"


def cells() -> list[tuple[Case, str, tuple[tuple[str, str], ...]]]:
    """The whole matrix: every case with every backend it can choose and every fault."""
    settings = [(), *((setting,) for setting in fault_settings())]
    return [
        (case, backend, faults)
        for case, faults in product(CASES, settings)
        for backend in (("operator", "adb") if case.has_backend else ("",))
    ]


def run_matrix(run: Run) -> None:
    """Every cell of this part, whatever the time, then pairs of faults while there is time."""
    for number, (case, backend, faults) in enumerate(cells()):
        if number % run.parts == run.part:
            run.goes_on()
            check_cell(run, case, backend, faults)
    run.notes.append(f"part {run.part}: {run.inputs} cells of the complete matrix")
    run_pairs(run)


def run_pairs(run: Run) -> None:
    """Random cells with two faults."""
    settings = list(fault_settings())
    while run.goes_on():
        case = run.random.choice(CASES)
        backend = run.random.choice(("operator", "adb")) if case.has_backend else ""
        check_cell(run, case, backend, tuple(run.random.sample(settings, 2)))


def check_cell(run: Run, case: Case, backend: str, faults: tuple[tuple[str, str], ...]) -> None:
    seed = run.random.randrange(2**32)
    cell = json.dumps({"argv": case.argv, "start": case.start, "backend": backend, "faults": faults, "seed": seed})
    run.check(
        f"{case.name} {backend}".strip(),
        cell.encode(),
        lambda _: _cell(run, case, backend, faults, seed),
        may_refuse=False,
    )


def _cell(run: Run, case: Case, backend: str, faults: tuple[tuple[str, str], ...], seed: int) -> None:
    with tempfile.TemporaryDirectory(dir=run.folder) as name, virtual_host(Path(name), seed) as host:
        os.chdir(name)
        try:
            _prepare(host.phone, case.start)
            for fault, setting in faults:
                host.phone.fault(fault, setting)
            _judge(host, case, backend, dict(faults))
        finally:
            os.chdir("/")


def _prepare(phone: SimulatedPhone, start: str) -> None:
    """Bring the phone to where a case begins, without faults."""
    match start:
        case "settings":
            phone.open_app(_SETTINGS)
        case "search":
            phone.open_app(_VIDEO)
            phone.sleep(1)
            phone.person.tap(desc="Search")
        case "recording" | "recorded":
            phone.start_recording(_SESSION)
            phone.open_app(_SETTINGS)
            phone.person.tap("Display")
            if start == "recorded":
                phone.stop_recording()
        case "demo":
            phone.start_recording(_SESSION)
            phone.person.tap("Settings")
            phone.person.tap("Display")
            phone.stop_recording()
            Path("demo.ndjson").write_bytes(phone.read_recording())
            phone.person.home()
        case "apk":
            Path("operator.apk").write_bytes(make_apk(phone.phone.operator.package, version_name=__version__))
        case "app":
            Path("app.apk").write_bytes(make_apk(_APP))
        case "installed":
            Path("app.apk").write_bytes(make_apk(_APP))
            phone.install_app("app.apk")
    phone.sleep(2)


def _judge(host: Host, case: Case, backend: str, faults: Mapping[str, str]) -> None:
    phone = host.phone
    before, began = phone.xml(), host.clock.monotonic()
    extra = (f"--backend={backend}",) if backend else ()
    ran = clawperator(*case.argv, *extra, "--device", "claw-1", "--timeout", str(_TIMEOUT_MS))
    elapsed = (host.clock.monotonic() - began) * 1000
    document = json.loads(ran.out)
    require(b'"UNKNOWN"' not in ran.out, f"no internal error: {ran.out[:500]!r}")
    require("Traceback" not in ran.err, f"no traceback: {ran.err[-500:]}")
    if case.name not in ("doctor", "recording replay"):  # they make several executions
        require(elapsed <= _TIMEOUT_MS + _GRACE_MS + 1_000, f"the deadline is kept: {elapsed:.0f} ms")
    effect = _data(document).get("effect")
    # An action that reports no effect claims only that it was made; a dialog may hide what it led to.
    claims = ran.code == 0 and effect in (None, "changed") and "dialog" not in faults
    # Over plain adb nothing reports what a touch met, and a phone that turns by itself may turn back.
    is_unverifiable = (backend == "adb" and "shift" in faults) or (case.name == "rotate" and "rotation" in faults)
    if claims and not is_unverifiable and not (case.sees and "stale_tree" in faults):
        require(case.truth(phone, document), f"a success has happened: {ran.out[:500]!r}")
    if effect == "changed" and case.name in ("click", "press", "back", "scroll"):
        require(phone.xml() != before, f"an effect that is reported has happened: {ran.out[:500]!r}")
    if effect == "unchanged" and case.name in ("click", "press", "back", "scroll") and "stale_tree" not in faults:
        require(phone.xml() == before, f"no effect is lost: {ran.out[:500]!r}")
