"""logcat: output formats, selection of records, and following until cancelled."""

import io
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from clawperator.engine.clock import VirtualClock
from clawperator.errors import RefusedError
from clawperator.phone.core.phone import Phone
from clawperator.phone.log.buffer import LogBuffer
from clawperator.phone.log.logcat import log, logcat, read_options, read_time
from clawperator.phone.shell.process import COMMANDS, INTERRUPTED, ShellProcess
from tests.support.hanging import HANG_SECONDS

# 2023-11-14 22:13:20 UTC
NOW = 1_700_000_000_000


def new_phone(time_ms: int = NOW) -> Phone:
    """A phone with an empty log."""
    phone = Phone(clock=VirtualClock(time_ms))
    phone.log = LogBuffer(phone.clock.now_ms)
    return phone


class Pipe:
    """Collects what is written, and notifies waiting threads."""

    def __init__(self) -> None:
        self.data = b""
        self._changed = threading.Condition()

    def read(self, _n: int) -> bytes:
        return b""

    def write(self, data: bytes) -> None:
        with self._changed:
            self.data += data
            self._changed.notify_all()

    def wait_for(self, text: bytes) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: text in self.data, HANG_SECONDS)


class Ran(Struct):
    code: int
    out: str
    err: str


def start(phone: Phone, *arguments: str, out: Pipe, err: Pipe, cancelled: threading.Event, tags: str = "") -> int:
    env = {"ANDROID_LOG_TAGS": tags}
    argv = ["logcat", *arguments]
    return logcat(
        ShellProcess(argv, phone=phone, stdin=Pipe(), stdout=out, stderr=err, cancelled=cancelled, env=env)
    )


def run(phone: Phone, *arguments: str, tags: str = "") -> Ran:
    out, err = Pipe(), Pipe()
    code = start(phone, *arguments, out=out, err=err, cancelled=threading.Event(), tags=tags)
    return Ran(code, out.data.decode(), err.data.decode())


@pytest.fixture
def phone() -> Phone:
    """A log of five records, each a second after the one before."""
    phone = new_phone()
    for priority, tag, message, pid in (
        ("I", "ActivityManager", "Start proc", 600),
        ("D", "a", "first\nsecond", 4242),
        ("W", "Wifi", "weak", 700),
        ("E", "a", "broken", 4242),
        ("V", "Chatty", "", 12345),
    ):
        phone.log.write(priority, tag, message, pid, pid + 1, uid=10_123)  # type: ignore[arg-type] # a literal above
        phone.clock.sleep(1)
    return phone


def test_the_command_is_registered() -> None:
    assert COMMANDS["logcat"] is logcat


def test_threadtime_is_the_default(phone: Phone) -> None:
    assert run(phone, "-d").out == (
        "--------- beginning of main\n"
        "11-14 22:13:20.000   600   601 I ActivityManager: Start proc\n"
        "11-14 22:13:21.000  4242  4243 D a       : first\n"
        "11-14 22:13:21.000  4242  4243 D a       : second\n"
        "11-14 22:13:22.000   700   701 W Wifi    : weak\n"
        "11-14 22:13:23.000  4242  4243 E a       : broken\n"
        "11-14 22:13:24.000 12345 12346 V Chatty  : \n"
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("brief", "E/a       ( 4242): broken"),
        ("process", "E( 4242) broken  (a)"),
        ("tag", "E/a       : broken"),
        ("thread", "E( 4242: 4243) broken"),
        ("raw", "broken"),
        ("time", "11-14 22:13:23.000 E/a       ( 4242): broken"),
        ("long", "[ 11-14 22:13:23.000  4242: 4243 E/a        ]\nbroken\n"),
        ("time,epoch", "         1700000003.000 E/a       ( 4242): broken"),
        ("time,monotonic", "     3.000 E/a       ( 4242): broken"),
        ("time,year,usec,zone", "2023-11-14 22:13:23.000000 +0000 E/a       ( 4242): broken"),
        ("nsec,UTC", "11-14 22:13:23.000000000 +0000  4242  4243 E a       : broken"),
        ("uid", "11-14 22:13:23.000 10123  4242  4243 E a       : broken"),
        ("time,uid", "11-14 22:13:23.000 E/a       (10123: 4242): broken"),
        ("color,tag", "\x1b[38;5;196mE/a       : broken\x1b[0m"),
        ("descriptive,tag", "E/a       : broken"),
    ],
)
def test_a_format_prints_as_on_android(phone: Phone, words: str, line: str) -> None:
    assert run(phone, "-d", "-v", words, "-s", "a:E").out == f"--------- beginning of main\n{line}\n"


