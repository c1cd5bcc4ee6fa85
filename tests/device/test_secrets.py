"""Secret texts of a run do not leave it, in errors neither."""

import pytest

from clawperator.contract import StepResult, TextSource
from clawperator.device.secrets import SecretReader
from clawperator.errors import ClawError

SECRET = "correct horse 7"


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> SecretReader:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    reader = SecretReader("claw-1")
    assert reader.read(TextSource(env="SHOP_PASSWORD")) == SECRET
    return reader


def test_an_error_does_not_quote_a_secret_from_the_devices_log(reader: SecretReader) -> None:
    error = ClawError(
        "RESULT_ENVELOPE_TIMEOUT",
        f"no result after {SECRET}",
        hint=f"Check {SECRET}.",
        details={"events": [f"enter_text {SECRET}"], "elapsedMs": 12},
        extra={"stepResults": [StepResult("a1", "read_text", True, {"text": f"is {SECRET}"})]},
        operation="execute",
        target="claw-1",
        after_effect=True,
    )
    hidden = reader.mask_error(error)
    assert SECRET not in repr((hidden.message, hidden.hint, hidden.details, hidden.extra))
    assert hidden.message == "no result after ••••"
    assert hidden.details is not None
    assert hidden.details["elapsedMs"] == 12
    assert (hidden.code, hidden.operation, hidden.target) == (error.code, "execute", "claw-1")
    assert (hidden.retryable, hidden.after_effect) == (error.retryable, True)


def test_an_error_before_a_secret_was_read_stays_as_it_is() -> None:
    error = ClawError("NO_DEVICES", "no device is connected")
    assert SecretReader("claw-1").mask_error(error) is error
