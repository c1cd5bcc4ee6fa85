"""Parsing ``dumpsys`` output of several Android versions."""

import pytest

from clawperator.device.adb.dumpsys import (
    Display,
    focused_display_id,
    physical_id_in_use,
    read_displays,
    read_foreground,
    read_physical_ids,
    read_rotation,
    read_size,
    read_windows,
)
from clawperator.engine.driver import Windows

APP = "com.example.app"
FOCUS = "  mCurrentFocus=Window{1 u0 com.a/com.a.Main}\n"
HEAD = "WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n"
UPRIGHT = "    init=1080x2400 420dpi cur=1080x2400 app=1080x2274 rng=1080x1017-2274x2211\n"


@pytest.mark.parametrize(
    "dump",
    [
        f"  mCurrentFocus=Window{{1a2b3c u0 {APP}/{APP}.Main}}\n",
        f"  mCurrentFocus=Window{{4217a8 {APP}/{APP}.Main paused=false}}\n",
        f"  mCurrentFocus=null\n  mFocusedApp=ActivityRecord{{9f u0 {APP}/.Main t12}}\n",
        f"  mFocusedApp=AppWindowToken{{42 token=Token{{41 ActivityRecord{{40 u0 {APP}/.Main t3}}}}}}\n",
        f"  mFocusedApp=AppWindowToken{{42 token=Token{{41 ActivityRecord{{40 {APP}/.Main}}}}}}\n",
        f"    topResumedActivity=ActivityRecord{{9f u0 {APP}/.Main t12}}\n",
        f"    mResumedActivity: ActivityRecord{{9f u10 {APP}/.Main t12}}\n",
        f"  ResumedActivity: ActivityRecord{{9f u0 {APP}/.Main t12}}\n",
        f"  mFocusedActivity: ActivityRecord{{9f u0 {APP}/.Main t12}}\n",
    ],
)
def test_the_app_in_front_is_found_in_every_wording(dump: str) -> None:
    assert read_foreground(dump) == APP


def test_the_focused_window_takes_precedence_over_the_focused_app() -> None:
    dump = (
        f"mFocusedApp=ActivityRecord{{1 u0 {APP}/.Main t1}}\nmCurrentFocus=Window{{2 u0 com.ask/com.ask.Grant}}\n"
    )
    assert read_foreground(dump) == "com.ask"


@pytest.mark.parametrize("focus", ["Window{2 u0 PopupWindow:5e1}", "Window{2 u0 NotificationShade}", "null"])
def test_a_window_without_an_app_leaves_the_app_behind_it_in_front(focus: str) -> None:
    dump = f"mCurrentFocus={focus}\nmFocusedApp=ActivityRecord{{1 u0 {APP}/.Main t1}}\n"
    assert read_foreground(dump) == APP


@pytest.mark.parametrize("dump", ["", "mCurrentFocus=null", "mCurrentFocus=Window{}", "mFocusedApp=null\n/"])
def test_without_focus_data_there_is_no_foreground_app(dump: str) -> None:
    assert read_foreground(dump) is None


def window(number: int, name: str, title: str, package: str, shown: str) -> str:
    return (
        f"  Window #{number} Window{{{name} u0 {title}}}:\n"
        f"    mDisplayId=0 rootTaskId=5 mSession=Session{{ab 1:u0}} mClient=android.os.BinderProxy@1\n"
        f"    mOwnerUid=10123 showForAllUsers=false package={package} appop=NONE\n    {shown}\n"
    )


NEW, OLD = "isOnScreen=true\n    isVisible=true", "mHasSurface=true isReadyForDisplay()=true canReceiveKeys()=true"
NEW_HIDDEN, OLD_HIDDEN = "isOnScreen=false\n    isVisible=false", "mHasSurface=false isReadyForDisplay()=false"
FRONT = f"  mCurrentFocus=Window{{c u0 {APP}/{APP}.Main}}\n"


@pytest.mark.parametrize(("shown", "hidden"), [(NEW, NEW_HIDDEN), (OLD, OLD_HIDDEN)])
def test_only_windows_that_can_be_seen_count(shown: str, hidden: str) -> None:
    dump = (
        window(0, "a", "StatusBar", "com.android.systemui", shown)
        + window(1, "b", "InputMethod", "com.keys", hidden)
        + window(2, "c", f"{APP}/{APP}.Main", APP, shown)
        + window(3, "d", "com.home/com.home.Launcher", "com.home", shown)
    )
    assert read_windows(dump + FRONT) == Windows(APP, None, 3)