def test_formats_may_be_given_one_by_one(phone: Phone) -> None:
    assert run(phone, "-d", "-v", "epoch", "-vtime", "a:E", "*:S").out.endswith(
        "         1700000003.000 E/a       ( 4242): broken\n"
    )


def test_printable_escapes_control_characters() -> None:
    phone = new_phone()
    phone.log.write("I", "t", "a\tb\x1b[2J\\\nnext é", 1)
    assert run(phone, "-d", "-v", "raw,printable").out.splitlines()[1:] == ["a\\tb\\033[2J\\\\", "next é"]


@pytest.mark.parametrize(
    ("message", "lines"), [("", 1), ("a", 1), ("a\n", 1), ("\n", 1), ("a\n\nb", 3), ("\n\n", 2)]
)
def test_a_record_has_a_head_for_each_line(message: str, lines: int) -> None:
    phone = new_phone()
    phone.log.write("I", "t", message, 1)
    assert run(phone, "-d", "-v", "tag").out.count("I/t       : ") == lines


def test_an_empty_log_prints_nothing() -> None:
    assert run(new_phone(), "-d") == Ran(0, "", "")


def test_each_buffer_is_announced_once_and_dividers_mark_each_change() -> None:
    phone = new_phone()
    for text, buffer in (("a", "main"), ("b", "system"), ("c", "main"), ("d", "events")):
        phone.log.write("I", "t", text, 1, buffer=buffer)
    began_main, began_system = "--------- beginning of main\n", "--------- beginning of system\n"
    assert run(phone, "-d", "-v", "raw").out == f"{began_main}a\n{began_system}b\nc\n"
    switched = "--------- switch to main\n"
    assert run(phone, "-d", "-D", "-v", "raw").out == f"{began_main}a\n{began_system}b\n{switched}c\n"
    assert run(phone, "-d", "-b", "events", "-v", "raw").out == "--------- beginning of events\nd\n"
    assert run(phone, "-d", "-b", "main,events", "-b", "crash", "-v", "raw").out.count("beginning") == 2
    assert run(phone, "-d", "--buffer=all", "-v", "raw").out.endswith("d\n")


