"""The text output of every command, as a user reads it: one golden file per command under tests/fixtures/text/.

To add a command, give it a session here and run ``UPDATE_GOLDEN=1 pytest tests/cli/text``; then read the file.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from clawperator.contract.commands import leaves
from clawperator.contract.wire import OPERATOR_PACKAGES
from clawperator.device import emulators as emulator_module
from clawperator.device.emulators import host_abi
from tests.cli.handlers.test_driving import ONCE, SETTINGS, plan
from tests.device.emulators.test_emulator import SOON, Sdk, sdk  # noqa: F401 - a fixture
from tests.device.pairing_servers import CODE, WIRELESS, pairing_server
from tests.phone.core.apks import make_apk
from tests.recording.compare.test_compare import FLOW, FOUR, run_of
from tests.recording.samples import HEADER, write
from tests.skills.sample_skills import ID, frame, write_skill
from tests.skills.test_sync import published  # noqa: F401 - a fixture
from tests.support.paths import TEXT_GOLDEN
from tests.support.routes import Route
from tests.support.running import clawperator
from tests.support.transcripts import differences, golden_file, transcript

CLICK_DISPLAY = "clawperator click --text Display # hidden"
CLOSE = "clawperator close com.android.settings # hidden"
SEARCH = 'clawperator click --desc "Search settings" # hidden'
ROW = '{"PAGE":"Battery","ROW":"Battery","COMMAND_ID":"c-1","TASK_ID":"t-1"}'
NOTES = "com.clawperator.notes"
THREE = (
    {"type": "open_app", "params": {"applicationId": "com.android.settings"}},
    {"type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": ONCE}},
    {"type": "snapshot_ui", "params": {"view": "outline", "maxTokens": 40}},
)

# Commands that act on a phone. Each session begins with Settings on the screen.
DRIVING: Mapping[str, tuple[str, ...]] = {
    "snapshot": (
        "clawperator snapshot",
        "clawperator snapshot --max-tokens 60",
        "clawperator snapshot --since s00000000",
    ),
    "watch": ("clawperator watch --count 1", "clawperator watch --interval 0"),
    "screenshot": ("clawperator screenshot --path screen.png",),
    "click": (
        "clawperator click --text Display",
        "clawperator click --coordinate 1 1",
        "clawperator click --text Nowhere --timeout 1000",
        "clawperator click --text Display --dry-run",
        "clawperator click --text Display --validate-only",
        "clawperator click",
    ),
    "open": (
        "clawperator open com.android.settings",
        "clawperator open https://clawperator.com",
        "clawperator open com.example.missing --timeout 1000",
        "clawperator open myapp://settings",
    ),
    "type": (SEARCH, "clawperator type hello --role textfield"),
    "read": (
        "clawperator read --text Display",
        "clawperator read --id android:id/summary --all",
    ),
    "wait": (
        "clawperator wait --text Display",
        "clawperator wait --idle",
        "clawperator wait --text Nowhere --timeout 200",
    ),
    "query": (
        "clawperator query --role button --limit 3",
        "clawperator query --text Display --suggest",
        "clawperator query --text Nowhere",
    ),
    "press": ("clawperator press home", "clawperator press nonsense"),
    "back": (CLICK_DISPLAY, "clawperator back"),
    "close": ("clawperator close com.android.settings", "clawperator close com.android.settings"),
    "sleep": ("clawperator sleep 10",),
    "scroll": ("clawperator scroll down", "clawperator scroll up --dry-run"),
    "scroll-until": ('clawperator scroll-until --text "About phone"',),
    "scroll-and-click": ('clawperator scroll-and-click --text "About phone"',),
    "wait-for-nav": (
        "clawperator wait-for-nav --app com.android.settings --timeout 5000",
        "clawperator wait-for-nav --app com.example.nowhere --timeout 250",
    ),
    "read-value": (
        'clawperator scroll-and-click --text "About phone" # hidden',
        'clawperator read-value --label "Android version"',
    ),
    "swipe": ("clawperator swipe up",),
    "drag": ("clawperator drag --text Display --to 540 1200",),
    "double-tap": ("clawperator double-tap --text Settings",),
    "submit": (SEARCH, "clawperator type display --role textfield # hidden", "clawperator submit"),
    "rotate": ("clawperator rotate landscape", "clawperator rotate portrait"),
    "start-activity": ("clawperator start-activity com.android.settings/.Settings",),
    "install-apk": ("clawperator install-apk app.apk",),
    "uninstall-app": ("clawperator install-apk app.apk # hidden", "clawperator uninstall-app com.example.app"),
    "clear-data": (f"clawperator clear-data {NOTES}",),
    "grant": (f"clawperator grant {OPERATOR_PACKAGES[0]} POST_NOTIFICATIONS",),
    "revoke": (f"clawperator revoke {OPERATOR_PACKAGES[0]} POST_NOTIFICATIONS",),
    "logcat": (
        f"clawperator logcat --app {NOTES} --since 5m",
        "clawperator logcat --app com.android.settings",
    ),
    "exec": (
        plan(THREE[0], THREE[2]),
        plan(*THREE),
        "clawperator exec '{}'",
        "clawperator exec",
        "clawperator exec best-effort --goal x",
    ),
    "recording start": ("clawperator recording start --session-id demo", "clawperator recording start"),
    "recording stop": (
        "clawperator recording start --session-id demo # hidden",
        "clawperator recording stop --session-id demo",
        "clawperator recording stop",
    ),
    "recording pull": (
        "clawperator recording start --session-id demo # hidden",
        "clawperator recording stop # hidden",
        "clawperator recording pull",
        "clawperator recording pull --session-id missing",
    ),
    "recording replay": (
        CLOSE,
        "clawperator recording start --session-id demo # hidden",
        "clawperator open com.android.settings # hidden",
        CLICK_DISPLAY,
        "clawperator recording stop # hidden",
        "clawperator recording pull # hidden",
        CLOSE,
        "clawperator recording replay --input recordings/demo.ndjson --dry-run",
        "clawperator recording replay --input recordings/demo.ndjson",
    ),
    "skills run": (
        "clawperator skills run com.android.settings.overview",
        "clawperator skills run com.google.android.youtube.search",
        f"clawperator skills run {ID} --registry greet/skills/skills-registry.json",
        f"clawperator skills run {ID} --registry broken/skills/skills-registry.json",
    ),
    "logs": (CLICK_DISPLAY, "clawperator logs --no-follow"),
    "devices": ("clawperator devices",),
    "packages list": ("clawperator packages list --third-party",),
    "operator setup": (
        f"clawperator operator setup --apk operator.apk --operator-package {OPERATOR_PACKAGES[1]}",
        "clawperator operator setup",
        "clawperator operator setup --apk missing.apk",
    ),
    "grant-device-permissions": ("clawperator grant-device-permissions",),
    "doctor": (
        "clawperator doctor",
        "clawperator doctor --operator-package com.example.missing",
        "clawperator doctor --device nothing",
        "clawperator doctor --report report.json",
        "clawperator doctor --report none/report.json",
    ),
    "version": (
        "clawperator version",
        "clawperator version --check-compat",
        "clawperator version --check-compat --operator-package com.example.missing",
    ),
}
# Commands that need no device.
LOCAL: Mapping[str, tuple[str, ...]] = {
    "recording list": ("clawperator recording list missing",),
    "recording parse": (
        "clawperator recording parse --input flow.ndjson",
        "clawperator recording parse --input missing.ndjson",
        "clawperator recording parse",
    ),
    "recording describe": ("clawperator recording describe --input flow.ndjson --out flow.json",),
    "recording export": ("clawperator recording export --input flow.ndjson",),
    "recording repair": ("clawperator recording repair --input broken.ndjson",),
    "recording compare": (
        "clawperator recording export --input flow.ndjson # hidden",
        "clawperator recording compare --baseline flow.export.json --result match.json",
        "clawperator recording compare --baseline flow.export.json --result drift.json",
        "clawperator recording compare --baseline flow.export.json --result drift.json --strategy derived",
        "clawperator recording compare --baseline flow.export.json",
    ),
    "report": (
        "clawperator report flow.ndjson",
        "clawperator report flow.ndjson --compare drift.json --out drift.html",
        "clawperator report match.json --compare flow.ndjson",
        "clawperator report missing.ndjson",
        "clawperator report",
    ),
    "skills list": ("clawperator skills list", "clawperator skills list --registry missing.json"),
    "skills get": ("clawperator skills get com.google.android.youtube.search", "clawperator skills get nothing"),
    "skills search": ("clawperator skills search battery", "clawperator skills search nothing-like-it"),
    "skills for-app": ("clawperator skills for-app com.android.settings",),
    "skills validate": (
        "clawperator skills validate --all",
        "clawperator skills validate com.android.settings.overview --dry-run",
        f"clawperator skills validate {ID} --registry invalid/skills/skills-registry.json",
        "clawperator skills validate --all --registry invalid/skills/skills-registry.json",
    ),
    "skills new": ("clawperator skills new com.android.settings.check",),
    "skills compile-artifact": (
        f"clawperator skills compile-artifact com.android.settings.overview --artifact read-row --vars '{ROW}'",
    ),
    "setup": ("clawperator setup",),
    "config": ("clawperator config", "clawperator config --device claw-7 --timeout 5000"),
    "agents init": ("clawperator agents init --write AGENTS.md", "clawperator agents init --write AGENTS.md"),
    "schema": ("clawperator schema", "clawperator schema recording-header", "clawperator schema erorr"),
    "serve": (
        "clawperator serve --port 0 --timeout 1000",
        "clawperator serve --host 0.0.0.0",
        "clawperator serve --port x",
    ),
    "mcp": (
        "clawperator mcp config",
        "clawperator mcp config cursor",
        "clawperator mcp config nothing",
    ),
    # The scripts themselves are tested in shells.
    "completion": ("clawperator completion", "clawperator completion powershell"),
    "help": ("clawperator help devices",),
}
# Commands of simulated phones, on a phone that runs in a process of its own.
PHONES: Mapping[str, tuple[str, ...]] = {
    "phone list": ("clawperator phone list",),
    "phone faults": ("clawperator phone faults",),
    "phone fault": (
        "clawperator phone fault",
        "clawperator phone fault dropped_tap 0.3",
        "clawperator phone list",
        "clawperator phone fault dropped_tap off",
        "clawperator phone fault nonsense on",
    ),
    "phone screenshot": ("clawperator phone screenshot --path demo.png",),
    "phone reset": ("clawperator phone reset demo",),
    "phone start": (
        "clawperator phone start demo",
        "clawperator phone start second",
        "clawperator phone",
    ),
    "phone stop": ("clawperator phone stop second", "clawperator phone stop second"),
    "phone delete": ("clawperator phone delete second", "clawperator phone delete second"),
}
EMULATORS: Mapping[str, tuple[str, ...]] = {
    "emulator list": ("clawperator emulator list",),
    "emulator inspect": ("clawperator emulator inspect mine", "clawperator emulator inspect nothing"),
    "emulator create": ("clawperator emulator create other",),
    "emulator start": ("clawperator emulator start mine",),
    "emulator status": (
        "clawperator emulator status",
        "clawperator emulator start mine # hidden",
        "clawperator emulator status",
    ),
    "emulator stop": (
        "clawperator emulator start mine # hidden",
        "clawperator emulator stop mine",
        "clawperator emulator stop mine",
    ),
    "emulator delete": ("clawperator emulator delete mine",),
    "emulator provision": ("clawperator emulator provision mine",),
    "provision emulator": (
        "clawperator emulator start mine # hidden",
        "clawperator provision emulator mine",
    ),
}
SYNC: Mapping[str, tuple[str, ...]] = {
    "skills install": ("clawperator skills install",),
    "skills update": ("clawperator skills install # hidden", "clawperator skills update"),
    "skills sync": (
        "clawperator skills install # hidden",
        "clawperator skills sync --ref v1",
        "clawperator skills sync --ref missing",
        "clawperator skills sync",
    ),
}
# An adb server pairs with a device; see the test.
PAIR: Mapping[str, tuple[str, ...]] = {
    "pair": (
        "clawperator pair phone.local:37123 < code.txt",
        "clawperator pair phone.local:37123 --connect phone.local:41235 < code.txt",
        "clawperator pair phone.local:37123 < wrong.txt",
        "clawperator pair phone.local:37123",
        "clawperator pair phone.local",
        "clawperator pair phone.local:37123 481516",
        "clawperator pair",
    ),
}
EVERY = {**DRIVING, **LOCAL, **PHONES, **EMULATORS, **SYNC, **PAIR}


def test_every_command_has_a_golden_file() -> None:
    commands = {name for name, _ in leaves()}
    assert commands - set(EVERY) == set(), "add a session above, then see the docstring"
    assert {path.name for path in TEXT_GOLDEN.iterdir()} == {golden_file(name).name for name in commands}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the sessions name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAWPERATOR_LOG_DIR", str(tmp_path / "logs"))
    write(tmp_path / "flow.ndjson", FLOW)
    whole = write(tmp_path / "broken.ndjson", FLOW[:2], HEADER).read_bytes()
    (tmp_path / "broken.ndjson").write_bytes(whole + b'{"seq":2,"type":"cli\n')
    (tmp_path / "match.json").write_text(json.dumps(run_of()))
    drift = run_of(["app_opened", "detour", *FOUR[2:]], kind="script", verification="failed")
    (tmp_path / "drift.json").write_text(json.dumps(drift))
    (tmp_path / "app.apk").write_bytes(make_apk("com.example.app"))
    (tmp_path / "operator.apk").write_bytes(make_apk(OPERATOR_PACKAGES[1]))
    _write_skills(tmp_path)
    return tmp_path


def _write_skills(folder: Path) -> None:
    points = [{"id": "opened", "status": "ok"}, {"id": "saved", "status": "failed", "note": "no Save button"}]
    verification = {"status": "failed", "expected": {"kind": "text", "text": "40"}, "observed": None}
    failed = frame(status="failed", checkpoints=points, terminalVerification=verification)
    script = "print('looking')\nprint('[Clawperator-Skill-Result]')\nprint('''%s''')"
    write_skill(folder / "greet", script % json.dumps(failed))
    write_skill(folder / "broken", "import sys\nprint('hello')\nsys.exit('cannot connect')")
    write_skill(folder / "invalid", "")
    (folder / "invalid" / "skills" / ID / "SKILL.md").unlink()


@pytest.mark.parametrize("command", DRIVING)
def test_commands_that_use_a_phone(command: str, route: Route, folder: Path) -> None:
    route.shell("am force-stop com.android.settings")
    route.shell(f"am force-stop {NOTES}")
    route.shell("input keyevent HOME")
    route.shell(SETTINGS)
    route.shell("rm -rf /sdcard/Android/data/com.clawperator.operator/files/recordings")
    phone = route.phone_server.phone
    if command == "logcat":
        phone.log.write("W", "Notes", "cannot save: \x1b[31mdisk full", 4_321, uid=phone.packages[NOTES].uid)
    found = transcript(DRIVING[command], {"folder": folder, "home": Path(route.environment["CLAWPERATOR_HOME"])})
    if command == "recording start":
        clawperator("recording", "stop")
    if command == "operator setup":
        phone.packages.remove(OPERATOR_PACKAGES[1])
    assert differences(command, found) == []


@pytest.mark.parametrize("command", LOCAL)
def test_commands_that_need_no_device(
    command: str, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("product")
    monkeypatch.setenv("CLAWPERATOR_HOME", str(home))
    assert differences(command, transcript(LOCAL[command], {"folder": folder, "home": home})) == []


def test_pairing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "code.txt").write_text(f"{CODE}\n")
    (folder / "wrong.txt").write_text("000000\n")
    with pairing_server() as server:
        server.listed_later = [f"{WIRELESS}\tdevice\n"]
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
        found = transcript(PAIR["pair"], {"folder": folder})
    assert differences("pair", found) == []


@pytest.fixture(scope="module")
def phones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The product's home with the running phone "demo"."""
    home = tmp_path_factory.mktemp("phones")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAWPERATOR_HOME", str(home))
        assert clawperator("phone", "start", "demo").code == 0
        yield home
        clawperator("phone", "stop", "--all")


def test_commands_of_simulated_phones(phones: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(phones))
    found = {
        command: differences(command, transcript(lines, {"folder": folder, "home": phones}))
        for command, lines in PHONES.items()
    }
    assert {command: lines for command, lines in found.items() if lines} == {}


@pytest.mark.parametrize("command", EMULATORS)
def test_commands_of_emulators(
    command: str,
    sdk: Sdk,  # noqa: F811 - the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(emulator_module, "EmulatorTimeouts", lambda **_: SOON)
    sdk.make_avd("mine")
    sdk.make_avd("small", **{"PlayStore.enabled": ""})
    found = transcript(EMULATORS[command], {"folder": tmp_path})
    assert differences(command, found.replace(host_abi(), "…")) == []


@pytest.mark.parametrize("command", SYNC)
def test_commands_that_fetch_skills(
    command: str,
    published: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    assert published.exists()
    assert differences(command, transcript(SYNC[command], {"folder": tmp_path})) == []
