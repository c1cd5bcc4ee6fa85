"""The shell language: quoting first, then everything else in scripts sent to phones."""

import io
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.clock import VirtualClock
from clawperator.phone.core.phone import Phone
from clawperator.phone.shell.language import state
from clawperator.phone.shell.language.interpreter import run_script
from clawperator.phone.shell.language.patterns import Pattern
from clawperator.phone.shell.process import COMMANDS, ShellProcess
from tests.phone.shell.scripts import run
from tests.support.hanging import HANG_SECONDS, NEVER_SECONDS


@pytest.fixture(scope="module")
def phone() -> Iterator[Phone]:
    phone = Phone()
    yield phone
    phone.close()


class NeverArriving(VirtualClock):
    """Time stands still however long a command sleeps."""

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.005))


def contract_quote(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


ARGUMENTS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), max_size=6
)


@pytest.mark.random
@pytest.mark.parametrize("quote", [shlex.quote, contract_quote])
@given(arguments=ARGUMENTS)
def test_quoted_arguments_arrive_unchanged(phone: Phone, quote: object, arguments: list[str]) -> None:
    seen: list[list[str]] = []

    def show(process: ShellProcess) -> int:
        seen.append(process.argv[1:])
        return 0

    assert callable(quote)
    COMMANDS["show-argv"] = show
    try:
        script = " ".join(["show-argv", *(quote(argument) for argument in arguments)])
        assert run(phone, script).code == 0
        assert run(phone, script.encode()).code == 0
    finally:
        del COMMANDS["show-argv"]
    assert seen == [arguments, arguments]


@pytest.mark.random
@given(st.binary(max_size=40).filter(lambda raw: b"\0" not in raw))
def test_bytes_that_are_not_utf8_pass_unchanged(phone: Phone, raw: bytes) -> None:
    out = io.BytesIO()
    script = b"printf %s '" + raw.replace(b"'", b"'\"'\"'") + b"'"
    run_script(
        script, phone=phone, stdin=io.BytesIO(), stdout=out, stderr=io.BytesIO(), cancelled=threading.Event()
    )
    assert out.getvalue() == raw


