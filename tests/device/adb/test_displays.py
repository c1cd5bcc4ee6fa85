"""Displays in the output of several Android versions."""

import pytest

from clawperator.device.adb.dumpsys import (
    Display,
    focused_display_id,
    physical_id_in_use,
    read_displays,
    read_physical_ids,
    read_rotation,
    read_size,
)

FOCUS = "  mCurrentFocus=Window{1 u0 com.a/com.a.Main}\n"
HEAD = "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
UPRIGHT = "    init=1080x2400 420dpi cur=1080x2400 app=1080x2274 rng=1080x1017-2274x2211\n"


def test_a_display_has_a_size_upright_and_as_it_is_turned() -> None:
    turned = "    init=1080x2400 420dpi cur=2400x1080 app=2274x1080\n"
    assert read_displays(f"{HEAD}  Display: mDisplayId=0 (organized)\n{turned}{FOCUS}") == [
        Display(0, (1080, 2400), (2400, 1080), has_focus=True)
    ]


def test_a_size_that_was_set_counts() -> None:
    dump = "  Display: mDisplayId=0 stacks=4\r\n    init=1440x3200 560dpi base=1080x2400 420dpi cur=1080x2400 app=1x1\r\n"
    assert read_displays(dump) == [Display(0, (1080, 2400), (1080, 2400), has_focus=False)]


def test_every_display_is_read() -> None:
    dump = (
        f"{HEAD}  Display: mDisplayId=0\n{UPRIGHT}  mCurrentFocus=null\n"
        f"  Display: mDisplayId=3\n    init=1920x1080 160dpi noscale\n cur=1920x1080 app=1920x1080\n{FOCUS}"
        "WINDOW MANAGER WINDOWS (dumpsys window windows)\n    init=1x1 1dpi cur=1x1\n"
    )
    assert [(display.id, display.natural) for display in read_displays(dump)] == [
        (0, (1080, 2400)),
        (3, (1920, 1080)),
    ]
    assert focused_display_id(dump) == 3


@pytest.mark.parametrize(
    ("dump", "display"),
    [
        ("", 0),
        (f"  Display: mDisplayId=0\n{FOCUS}", 0),
        (f"  Display: mDisplayId=0\n{FOCUS}  Display: mDisplayId=2\n  mCurrentFocus=null\n", 0),
        (f"  Display: mDisplayId=0\n{FOCUS}  Display: mDisplayId=2\n{FOCUS}", None),
        (f"  Display: mDisplayId=0\n{FOCUS}  Display: mDisplayId=2\n{FOCUS}  mTopFocusedDisplayId=2\n", 2),
        ("  Display: mDisplayId=0\n  Display: mDisplayId=2\n", 0),
        # Until Android 9 there is one focus, and no display has it.
        (f"  Display: mDisplayId=0\n  Display: mDisplayId=1\nWINDOW MANAGER WINDOWS\n{FOCUS}", 0),
    ],
)
def test_the_focused_display_is_found_or_left_open(dump: str, display: int | None) -> None:
    assert focused_display_id(dump) == display


def test_the_ids_of_the_panels_are_listed() -> None:
    output = (
        'Display 19261213734341250 (HWC display 3): port=130 pnpId=QCM displayName=""\n'
        'Display 19261213734341249 (HWC display 0): port=129 pnpId=QCM displayName=""\n'
    )
    assert read_physical_ids(output) == ["19261213734341250", "19261213734341249"]
    assert read_physical_ids("Build configuration: [sf]\nDisplays (1 entries)\n") == []


def viewport(display: int, panel: int, active: str = "") -> str:
    return (
        f"DisplayViewport{{type=INTERNAL, valid=true, {active}displayId={display}, uniqueId='local:{panel}', "
        "physicalPort=1, orientation=0, logicalFrame=Rect(0, 0 - 1224, 2912)}"
    )


def info(display: int, panel: int, state: str) -> str:
    return (
        f'    mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", displayId {display}, displayGroupId 0, state {state}, '
        f'rotation 0, uniqueId "local:{panel}", app 1080 x 2400}}\n'
    )


@pytest.mark.parametrize(
    ("dump", "panel"),
    [
        (f"  mViewports=[{viewport(0, 7, 'isActive=true, ')}, {viewport(1, 8, 'isActive=false, ')}]\n", "7"),
        (f"  mViewports=[{viewport(0, 7, 'isActive=false, ')}, {viewport(1, 8, 'isActive=true, ')}]\n", "8"),
        (f"  mViewports=[{viewport(1, 8)}, {viewport(0, 7)}]\n", "7"),
        (info(0, 7, "OFF") + info(0, 8, "ON"), "8"),
        (info(2, 9, "ON") + info(0, 7, "ON"), "7"),
        ('DisplayInfo{"Virtual", displayId 0, uniqueId "virtual:com.a,1", state ON}\n', None),
        ("", None),
    ],
)
def test_the_panel_that_is_on_shows_the_display(dump: str, panel: str | None) -> None:
    assert physical_id_in_use(dump, 0) == panel


def test_a_size_put_in_place_counts_before_the_one_the_display_was_built_with() -> None:
    assert read_size("Physical size: 1080x2400\n") == (1080, 2400)
    assert read_size("Physical size: 1080x2400\nOverride size: 720x1600\n") == (720, 1600)
    assert read_size("wm: not found") is None


@pytest.mark.parametrize(
    ("dump", "quarters"),
    [
        ("mRotation=3 x", 3),
        ("mCurrentRotation=ROTATION_90", 1),
        ("mRotation=ROTATION_270 a", 3),
        ("mRotation=ROTATION_360", 0),
        ("", 0),
    ],
)
def test_the_rotation_may_be_given_in_quarters_or_degrees(dump: str, quarters: int) -> None:
    assert read_rotation(dump) == quarters
