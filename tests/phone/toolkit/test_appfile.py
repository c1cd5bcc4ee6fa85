"""User-defined apps in Python and TOML files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.errors import ClawError
from clawperator.phone.toolkit.appfile import load_apps
from clawperator.testing import SimulatedPhone, simulated_phone

DOOR = """
package = "com.example.door"
label = "Door"
links = ["door:"]

[state]
code = ""
tries = 0

[[screen]]
name = "home"
title = "Front door"

  [[screen.view]]
  kind = "toolbar"
  text = "Front door"

  [[screen.view]]
  kind = "field"
  bind = "code"
  hint = "Code"
  edits = "password"
  do = { go = "open" }

  [[screen.view]]
  kind = "button"
  text = "Open"
  id = "open"
  do = [{ put = { who = "You typed {code}" } }, { go = "open" }]

  [[screen.view]]
  kind = "text"
  text = "Nobody was here"
  unless = "who"

  [[screen.view]]
  kind = "listing"
    [[screen.view.view]]
    kind = "item"
    text = "Later"
    summary = "In a second"
    do = { after = 1000, do = { put = { late = true } } }
    [[screen.view.view]]
    kind = "text"
    text = "It came"
    when = "late"

[[screen]]
name = "open"
kind = "dialog"
title = "Open"

  [[screen.view]]
  kind = "text"
  text = "{who}"

  [[screen.view]]
  kind = "button"
  text = "Close"
  do = { back = true }
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_a_toml_app_shows_its_screens_and_runs_its_steps(tmp_path: Path) -> None:
    with simulated_phone(apps=load_apps(write(tmp_path, "door.toml", DOOR))) as phone:
        phone.person.tap("Door")
        assert phone.events[-1].title == "Front door"
        assert phone.shows("Nobody was here")
        phone.person.tap("Code")
        phone.person.type("42")
        phone.person.back()
        phone.person.tap("Open")
        assert phone.shows("You typed 42")
        phone.person.tap("Close")
        assert not phone.shows("Nobody was here")
        phone.person.tap("Later")
        assert not phone.shows("It came")
        phone.sleep(1)
        assert phone.shows("It came")


def test_a_link_opens_the_app_that_handles_it(tmp_path: Path) -> None:
    with simulated_phone(apps=load_apps(write(tmp_path, "door.toml", DOOR))) as phone:
        assert phone.phone.view("door:front")
        assert phone.foreground() == "com.example.door"


def test_a_python_file_provides_every_app_it_defines(tmp_path: Path) -> None:
    source = """
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.views import column, text
one, two = App("com.example.one", "One"), App("com.example.two", "Two")
for app in (one, two):
    app.screen("home")(lambda context: column(text("hello")))
"""
    assert [app.label for app in load_apps(write(tmp_path, "apps.py", source))] == ["One", "Two"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[state]", "[state"), "door.toml"),
        (('label = "Door"', ""), "label"),
        (('"com.example.door"', '"com example"'), "package name"),
        (('kind = "toolbar"', 'kind = "tool"'), "kind must be one of"),
        (('bind = "code"', ""), "requires bind"),
        (('go = "open" }]', 'go = "nowhere" }]'), "'nowhere'"),
        (('hint = "Code"', "hint = 5"), "hint"),
        (('text = "Front door"', 'txet = "Front door"'), "'txet'"),
        (('edits = "password"', 'edits = "email"'), "valid values: text, number, password"),
        (("{ back = true }", "{ fly = true }"), "invalid step"),
        (('kind = "dialog"', 'kind = "balloon"'), "activity, dialog or sheet"),
        (('label = "Door"', 'label = "Door"\nhome = "cellar"'), "'cellar'"),
        (('kind = "toolbar"', "kind = {}"), "screen 'home', view 1: kind must be one of"),
        (('kind = "dialog"', "kind = []"), "screen 'open': kind must be activity"),
        (('title = "Open"', "title = {}"), "screen 'open': title: Expected"),
        (('links = ["door:"]', "links = 5"), "the file: links: Expected"),
        (('unless = "who"', "unless = {}"), "view 4: unless: Expected"),
        (('hint = "Code"', "width = inf"), "view 2: width: Expected"),
        (("after = 1000", "after = 1" + "0" * 400), "invalid step"),
        (("tries = 0", "tries = " + "9" * 5_000), "4300 digits"),
        (("tries = 0", "tries = " + "[" * 30_000), "nested too deeply"),
    ],
)
def test_an_error_names_its_position(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    assert change[0] in DOOR
    with pytest.raises(ClawError) as caught:
        load_apps(write(tmp_path, "door.toml", DOOR.replace(*change, 1)))
    assert caught.value.code == "PHONE_APP_INVALID"
    assert expected in caught.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("app.py", "1/0"),
        ("app.py", "x = 1"),
        ("app.py", "def"),
        ("app.txt", ""),
        ("app.toml", ""),
        ("app.py", "raise SystemExit(1)"),
    ],
)
def test_a_file_without_an_app_is_refused(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ClawError) as caught:
        load_apps(write(tmp_path, name, text))
    assert caught.value.code == "PHONE_APP_INVALID"


