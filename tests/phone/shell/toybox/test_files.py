"""The file and text commands, compared with toybox and the host's tools."""

import base64
import hashlib
import io
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.toybox import streams
from clawperator.phone.storage.filesystem import SHARED
from tests.phone.shell.scripts import run


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    phone = Phone(folder=str(tmp_path / "phone"))
    yield phone
    phone.close()


@pytest.mark.parametrize(
    ("script", "err"),
    [
        ("ls /nope", "ls: /nope: No such file or directory\n"),
        ("ls /data", "ls: /data: Permission denied\n"),
        ("cat /nope", "cat: /nope: No such file or directory\n"),
        ("cat /sdcard", "cat: /sdcard: Is a directory\n"),
        ("rm /nope", "rm: /nope: No such file or directory\n"),
        ("rm /sdcard/Download", "rm: /sdcard/Download: is directory\n"),
        ("rm /system/bin", "rm: /system/bin: is directory\n"),
        ("rm -rf /system", "rm: /system: Read-only file system\n"),
        ("mkdir /sdcard/Download", "mkdir: '/sdcard/Download': File exists\n"),
        ("mkdir /system/x", "mkdir: '/system/x': Read-only file system\n"),
        ("rmdir /sdcard/Android", "rmdir: /sdcard/Android: Directory not empty\n"),
        ("touch /system/x", "touch: '/system/x': Read-only file system\n"),
        ("cp /nope /sdcard", "cp: /nope: No such file or directory\n"),
        ("cp /sdcard/Download /sdcard/x", "cp: Skipped dir '/sdcard/Download'\n"),
        ("mv /nope /sdcard", "mv: /nope: No such file or directory\n"),
        ("ln -s /sdcard /sdcard/x", "ln: cannot create link from '/sdcard' to '/sdcard/x': Permission denied\n"),
        ("echo x > /system/x", "/system/bin/sh: can't create /system/x: Read-only file system\n"),
        ("cat < /nope", "/system/bin/sh: can't open /nope: No such file or directory\n"),
        ("ls --nope", "ls: Unknown option '-nope' (see \"ls --help\")\n"),
        ("date -s @0", "date: cannot set date: Operation not permitted\n"),
        ("kill 1", "kill: 1: Operation not permitted\n"),
        (
            "echo x > /sdcard/" + "n" * 300,
            f"/system/bin/sh: can't create /sdcard/{'n' * 300}: File name too long\n",
        ),
    ],
)
def test_errors_are_printed_as_toybox_prints_them(phone: Phone, script: str, err: str) -> None:
    assert run(phone, script) == (1, "", err)


def test_files_are_made_copied_moved_and_removed(phone: Phone) -> None:
    ran = run(
        phone,
        "mkdir -p /sdcard/a/b && cd /sdcard/a && echo one > x && cp x y && mv y b && cp -r b c && ls -R . && "
        "cat b/y c/y && rm -r b c x && ls && rm -f nope && rmdir /sdcard/a && ls -d /sdcard/a",
    )
    assert ran.out == ".:\nb\nc\nx\n\n./b:\ny\n\n./c:\ny\none\none\n"
    assert ran.err == "ls: /sdcard/a: No such file or directory\n"


def test_ls_shows_what_it_is_asked_for(phone: Phone) -> None:
    run(
        phone,
        "cd /sdcard/Download; echo hi > b; echo longer > a; touch .hidden; chmod 600 b; touch -d @1600000000 a b",
    )
    assert run(phone, "ls /sdcard/Download").out == "a\nb\n"
    assert run(phone, "ls -a /sdcard/Download").out == ".\n..\n.hidden\na\nb\n"
    assert run(phone, "ls -S -r -1 /sdcard/Download").out == "b\na\n"
    assert run(phone, "ls -ld /sdcard/Download").out.startswith("d")
    rows = run(phone, "ls -l /sdcard/Download").out.splitlines()
    assert rows[2] == "-rw------- 1 u0_a1 media_rw 3 2020-09-13 12:26 b"
    assert run(phone, "cd /sdcard/Download; stat -c '%n %s %a %F %Y' a; stat -c %F .").out == (
        "a 7 660 regular file 1600000000\ndirectory\n"
    )


