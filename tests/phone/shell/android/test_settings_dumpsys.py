"""settings, properties, keyboards, services, processes and dumps: what clients ask to find their way."""

import re
from collections.abc import Iterator

import pytest

from clawperator.phone.apps.system import KEYBOARD_COMPONENT as KEYBOARD
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.cmd import SERVICES
from tests.phone.asking import ask, out

OPERATOR = "com.clawperator.operator"


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone(serial="claw-7")
    yield phone
    phone.close()


# Settings and properties


def test_a_setting_is_put_got_listed_and_deleted(phone: Phone) -> None:
    assert out(phone, "settings put global my_key 'a value'; settings get global my_key") == "a value\n"
    assert "my_key=a value\n" in out(phone, "settings list global")
    assert out(phone, "settings delete global my_key; settings get global my_key") == "Deleted 1 rows\nnull\n"
    assert out(phone, "settings delete global my_key") == "Deleted 0 rows\n"


def test_a_user_may_be_named(phone: Phone) -> None:
    assert out(phone, "settings --user 0 get system screen_brightness") == "102\n"
    assert out(phone, "cmd settings get --user 0 SYSTEM screen_brightness") == "102\n"


@pytest.mark.parametrize("arguments", ["get nowhere key", "get system", "put system key", "frobnicate", ""])
def test_what_settings_cannot_do_fails(phone: Phone, arguments: str) -> None:
    assert ask(phone, f"settings {arguments}").code == 255


def test_a_setting_that_is_too_long_is_refused(phone: Phone) -> None:
    said = ask(phone, f"settings put system k {'x' * 70_000}")
    assert (said.code, "the setting is too long" in said.err) == (255, True)


def test_the_operators_permissions_are_given_and_taken_by_settings(phone: Phone) -> None:
    out(phone, "settings put secure enabled_accessibility_services ''")
    assert not phone.operator.is_bound()
    assert "Bound services:{}" in out(phone, "dumpsys accessibility")
    out(phone, f"settings put secure enabled_accessibility_services {phone.operator.component}")
    assert phone.operator.is_bound()
    assert f"Enabled services:{{{{{phone.operator.component}}}}}" in out(phone, "dumpsys accessibility")


def test_properties_are_read_one_and_all(phone: Phone) -> None:
    assert out(phone, "getprop ro.serialno") == "claw-7\n"
    assert out(phone, "getprop ro.nothing") == "\n"
    assert out(phone, "getprop ro.nothing else") == "else\n"
    assert "[ro.build.version.sdk]: [35]\n" in out(phone, "getprop")


def test_only_open_properties_can_be_set(phone: Phone) -> None:
    assert out(phone, "setprop debug.mine yes; getprop debug.mine") == "yes\n"
    assert ask(phone, "setprop ro.serialno other").err == (
        "Failed to set property 'ro.serialno' to 'other'.\nSee dmesg for error reason.\n"
    )
    assert ask(phone, f"setprop debug.long {'x' * 100}").code == 1
    assert ask(phone, "setprop debug.mine").code == 1
    for number in range(2_100):
        phone.properties.setdefault(f"debug.p{number}", "")
    assert ask(phone, "setprop debug.one.more x").code == 1


# Keyboards and switches


def test_there_is_one_keyboard(phone: Phone) -> None:
    assert out(phone, "ime list -s") == f"{KEYBOARD}\n"
    assert f"mId={KEYBOARD} " in out(phone, "ime list -a")
    assert out(phone, f"ime set {KEYBOARD}") == f"Input method {KEYBOARD} selected for user #0\n"
    assert ask(phone, "ime set com.nobody/.Keys") == (
        255,
        "",
        "Unknown input method com.nobody/.Keys cannot be selected for user #0\n",
    )


def test_a_keyboard_is_disabled_and_comes_back(phone: Phone) -> None:
    assert out(phone, f"ime enable {KEYBOARD}") == f"Input method {KEYBOARD}: already enabled for user #0\n"
    assert out(phone, f"ime disable {KEYBOARD}") == f"Input method {KEYBOARD}: now disabled for user #0\n"
    assert out(phone, "ime list -s") == ""
    assert "mCurMethodId=null" in out(phone, "dumpsys input_method")
    out(phone, "ime reset")
    assert out(phone, "settings get secure default_input_method") == f"{KEYBOARD}\n"


def test_switches_are_settings(phone: Phone) -> None:
    assert out(phone, "svc wifi disable; settings get global wifi_on") == "0\n"
    assert out(phone, "cmd wifi set-wifi-enabled enabled; cmd wifi status") == "Wifi is enabled\n"
    assert out(phone, "svc data enable; settings get global mobile_data") == "1\n"
    assert out(phone, "svc power stayon usb; settings get global stay_on_while_plugged_in") == "2\n"
    assert out(phone, "cmd connectivity airplane-mode enable; cmd connectivity airplane-mode") == "enabled\n"
    assert out(phone, "cmd uimode night yes; cmd uimode night") == "Night mode: yes\nNight mode: yes\n"
    assert out(phone, "cmd statusbar collapse") == ""