# Output and status are compared with a real shell where there is one.
SCRIPTS = [
    "echo a; echo b & wait; echo c",
    "true && echo yes || echo no; false && echo yes || echo no",
    "! true; echo $?; ! false; echo $?",
    "x=1; x=2 true; echo $x; x=3; echo $x",
    "x='a  b'; echo $x \"$x\" '$x' \\$x",
    'x=; echo "[${x:-d}][${x-d}][${y-d}][${x:+s}][${x+s}][${y:=e}$y]"',
    "f=/a/b/c.tar.gz; echo ${f##*/} ${f#*/} ${f%.*} ${f%%.*} ${#f}",
    'set -- a "b c" d; echo $# "$1" "$2"; for x in "$@"; do echo "<$x>"; done; for x; do echo $x; done; shift 2; echo "$*"',
    'set --; for x in "$@"; do echo never; done; echo "$#"',
    "echo $(echo one; echo two) \"$(printf 'a\\nb\\n\\n')\" `echo back`",
    'echo "$(echo "inner $(echo deep)")"',
    "x=$(false); echo $?; x=$(exit 4) true; echo $?",
    "echo $((1 + 2 * 3)) $(((1 + 2) * 3)) $((7 / 2)) $((-7 % 3)) $((1 << 4)) $((3 > 2 && 0 || 1))",
    "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); [ $i = 2 ] && continue; echo $i; done",
    "i=5; until [ $i -eq 0 ]; do i=$((i - 1)); [ $i = 2 ] && break; done; echo $i",
    "for a in 1 2; do for b in x y; do [ $b = y ] && continue 2; echo $a$b; done; done",
    "case abc in a*) echo star;; *) echo other;; esac; case x in a|x) echo either;; esac; case '*' in '*') echo q;; esac",
    "case b in [!a]) echo not-a;; esac; case 5 in [0-9]) echo digit;; esac; case z in a) :;; esac; echo $?",
    "if false; then echo a; elif true; then echo b; else echo c; fi; if false; then :; fi; echo $?",
    "f() { echo $1 $#; return 3; }; f a b; echo $?; f() (exit 4); f; echo $?",
    "(x=1; exit 5); echo $? $x; { x=2; }; echo $x",
    "echo out; echo err >&2; { echo a; echo b >&2; } 2>/dev/null",
    "echo a | cat | cat; echo b | { read x; echo got $x; }; false | true; echo $?; true | false; echo $?",
    "cat <<EOF\na $((1+1)) ${x:-y} \\$z `echo b`\n'q' \"r\"\nEOF\ncat <<'EOF'\n$x\nEOF\ncat <<-EOF\n\t\tt\n\tEOF\necho end",
    "cat <<A; cat <<B\nfirst\nA\nsecond\nB",
    "echo a#b # comment\necho 'x\ny'; echo a\\\nb",
    "printf '%s|' \"a b\" c'd'\"e\" \\' \\\"; echo",
    'IFS=:; x=a:b::c; for p in $x; do echo "[$p]"; done',
    'x=\' a  b \'; for p in $x; do echo "[$p]"; done; for p in pre$x; do echo "<$p>"; done',
    "eval 'x=1; echo $x'; eval echo \\$x",
    "echo ${x:-a b} \"${x:-a b}\" ${x:-'q  q'}",
    "read a b <<E\none two three\nE\necho $a,$b",
    "exec 3>&1; echo three >&3; exec echo last; echo never",
    "set -e; false || echo kept; if false; then :; fi; false; echo never",
    "exit 300",
    "printf '%s\\n' 'a'\"'\"'b' \"a\\\"b\" \"\\a\\$\"",
    "x=5; echo $x$x\"$x\"'$x'; echo ${x}y $xy.",
    "test a = a -a b != c && echo and; [ ! -e /nonexistent ] && echo missing; [ 3 -gt 2 ]; echo $?",
    "true; echo $?; (exit 7) || echo $?",
    'while read line; do echo "[$line]"; done <<E\na b\n  c\nE',
    "sh -c 'echo $0 $1 $#' name arg",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run_as_in_a_real_shell(phone: Phone, script: str) -> None:
    dash = shutil.which("dash")
    if dash is None:
        pytest.skip("no shell to compare with")
    real = subprocess.run([dash, "-c", script], capture_output=True, text=True, timeout=10, check=False)
    mine = run(phone, script)
    assert (mine.code, mine.out) == (real.returncode, real.stdout)
    assert bool(mine.err) == bool(real.stderr)


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("export ANDROID_LOG_TAGS=''; exec env | grep TAGS", "ANDROID_LOG_TAGS=\n"),
        ("x=abcabc; echo ${x/b/X} ${x//b/X} ${x:1:2} ${x: -2}", "aXcabc aXcaXc bc bc\n"),
        ("echo $'a\\tb\\x41'", "a\tbA\n"),
        ("echo ~ ~/x '~'", "/ //x ~\n"),
        ("x=; [[ abc == a* ]] && echo match; [[ -z $x ]] && echo empty", "match\nempty\n"),
        ("echo a &>/sdcard/both; cat /sdcard/both", "a\n"),
        ("f() { local x=1; echo $x; }; x=0; f; echo $x", "1\n0\n"),
        ("cd /sdcard; pwd; cd -; pwd", "/sdcard\n/\n"),
        ("command -v ls; command -v nope || echo none", "/system/bin/ls\nnone\n"),
        ("/system/bin/echo by path", "by path\n"),
        ("toybox echo hi; echo $0", "hi\n/system/bin/sh\n"),
        ("x=$((y = 4)); echo $x $y; x=5; echo $((x += 2)) $((x > 3 ? 1 : 0))", "4 4\n7 1\n"),
    ],
)
def test_extensions_of_androids_shell(phone: Phone, script: str, out: str) -> None:
    ran = run(phone, script)
    assert (ran.code, ran.out, ran.err) == (0, out, "")


