"""Screenshots: the same bytes for the same screen. Pillow is loaded late."""

import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO

import pytest
from PIL import Image

from tests.phone.render.pictures import close_phones, new_phone, opened, picture
from tests.phone.screen import tap

SETTINGS = "com.android.settings"
PACKAGES = (SETTINGS, "com.google.android.youtube", "com.clawperator.notes", "com.solaxcloud.starter")

DIGESTS = """
import hashlib, sys
from clawperator.testing import simulated_phone
with simulated_phone() as phone:
    print(hashlib.sha256(phone.png()).hexdigest())
    for package in sys.argv[1:]:
        phone.phone.launch(package)
        phone.clock.sleep(2)
        print(hashlib.sha256(phone.png()).hexdigest())
"""


@pytest.fixture(autouse=True)
def phones() -> Iterator[None]:
    yield
    close_phones()


def digests_in_another_process(**environment: str) -> list[str]:
    command = [sys.executable, "-c", DIGESTS, *PACKAGES]
    ran = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, check=True, text=True, timeout=60
    )
    return ran.stdout.split()


def digests_here() -> list[str]:
    phone = new_phone()
    found = [phone.screenshot()]
    for package in PACKAGES:
        phone.launch(package)
        phone.clock.sleep(2)
        found.append(phone.screenshot())
    return [hashlib.sha256(png).hexdigest() for png in found]


def test_the_same_screens_give_the_same_bytes_in_every_process() -> None:
    one = digests_in_another_process(PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C")
    assert digests_here() == one
    assert digests_here() == one  # with parts of these screens in the cache
    assert len(set(one)) == len(one)


def test_pillow_is_loaded_by_the_first_screenshot_only() -> None:
    script = (
        "import sys; from clawperator.testing import simulated_phone\n"
        "with simulated_phone() as phone:\n"
        "    phone.open_app('com.android.settings'); phone.xml(); phone.shell_script('ls /sdcard')\n"
        "    early = [name for name in sys.modules if name.split('.')[0] == 'PIL' or '.phone.render' in name]\n"
        "    phone.png(); print(early, 'PIL.Image' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60)
    assert ran.stdout.strip() == "[] True"


def test_a_raw_capture_has_its_header_and_the_pixels_of_the_picture() -> None:
    phone = opened(SETTINGS)
    raw = phone.raw_screenshot()
    with Image.open(BytesIO(phone.screenshot())) as image:
        assert raw == struct.pack("<IIII", 1080, 2400, 1, 1) + image.tobytes()


def test_an_unchanged_screen_is_not_painted_again() -> None:
    phone = opened(SETTINGS)
    first = phone.screenshot()
    assert phone.screenshot() is first
    tap(phone, text="Display")
    second = phone.screenshot()
    assert second != first
    phone.go_back()
    assert phone.screenshot() == first


def test_the_picture_follows_the_phones_clock() -> None:
    phone = opened(SETTINGS)
    first = phone.screenshot()
    phone.clock.sleep(60)
    assert phone.screenshot() != first


@pytest.mark.parametrize("change", [("secure", "ui_night_mode", "2"), ("global", "airplane_mode_on", "1")])
def test_the_picture_follows_settings(change: tuple[str, str, str]) -> None:
    phone = opened(SETTINGS)
    first = picture(phone)
    phone.settings.put(*change)
    assert picture(phone) != first