def test_find_selects_and_acts(phone: Phone) -> None:
    run(phone, "mkdir -p /sdcard/t/u; touch /sdcard/t/a.txt /sdcard/t/u/b.txt /sdcard/t/u/c.png")
    assert run(phone, "find /sdcard/t -name '*.txt'").out == "/sdcard/t/a.txt\n/sdcard/t/u/b.txt\n"
    assert run(phone, "find /sdcard/t -type d").out == "/sdcard/t\n/sdcard/t/u\n"
    assert run(phone, "find /sdcard/t -maxdepth 1 -type f").out == "/sdcard/t/a.txt\n"
    assert run(phone, "cd /sdcard/t; find . ! -name '*.txt' -type f -exec basename {} \\;").out == "c.png\n"
    assert run(phone, "find /sdcard/t -name '*.txt' -delete; find /sdcard/t -type f").out == "/sdcard/t/u/c.png\n"


def test_basename_dirname_and_realpath(phone: Phone) -> None:
    script = "basename /a/b.c .c; basename /; dirname /a/b /a a; realpath /sdcard/Download; readlink /sdcard"
    assert run(phone, script).out == f"b\n/\n/a\n/\n.\n{SHARED}/Download\n{SHARED}\n"


def test_patterns_match_device_files_and_nothing_else(phone: Phone) -> None:
    run(phone, "cd /sdcard/Download; touch a1 a2 b1 .h")
    assert run(phone, "cd /sdcard/Download; echo a* '*' [ab]1 .h* *z").out == "a1 a2 * a1 b1 .h *z\n"
    assert run(phone, "echo /s*card/Down*/a?").out == "/sdcard/Download/a1 /sdcard/Download/a2\n"
    assert run(phone, "echo /../../../../*passwd* /etc/*").out == "/../../../../*passwd* /etc/*\n"