def test_an_unknown_command_is_127(phone: Phone) -> None:
    assert run(phone, "su -c id") == (127, "", "/system/bin/sh: su: inaccessible or not found\n")
    assert run(phone, "/data/local/tmp/nope").code == 127
    assert run(phone, "/sdcard").code == 126


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("fi", "syntax error: unexpected 'fi'"),
        ("echo 'x", "no closing quote"),
        ("if true", "syntax error: unmatched 'if'"),
        ("a | | b", "syntax error: unexpected '|'"),
        ("echo $(echo", "syntax error: unmatched '$('"),
        ("(echo a", "syntax error: unmatched '('"),
        ("echo >", "syntax error: unexpected 'EOF'"),
        ("echo ${x!}", "${x!}: bad substitution"),
        ("cat <<E\nx", "here document 'E' unclosed"),
    ],
)
def test_a_syntax_error_is_reported_and_fails(phone: Phone, script: str, message: str) -> None:
    assert run(phone, script) == (1, "", f"/system/bin/sh: {message}\n")


def test_lines_before_a_syntax_error_still_run(phone: Phone) -> None:
    assert run(phone, "echo first\nfi").out == "first\n"


@pytest.mark.parametrize(
    "script",
    [
        "(" * 5000,
        "$(" * 5000,
        "echo " + "$(" * 200 + "echo" + ")" * 200,
        "echo " + "${x:-" * 500 + "}" * 500,
        "echo " + '"$(' * 300,
        "if true; then " * 300 + "fi;" * 300,
        "echo $((" + "(" * 5000 + "1" + ")" * 5000 + "))",
        "echo $((" + "1+" * 20000 + "1))",
        "! " * 20000 + "true",
        "f() { f; }; f",
        'eval \'x="eval \\"\\$x\\""; eval "$x"\'',
        "echo 'sh /data/local/tmp/self' > /data/local/tmp/self; sh /data/local/tmp/self",
        "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done",
        "while :; do :; done",
        "true " + "| true " * 1000,
        "x=$(yes)",
        "echo " + "\\" * 10001,
        "case x in " + "a|" * 5000 + "b) ;; esac",
        "a" * (state.MAX_SCRIPT + 1),
        "printf %999999999s x",
        "[ " + "( " * 200 + "a" + " )" * 200 + " ]",
    ],
)
def test_no_script_crashes_the_phone(phone: Phone, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(state, "MAX_COMMANDS", 2_000)
    began = time.process_time()
    assert 0 <= run(phone, script).code <= 255
    assert time.process_time() - began < 30  # a second at most; a limit that does not hold takes for ever
    assert run(phone, "echo still here").out == "still here\n"


TOKENS = st.sampled_from(
    [
        *"$(){}[]'\"`\\|&;<>*?!#~=-:%\n ",
        *("$(", "${", "$((", "))", "x", "1", "echo ", "if ", "then ", "fi", "do ", "done", "for ", "in ", "true"),
        *(
            "while ",
            "case ",
            "esac",
            "x=",
            "<<E",
            "\nE\n",
            "2>&1",
            ">/sdcard/f",
            "read ",
            "test ",
            "eval ",
            "&&",
            ";;",
        ),
    ]
)


@pytest.mark.random
@given(st.lists(TOKENS, max_size=25).map("".join))
def test_any_text_as_a_script_ends(phone: Phone, script: str) -> None:
    before, state.MAX_COMMANDS = state.MAX_COMMANDS, 200
    try:
        assert 0 <= run(phone, script).code <= 255
    finally:
        state.MAX_COMMANDS = before


def test_stages_stream_and_end_when_their_reader_ends(phone: Phone) -> None:
    assert run(phone, "yes | head -n 3").out == "y\ny\ny\n"
    began = time.monotonic()
    assert run(phone, "sleep 100 | echo at once").out == "at once\n"
    assert time.monotonic() - began < HANG_SECONDS


class Slow:
    """A peer that sends nothing until it is allowed to."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.go_on = threading.Event()
        self.first = True

    def read(self, n: int) -> bytes:
        if self.first:
            self.first = False
            return b"one\n"[:n]
        self.go_on.wait(NEVER_SECONDS)
        return b""

    def write(self, data: bytes) -> None:
        self.lines.append(data)
        self.go_on.set()


def test_a_pipeline_passes_a_line_on_before_the_next_one_comes(phone: Phone) -> None:
    peer = Slow()
    began = time.monotonic()
    run_script("cat | grep o", phone=phone, stdin=peer, stdout=peer, stderr=peer, cancelled=threading.Event())
    assert peer.lines == [b"one\n"]
    assert time.monotonic() - began < HANG_SECONDS


class Gone:
    def write(self, data: bytes) -> None:
        raise BrokenPipeError(f"nobody reads {data!r}")


def test_a_closed_stream_ends_the_script(phone: Phone) -> None:
    script = "while :; do echo x; done; echo > /sdcard/reached"
    cancelled = threading.Event()
    status = run_script(
        script, phone=phone, stdin=io.BytesIO(), stdout=Gone(), stderr=io.BytesIO(), cancelled=cancelled
    )
    assert status == 141
    assert not phone.storage.exists("/sdcard/reached")


@pytest.mark.parametrize(
    "script", ["sleep 1000000", "while :; do sleep 1; done", "sleep 1000000 & wait", "cat /dev/zero | wc -c"]
)
def test_a_cancelled_script_ends_soon(script: str) -> None:
    phone = Phone(clock=NeverArriving())
    cancelled = threading.Event()
    timer = threading.Timer(0.1, cancelled.set)
    timer.start()
    began = time.monotonic()
    out = io.BytesIO()
    run_script(script, phone=phone, stdin=io.BytesIO(), stdout=out, stderr=out, cancelled=cancelled)
    assert time.monotonic() - began < HANG_SECONDS
    timer.join()
    phone.close()


def test_sleep_uses_the_phones_clock(phone: Phone) -> None:
    began, before = time.monotonic(), phone.clock.monotonic()
    assert run(phone, "sleep 600; sleep 0.5; timeout 5 sleep 100; echo $?").out == "124\n"
    assert phone.clock.monotonic() - before == pytest.approx(605.5, abs=0.2)
    assert time.monotonic() - began < HANG_SECONDS


def test_a_job_with_redirected_output_outlives_the_script_until_the_phone_stops() -> None:
    phone = Phone(clock=NeverArriving())
    assert run(phone, "nohup sleep 100000 >/dev/null 2>&1 & echo started").out == "started\n"
    threads = [thread for thread in threading.enumerate() if thread.name == "phone-shell"]
    assert len(threads) == 1
    phone.stopping.set()
    threads[0].join(HANG_SECONDS)
    assert not threads[0].is_alive()
    phone.close()


def test_a_shell_on_stdin_runs_each_line_as_it_comes(phone: Phone) -> None:
    ran = run(phone, "sh", b"echo one\nif true\nthen echo two\nfi\nfi\necho $?\nexit 3\necho never\n")
    assert (ran.code, ran.out) == (3, "one\ntwo\n1\n")
    assert "unexpected 'fi'" in ran.err


def test_an_exception_in_a_command_is_an_error_of_that_command(
    phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(process: ShellProcess) -> int:
        raise KeyError(process.name)

    monkeypatch.setitem(COMMANDS, "broken", broken)
    ran = run(phone, "broken; echo $?")
    assert (ran.out, ran.err) == ("1\n", "broken: 'broken'\n")


@pytest.mark.random
@given(st.text("ab*?[]!-", max_size=8), st.text("ab-", max_size=8))
def test_patterns_match_as_fnmatch_does(pattern: str, text: str) -> None:
    import fnmatch

    # Python reads an empty or backward range in its own way.
    if "[" not in pattern:
        assert Pattern([(pattern, False)]).matches(text) == fnmatch.fnmatchcase(text, pattern)
    assert Pattern([(pattern, True)]).matches(text) == (pattern == text)


def test_a_pattern_with_many_stars_is_quick() -> None:
    began = time.thread_time()
    assert not Pattern([("a*" * 50 + "b", False)]).matches("a" * 5000)
    assert time.thread_time() - began < 10  # a fraction of a second; with backtracking it takes for ever
