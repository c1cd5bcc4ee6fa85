"""What a device reports about itself."""

from pathlib import Path

import pytest

from clawperator.device.setup.device_checks import read_facts
from clawperator.errors import ClawError
from tests.support.command_doubles import CommandDoubles, Reply, double_server
from tests.support.ordinary_phone import PROPERTIES, answer_properties, ordinary_phone


@pytest.fixture
def doubles(tmp_path: Path) -> CommandDoubles:
    return ordinary_phone(tmp_path / "d")


def test_an_override_of_the_display_counts(doubles: CommandDoubles) -> None:
    doubles.answer("wm", "Physical size: 1080x2400\nOverride size: 720x1600\n", when="size")
    with double_server(doubles) as device:
        facts = read_facts(device)
    assert (facts.api, facts.model, facts.size, facts.density) == (34, "Pixel 8", "720x1600", "420")
    assert facts.vendor is None
    assert facts.properties == PROPERTIES


def test_a_fact_of_a_display_has_at_most_100_characters(doubles: CommandDoubles) -> None:
    doubles.answer("wm", f"Physical size: {'1' * 101}\n", when="size")
    doubles.answer("wm", Reply("", "wm: not found\n", 127), when="density")
    with double_server(doubles) as device:
        facts = read_facts(device)
    assert (facts.size, facts.density) == ("1" * 99 + "…", "")


def test_a_device_without_a_version_of_android_has_no_facts(doubles: CommandDoubles) -> None:
    answer_properties(doubles, {"ro.product.model": "Pixel 8"})
    with double_server(doubles) as device, pytest.raises(ClawError) as caught:
        read_facts(device)
    assert caught.value.code == "DEVICE_SHELL_UNAVAILABLE"