@pytest.mark.parametrize(
    ("arguments", "tags", "printed"),
    [
        (["*:W"], "", ["weak", "broken"]),
        (["*:s", "Wifi"], "", ["weak"]),
        (["Wifi:V", "-s"], "", ["weak"]),
        (["a:s"], "", ["Start proc", "weak", ""]),
        (["a:e", "*:f"], "", ["broken"]),
        (["*"], "", ["Start proc", "first", "second", "weak", "broken"]),
        (["*:S a:E,Wifi:*"], "", ["weak", "broken"]),
        ([], "a:E *:S", ["broken"]),
        (["Wifi:V", "*:S"], "a:E *:S", ["weak"]),
        (["-s"], "a:E", ["broken"]),
        (["--pid=4242"], "", ["first", "second", "broken"]),
        (["--pid", "4242", "*:E"], "", ["broken"]),
        (["--uid=10123,7", "*:E"], "", ["broken"]),
        (["--uid=7"], "", []),
        (["-e", "^b.*n$"], "", ["broken"]),
        (["--regex=e(a|c)"], "", ["first", "second", "weak"]),
        (["-m", "2"], "", ["Start proc", "first", "second"]),
        (["-e", "weak", "-m1", "--print"], "", ["Start proc", "first", "second", "weak"]),
        (["-t", "2"], "", ["broken", ""]),
        (["-t", "1", "--pid=4242"], "", ["broken"]),
        (["-t", "11-14 22:13:23.000"], "", ["broken", ""]),
        (["-t", "2023-11-14 22:13:22.001"], "", ["broken", ""]),
        (["-T", "1700000004.0"], "", [""]),
        (["-dT1"], "", [""]),
        (["--", "*:E"], "", ["broken"]),
    ],
)
def test_records_are_chosen_as_on_android(
    phone: Phone, arguments: list[str], tags: str, printed: list[str]
) -> None:
    ran = run(phone, "-d", "-v", "raw", *arguments, tags=tags)
    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if not line.startswith("-")] == printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-z"], "Unknown option '-z'."),
        (["--nonsense=1"], "Unknown option '--nonsense=1'."),
        (["--clear=1"], "Unknown option '--clear=1'."),
        (["-v"], "Option '-v' needs an argument."),
        (["--pid"], "Option '--pid' needs an argument."),
        (["-v", "fancy"], "Invalid -v 'fancy'."),
        (["-b", "main,attic"], "Unknown -b buffer 'attic'."),
        (["-t", "yesterday"], "-t 'yesterday' not in time format."),
        (["-T", "13-40 00:00:00.000"], "-T '13-40 00:00:00.000' not in time format."),
        (["-m", "0"], "-m '0' isn't an integer greater than zero."),
        (["-m", "1", "-t", "1"], "Cannot use -m (--max-count) and -t together."),
        (["--pid=-1"], "pid '-1' out of range."),
        (["a:Q"], "Invalid filter expression 'a:Q'."),
        ([":V"], "Invalid filter expression ':V'."),
        (["-e", "("], "-e '(': bad regex '(': unmatched ("),
        (["-e", "a**"], "-e 'a**': bad regex 'a**': multiple repeat"),
        (["-G", "lots"], "-G must be specified as <num><multiplier>."),
        (["-G", "4G"], "failed to set the 'main,system,crash,kernel' log size"),
        (["-f", "/sdcard/log.txt"], "-f is not available on this phone."),
        (["--wrap"], "--wrap is not available on this phone."),
    ],
)
def test_an_invalid_command_line_is_refused(phone: Phone, arguments: list[str], expected: str) -> None:
    assert run(phone, *arguments) == Ran(1, "", f"logcat: {expected}\n")


def test_clearing_prints_nothing_and_leaves_other_buffers(phone: Phone) -> None:
    phone.log.write("F", "t", "crash", 1, buffer="crash")
    assert run(phone, "-c", "-b", "main") == Ran(0, "", "")
    assert run(phone, "-d", "-v", "raw").out == "--------- beginning of crash\ncrash\n"
    assert run(phone, "--clear").code == 0
    assert run(phone, "-d").out == ""


def test_sizes_are_shown_and_set(phone: Phone) -> None:
    shown = run(phone, "-g").out.splitlines()
    assert shown[0] == (
        "main: ring buffer is 1 MiB (1 KiB consumed, 1 KiB readable), max entry is 5120 B, max payload is 4068 B"
    )
    assert [line.split(":")[0] for line in shown] == ["main", "system", "crash", "kernel"]
    assert run(phone, "-G", "256K").code == 0
    assert "ring buffer is 256 KiB" in run(phone, "--buffer-size", "-b", "crash").out
    assert run(phone, "--buffer-size=2M").code == 0
    assert phone.log.capacity_bytes == 2 * 1024 * 1024


