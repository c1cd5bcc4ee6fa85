"""The public test helpers keep their old names for one release."""

import pytest

from clawperator import testing


@pytest.mark.parametrize(("old", "new"), [("BoxedPhone", "SimulatedPhone"), ("start_phone", "simulated_phone")])
def test_an_old_name_works_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(testing, old) is getattr(testing, new)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = testing.nothing
