"""Screenshots: the same bytes for the same screen, with and without Pillow, which is loaded late."""

import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO

import pytest
from PIL import Image

from clawperator.phone.render import screenshot
from clawperator.phone.render.fonts import font
from clawperator.phone.render.png import compress_rows, join_parts
from tests.phone.render.pictures import close_phones, new_phone, opened, picture
from tests.phone.screen import tap

SETTINGS = "com.android.settings"
PACKAGES = (SETTINGS, "com.google.android.youtube", "com.clawperator.notes", "com.solaxcloud.starter")

DIGESTS = """
import hashlib, sys
from clawperator.testing import simulated_phone
if sys.argv[1] == "without":
    sys.modules["PIL"] = None
with simulated_phone() as phone:
    print(hashlib.sha256(phone.png()).hexdigest())
    for package in sys.argv[2:]:
        phone.phone.launch(package)
        phone.clock.sleep(2)
        print(hashlib.sha256(phone.png()).hexdigest())
"""


@pytest.fixture(autouse=True)
def phones() -> Iterator[None]:
    yield
    close_phones()
    screenshot.has_pillow.cache_clear()


def block_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    font.cache_clear()
    screenshot.has_pillow.cache_clear()


def digests_in_another_process(pillow: str, **environment: str) -> list[str]:
    command = [sys.executable, "-c", DIGESTS, pillow, *PACKAGES]
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


@pytest.mark.parametrize("pillow", ["with", "without"])
def test_the_same_screens_give_the_same_bytes_in_every_process(
    pillow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = digests_in_another_process(pillow, PYTHONHASHSEED="1", TZ="Asia/Tokyo", LC_ALL="C")
    if pillow == "without":
        block_pillow(monkeypatch)
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


def test_without_pillow_a_plain_picture_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = opened(SETTINGS)
    smooth = phone.screenshot()
    block_pillow(monkeypatch)
    phone = opened(SETTINGS)
    plain, raw = phone.screenshot(), phone.raw_screenshot()
    monkeypatch.undo()
    assert plain != smooth
    with Image.open(BytesIO(plain)) as image:
        assert (image.mode, image.size) == ("RGBA", (1080, 2400))
        assert raw == struct.pack("<IIII", 1080, 2400, 1, 1) + image.tobytes()


@pytest.mark.parametrize("error", [ImportError("no FreeType"), TypeError("an old Pillow"), OSError("no font")])
def test_a_pillow_without_a_scalable_font_is_not_used(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import ImageFont

    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(ImageFont, "load_default", fail)
    font.cache_clear()
    screenshot.has_pillow.cache_clear()
    assert opened(SETTINGS).screenshot().startswith(b"\x89PNG")
    assert not screenshot.has_pillow()


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


def test_parts_of_rows_are_joined_to_a_picture() -> None:
    rows = [bytes([value, 0, 0, 255]) * 3 for value in (1, 1, 1, 2, 3, 3, 4, 4, 4, 4, 1)]
    parts = [compress_rows(3, rows[:4]), compress_rows(3, rows[4:5]), compress_rows(3, rows[5:])]
    with Image.open(BytesIO(join_parts(3, len(rows), parts))) as image:
        assert image.tobytes() == b"".join(rows)
