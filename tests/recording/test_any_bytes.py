"""Any input gives one document and exit code 0 or 1."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.recording.samples import click, typed, window, write
from tests.support.running import Ran, clawperator


def _corpus(folder: Path) -> list[bytes]:
    good = write(folder / "g.ndjson", [window(0), click(1), typed(2, "é😀")]).read_bytes()
    clawperator("recording", "export", "--input", str(folder / "g.ndjson"))
    return [good, (folder / "g.export.json").read_bytes(), b'{"skillResult":{"contractVersion":"1.0.0"}}']


@st.composite
def damaged(draw: st.DrawFn, corpus: list[bytes]) -> bytes:
    """A good file with pieces cut out, doubled, or replaced."""
    data = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(1, 4))):
        i = draw(st.integers(0, len(data)))
        j = min(len(data), i + draw(st.integers(0, 30)))
        data = (
            data[:i]
            + draw(st.sampled_from([b"", b"\0", b"\xff", b"null", b"{", b'"', b"[", b"-1e9", data[i:j] * 2]))
            + data[j:]
        )
    return data


def ends_well(ran: Ran) -> None:
    assert ran.code in (0, 1)
    assert isinstance(ran.json, dict)
    assert ran.json.get("code") != "UNKNOWN"
    assert "Traceback" not in ran.err


def feed(folder: Path, data: bytes) -> None:
    path = folder / "x"
    path.write_bytes(data)
    for verb in ("parse", "export", "repair"):
        ends_well(clawperator("recording", verb, "--input", str(path)))
    ends_well(clawperator("recording", "export", "--input", str(path), "--snapshots", "include"))
    ends_well(clawperator("recording", "compare", "--baseline", str(path), "--result", str(path)))
    ends_well(clawperator("exec", str(path), "--validate-only"))


@pytest.mark.random
@given(data=st.binary(max_size=300))
@example(data=b"")
@example(data=b"{" * 5_000)
@example(data=b"\xef\xbb\xbf")
def test_any_byte_string_ends_in_a_document(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    feed(tmp_path_factory.mktemp("b"), data)


@pytest.mark.random
@given(st.data())
def test_any_damage_to_a_good_file_ends_in_a_document(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("d")
    feed(folder, data.draw(damaged(_corpus(folder))))
