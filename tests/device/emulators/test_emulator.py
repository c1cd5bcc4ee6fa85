"""Android emulators with fake SDK tools: the commands that run, and how their output is used.

The emulator itself is a simulated phone behind an adb server that lists it while a file exists.
"""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from clawperator._base.notes import listening
from clawperator.device import emulators
from clawperator.device.adb.binary import run_tool
from clawperator.device.emulators import (
    DEFAULT_NAME,
    Avd,
    EmulatorTimeouts,
    RunningEmulator,
    check_name,
    create_avd,
    delete_avd,
    find_tool,
    host_abi,
    inspect_avd,
    list_avds,
    provision,
    read_avd,
    require_tools,
    running_emulators,
    start_emulator,
    stop_emulator,
    system_image,
)
from clawperator.errors import ClawError
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.core.phone import Phone
from tests.device.adb.scripted_server import answering, refusal, text
from tests.support.hanging import HANG_SECONDS
from tests.support.unused_port import UNUSED_PORT

SERIAL = "emulator-5554"
SOON = EmulatorTimeouts(registration=2.0, boot=0.3, poll=0.01)
PATIENT = EmulatorTimeouts(registration=HANG_SECONDS, boot=HANG_SECONDS, poll=0.01)

ADB = """
echo "$*" >> "$FAKE/calls.adb"
case "$*" in
  *"emu avd name"*) printf '%s\\r\\nOK\\r\\n' "$(cat "$FAKE/running")" ;;
  *"emu kill"*) rm "$FAKE/running" ;;
esac
"""
EMULATOR = 'echo "$@" >> "$FAKE/calls.emulator"; echo "${1#@}" > "$FAKE/running"'
SDKMANAGER = """
echo "$@" >> "$FAKE/calls.sdkmanager"
case "$1" in
  --list_installed) cat "$FAKE/installed" 2>/dev/null ;;
  --licenses) read answer; test "$answer" = y ;;
  *) echo "$1 | 1 | image" > "$FAKE/installed" ;;
esac
"""
AVDMANAGER = """
echo "$@" >> "$FAKE/calls.avdmanager"
if [ "$1" = create ]; then
  mkdir -p "$ANDROID_AVD_HOME/$5.avd"
  echo "target=android-35" > "$ANDROID_AVD_HOME/$5.ini"
  echo "$7" | tr ';' '/' | sed 's/^/image.sysdir.1=/' > "$ANDROID_AVD_HOME/$5.avd/config.ini"
  echo "abi.type=${7##*;}" >> "$ANDROID_AVD_HOME/$5.avd/config.ini"
  echo "hw.device.name=$9" >> "$ANDROID_AVD_HOME/$5.avd/config.ini"
else
  rm -r "$ANDROID_AVD_HOME/$4.ini" "$ANDROID_AVD_HOME/$4.avd"
fi
"""