def test_nothing_outside_the_folder_is_read_or_written(phone: Phone, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    run(phone, "ls /")
    (tmp_path / "phone" / SHARED[1:] / "link").symlink_to(tmp_path)
    for path in (
        "/sdcard/link/secret",
        "/../secret",
        "../secret",
        f"/../../..{tmp_path}/secret",
        f"{tmp_path}/secret",
    ):
        for script in (
            f"cat {path}",
            f"echo x > {path}",
            f"cp {path} /sdcard/stolen",
            f"rm -rf {path}",
            f"chmod 777 {path}",
        ):
            assert "secret\n" not in run(phone, script).out
    run(phone, "rm -rf /sdcard/link; rm -rf /sdcard/* /* /..; cp -r / /sdcard/all")
    assert (tmp_path / "secret").read_text() == "secret"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["phone", "secret"]


# The output is compared with the host's own tools where they exist.
TEXTS = [
    "printf 'b\\na\\nb\\n' | sort",
    "printf '10\\n9\\n1\\n' | sort -n | head -n 2",
    "printf '10\\n9\\n1\\n' | sort -rn | tail -n 1",
    "printf 'a\\na\\nb\\n' | uniq -c | tr -s ' '",
    "printf 'x 2\\ny 1\\n' | sort -k 2",
    "printf 'a:b:c\\nd\\n' | cut -d: -f1,3",
    "echo abcdef | cut -c2-4",
    "echo hello | tr a-y b-z; echo 'a  b' | tr -s ' '; echo a1b2 | tr -d 0-9; echo aB | tr '[:upper:]' '[:lower:]'",
    "printf '1\\n2\\n3\\n4\\n' | head -n 2; printf '1\\n2\\n3\\n' | tail -n 2; printf '1\\n2\\n3\\n' | tail -n +2; printf abc | head -c 2",
    "printf 'one two\\nthree\\n' | wc -l; printf abc | wc -c",
    "seq 3; seq 2 4; seq 5 -2 1",
    "printf 'foo\\nbar\\nFoo\\n' | grep foo; printf 'foo\\nbar\\n' | grep -v foo; printf 'foo\\nFoo\\n' | grep -ic foo",
    "printf 'a1\\nb22\\n' | grep -oE '[0-9]+'; printf 'a.b\\naxb\\n' | grep -F a.b; printf 'a\\nb\\n' | grep -n b",
    "printf 'a+b\\naab\\n' | grep 'a+b'; printf 'a+b\\naab\\n' | grep 'a\\+b'; printf 'ab\\n(ab)\\n' | grep '(ab)'",
    "printf '1\\n2\\n3\\n4\\n5\\n' | grep -A1 -B1 3; echo foo | grep -q foo; echo $?; echo foo | grep -q bar; echo $?",
    "printf 'cat\\nconcat\\n' | grep -w cat; printf 'cat\\ncats\\n' | grep -x cat; printf 'a\\nb\\n' | grep -e a -e b",
    "echo 'a/b/c' | sed 's/\\//-/g'; echo aaa | sed 's/a/b/2'; echo abc | sed -E 's/(a)(b)/\\2\\1/'; echo abc | sed 's|b|[&]|'",
    "printf '1\\n2\\n3\\n' | sed -n 2p; printf '1\\n2\\n3\\n' | sed 2d; printf '1\\n2\\n3\\n' | sed -n '$p'; printf 'a\\nb\\nc\\n' | sed '/b/,$d'",
    "printf '1\\n2\\n3\\n' | sed 2q; printf 'k=v\\n' | sed 's/^k=//'; echo 'Physical size: 1080x2400' | sed 's/.*: //'",
    "printf 'a b\\nc' | xargs echo; printf 'a\\nb\\n' | xargs -I{} echo x{}y; printf 'a b c' | xargs -n 2 echo",
    "printf '%5s|%-5s|%05d|%x|%c|%%\\n' a b 42 255 xyz; printf '%s %s\\n' a b c",
    "echo hello | base64; echo aGVsbG8K | base64 -d",
    "echo hello | md5sum | cut -c1-32; echo hello | sha256sum | cut -c1-64",
    "date -u -d @1700000000 '+%Y-%m-%d %H:%M:%S %j %a %b'",
]


@pytest.mark.parametrize("script", TEXTS)
def test_text_commands_print_what_real_ones_print(phone: Phone, script: str) -> None:
    dash = shutil.which("dash")
    if dash is None:
        pytest.skip("no shell to compare with")
    real = subprocess.run(
        [dash, "-c", script],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    mine = run(phone, script)
    assert (mine.out, mine.code) == (real.stdout, real.returncode)


def test_an_unknown_character_class_is_an_error(phone: Phone) -> None:
    assert run(phone, "echo a | tr '[:nope:]' b") == (1, "", "tr: bad class '[:nope:]'\n")


def test_echo_escapes_only_when_asked(phone: Phone) -> None:
    assert run(phone, r"echo 'a\tb'; echo -e 'a\tb\0101'; echo -n x; echo -ne 'y\n'; echo -e 'cut\chere'").out == (
        "a\\tb\na\tbA\nxy\ncut"
    )


def test_time_and_user_are_the_phones(phone: Phone) -> None:
    assert run(phone, "date +%s; date +%s%3N").out == "1700000000\n1700000000000\n"
    assert run(phone, "date").out == "Tue Nov 14 22:13:20 UTC 2023\n"
    assert run(phone, "id").out.startswith("uid=2000(shell) gid=2000(shell) groups=2000(shell)")
    assert (
        run(phone, "id -u; whoami; uname; uname -m; which ls").out
        == "2000\nshell\nLinux\naarch64\n/system/bin/ls\n"
    )


def test_tee_and_checksums_process_all_bytes(phone: Phone) -> None:
    data = bytes(range(256)) * 1000
    ran = run(
        phone, "tee /sdcard/copy | sha1sum -; wc -c < /sdcard/copy; base64 -w 0 /sdcard/copy > /sdcard/text", data
    )
    assert ran.out == f"{hashlib.sha1(data).hexdigest()}  -\n256000\n"
    assert phone.storage.read("/sdcard/copy") == data
    assert base64.b64decode(phone.storage.read("/sdcard/text")) == data


def test_every_command_reports_a_full_disk(phone: Phone) -> None:
    run(phone, "echo old > /sdcard/a")
    phone.storage.full = True
    assert (
        run(phone, "echo x > /sdcard/b").err == "/system/bin/sh: can't create /sdcard/b: No space left on device\n"
    )
    assert "No space left on device" in run(phone, "cp /sdcard/a /sdcard/b").err
    assert "100%" in run(phone, "df /sdcard").out
    phone.storage.full = False
    assert run(phone, "cat /sdcard/a").out == "old\n"


def test_a_script_file_runs_when_it_is_executable(phone: Phone) -> None:
    run(phone, "cd /data/local/tmp; echo 'echo ran $1; exit 4' > s.sh; chmod 644 s.sh")
    assert run(phone, "/data/local/tmp/s.sh").code == 126
    assert run(phone, "sh /data/local/tmp/s.sh a") == (4, "ran a\n", "")
    run(phone, "chmod +x /data/local/tmp/s.sh")
    assert run(phone, "cd /data/local/tmp && ./s.sh b") == (4, "ran b\n", "")
    phone.storage.write("/data/local/tmp/elf", b"\x7fELF\0\0", mode=0o755)
    assert run(phone, "/data/local/tmp/elf").code == 126


def test_tail_follows_a_file_that_grows_or_is_truncated(phone: Phone) -> None:
    cancelled = threading.Event()
    next_scripts = iter(["echo two >> /sdcard/f", "echo 3 > /sdcard/f"])

    class Reader(io.BytesIO):
        def write(self, data: bytes) -> int:  # type: ignore[override] # only bytes come
            script = next(next_scripts, None)
            if script is None:
                cancelled.set()
            else:
                run(phone, script)
            return super().write(data)

    run(phone, "echo zero > /sdcard/f; echo one >> /sdcard/f")
    out = Reader()
    status = run_script(
        "tail -n 1 -f /sdcard/f",
        phone=phone,
        stdin=io.BytesIO(),
        stdout=out,
        stderr=io.BytesIO(),
        cancelled=cancelled,
    )
    assert (out.getvalue(), status) == (b"one\ntwo\n3\n", 130)


def test_tail_does_not_follow_stdin(phone: Phone) -> None:
    assert run(phone, "echo piped | tail -f").out == "piped\n"
    assert run(phone, "tail -f /nope") == (1, "", "tail: /nope: No such file or directory\n")


def test_tail_limits_its_memory(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_MAX_KEPT", 1000)
    assert len(run(phone, "head -c 300000 /dev/zero | tail -c 2000000000").out) == 1000
    assert len(run(phone, "head -c 300000 /dev/zero | tail -c +200001").out) == 100_000
    assert run(phone, "printf abc | tail -c +0; printf abc | tail -c +3; printf abc | tail -c 0").out == "abcc"


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("mkdir -p d/e; head -c 2000 /dev/zero > d/e/f; du d", "6\td/e\n10\td\n"),
        ("mkdir -p d/e; head -c 2000 /dev/zero > d/e/f; du -sh d d/e/f", "10K\td\n2.0K\td/e/f\n"),
        ('touch f; [ "$(ll)" = "$(ls -l)" ] && echo same', "same\n"),
        ("f=$(mktemp) && [ -f $f ] && basename $f | wc -c; dirname $f", "15\n/data/local/tmp\n"),
        ("d=$(mktemp -d -p . sub.XXXX); rmdir $d && echo ${#d}; ls", "10\n"),
        ("mktemp -u ./never.XXX | cut -c 1-8; ls", "./never.\n"),
        ("mkdir -p a/b; rmdir -p a/b 2>&1; ls", "rmdir: a/b: Permission denied\n"),
        ("basename -a /x/one.txt two.txt; basename -s .txt /x/one.txt two.txt", "one.txt\ntwo.txt\none\ntwo\n"),
        ("echo '  one   two three' | cut -F 2-", "two three\n"),
        ("echo a > f; echo b > g; cat -n f g", "     1\ta\n     2\tb\n"),
        ("touch f; cp -v f g", "cp 'f'\n"),
        (
            "groups | cut -d ' ' -f 1-2; id -G | cut -d ' ' -f 1-2; id -Gn | cut -c 1-5",
            "shell input\n2000 1004\nshell\n",
        ),
        ("logname; usleep 1; umask", "shell\n0022\n"),
        ("export A=1; printenv A nope; echo $?; printenv | grep ^A=", "1\n1\nA=1\n"),
        (
            "f() { :; }; type f cd cat nope",
            "f is a function\ncd is a shell builtin\ncat is /system/bin/cat\nnope not found\n",
        ),
        ("input press", ""),
        ("command -V cat; command -v cat", "cat is /system/bin/cat\n/system/bin/cat\n"),
    ],
)
def test_less_common_commands_and_flags(phone: Phone, script: str, out: str) -> None:
    assert run(phone, f"cd /data/local/tmp; {script}").out == out
