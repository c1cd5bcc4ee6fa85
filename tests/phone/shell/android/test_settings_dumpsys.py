"""settings, properties, keyboards, services, processes and dumps, as clients query them."""

import re
from collections.abc import Iterator

import pytest

from clawperator.phone.apps.system import KEYBOARD_COMPONENT as KEYBOARD
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.android.cmd import SERVICES
from tests.phone.shell.scripts import output, run

OPERATOR = "com.clawperator.operator"


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone(serial="claw-7")
    yield phone
    phone.close()


# Settings and properties


def test_a_setting_is_put_got_listed_and_deleted(phone: Phone) -> None:
    assert output(phone, "settings put global my_key 'a value'; settings get global my_key") == "a value\n"
    assert "my_key=a value\n" in output(phone, "settings list global")
    assert output(phone, "settings delete global my_key; settings get global my_key") == "Deleted 1 rows\nnull\n"
    assert output(phone, "settings delete global my_key") == "Deleted 0 rows\n"


def test_a_user_option_is_accepted(phone: Phone) -> None:
    assert output(phone, "settings --user 0 get system screen_brightness") == "102\n"
    assert output(phone, "cmd settings get --user 0 SYSTEM screen_brightness") == "102\n"


@pytest.mark.parametrize("arguments", ["get nowhere key", "get system", "put system key", "frobnicate", ""])
def test_invalid_settings_commands_fail(phone: Phone, arguments: str) -> None:
    assert run(phone, f"settings {arguments}").code == 255


def test_a_setting_that_is_too_long_is_refused(phone: Phone) -> None:
    result = run(phone, f"settings put system k {'x' * 70_000}")
    assert (result.code, "the setting is too long" in result.err) == (255, True)


def test_the_operators_permissions_are_granted_and_revoked_by_settings(phone: Phone) -> None:
    output(phone, "settings put secure enabled_accessibility_services ''")
    assert not phone.operator.is_bound()
    assert "Bound services:{}" in output(phone, "dumpsys accessibility")
    output(phone, f"settings put secure enabled_accessibility_services {phone.operator.component}")
    assert phone.operator.is_bound()
    assert f"Enabled services:{{{{{phone.operator.component}}}}}" in output(phone, "dumpsys accessibility")


def test_properties_are_read_singly_and_together(phone: Phone) -> None:
    assert output(phone, "getprop ro.serialno") == "claw-7\n"
    assert output(phone, "getprop ro.nothing") == "\n"
    assert output(phone, "getprop ro.nothing else") == "else\n"
    assert "[ro.build.version.sdk]: [35]\n" in output(phone, "getprop")


def test_only_open_properties_can_be_set(phone: Phone) -> None:
    assert output(phone, "setprop debug.mine yes; getprop debug.mine") == "yes\n"
    assert run(phone, "setprop ro.serialno other").err == (
        "Failed to set property 'ro.serialno' to 'other'.\nSee dmesg for error reason.\n"
    )
    assert run(phone, f"setprop debug.long {'x' * 100}").code == 1
    assert run(phone, "setprop debug.mine").code == 1
    for number in range(2_100):
        phone.properties.setdefault(f"debug.p{number}", "")
    assert run(phone, "setprop debug.one.more x").code == 1


# Keyboards and switches


def test_there_is_one_keyboard(phone: Phone) -> None:
    assert output(phone, "ime list -s") == f"{KEYBOARD}\n"
    assert f"mId={KEYBOARD} " in output(phone, "ime list -a")
    assert output(phone, f"ime set {KEYBOARD}") == f"Input method {KEYBOARD} selected for user #0\n"
    assert run(phone, "ime set com.nobody/.Keys") == (
        255,
        "",
        "Unknown input method com.nobody/.Keys cannot be selected for user #0\n",
    )


def test_a_keyboard_is_disabled_and_comes_back(phone: Phone) -> None:
    assert output(phone, f"ime enable {KEYBOARD}") == f"Input method {KEYBOARD}: already enabled for user #0\n"
    assert output(phone, f"ime disable {KEYBOARD}") == f"Input method {KEYBOARD}: now disabled for user #0\n"
    assert output(phone, "ime list -s") == ""
    assert "mCurMethodId=null" in output(phone, "dumpsys input_method")
    output(phone, "ime reset")
    assert output(phone, "settings get secure default_input_method") == f"{KEYBOARD}\n"


def test_svc_changes_settings(phone: Phone) -> None:
    assert output(phone, "svc wifi disable; settings get global wifi_on") == "0\n"
    assert output(phone, "cmd wifi set-wifi-enabled enabled; cmd wifi status") == "Wifi is enabled\n"
    assert output(phone, "svc data enable; settings get global mobile_data") == "1\n"
    assert output(phone, "svc power stayon usb; settings get global stay_on_while_plugged_in") == "2\n"
    assert output(phone, "cmd connectivity airplane-mode enable; cmd connectivity airplane-mode") == "enabled\n"
    assert output(phone, "cmd uimode night yes; cmd uimode night") == "Night mode: yes\nNight mode: yes\n"
    assert output(phone, "cmd statusbar collapse") == ""


