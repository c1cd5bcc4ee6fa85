"""Fuzz one target with atheris: ``python -m soak.coverage_process TARGET FOLDER SECONDS SEED``.

Nothing of the product may be imported before atheris can instrument it.
"""

import sys
from pathlib import Path

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]


def main(name: str, folder: str, seconds: str, seed: str) -> None:
    work = Path(folder) / "work"
    work.mkdir()
    with atheris.instrument_imports(include=["clawperator"]):
        from clawperator.errors import ClawError
        from soak.coverage import TARGETS

        call = TARGETS[name].open(work)

        def try_one(data: bytes) -> None:
            try:
                call(data)
            except ClawError:
                return

        for valid in TARGETS[name].seeds:
            try_one(valid)  # loads the modules that are imported where they are used

    options = [
        *(f"-max_total_time={seconds}", f"-seed={seed}", "-print_final_stats=1", "-timeout=30", "-max_len=20000"),
        *(f"-artifact_prefix={folder}/found-", "-rss_limit_mb=2048", f"{folder}/corpus"),
    ]
    atheris.Setup([sys.argv[0], *options], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