class Sdk:
    """Fake tools, each a shell script, and the arguments of their calls."""

    def __init__(self, folder: Path, phone: Phone) -> None:
        self.folder = folder
        self.phone = phone
        for name, script in (("adb", ADB), ("emulator", EMULATOR)):
            self.put(name, script)
        self.put("sdkmanager", SDKMANAGER)
        self.put("avdmanager", AVDMANAGER)

    def put(self, name: str, script: str) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def calls(self, name: str) -> list[str]:
        file = self.folder / f"calls.{name}"
        return file.read_text().splitlines() if file.exists() else []

    def run_avd(self, name: str) -> None:
        (self.folder / "running").write_text(f"{name}\n")

    def devices(self) -> list[PhoneDevice]:
        return [PhoneDevice(self.phone)] if (self.folder / "running").exists() else []

    def make_avd(self, name: str, **changes: str) -> None:
        facts = {
            "image.sysdir.1": system_image().replace(";", "/") + "/",
            "abi.type": host_abi(),
            "hw.device.name": "pixel_7",
            "PlayStore.enabled": "yes",
        } | changes
        home = Path(os.environ["ANDROID_AVD_HOME"])
        (home / f"{name}.avd").mkdir(parents=True)
        (home / f"{name}.ini").write_text("avd.ini.encoding=UTF-8\ntarget=android-35\n")
        text = "".join(f"{key} = {value}\n" for key, value in facts.items() if value)
        (home / f"{name}.avd" / "config.ini").write_text(text)


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sdk]:
    phone = Phone(serial=SERIAL, seed=0)
    folder = tmp_path / "tools"
    folder.mkdir()
    fake = Sdk(folder, phone)
    server = AdbServer(fake.devices)
    values = {
        "FAKE": str(folder),
        "ANDROID_AVD_HOME": str(tmp_path / "avd"),
        "ANDROID_ADB_SERVER_PORT": str(server.start()),
        "CLAWPERATOR_HOME": str(tmp_path / "home"),
        **{f"{name.upper()}_PATH": str(folder / name) for name in ("adb", "emulator", "sdkmanager", "avdmanager")},
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    yield fake
    server.stop()
    phone.close()


class Clock:
    """A clock on which only a sleep takes time. Events happen when their time has come."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: dict[float, Callable[[], object]] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for moment in [moment for moment in self.events if moment <= self.now]:
            self.events.pop(moment)()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (
        "clawperator._base.deadline",
        "clawperator._base.notes",
        "clawperator.device.emulators",
    ):
        monkeypatch.setattr(f"{module}.time", clock)
    return clock


def refused(error: "pytest.ExceptionInfo[ClawError]", code: str) -> None:
    assert error.value.code == code
    assert error.value.hint


def test_a_new_avd_is_made_of_the_image_for_this_computer(sdk: Sdk) -> None:
    made = create_avd()
    assert msgspec.to_builtins(made) == {
        "name": DEFAULT_NAME,
        "exists": True,
        "running": False,
        "apiLevel": 35,
        "abi": host_abi(),
        "playStore": True,
        "deviceProfile": "pixel_7",
        "systemImage": system_image(),
        "supported": True,
        "unsupportedReasons": [],
    }
    assert sdk.calls("sdkmanager") == ["--list_installed", "--licenses", system_image()]
    assert sdk.calls("avdmanager") == [
        f"create avd --force --name {DEFAULT_NAME} --package {system_image()} --device pixel_7"
    ]


def test_an_image_that_is_there_is_not_fetched_again(sdk: Sdk) -> None:
    (sdk.folder / "installed").write_text(f"{system_image()} | 9\n")
    create_avd("other")
    assert sdk.calls("sdkmanager") == ["--list_installed"]


def test_an_avd_that_exists_is_not_overwritten(sdk: Sdk) -> None:
    sdk.make_avd("mine")
    with pytest.raises(ClawError) as caught:
        create_avd("mine")
    refused(caught, "EMULATOR_CREATE_FAILED")
    assert sdk.calls("avdmanager") == []


@pytest.mark.parametrize(
    ("tool", "script", "code"),
    [
        ("sdkmanager", "echo no network; exit 1", "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED"),
        ("avdmanager", "echo no space; exit 1", "ANDROID_AVD_CREATE_FAILED"),
        ("avdmanager", "exit 0", "ANDROID_AVD_CREATE_FAILED"),
    ],
)
def test_a_tool_that_fails_to_create_is_quoted(sdk: Sdk, tool: str, script: str, code: str) -> None:
    sdk.put(tool, script)
    with pytest.raises(ClawError) as caught:
        create_avd()
    refused(caught, code)
    if "echo" in script:
        assert script[5:].partition(";")[0] in caught.value.message


@pytest.mark.parametrize("machine", ["x86_64", "AMD64", "arm64", "aarch64"])
def test_the_abi_is_that_of_the_computer(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Uname:
        pass

    names = Uname()
    names.__dict__["machine"] = machine
    monkeypatch.setattr(os, "uname", lambda: names)
    assert host_abi() == ("x86_64" if machine in ("x86_64", "AMD64") else "arm64-v8a")


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, []),
        ({"hw.device.name": "pixel_4"}, ["unsupported_device_profile"]),
        ({"abi.type": "mips"}, ["unsupported_abi"]),
        (
            {"PlayStore.enabled": "no", "image.sysdir.1": "system-images/android-35/google_apis/x/"},
            ["missing_play_store"],
        ),
        ({"PlayStore.enabled": "", "image.sysdir.1": "", "tag.id": "google_apis_playstore"}, []),
    ],
)
def test_an_unsuitable_avd_lists_its_reasons(sdk: Sdk, changes: dict[str, str], reasons: list[str]) -> None:
    sdk.make_avd("one", **changes)
    avd = inspect_avd("one")
    assert avd.unsupportedReasons == reasons
    assert avd.supported is (not reasons)


def test_an_avd_without_readable_files_is_unsupported(sdk: Sdk) -> None:
    assert sdk
    home = Path(os.environ["ANDROID_AVD_HOME"])
    home.mkdir()
    (home / "broken.ini").write_bytes(b"\xff\x00path=/nowhere\n===\n")
    avd = read_avd("broken", running=False)
    assert (avd.apiLevel, avd.abi, avd.systemImage) == (None, None, None)
    assert len(avd.unsupportedReasons) == 4


def test_the_list_marks_the_running_ones(sdk: Sdk) -> None:
    assert list_avds() == []
    sdk.make_avd("b")
    sdk.make_avd("a")
    sdk.run_avd("b")
    assert [(avd.name, avd.running) for avd in list_avds()] == [("a", False), ("b", True)]


def test_without_any_tool_the_list_is_read_from_the_files(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk.make_avd("a")
    monkeypatch.setenv("ADB_PATH", "/nowhere/adb")
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", UNUSED_PORT)
    assert [(avd.name, avd.running) for avd in list_avds()] == [("a", False)]
    with pytest.raises(ClawError) as caught:
        running_emulators()
    refused(caught, "ANDROID_SDK_TOOL_MISSING")


def test_running_emulators_are_listed_with_their_state(sdk: Sdk) -> None:
    assert running_emulators() == []
    sdk.make_avd("a")
    sdk.run_avd("a")
    assert msgspec.to_builtins(running_emulators()) == [
        {
            "type": "emulator",
            "avdName": "a",
            "serial": SERIAL,
            "booted": True,
            "supported": True,
            "unsupportedReasons": [],
        }
    ]


@pytest.mark.parametrize(
    "adb",
    ['test "$1" = start-server', "echo", 'test "$1" = start-server || { echo KO: unknown command; exit 1; }'],
)
def test_an_emulator_whose_console_is_closed_is_known_by_its_property(sdk: Sdk, adb: str) -> None:
    sdk.put("adb", adb)
    sdk.phone.properties["ro.boot.qemu.avd_name"] = "a"
    sdk.run_avd("ignored")
    assert [found.avdName for found in running_emulators()] == ["a"]


def test_an_emulator_that_was_started_elsewhere_is_not_supported_without_a_known_reason(sdk: Sdk) -> None:
    sdk.run_avd("elsewhere")
    (found,) = running_emulators()
    assert (found.supported, found.unsupportedReasons) == (False, [])
    sdk.make_avd("tv", **{"hw.device.name": "tv"})
    sdk.run_avd("tv")
    (found,) = running_emulators()
    assert (found.supported, found.unsupportedReasons) == (False, ["unsupported_device_profile"])


@pytest.mark.parametrize(
    ("listed", "adb", "expected"),
    [
        (f"{SERIAL}\tdevice\n", "echo a", [("a", False)]),
        (f"{SERIAL}\tdevice\n", 'test "$1" = start-server', []),
        ("R5CT1234567\tdevice\nemulator-5556\toffline\n", "echo a", []),
    ],
    ids=["no shell", "no shell and no console", "none that is ready"],
)
def test_only_emulators_that_are_ready_and_have_a_name_are_listed(
    sdk: Sdk, monkeypatch: pytest.MonkeyPatch, listed: str, adb: str, expected: list[tuple[str, bool]]
) -> None:
    sdk.put("adb", adb)
    with answering(lambda request: text(listed) if request == "host:devices" else refusal("no")) as listener:
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(listener.getsockname()[1]))
        assert [(found.avdName, found.booted) for found in running_emulators()] == expected


def test_the_adb_server_is_started_before_emulators_are_listed(sdk: Sdk) -> None:
    assert running_emulators() == []
    assert sdk.calls("adb") == ["start-server"]


def test_starting_waits_until_it_has_booted_and_allows_development(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.phone.settings.put("global", "development_settings_enabled", "0")
    started = start_emulator("a", SOON)
    assert msgspec.to_builtins(started) == {"type": "emulator", "avdName": "a", "serial": SERIAL, "booted": True}
    assert sdk.calls("emulator") == ["@a -no-snapshot-load -no-boot-anim"]
    assert sdk.phone.settings.get("global", "development_settings_enabled") == "1"
    with pytest.raises(ClawError) as caught:
        start_emulator("a", SOON)
    refused(caught, "EMULATOR_ALREADY_RUNNING")


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("echo 'PANIC: no KVM' >&2; exit 1", "PANIC: no KVM"),
        ("echo one; echo two >&2; exit 1", "one two"),
        ("exit 1", "no output"),
        ("printf '%0600d' 0; exit 1", "0" * 500),
        ("head -c 2000000 /dev/zero | tr '\\0' ' '; echo the end; exit 1", "the end"),
    ],
)
def test_an_emulator_that_exits_is_reported_with_the_end_of_its_output(sdk: Sdk, script: str, output: str) -> None:
    sdk.make_avd("a")
    sdk.put("emulator", script)
    with pytest.raises(ClawError) as caught:
        start_emulator("a", PATIENT)
    refused(caught, "EMULATOR_START_FAILED")
    assert caught.value.message == f"emulator a exited: {output}"


def statuses(run: Callable[[], object]) -> list[str]:
    """What a user sees while this runs."""
    shown: list[str] = []

    def show(text: str, elapsed: str) -> bool:
        shown.append(text + elapsed)
        return True

    with listening(None, None, show):
        run()
    return shown


def test_a_program_that_ends_may_have_started_the_emulator(sdk: Sdk, clock: Clock) -> None:
    sdk.make_avd("a")
    sdk.put("emulator", "exit 0")
    sdk.phone.properties["sys.boot_completed"] = ""
    clock.events = {
        4.0: lambda: sdk.run_avd("a"),
        8.0: lambda: sdk.phone.properties.update({"sys.boot_completed": "1"}),
    }
    shown = statuses(lambda: start_emulator("a"))
    assert shown == [
        *(f"starting emulator a ({seconds} s)" for seconds in (0, 2, 4)),
        *(f"waiting for emulator a to boot ({seconds} s)" for seconds in (0, 2)),
    ]
    assert sdk.calls("adb").count("start-server") == 1


def test_an_emulator_that_adb_does_not_list_is_given_up_after_a_minute(sdk: Sdk, clock: Clock) -> None:
    sdk.make_avd("a")
    sdk.put("emulator", "exit 0")
    with pytest.raises(ClawError) as caught:
        start_emulator("a")
    refused(caught, "EMULATOR_START_FAILED")
    assert caught.value.message == "adb did not list emulator a in time: no output"
    assert clock.now == 60


def test_an_emulator_that_never_boots_is_given_up(sdk: Sdk, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    monkeypatch.setattr(emulators, "_has_booted", lambda _: False)
    with pytest.raises(ClawError) as caught:
        provision()
    refused(caught, "EMULATOR_BOOT_TIMEOUT")
    assert caught.value.message == f"emulator a did not boot within {clock.now:.0f} seconds"
    assert 60 < clock.now < 600


def test_an_emulator_runs_in_a_session_of_its_own_with_a_private_log(sdk: Sdk, tmp_path: Path) -> None:
    sdk.make_avd("a")
    sdk.put(
        "emulator", f'cat > "$FAKE/input"; cut -d" " -f6 /proc/$$/stat > "$FAKE/session"; echo hello; {EMULATOR}'
    )
    ours, typed, keyboard = os.dup(0), *os.pipe()
    os.write(keyboard, b"typed by the user\n")
    os.close(keyboard)
    try:
        os.dup2(typed, 0)
        start_emulator("a", PATIENT)
    finally:
        os.dup2(ours, 0)
        os.close(ours)
        os.close(typed)
    assert (sdk.folder / "input").read_text() == ""
    assert int((sdk.folder / "session").read_text()) != os.getsid(0)
    log = tmp_path / "home" / "emulators" / "a.log"
    assert log.read_text() == "hello\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_an_emulator_that_does_not_boot_is_given_up(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.phone.properties["sys.boot_completed"] = ""
    with pytest.raises(ClawError) as caught:
        start_emulator("a", SOON)
    refused(caught, "EMULATOR_BOOT_TIMEOUT")


def test_stopping_waits_until_it_is_gone(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    assert stop_emulator("a") == {"ok": True, "avdName": "a", "stopped": True}
    with pytest.raises(ClawError) as caught:
        stop_emulator("a")
    refused(caught, "EMULATOR_NOT_RUNNING")


def test_an_emulator_that_refuses_to_stop_is_reported(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    sdk.put("adb", ADB.replace('rm "$FAKE/running"', "echo no; exit 3"))
    with pytest.raises(ClawError) as caught:
        stop_emulator("a")
    refused(caught, "EMULATOR_STOP_FAILED")
    assert caught.value.message == "emulator a did not stop: no"


def test_stopping_ends_soon_after_the_emulator(sdk: Sdk, clock: Clock) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    sdk.put("adb", ADB.replace('rm "$FAKE/running"', "true"))
    clock.events = {0.5: (sdk.folder / "running").unlink}
    assert stop_emulator("a")["stopped"]
    assert 0.5 <= clock.now < 1


def test_an_emulator_that_does_not_stop_is_given_up(
    sdk: Sdk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk.run_avd("a")
    monkeypatch.setattr(emulators, "_running_names", lambda: {"a": SERIAL})
    with pytest.raises(ClawError) as caught:
        stop_emulator("a")
    refused(caught, "EMULATOR_STOP_FAILED")
    assert caught.value.message == "emulator a is still running"
    assert 10 < clock.now < 120


def test_deleting_is_refused_while_it_runs(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    with pytest.raises(ClawError) as caught:
        delete_avd("a")
    refused(caught, "EMULATOR_ALREADY_RUNNING")
    stop_emulator("a")
    assert delete_avd("a") == {"ok": True, "avdName": "a", "deleted": True}
    assert list_avds() == []


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("deletes", [True, False])
def test_an_emulator_is_deleted_when_the_tool_says_so_and_it_is_gone(
    sdk: Sdk, code: int, *, deletes: bool
) -> None:
    sdk.make_avd("b")
    work = 'rm -r "$ANDROID_AVD_HOME"/b.*' if deletes else "true"
    sdk.put("avdmanager", f"{work}; exit {code}")
    if deletes and code == 0:
        assert delete_avd("b")["deleted"]
        return
    with pytest.raises(ClawError) as caught:
        delete_avd("b")
    refused(caught, "EMULATOR_DELETE_FAILED")


def test_inspecting_what_does_not_exist_says_so(sdk: Sdk) -> None:
    sdk.make_avd("one")
    missing = inspect_avd("nowhere")
    assert (missing.name, missing.exists, missing.running, missing.supported) == ("nowhere", False, False, False)
    assert (missing.apiLevel, missing.abi, missing.systemImage, missing.deviceProfile) == (None, None, None, None)
    assert inspect_avd("one").exists


@pytest.mark.parametrize("act", [start_emulator, stop_emulator, delete_avd])
def test_what_does_not_exist_is_not_found(sdk: Sdk, act: object) -> None:
    assert sdk
    assert callable(act)
    with pytest.raises(ClawError) as caught:
        act("nowhere")
    refused(caught, "EMULATOR_NOT_FOUND")


@pytest.mark.parametrize("name", ["", "-x", "../x", "a b", ".hidden", "a" * 65, "a\n"])
def test_a_name_that_could_be_something_else_is_refused(name: str) -> None:
    with pytest.raises(ClawError) as caught:
        check_name(name)
    refused(caught, "USAGE")


@pytest.mark.parametrize("act", [create_avd, start_emulator, stop_emulator, delete_avd, inspect_avd, provision])
def test_no_command_takes_such_a_name(sdk: Sdk, act: Callable[[str], object]) -> None:
    sdk.make_avd("a")
    with pytest.raises(ClawError) as caught:
        act("../x")
    refused(caught, "USAGE")
    assert sdk.calls("avdmanager") == []


def test_provisioning_reuses_then_starts_then_creates(sdk: Sdk) -> None:
    created = provision(timeouts=SOON)
    assert (created.created, created.started, created.reused) == (True, True, False)
    reused = provision(timeouts=SOON)
    assert (reused.created, reused.started, reused.reused) == (False, False, True)
    assert reused.serial == SERIAL
    stop_emulator(DEFAULT_NAME)
    sdk.make_avd("a-first")
    started = provision(timeouts=SOON)
    assert (started.avdName, started.created, started.started) == (DEFAULT_NAME, False, True)
    assert created.booted
    assert reused.booted
    assert started.booted


def test_provisioning_starts_the_first_supported_emulator_when_the_name_is_new(sdk: Sdk) -> None:
    for name in ("c", "b"):
        sdk.make_avd(name)
    sdk.make_avd("a", **{"hw.device.name": "tv"})
    found = provision("new", PATIENT)
    assert (found.avdName, found.created, found.started, found.reused) == ("b", False, True, False)


@pytest.mark.parametrize(
    ("running", "chosen"),
    [
        (["booting mine", "booted other"], "other"),
        (["booted other", "booted mine"], "mine"),
        (["booting other", "booting mine"], "mine"),
        (["unsupported mine", "booting other"], "other"),
    ],
)
def test_provisioning_prefers_a_booted_emulator_then_the_one_of_that_name(
    sdk: Sdk, monkeypatch: pytest.MonkeyPatch, running: list[str], chosen: str
) -> None:
    assert sdk
    found = [
        RunningEmulator(
            avdName=name,
            serial=f"serial of {name}",
            booted=state == "booted",
            supported=state != "unsupported",
            unsupportedReasons=[],
        )
        for state, name in (text.split() for text in running)
    ]
    monkeypatch.setattr(emulators, "running_emulators", lambda: found)
    monkeypatch.setattr(emulators, "_has_booted", lambda _: True)
    reused = provision("mine")
    assert (reused.avdName, reused.serial, reused.reused) == (chosen, f"serial of {chosen}", True)


def test_provisioning_waits_for_an_emulator_that_is_still_booting(sdk: Sdk) -> None:
    sdk.make_avd("a")
    sdk.run_avd("a")
    sdk.phone.properties["dev.bootcomplete"] = ""
    with pytest.raises(ClawError) as caught:
        provision(timeouts=SOON)
    refused(caught, "EMULATOR_BOOT_TIMEOUT")
    sdk.phone.properties["dev.bootcomplete"] = "1"
    assert provision(timeouts=SOON).reused


def test_provisioning_refuses_an_unsuited_emulator_of_that_name(sdk: Sdk) -> None:
    sdk.make_avd(DEFAULT_NAME, **{"hw.device.name": "tv"})
    with pytest.raises(ClawError) as caught:
        provision(timeouts=SOON)
    refused(caught, "EMULATOR_UNSUPPORTED")
    assert caught.value.details == {
        "avdName": DEFAULT_NAME,
        "unsupportedReasons": ["unsupported_device_profile"],
    }


def test_provisioning_names_every_tool_that_is_missing(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMULATOR_PATH", "/nowhere")
    (sdk.folder / "sdkmanager").unlink()
    with pytest.raises(ClawError) as caught:
        provision()
    refused(caught, "ANDROID_SDK_TOOL_MISSING")
    assert caught.value.details == {"missingTools": ["emulator", "sdkmanager"]}
    assert "clawperator phone start" in str(caught.value.hint)


def test_tools_are_found_in_the_sdk_and_on_the_path(
    sdk: Sdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("EMULATOR_PATH", "SDKMANAGER_PATH", "AVDMANAGER_PATH"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(sdk.folder))
    assert find_tool("emulator") == str(sdk.folder / "emulator")
    place = tmp_path / "sdk" / "cmdline-tools" / "latest" / "bin"
    place.mkdir(parents=True)
    (place / "avdmanager").symlink_to(sdk.folder / "avdmanager")
    monkeypatch.setenv("ANDROID_HOME", str(tmp_path / "sdk"))
    assert require_tools("avdmanager", "sdkmanager") == {
        "avdmanager": str(place / "avdmanager"),
        "sdkmanager": str(sdk.folder / "sdkmanager"),
    }


def test_a_tool_that_hangs_or_is_none_is_an_answer_too(sdk: Sdk) -> None:
    sdk.put("emulator", "exec sleep 5")
    assert run_tool(str(sdk.folder / "emulator"), seconds=0.1).code == -1
    assert run_tool("/nowhere", seconds=1).code == -1


def test_the_avd_folder_goes_by_androids_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANDROID_AVD_HOME", raising=False)
    monkeypatch.delenv("ANDROID_USER_HOME", raising=False)
    assert emulators.avd_folder() == os.path.expanduser("~/.android/avd")
    monkeypatch.setenv("ANDROID_USER_HOME", "/u")
    assert emulators.avd_folder() == "/u/avd"
    assert emulators.avd_names() == []


def test_records_have_the_documented_members() -> None:
    assert Avd.__struct_fields__ == (
        *("name", "exists", "running", "apiLevel", "abi", "playStore", "deviceProfile", "systemImage"),
        *("supported", "unsupportedReasons"),
    )