def test_reboot_is_refused(phone: Phone) -> None:
    refused = run(phone, "reboot")
    assert (refused.code, refused.err) == (1, "reboot: Permission denied\n")
    assert run(phone, "svc power reboot").code == 1


# Services


def test_an_unknown_service_is_named(phone: Phone) -> None:
    assert run(phone, "cmd teleport now") == (20, "", "cmd: Can't find service: teleport\n")
    assert run(phone, "dumpsys teleport") == (0, "", "Can't find service: teleport\n")
    assert run(phone, "cmd").code == 20
    assert run(phone, "cmd statusbar dance") == (255, "Unknown command: dance\n", "")


def test_content_finds_no_provider(phone: Phone) -> None:
    result = run(phone, "content query --uri content://settings/system")
    assert (result.code, "Could not find provider: settings" in result.err) == (1, True)
    assert run(phone, "content query").code == 1


def test_services_are_listed_and_checked(phone: Phone) -> None:
    assert output(phone, "dumpsys -l") == output(phone, "cmd -l")
    assert output(phone, "service list").startswith(f"Found {len(SERVICES)} services:\n")
    assert output(phone, "service check window") == "Service window: found\n"
    assert output(phone, "service check teleport") == "Service teleport: not found\n"
    assert output(phone, "service call window 1").startswith("Result: Parcel(Error:")


def test_every_service_can_be_dumped(phone: Phone) -> None:
    whole = output(phone, "dumpsys")
    for name in SERVICES:
        assert f"DUMP OF SERVICE {name}:\n" in whole
        assert run(phone, f"dumpsys {name}").code == 0


def test_the_battery_is_dumped_and_overridden(phone: Phone) -> None:
    result = output(phone, "dumpsys battery")
    assert "  level: 100\n" in result
    assert "  USB powered: true\n" in result
    changed = output(phone, "dumpsys battery set level 15; dumpsys battery unplug; dumpsys battery")
    assert "  level: 15\n" in changed
    assert "  USB powered: false\n" in changed
    assert output(phone, "dumpsys battery reset; dumpsys battery") == result
    assert output(phone, "dumpsys battery set level lots").startswith("Battery service (battery) commands:\n")


def test_each_phone_has_its_own_battery(phone: Phone) -> None:
    other = Phone()
    output(other, "dumpsys battery set level 1")
    assert "  level: 100\n" in output(phone, "dumpsys battery")
    other.close()


def test_the_memory_of_a_running_app_is_dumped(phone: Phone) -> None:
    assert f"[{OPERATOR}] **" in output(phone, f"dumpsys meminfo {OPERATOR}")
    assert output(phone, "dumpsys meminfo com.nobody") == "No process found for: com.nobody\n"


def test_the_display_has_an_id(phone: Phone) -> None:
    match = re.match(r"Display (\d+) ", output(phone, "dumpsys SurfaceFlinger --display-id"))
    assert match is not None
    assert run(phone, f"screencap -p -d {match[1]} /sdcard/a.png").code == 0


# Processes


def test_running_apps_have_processes(phone: Phone) -> None:
    phone.launch("com.android.settings")
    process = phone.process_of("com.android.settings")
    assert process is not None
    head, *lines = output(phone, "ps -A").splitlines()
    assert head.split() == ["USER", "PID", "PPID", "VSZ", "RSS", "WCHAN", "ADDR", "S", "NAME"]
    line = next(line.split() for line in lines if line.endswith("com.android.settings"))
    assert (line[0], line[1]) == (f"u0_a{phone.packages['com.android.settings'].uid - 10_000}", str(process.pid))
    assert output(phone, "pidof com.android.settings") == f"{process.pid}\n"
    assert output(phone, "pgrep -l android.settings") == f"{process.pid} com.android.settings\n"
    output(phone, "am force-stop com.android.settings")
    assert run(phone, "pidof com.android.settings") == (1, "", "")


def test_columns_and_processes_are_chosen(phone: Phone) -> None:
    assert output(phone, "ps -A -o PID,NAME").splitlines()[1].split() == ["1", "init"]
    assert output(phone, "ps -p 1 -o NAME=").splitlines()[-1] == "init"
    assert {line.split()[0] for line in output(phone, "ps").splitlines()[1:]} == {"shell"}
    assert run(phone, "ps -o NONSENSE").code == 1
    assert run(phone, "ps -p 99999").code == 1


def test_uptime_and_free_describe_the_phone(phone: Phone) -> None:
    phone.clock.sleep(3_700)
    assert " up 1:01,  0 users,  load average:" in output(phone, "uptime")
    assert output(phone, "top -n 1 -b").startswith("Tasks: ")
    assert output(phone, "free").splitlines()[1].startswith("Mem:")


def test_addresses_are_listed_while_wifi_is_on(phone: Phone) -> None:
    assert re.search(r"inet\s*addr:(.*?)\s", output(phone, "ifconfig wlan0"))
    assert re.search(r"inet (\d+.*?)/\d+", output(phone, "ip addr show dev wlan0"))
    assert "src " in output(phone, "ip route")
    output(phone, "svc wifi disable")
    assert run(phone, "ifconfig wlan0").code == 1
    assert run(phone, "ip addr show dev wlan0").code == 1
    assert output(phone, "ip route") == ""
    assert run(phone, "ip tunnel").code == 255