def test_an_error_of_a_python_file_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(ClawError) as caught:
        load_apps(write(tmp_path, "app.py", "def broken():\n    return 1 / 0\n\nbroken()\n"))
    assert "app.py: line 2: ZeroDivisionError: division by zero" in caught.value.message


def test_a_missing_file_is_refused() -> None:
    for name in ("/nonexistent/app.py", "/nonexistent/app.toml"):
        with pytest.raises(ClawError) as caught:
            load_apps(name)
        assert caught.value.code == "PHONE_APP_INVALID"


def test_an_app_that_raises_crashes_and_the_phone_keeps_running(tmp_path: Path) -> None:
    source = """
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.views import button, column
app = App("com.example.crash", "Crash")
@app.screen("home")
def home(context):
    return column(button("Handler", lambda context: 1 / 0), button("Screen", lambda context: context.go("bad")),
                  button("Nowhere", lambda context: context.go("nowhere")))
@app.screen("bad")
def bad(context):
    raise ValueError("cannot be shown")
"""
    with simulated_phone(apps=load_apps(write(tmp_path, "crash.py", source))) as phone:
        for label in ("Handler", "Screen", "Nowhere"):
            phone.open_app("com.example.crash")
            phone.person.tap(label)
            assert phone.shows("Crash"), "the launcher is back"
            assert phone.phone.process_of("com.example.crash") is None
        assert phone.shell_script("logcat -d -s AndroidRuntime:E").text.count("FATAL EXCEPTION: main") == 3


def test_a_toml_view_handles_a_double_tap_and_a_long_press(tmp_path: Path) -> None:
    file = tmp_path / "photo.toml"
    file.write_text(
        'package = "com.example.photo"\nlabel = "Photo"\n[[screen]]\nname = "home"\n'
        '  [[screen.view]]\n  kind = "button"\n  text = "Photo {what}"\n'
        '  do = { put = { what = "opened" } }\n'
        '  double = { put = { what = "zoomed" } }\n'
        '  hold = { put = { what = "marked" } }\n[state]\nwhat = "new"\n'
    )
    with simulated_phone(apps=load_apps(str(file))) as phone:
        phone.open_app("com.example.photo")
        seen = []
        for script in ("input tap X", "input tap X; input tap X", "input swipe X X 700"):
            found = phone.find(text_contains="Photo ")
            assert found is not None
            phone.sleep(1)
            phone.shell_script(script.replace("X", "{} {}".format(*found.bounds.centre)))
            seen += [label for label in phone.labels() if label.startswith("Photo ")]
    assert seen == ["Photo opened", "Photo zoomed", "Photo marked"]


PIZZA = """
package = "com.example.pizza"
label = "Pizza"
[state]
cheese = false
size = "large"
[[screen]]
name = "home"
  [[screen.view]]
  kind = "toolbar"
    [[screen.view.view]]
    kind = "title"
    text = "Pizza place"
    [[screen.view.view]]
    kind = "icon"
    text = "More"
  [[screen.view]]
  kind = "switch"
  text = "Extra cheese, {size}"
  bind = "cheese"
  [[screen.view]]
  kind = "button"
  text = "Order"
  do = { go = "sure" }
[[screen]]
name = "sure"
kind = "dialog"
title = "A {size} one?"
"""


@pytest.fixture
def pizza(tmp_path: Path) -> Iterator[SimulatedPhone]:
    (tmp_path / "pizza.toml").write_text(PIZZA)
    with simulated_phone(apps=load_apps(str(tmp_path / "pizza.toml"))) as phone:
        phone.open_app("com.example.pizza")
        yield phone


def test_a_switch_is_found_and_switched_by_its_text(pizza: SimulatedPhone) -> None:
    label = "Extra cheese, large"
    found = pizza.find(label)
    assert found is not None
    assert found.class_name == "android.widget.Switch"
    assert not found.flag("checked")
    pizza.click(label)
    found = pizza.find(label)
    assert found is not None
    assert found.flag("checked")


def test_the_title_of_a_toolbar_is_at_the_left_and_its_icons_at_the_right(pizza: SimulatedPhone) -> None:
    title, icon = pizza.find("Pizza place"), pizza.find("More")
    assert title is not None
    assert icon is not None
    width = pizza.phone.windows.display.width
    assert title.bounds.left < width // 20
    assert icon.bounds.right > width - width // 20


def test_a_dialog_shows_its_title(pizza: SimulatedPhone) -> None:
    pizza.click("Order")
    title = pizza.find("A large one?")
    assert title is not None
    assert title.resource_id == "android:id/alertTitle"
