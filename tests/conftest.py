"""What all tests share: how to run the command, and how many random examples to draw."""

import os

import pytest
from hypothesis import HealthCheck, settings

# The suite draws the same examples each time, so that red and green mean something; the soak looks for new ones.
settings.register_profile(
    "default",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("soak", settings.get_profile("default"), max_examples=2_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True)
def _empty_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the home folder of the person who runs it."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
