"""Secret texts of a run do not leave it, in errors neither."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator._base.secrets import declared_texts
from clawperator.contract.action_params import TextSource
from clawperator.contract.limits import MAX_MATCHER_VALUE_LENGTH
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.device.run.secrets import SecretReader, active_recording, is_declared, note_recordings
from clawperator.errors import ClawError
from clawperator.policy.gate import PolicyGate, enforcing
from clawperator.policy.rules import Policy

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
    assert hidden.extra["stepResults"] == [StepResult("a1", "read_text", True, {"text": "is ••••"})]
    assert (hidden.code, hidden.operation, hidden.target) == (error.code, "execute", "claw-1")
    assert (hidden.retryable, hidden.after_effect) == (error.retryable, True)


def test_a_list_and_a_tuple_in_an_error_are_masked(reader: SecretReader) -> None:
    error = ClawError("NO_DEVICES", "none", details={"a": [SECRET, 1, None], "b": ("x", SECRET)}, retryable=True)
    hidden = reader.mask_error(error)
    assert hidden.details == {"a": ["••••", 1, None], "b": ["x", "••••"]}
    assert hidden.retryable
    assert hidden.own_hint == error.own_hint


def test_the_data_of_steps_are_masked(reader: SecretReader) -> None:
    steps = [StepResult("a1", "read_text", True, {"text": f"is {SECRET}"}), StepResult("a2", "sleep", False, {})]
    masked = reader.mask(ResultEnvelope("c", "t", "failed", steps, f"no {SECRET}"))
    shown = [StepResult("a1", "read_text", True, {"text": "is ••••"}), steps[1]]
    assert masked == ResultEnvelope("c", "t", "failed", shown, "no ••••")


def test_an_error_before_a_secret_was_read_stays_as_it_is() -> None:
    error = ClawError("NO_DEVICES", "no device is connected")
    assert SecretReader("claw-1").mask_error(error) is error


# Sources


def secret_file(folder: Path, content: bytes, mode: int = 0o600) -> TextSource:
    path = folder / "secret.txt"
    path.write_bytes(content)
    path.chmod(mode)
    return TextSource(file=str(path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"hunter2", "hunter2"),
        (b"hunter2\n", "hunter2"),
        (b"hunter2\r\n", "hunter2"),
        (b" a b \n\n \n", " a b "),
        ("ü€😀".encode(), "ü€😀"),
        ("😀".encode() * MAX_MATCHER_VALUE_LENGTH + b"\r\n", "😀" * MAX_MATCHER_VALUE_LENGTH),
    ],
)
def test_a_file_holds_one_line(tmp_path: Path, content: bytes, text: str) -> None:
    assert SecretReader("claw-1").read(secret_file(tmp_path, content)) == text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n", "the file is empty"),
        (b"one\ntwo\n", "it has more than one line"),
        (b"\xff", "it is not UTF-8 text"),
        (b"x" * (MAX_MATCHER_VALUE_LENGTH + 1), f"it is longer than {MAX_MATCHER_VALUE_LENGTH} characters"),
        ("😀".encode() * MAX_MATCHER_VALUE_LENGTH + b"\r\n\n", "it is longer than"),
        ("😀".encode() * (MAX_MATCHER_VALUE_LENGTH + 1), "it is longer than"),
        (b"one\n" + b" " * 4 * MAX_MATCHER_VALUE_LENGTH + b"two", "it is longer than"),
    ],
)
def test_another_file_is_no_secret(tmp_path: Path, content: bytes, reason: str) -> None:
    source = secret_file(tmp_path, content)
    with pytest.raises(ClawError) as error:
        SecretReader("claw-1").read(source)
    assert error.value.code == "SECRET_UNAVAILABLE"
    assert error.value.message.startswith(f"cannot read the secret {source.file}: {reason}")
    assert error.value.hint.startswith("Export the variable, or write the text into a file of one line")
    assert (error.value.operation, error.value.target) == ("secret", source.file)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClawError, match="gone: No such file or directory"):
        SecretReader("claw-1").read(TextSource(file=str(tmp_path / "gone")))


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601])
def test_a_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    source = secret_file(tmp_path, b"hunter2", mode)
    with pytest.raises(ClawError) as error:
        SecretReader("claw-1").read(source)
    assert (error.value.code, error.value.target) == ("SECRET_UNAVAILABLE", source.file)
    assert error.value.message == f"other users may read {source.file}"
    assert error.value.hint == f"Run 'chmod 600 {source.file}'."


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the environment variable is not set"),
        ("", "the environment variable is not set"),
        ("x" * (MAX_MATCHER_VALUE_LENGTH + 1), f"it is longer than {MAX_MATCHER_VALUE_LENGTH} characters"),
    ],
)
def test_a_variable_without_a_usable_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str | None, reason: str
) -> None:
    if value is not None:
        monkeypatch.setenv("SHOP_PASSWORD", value)
    with pytest.raises(ClawError) as error:
        SecretReader("claw-1").read(TextSource(env="SHOP_PASSWORD"))
    assert error.value.message == f"cannot read the secret SHOP_PASSWORD: {reason}"


def test_a_variable_may_be_as_long_as_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "x" * MAX_MATCHER_VALUE_LENGTH)
    assert SecretReader("claw-1").read(TextSource(env="SHOP_PASSWORD")) == "x" * MAX_MATCHER_VALUE_LENGTH


# Under a policy


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "clawperator.toml"


@pytest.fixture
def _policy() -> Iterator[None]:
    with enforcing(PolicyGate(Policy())):
        yield


@pytest.mark.usefixtures("_policy")
def test_an_agent_reads_only_the_variables_that_the_user_names(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    with pytest.raises(ClawError) as error:
        SecretReader("claw-1").read(TextSource(env="SHOP_PASSWORD"))
    assert error.value.code == "PERMISSION_DENIED"
    assert error.value.message == "agents may not read the secret SHOP_PASSWORD"
    assert error.value.hint == f'The user allows it with secrets = ["SHOP_PASSWORD"] in {config}.'
    assert (error.value.operation, error.value.target) == ("secret", "SHOP_PASSWORD")

    config.write_text('secrets = ["SHOP_PASSWORD"]\n')
    assert SecretReader("claw-1").read(TextSource(env="SHOP_PASSWORD")) == SECRET


@pytest.mark.usefixtures("_policy")
def test_an_agent_reads_only_the_files_that_the_user_names(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = secret_file(tmp_path, b"hunter2")
    monkeypatch.chdir(tmp_path)
    for names in ('["secret.txt"]', f'["{tmp_path}/other.txt"]', '["SHOP_PASSWORD"]'):
        config.write_text(f"secrets = {names}\n")
        with pytest.raises(ClawError) as error:
            SecretReader("claw-1").read(TextSource(file="secret.txt"))
        assert (error.value.code, error.value.target) == ("PERMISSION_DENIED", source.file)

    config.write_text(f'secrets = ["{tmp_path}/other.txt", "{source.file}"]\n')
    assert SecretReader("claw-1").read(TextSource(file="secret.txt")) == "hunter2"


def test_without_a_policy_every_secret_may_be_read(config: Path, tmp_path: Path) -> None:
    config.write_text("secrets = []\n")
    assert SecretReader("claw-1").read(secret_file(tmp_path, b"hunter2")) == "hunter2"


def test_the_policy_of_a_parent_process_holds(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_POLICY", "{}")
    with pytest.raises(ClawError, match="agents may not read"):
        SecretReader("claw-1").read(secret_file(tmp_path, b"hunter2"))
    assert not config.exists()


@pytest.mark.parametrize("variable", [None, "{}"])
def test_the_policy_is_loaded_only_where_one_may_be_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    monkeypatch.delitem(sys.modules, "clawperator.policy.gate")
    source = secret_file(tmp_path, b"hunter2")
    if variable is None:
        assert SecretReader("claw-1").read(source) == "hunter2"
        assert "clawperator.policy.gate" not in sys.modules
        return
    monkeypatch.setenv("CLAWPERATOR_POLICY", variable)
    with pytest.raises(ClawError, match="agents may not read"):
        SecretReader("claw-1").read(source)


def test_a_file_is_declared_in_the_home_folder_and_through_a_link(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    source = secret_file(tmp_path, b"hunter2")
    (tmp_path / "link").symlink_to("secret.txt")
    config.write_text('secrets = ["~/link"]\n')
    assert is_declared(source)
    assert is_declared(TextSource(file=str(tmp_path / "link")))
    assert not is_declared(TextSource(env="link"))


def test_the_declared_texts_are_those_that_can_be_read(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE", "first")
    monkeypatch.setenv("EMPTY", "")
    source = secret_file(tmp_path, b"hunter2\n")
    config.write_text(f'secrets = ["ONE", "EMPTY", "MISSING", "/gone", "{source.file}"]\n')
    assert declared_texts() == ["first", "hunter2"]


# Recordings


def step(action: str, session: str = "demo", *, success: bool = True, **data: str) -> StepResult:
    return StepResult("a1", action, success, {"sessionId": session, **data})


def test_a_recording_is_active_from_its_start_to_its_end(config: Path) -> None:
    assert active_recording("claw-1") is None
    note_recordings("claw-1", [step("sleep"), step("start_recording")])
    assert active_recording("claw-1") == SecretReader("claw-1").active_recording() == "demo"
    assert active_recording("claw-2") is None
    (marker,) = (config.parent / "active-recordings").iterdir()
    assert stat.S_IMODE(marker.stat().st_mode) == 0o600
    assert stat.S_IMODE(marker.parent.stat().st_mode) == 0o700
    assert "claw" not in marker.name

    note_recordings("claw-1", [step("stop_recording")])
    assert active_recording("claw-1") is None
    note_recordings("claw-1", [step("stop_recording")])


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    ("steps", "active"),
    [
        ([step("start_recording", success=False)], None),
        ([step("start_recording", "../x")], None),
        ([step("start_recording", ""), step("start_recording", "b")], "b"),
        ([step("start_recording", "a"), step("start_recording", "b")], "b"),
        ([step("start_recording", "a"), step("stop_recording", success=False)], "a"),
        ([step("start_recording", "a"), step("stop_recording", success=False, error="OTHER")], "a"),
        (
            [
                step("start_recording", "a"),
                step("stop_recording", success=False, error="RECORDING_NOT_IN_PROGRESS"),
            ],
            None,
        ),
        ([step("start_recording", "a"), step("sleep")], "a"),
        ([step("stop_recording"), step("start_recording", "b")], "b"),
    ],
)
def test_the_steps_of_a_run_start_and_stop_recordings(steps: list[StepResult], active: str | None) -> None:
    note_recordings("claw-1", steps)
    assert active_recording("claw-1") == active


@pytest.mark.parametrize("content", [b"", b"../x", b"\xff", b"a\n"])
def test_a_damaged_note_is_no_recording(config: Path, content: bytes) -> None:
    note_recordings("claw-1", [step("start_recording")])
    (marker,) = (config.parent / "active-recordings").iterdir()
    marker.write_bytes(content)
    assert active_recording("claw-1") is None
    assert os.path.exists(marker)