def test_help_names_the_options(phone: Phone) -> None:
    ran = run(phone, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "-T N|TIME" in ran.out


def test_a_count_of_zero_and_text_after_a_time_are_warned_about(phone: Phone) -> None:
    ran = run(phone, "-t", "0", "-v", "tag")
    assert (ran.code, ran.err) == (0, "WARNING: -t 0 invalid, setting to 1\n")
    assert ran.out.endswith("V/Chatty  : \n")
    assert "ignored 'junk' after the time" in run(phone, "-t", "11-14 22:13:23.000junk").err
    assert "--print is ignored" in run(phone, "-d", "--print").err


def test_a_stream_replays_and_then_follows_until_it_is_cancelled(phone: Phone) -> None:
    out, cancelled, codes = Pipe(), threading.Event(), list[int]()
    thread = threading.Thread(
        target=lambda: codes.append(
            start(phone, "-v", "raw", "-T", "2", "--pid=4242", out=out, err=Pipe(), cancelled=cancelled)
        )
    )
    thread.start()
    assert out.wait_for(b"second\nbroken\n")
    phone.log.write("I", "other", "not ours", 1)
    phone.log.write("I", "a", "live", 4242)
    assert out.wait_for(b"live\n")
    phone.log.clear()
    phone.log.write("I", "a", "after clearing", 4242)
    assert out.wait_for(b"after clearing\n")
    cancelled.set()
    thread.join(HANG_SECONDS)
    assert codes == [INTERRUPTED]
    assert out.data == b"--------- beginning of main\nfirst\nsecond\nbroken\nlive\nafter clearing\n"


def test_a_stream_with_a_count_ends_by_itself(phone: Phone) -> None:
    out, codes = Pipe(), list[int]()
    thread = threading.Thread(
        target=lambda: codes.append(
            start(phone, "-vraw", "-T1", "-m3", out=out, err=Pipe(), cancelled=threading.Event())
        )
    )
    phone.log.write("I", "a", "x", 1)
    thread.start()
    assert out.wait_for(b"x")  # from here on it follows the log
    for text in ("y", "z"):
        phone.log.write("I", "a", text, 1)
    thread.join(HANG_SECONDS)
    assert codes == [0]
    assert len(out.data.splitlines()) == 4


def test_a_closed_connection_ends_the_stream(phone: Phone) -> None:
    class Gone(Pipe):
        def write(self, data: bytes) -> None:
            raise BrokenPipeError(len(data))

    with pytest.raises(BrokenPipeError):
        start(phone, out=Gone(), err=Pipe(), cancelled=threading.Event())


def test_a_date_without_a_year_is_in_the_past() -> None:
    new_year = 1_704_067_200_000  # 2024-01-01 00:00:00
    assert read_time("12-31 23:59:59.500", new_year) == (new_year - 500, "")
    assert read_time("01-01 00:00:00.000", new_year) == (new_year, "")
    assert read_time("02-29 00:00:00.000", new_year) is None
    assert read_time("2024-02-29 00:00:00.0", new_year) == (1_709_164_800_000, "")


@pytest.mark.random
@given(st.lists(st.text(st.sampled_from("-dcgGvbtTme=:*sS019 .,pidé\n"), max_size=12), max_size=5))
def test_any_command_line_is_parsed_or_refused(arguments: list[str]) -> None:
    with suppress(RefusedError):
        assert read_options(arguments, {}, 0, NOW).buffers


@pytest.mark.random
@given(st.integers(0, 4_102_444_800_000))
def test_a_printed_time_is_read_back(time_ms: int) -> None:
    phone = new_phone(time_ms)
    phone.log.write("I", "t", "x", 1)
    for words in ("year,time", "epoch,time"):
        line = run(phone, "-d", "-v", words).out.splitlines()[1]
        assert read_time(line.partition(" I/")[0].strip(), time_ms) == (time_ms, "")


def write(phone: Phone, *arguments: str, stdin: bytes = b"") -> int:
    out = Pipe()
    words = ["log", *arguments]
    given = io.BytesIO(stdin)
    return log(ShellProcess(words, phone=phone, stdin=given, stdout=out, stderr=out, cancelled=threading.Event()))


def test_the_shell_writes_to_the_log(phone: Phone) -> None:
    assert write(phone, "plain", "words") == 0
    assert write(phone, "-p", "e", "-t", "Tag", "größer") == 0
    assert write(phone, "-t", "Piped", stdin=b"one\n\xff\n") == 0
    assert [(e.priority, e.tag, e.message) for e in phone.log.read()[5:]] == [
        ("I", "log", "plain words"),
        ("E", "Tag", "größer"),
        ("I", "Piped", "one"),
        ("I", "Piped", "\ufffd"),
    ]


def test_an_unknown_priority_is_not_logged(phone: Phone) -> None:
    assert write(phone, "-p", "x", "words") == 1
    assert len(phone.log.read()) == 5


@pytest.mark.parametrize(
    ("pattern", "found"), [(r"[\d.]+s", "1.5s"), (r"(?:took|in) \d+", "took 1"), (r"[^\]\s]+\]", "[a]")]
)
def test_logcat_uses_ecmascript_syntax(pattern: str, found: str) -> None:
    options = read_options(["-e", pattern], {}, 0, 0)
    assert options.pattern is not None
    match = options.pattern.search("[a] took 1.5s")
    assert match is not None
    assert match[0] == found
