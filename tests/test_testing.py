"""Shipped test doubles, and the old names that are kept for one release."""

import pytest

from clawperator import testing
from clawperator.connection import ConnectedPhone
from clawperator.device.adb.client import Device, Endpoint
from clawperator.errors import TargetError
from clawperator.testing import ScriptedBackend


@pytest.mark.parametrize(("old", "new"), [("BoxedPhone", "SimulatedPhone"), ("start_phone", "simulated_phone")])
def test_an_old_name_works_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=new):
        assert getattr(testing, old) is getattr(testing, new)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        _ = testing.nothing


def test_a_scripted_backend_replaces_a_device() -> None:
    backend = ScriptedBackend({"text": "21 °C"}, {"error": "NODE_NOT_FOUND", "message": "no node"})
    phone = ConnectedPhone(Device("none", Endpoint("127.0.0.1", 1)), backend=backend)
    assert phone.read("Temperature") == "21 °C"
    with pytest.raises(TargetError):
        phone.read("Humidity")
    assert [plan.execution.actions[0].type for plan in backend.plans] == ["read_text", "read_text"]
