"""Decoding JSON: first use of a type by many threads at once, and the one exception."""

import subprocess
import sys

import pytest

from clawperator._base.typed import decode

SCRIPT = """
import sys, threading
sys.setswitchinterval(0.00005)
from clawperator.contract.execution import validate
document = {
    "commandId": "a", "taskId": "a", "source": "s", "expectedFormat": "android-ui-automator", "timeoutMs": 5000,
    "actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "x"}}}],
}
together = threading.Barrier(16)
done = []
def check():
    together.wait()
    done.append(validate(document))
threads = [threading.Thread(target=check) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(0 if len(done) == 16 else 1)
"""


def test_threads_that_validate_at_once_do_not_end_the_process() -> None:
    for _ in range(8):
        ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "data", [b"", b"{", b'"\xff"', "x\ud800", b"[" * 100_000, "9" * 5_000, b'"\\ud800"', "NaN"]
)
def test_whatever_is_not_json_is_a_value_error(data: bytes | str) -> None:
    for kind in (object, dict[str, int]):
        with pytest.raises(ValueError):
            decode(data, kind)
