"""What all tests share: how to run the command, and how many random examples to draw."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# What a shell starts in the background ignores the keyboard, and so would everything that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
def _nobody_here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches what belongs to the person who runs it: the home folder, phones, an adb server.

    Nothing listens at port 1, and there is no adb to start a server with. Tests that want one bring their own.
    """
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "1")
    monkeypatch.setenv("ADB_PATH", str(home / "no-adb"))
    ours = (
        *("HOME", "OPERATOR_PACKAGE", "LOG_DIR", "LOG_LEVEL", "BIN", "DEVICE_ID"),
        *("SKILLS_REGISTRY", "SKILLS_REPO", "SKILL_AGENT_CLI", "SKILL_INPUTS"),
    )
    for name in ("ADB_SERVER_SOCKET", *(f"CLAWPERATOR_{word}" for word in ours)):
        monkeypatch.delenv(name, raising=False)