TYPED = "mAttrs={(0,0)(fillxfill) sim={adjust=pan} ty=%s fmt=TRANSLUCENT}\n    isOnScreen=true\n    isVisible=true"


@pytest.mark.parametrize(
    ("title", "package", "shown"),
    [
        ("InputMethod", "com.keys", NEW),
        ("x", "com.keys", TYPED % "INPUT_METHOD"),
        ("x", "com.keys", TYPED % "2011"),
        ("GestureStubLeft", "com.miui.home", NEW),
        ("Taskbar", "com.google.android.apps.nexuslauncher", NEW),
        ("x", "com.google.android.apps.nexuslauncher", TYPED % "NAVIGATION_BAR_PANEL"),
        ("Edge panels", "com.samsung.android.app.cocktailbarservice", NEW),
        ("NavigationBar0", "com.android.systemui", NEW),
        ("com.android.systemui.ImageWallpaper", "com.wall", TYPED % "WALLPAPER"),
    ],
)
def test_the_keyboard_and_bars_are_no_overlays(title: str, package: str, shown: str) -> None:
    dump = window(0, "b", title, package, shown) + window(1, "c", f"{APP}/{APP}.Main", APP, NEW)
    assert read_windows(dump + FRONT) == Windows(APP, None, 2)


def test_a_window_of_another_app_over_the_front_is_an_overlay() -> None:
    dump = window(0, "b", "bubble", "com.chat", TYPED % "APPLICATION_OVERLAY")
    dump += window(1, "c", f"{APP}/{APP}.Main", APP, NEW)
    assert read_windows(dump + FRONT) == Windows(APP, "com.chat", 2)


OTHER = "com.other"


def display(number: int, package: str | None, more: str = "") -> str:
    focus = "null" if package is None else f"Window{{d{number} u0 {package}/{package}.Main}}"
    return (
        f"  Display: mDisplayId={number} (organized)\n    init=100x200 160dpi cur=100x200 app=100x190\n{more}"
        f"  mCurrentFocus={focus}\n"
    )


@pytest.mark.parametrize(
    "dump",
    [
        display(0, None) + display(2, APP),
        display(0, OTHER) + display(2, APP) + "WINDOW MANAGER WINDOWS\n  mTopFocusedDisplayId=2\n",
        display(2, APP) + display(0, OTHER) + "WINDOW MANAGER WINDOWS\n  mFocusedDisplayId = 2\n",
        display(0, APP) + display(2, None),
        display(2, None) + display(0, APP),
        (display(0, APP) + display(2, None)).replace("\n", "\r\n"),
    ],
)
def test_the_app_of_the_focused_display_is_in_front(dump: str) -> None:
    assert read_foreground(dump) == APP


def test_windows_of_other_displays_do_not_count() -> None:
    dump = display(0, APP) + display(2, None) + "WINDOW MANAGER WINDOWS\n"
    dump += window(0, "b", "mirror", "com.mirror", NEW).replace("mDisplayId=0", "mDisplayId=2")
    dump += window(1, "d0", f"{APP}/{APP}.Main", APP, NEW)
    assert read_windows(dump) == Windows(APP, None, 1)


def test_a_focused_window_of_another_app_is_an_overlay() -> None:
    dump = window(0, "a", "Application Not Responding: x", "android", NEW) + window(1, "c", f"{APP}/x", APP, NEW)
    dump += f"  mCurrentFocus=Window{{a u0 Application Not Responding: x}}\n  mFocusedApp=ActivityRecord{{1 u0 {APP}/x t1}}\n"
    assert read_windows(dump) == Windows(APP, "android", 2)


def test_a_bar_with_the_focus_is_an_overlay_where_no_display_has_the_focus() -> None:
    """Until Android 9 the focus is not part of a display."""
    shade = window(0, "a", "NotificationShade", "com.android.systemui", NEW)
    dump = f"  Display: mDisplayId=0\nWINDOW MANAGER WINDOWS\n{shade}{window(1, 'c', f'{APP}/x', APP, NEW)}"
    dump += f"  mCurrentFocus=Window{{a u0 NotificationShade}}\n  mFocusedApp=ActivityRecord{{1 u0 {APP}/x t1}}\n"
    assert read_windows(dump) == Windows(APP, "com.android.systemui", 2)


def test_a_dump_with_nothing_in_it_has_no_windows() -> None:
    assert read_windows("Can't find service: window") == Windows(None, None, 0)


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
