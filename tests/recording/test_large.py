"""Large recordings: documents that are read in pages have the same results, in little memory."""

import tracemalloc
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given

from clawperator.recording import export
from clawperator.recording.compare.compare import compare_recording
from clawperator.recording.describe import describe_file
from clawperator.recording.export import PagedList, export_recording, read_export, read_export_file
from tests.recording.samples import back, click, event_lists, scroll, typed, window, write

MB = 1_000_000


def session(count: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = Random(seed)
    makers: tuple[Callable[[int], dict[str, Any]], ...] = (
        lambda seq: window(seq, title=rng.choice("abcdefgh"), snapshot=None),
        lambda seq: click(seq, f"Row {rng.randrange(50)}", snapshot=None),
        lambda seq: typed(seq, rng.choice("xyz"), "com.android.settings"),
        scroll,
        back,
    )
    return [rng.choices(makers, (3, 3, 2, 2, 1))[0](seq) for seq in range(count)]


def exported(folder: Path, events: list[dict[str, Any]], name: str = "a") -> Path:
    source, out = write(folder / f"{name}.ndjson", events), folder / f"{name}.export.json"
    export_recording(str(source), str(out))
    return out


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every export in pages of some events."""
    monkeypatch.setattr(export, "LARGE_BYTES", 0)
    monkeypatch.setattr(export, "_PAGE", 1_000)


def rendered(path: Path, *, pretty: bool = False) -> bytes:
    out = BytesIO()
    describe_file(str(path)).write_to(out, pretty=pretty)
    return out.getvalue()


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_an_export_in_pages_has_the_same_events(tmp_path: Path, count: int) -> None:
    path = exported(tmp_path, session(count))
    with path.open("rb") as file:
        paged = read_export_file(file)
        whole = read_export(path.read_bytes())
    assert isinstance(paged.events, PagedList) is (count > 0)
    assert [list(paged.events), list(paged.events)] == [whole.events] * 2
    assert (len(paged.events), paged.session, paged.timeline) == (count, whole.session, whole.timeline)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "change",
    [
        lambda data: msgspec.json.encode(msgspec.json.decode(data)),
        lambda data: msgspec.json.format(data, indent=4),
        lambda data: data.replace(b"\n    },", b"\n     },"),
    ],
    ids=["compact", "other indent", "other places"],
)
def test_an_export_in_another_format_is_read_too(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = exported(tmp_path, session(50))
    expected = rendered(path)
    path.write_bytes(change(path.read_bytes()))
    assert rendered(path) == expected


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    "change", [(b'"seq": 7,', b'"seq": "7",'), (b'"seq": 7,', b'"seq": 7'), (b"\n  ],", b"\n  ")]
)
def test_an_invalid_export_has_the_same_error_in_pages(tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    path = exported(tmp_path, session(30))
    path.write_bytes(path.read_bytes().replace(*change, 1))
    with pytest.raises(ValueError, match=r".+") as whole:
        read_export(path.read_bytes())
    with path.open("rb") as file, pytest.raises(ValueError, match=r".+") as paged:
        read_export_file(file)
    assert str(paged.value) == str(whole.value)


@pytest.mark.parametrize("strategy", ["derived", "solax_heuristic", None])
def test_a_comparison_in_pages_has_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Any
) -> None:
    first = session(300)
    paths = [exported(tmp_path, first, "a"), exported(tmp_path, session(300, 2), "b")]
    paths.append(exported(tmp_path, [e for e in first if e["seq"] % 9], "c"))
    pairs = [(str(a), str(b)) for a in paths for b in paths]
    whole = [compare_recording(*pair, strategy=strategy) for pair in pairs]
    monkeypatch.setattr(export, "LARGE_BYTES", 0)
    monkeypatch.setattr(export, "_PAGE", 1_000)
    assert [compare_recording(*pair, strategy=strategy) for pair in pairs] == whole


@pytest.mark.random
@given(event_lists)
def test_a_description_in_pieces_is_the_encoded_document(
    tmp_path_factory: pytest.TempPathFactory, events: list[dict[str, Any]]
) -> None:
    path = write(tmp_path_factory.mktemp("x") / "a.ndjson", events)
    narrative = describe_file(str(path)).narrative
    assert rendered(path) == msgspec.json.encode(narrative)
    assert rendered(path, pretty=True) == msgspec.json.format(msgspec.json.encode(narrative), indent=2)


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "LARGE_BYTES", 0)
    path = exported(tmp_path, session(40_000))

    class Discard(BytesIO):
        def write(self, data: Any, /) -> int:
            return len(data)

    # Kept in memory, the events alone take 20 MB and the described steps as much.
    assert peak(lambda: describe_file(str(path)).write_to(Discard(), pretty=False)) < 10 * MB
    assert peak(lambda: compare_recording(str(path), str(path), strategy="derived")) < 12 * MB
