"""Recognising vendors and their switches."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.vendors import (
    Purpose,
    parse_properties,
    read_properties,
    recognise_vendor,
    switch_states,
    vendor_hint,
)
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import answer_properties, ordinary_phone

OTHERWISE = "Look at the device."
# The properties of a device, its system, and what is named when input, an installation or a permission is refused.
TABLE: list[tuple[dict[str, str], str | None, dict[Purpose, str]]] = [
    (
        {"ro.product.manufacturer": "Xiaomi", "ro.miui.ui.version.name": "V14"},
        "HyperOS or MIUI",
        {"input": "Security settings", "install": "Install via USB", "grant": "Security settings"},
    ),
    ({"ro.mi.os.version.name": "OS2.0"}, "HyperOS or MIUI", {"input": "Security settings"}),
    ({"ro.product.manufacturer": "POCO"}, "HyperOS or MIUI", {"install": "Install via USB"}),
    (
        {"ro.product.manufacturer": "OnePlus", "ro.build.version.oplusrom": "V14.0.0"},
        "ColorOS, realme UI or OxygenOS",
        {"grant": "Disable permission monitoring"},
    ),
    ({"ro.product.manufacturer": "realme"}, "ColorOS, realme UI or OxygenOS", {"input": "permission monitoring"}),
    ({"ro.build.version.opporom": "V7.1"}, "ColorOS, realme UI or OxygenOS", {"input": "permission monitoring"}),
    ({"ro.vivo.os.version": "14.0"}, "OriginOS or Funtouch OS", {"input": "USB simulated input"}),
    ({"ro.product.manufacturer": "vivo"}, "OriginOS or Funtouch OS", {"grant": "USB security permissions"}),
    (
        {"ro.product.manufacturer": "HUAWEI", "ro.build.version.emui": "EmotionUI_12.0.0"},
        "EMUI or HarmonyOS",
        {"connection": "charge only mode", "log": "*#*#2846579#*#*"},
    ),
    (
        {"ro.build.version.magic": "8.0", "ro.build.version.emui": "EmotionUI_11"},
        "MagicOS",
        {"connection": "charge only mode"},
    ),
    ({"ro.product.manufacturer": "HONOR"}, "MagicOS", {"log": "2846579"}),
    ({"ro.flyme.published": "true"}, "Flyme", {"log": "Advanced log output", "input": "payment protection"}),
    (
        {"ro.product.manufacturer": "samsung", "ro.build.version.oneui": "60101"},
        "One UI",
        {"install": "Auto Blocker"},
    ),
    ({"ro.product.manufacturer": "Google"}, None, {}),
    ({"ro.product.manufacturer": "Sony"}, None, {}),
    ({"ro.product.manufacturer": "LGE"}, None, {}),
    ({}, None, {}),
]


@pytest.mark.parametrize(("properties", "system", "steps"), TABLE)
def test_a_vendor_is_recognised_by_its_properties(
    properties: dict[str, str], system: str | None, steps: dict[Purpose, str]
) -> None:
    vendor = recognise_vendor(properties)
    assert (vendor.system if vendor else None) == system
    for purpose, step in steps.items():
        assert vendor is not None
        assert step in " ".join(vendor.steps_for(purpose))


def test_a_refusal_is_explained_by_the_vendor_of_the_device(tmp_path: Path) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    with double_server(doubles) as device:
        assert vendor_hint(device, "input", otherwise=OTHERWISE) == OTHERWISE
        answer_properties(doubles, {"ro.product.manufacturer": "Xiaomi"})
        hint = vendor_hint(device, "input", "install", otherwise=OTHERWISE)
        assert "Security settings" in hint
        assert "Install via USB" in hint
        assert vendor_hint(device, "log", otherwise=OTHERWISE) == OTHERWISE


def test_the_version_of_a_system_is_that_of_its_property() -> None:
    vendor = recognise_vendor({"ro.product.manufacturer": "Xiaomi", "ro.mi.os.version.name": "OS2.0"})
    assert vendor is not None
    assert vendor.version == "OS2.0"
    by_maker = recognise_vendor({"ro.product.manufacturer": "Xiaomi"})
    assert by_maker is not None
    assert by_maker.version == ""


@pytest.mark.parametrize(
    ("properties", "settings", "expected"),
    [
        ({"ro.miui.ui.version.name": "V14"}, {}, ["off", "off"]),
        ({"ro.miui.ui.version.name": "V14", "persist.security.adbinput": "1"}, {}, ["on", "off"]),
        (
            {"ro.mi.os.version.name": "OS1", "persist.security.adbinput": "1", "persist.security.adbinstall": "1"},
            {},
            ["on", "on"],
        ),
        ({"ro.build.version.oplusrom": "V14", "persist.sys.permission.enable": "true"}, {}, ["off"]),
        ({"ro.build.version.oplusrom": "V14", "persist.sys.permission.enable": "false"}, {}, ["on"]),
        ({"ro.oxygen.version": "9.0"}, {}, ["unknown"]),
        ({"ro.vivo.os.version": "14"}, {"vivo_adb_simulate_input": "0"}, ["off"]),
        ({"ro.vivo.os.version": "14"}, {"vivo_adb_simulate_input": "1"}, ["on"]),
        ({"ro.vivo.os.version": "14"}, {}, ["unknown"]),
        ({"ro.build.version.oneui": "60101"}, {"rampart_main_switch_enabled": "1"}, ["off"]),
        ({"ro.build.version.oneui": "60101"}, {"rampart_main_switch_enabled": "0"}, ["on"]),
        ({"ro.build.version.oneui": "50101"}, {}, ["on"]),
        ({"ro.build.version.emui": "EmotionUI_12"}, {}, ["unknown", "unknown"]),
    ],
)
def test_the_state_of_a_switch_is_read_where_the_device_shows_it(
    tmp_path: Path, properties: dict[str, str], settings: dict[str, str], expected: list[str]
) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    for name, value in settings.items():
        doubles.answer("settings", f"{value}\n", when=f"get --user 0 secure {name}")
    vendor = recognise_vendor(properties)
    assert vendor is not None
    with double_server(doubles) as device:
        assert [state for _, state in switch_states(device, vendor, properties)] == expected


def test_a_setting_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    doubles.answer("settings", Reply("1\n", "Security exception\n", 255), when="get *")
    vendor = recognise_vendor({"ro.build.version.oneui": "60101"})
    assert vendor is not None
    with double_server(doubles) as device:
        assert [state for _, state in switch_states(device, vendor, {})] == ["unknown"]


def test_a_device_that_does_not_answer_gets_the_general_hint() -> None:
    gone = Device("gone", Endpoint("127.0.0.1", 1))
    assert vendor_hint(gone, "input", otherwise=OTHERWISE) == OTHERWISE


def test_properties_are_read_in_one_command(tmp_path: Path) -> None:
    doubles = CommandDoubles(tmp_path / "d")
    doubles.answer("getprop", "[a.b]: [c d]\n[two]: [first\nsecond]\n[empty]: []\nnoise\n[x]: [[y]]\n")
    with double_server(doubles) as device:
        assert read_properties(device) == {"a.b": "c d", "two": "first", "empty": "", "x": "[y]"}
    assert doubles.calls() == [["getprop"]]


def test_long_values_are_shortened_and_long_lists_are_cut() -> None:
    assert parse_properties(f"[a]: [{'x' * 100}]\n[b]: [{'x' * 101}]\n") == {
        "a": "x" * 100,
        "b": "x" * 99 + "…",
    }
    listed = parse_properties("".join(f"[p{number}]: [x]\n" for number in range(5_001)))
    assert (len(listed), "p4999" in listed, "p5000" in listed) == (5_000, True, False)


def test_a_switch_is_read_without_a_user_when_the_device_refuses_users(tmp_path: Path) -> None:
    doubles = ordinary_phone(tmp_path / "d")
    doubles.answer("settings", Reply("", "Error: Unknown option: --user\n", 255), when="* --user *")
    doubles.answer("settings", "1\n", when="get secure rampart_main_switch_enabled")
    vendor = recognise_vendor({"ro.build.version.oneui": "60101"})
    assert vendor is not None
    with double_server(doubles) as device:
        assert [state for _, state in switch_states(device, vendor, {})] == ["off"]


def test_an_empty_version_of_a_system_is_none() -> None:
    assert recognise_vendor({"ro.miui.ui.version.name": "", "ro.product.manufacturer": "Google"}) is None


@given(output=st.text() | st.text("[]: \nab."))
def test_any_output_is_read(output: str) -> None:
    properties = parse_properties(output)
    assert all("\n" not in value and len(value) <= 100 for value in properties.values())
    recognise_vendor(properties)