def test_the_phone_is_not_rebooted_from_inside(phone: Phone) -> None:
    assert ask(phone, "reboot").code == 1
    assert ask(phone, "svc power reboot").code == 1


# Services


def test_a_service_that_is_not_there_is_named(phone: Phone) -> None:
    assert ask(phone, "cmd teleport now") == (20, "", "cmd: Can't find service: teleport\n")
    assert ask(phone, "dumpsys teleport") == (0, "", "Can't find service: teleport\n")
    assert ask(phone, "cmd").code == 20
    assert ask(phone, "cmd statusbar dance") == (255, "Unknown command: dance\n", "")


def test_no_app_shares_its_tables(phone: Phone) -> None:
    said = ask(phone, "content query --uri content://settings/system")
    assert (said.code, "Could not find provider: settings" in said.err) == (1, True)
    assert ask(phone, "content query").code == 1


def test_services_are_listed_and_checked(phone: Phone) -> None:
    assert out(phone, "dumpsys -l") == out(phone, "cmd -l")
    assert out(phone, "service list").startswith(f"Found {len(SERVICES)} services:\n")
    assert out(phone, "service check window") == "Service window: found\n"
    assert out(phone, "service check teleport") == "Service teleport: not found\n"
    assert out(phone, "service call window 1").startswith("Result: Parcel(Error:")


def test_every_service_can_be_dumped(phone: Phone) -> None:
    whole = out(phone, "dumpsys")
    for name in SERVICES:
        assert f"DUMP OF SERVICE {name}:\n" in whole
        assert ask(phone, f"dumpsys {name}").code == 0


def test_the_battery_is_told_and_pretended(phone: Phone) -> None:
    said = out(phone, "dumpsys battery")
    assert "  level: 100\n" in said
    assert "  USB powered: true\n" in said
    changed = out(phone, "dumpsys battery set level 15; dumpsys battery unplug; dumpsys battery")
    assert "  level: 15\n" in changed
    assert "  USB powered: false\n" in changed
    assert out(phone, "dumpsys battery reset; dumpsys battery") == said
    assert out(phone, "dumpsys battery set level lots").startswith("Battery service (battery) commands:\n")


def test_one_phones_battery_is_not_anothers(phone: Phone) -> None:
    other = Phone()
    out(other, "dumpsys battery set level 1")
    assert "  level: 100\n" in out(phone, "dumpsys battery")
    other.close()


def test_memory_is_told_of_a_running_app(phone: Phone) -> None:
    assert f"[{OPERATOR}] **" in out(phone, f"dumpsys meminfo {OPERATOR}")
    assert out(phone, "dumpsys meminfo com.nobody") == "No process found for: com.nobody\n"


def test_the_display_has_an_id(phone: Phone) -> None:
    match = re.match(r"Display (\d+) ", out(phone, "dumpsys SurfaceFlinger --display-id"))
    assert match is not None
    assert ask(phone, f"screencap -p -d {match[1]} /sdcard/a.png").code == 0


# Processes


def test_running_apps_have_processes(phone: Phone) -> None:
    phone.launch("com.android.settings")
    process = phone.process_of("com.android.settings")
    assert process is not None
    head, *lines = out(phone, "ps -A").splitlines()
    assert head.split() == ["USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME"]
    line = next(line.split() for line in lines if line.endswith("com.android.settings"))
    assert (line[0], line[1]) == (f"u0_a{phone.packages['com.android.settings'].uid - 10_000}", str(process.pid))
    assert out(phone, "pidof com.android.settings") == f"{process.pid}\n"
    assert out(phone, "pgrep -l android.settings") == f"{process.pid} com.android.settings\n"
    out(phone, "am force-stop com.android.settings")
    assert ask(phone, "pidof com.android.settings") == (1, "", "")


def test_columns_and_processes_are_chosen(phone: Phone) -> None:
    assert out(phone, "ps -A -o PID,NAME").splitlines()[1].split() == ["1", "init"]
    assert out(phone, "ps -p 1 -o NAME=").splitlines()[-1] == "init"
    assert {line.split()[0] for line in out(phone, "ps").splitlines()[1:]} == {"shell"}
    assert ask(phone, "ps -o NONSENSE").code == 1
    assert ask(phone, "ps -p 99999").code == 1


def test_the_age_and_memory_of_the_phone_are_told(phone: Phone) -> None:
    phone.clock.sleep(3_700)
    assert " up 1:01,  0 users,  load average:" in out(phone, "uptime")
    assert out(phone, "top -n 1 -b").startswith("Tasks: ")
    assert out(phone, "free").splitlines()[1].startswith("Mem:")


def test_addresses_are_found_while_wifi_is_on(phone: Phone) -> None:
    assert re.search(r"inet\s*addr:(.*?)\s", out(phone, "ifconfig wlan0"))
    assert re.search(r"inet (\d+.*?)/\d+", out(phone, "ip addr show dev wlan0"))
    assert "src " in out(phone, "ip route")
    out(phone, "svc wifi disable")
    assert ask(phone, "ifconfig wlan0").code == 1
    assert ask(phone, "ip addr show dev wlan0").code == 1
    assert out(phone, "ip route") == ""
    assert ask(phone, "ip tunnel").code == 255
