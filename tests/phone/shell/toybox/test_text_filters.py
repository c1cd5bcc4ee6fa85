"""grep and sed: POSIX syntax, and long lines."""

import pytest

from clawperator.phone.core.phone import Phone
from tests.phone.shell.scripts import run


@pytest.fixture
def phone(tmp_path: object) -> Phone:
    return Phone(folder=str(tmp_path))


def test_a_long_line_of_a_hierarchy_is_searched(phone: Phone) -> None:
    nodes = "".join(f'<node text="t{i}" bounds="[{i},0][{i},9]"/>' for i in range(800))
    phone.storage.write("/sdcard/ui.xml", nodes.encode() + b"\n")
    found = run(phone, 'grep -o \'text="[^"]*"\' /sdcard/ui.xml')
    assert found.out.splitlines()[-1] == 'text="t799"'
    script = r's/.*text="t700" bounds="\[\([0-9]*\),\([0-9]*\)\]\[\([0-9]*\),\([0-9]*\)\]".*/\1 \2 \3 \4/p'
    assert run(phone, f"sed -n '{script}' /sdcard/ui.xml").out == "700 0 700 9\n"


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("echo abxd | sed 's/x*/-/g'", "-a-b-d-\n"),
        ("echo aaa | sed 's/a/b/2'", "aba\n"),
        ("echo aaa | sed 's/a/b/2g'", "abb\n"),
        (r"echo 'a.b*c' | grep -Fo '.b*'", ".b*\n"),
        ("echo 'cat concat' | grep -wo cat", "cat\n"),
        ("printf 'ab\\nabc\\n' | grep -x 'ab\\|x'", "ab\n"),
        (r"echo abab | sed 's/\(ab\)\1/[\1]/'", "[ab]\n"),
        ("echo ABC | grep -io b", "B\n"),
        ("echo 'a**' | sed -E 's/a\\*+/x/'", "x\n"),
        ("echo aab | grep -oE '(a*)+b'", "aab\n"),
        ("echo 'b-^' | grep -o '[--a]'", "-\n^\n"),
        ("echo '$5' | grep -oF '$5'", "$5\n"),
    ],
)
def test_grep_and_sed_use_posix_syntax(phone: Phone, script: str, out: str) -> None:
    assert run(phone, script).out == out
