"""The paths that targets of the Makefile name."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_folders_and_files_of_make_quick_exist() -> None:
    text = (REPOSITORY / "Makefile").read_text().replace("\\\n", " ")
    found = re.search(r"^QUICK := \$\(addprefix tests/,(.*)\)$", text, re.MULTILINE)
    assert found is not None
    names = found[1].split()
    assert len(names) > 10
    assert [name for name in names if not (REPOSITORY / "tests" / name).exists()] == []
