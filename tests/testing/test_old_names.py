"""Names and calls of earlier versions, kept for one release."""

from collections.abc import Callable

import pytest

from clawperator import testing
from clawperator.testing import ShellResult, SimulatedPhone

SETTINGS = "com.android.settings"


@pytest.mark.parametrize(("old", "new"), [("BoxedPhone", "SimulatedPhone"), ("start_phone", "simulated_phone")])
def test_an_old_name_works_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(testing, old) is getattr(testing, new)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = testing.nothing


@pytest.mark.parametrize(
    ("call", "new"),
    [
        (lambda phone: phone.launch(SETTINGS), "use open_app"),
        (lambda phone: phone.run({"type": "snapshot_ui"}, {"type": "snapshot_ui"}), r"use run\(\[a, b\]\)"),
        (lambda phone: phone.run({"type": "snapshot_ui"}, timeout_ms=5_000), "use timeout, in seconds"),
        (lambda phone: phone.execute({"type": "snapshot_ui"}), "use run"),
        (lambda phone: phone.wait(2), "use sleep"),
        (lambda phone: phone.find(textContains="sett"), "use text_contains="),
        (lambda phone: phone.find_all(resourceId="x"), "use id="),
        (lambda phone: phone.shows(contentDescEquals="x"), "use desc="),
        (lambda phone: phone.person.tap(textEquals="Settings"), "use text="),
        (lambda phone: phone.shell("echo a; exit 3"), "use shell_script"),
        (lambda phone: phone.shell("cat", b"in", max_bytes=10), "use shell_script"),
    ],
)
def test_an_old_call_works_and_its_warning_points_at_the_caller(
    call: Callable[[SimulatedPhone], object], new: str, phone: SimulatedPhone
) -> None:
    with pytest.warns(DeprecationWarning, match=new) as caught:
        call(phone)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("ignore:.*is an old name:DeprecationWarning")
def test_old_calls_have_their_old_results(phone: SimulatedPhone) -> None:
    assert phone.shell("echo a; echo b >&2; exit 3") == ShellResult(3, "a\n", "b\n")  # type: ignore[comparison-overlap]
    phone.launch(SETTINGS)  # type: ignore[attr-defined]
    before = phone.clock.monotonic()
    phone.wait(2)  # type: ignore[arg-type]
    assert phone.foreground() == SETTINGS
    assert phone.clock.monotonic() == before + 2
