"""Mutation fuzzing: every reader gets mutated inputs and may fail with typed errors only."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from soak.mutate import mutated
from soak.runner import Run


class Target(Struct, frozen=True):
    """A reader. ``seeds`` are valid inputs; ``open`` prepares a folder and returns the function to call."""

    name: str
    seeds: Sequence[bytes]
    open: Callable[[Path], Callable[[bytes], object]]


def fuzz(run: Run, targets: Sequence[Target]) -> None:
    """Try every seed as it is, then mutations of random ones, target by target."""
    calls = []
    for target in targets:
        folder = run.folder / target.name.replace(" ", "-")
        folder.mkdir()
        calls.append(target.open(folder))
        if run.part == 0:
            for seed in target.seeds:
                run.check(target.name, seed, calls[-1])
    while run.goes_on():
        for target, call in zip(targets, calls, strict=True):
            for _ in range(20):
                run.check(target.name, mutated(run.random, run.random.choice(target.seeds), target.seeds), call)


def reads(function: Callable[[bytes], object]) -> Callable[[Path], Callable[[bytes], object]]:
    """The ``open`` of a reader of bytes."""
    return lambda _: function


def reads_file(name: str, function: Callable[[str], object]) -> Callable[[Path], Callable[[bytes], object]]:
    """The ``open`` of a reader of a file with this name."""

    def prepare(folder: Path) -> Callable[[bytes], object]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def call(data: bytes) -> object:
            path.write_bytes(data)
            return function(str(path))

        return call

    return prepare
