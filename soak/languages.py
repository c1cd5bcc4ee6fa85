"""Languages of the simulated phone: regular expressions, and scripts of its shell."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clawperator._base.patterns import RegexError, Syntax, compile_linear, compile_regex
from clawperator.testing import SimulatedPhone, simulated_phone
from soak.fuzz import Target, reads

_PATTERNS = (
    *(
        rb"(a|b)*c",
        rb"^[a-z]+\.[[:digit:]]\{2,3\}$",
        rb"\bfoo\w*(.*)\1",
        rb"(x+x+)+y",
        rb"[^]]*\|[]a]",
        rb"(?:a{1,9}){2}",
    ),
    *(rb"\<word\>", rb".*\.*", rb"((a?)(b?)){3,}$", rb"[\w-]+@[\w.]+"),
)
_TEXT = "aab foo.12 xxxxxxxxxxxxxxxxxxxxx word a@b.c éß " * 4
_SCRIPTS = (
    b"echo hello | grep -E 'h(e|l)+' && echo yes || echo no",
    b'for i in 1 2 3; do echo "$i ${HOME:-x} $((i*2))"; done',
    b"x=$(getprop ro.product.model); case $x in *P*) echo a;; *) echo b;; esac",
    b"settings get global airplane_mode_on; dumpsys window | head -n 3; ls -l /sdcard",
    b"f() { echo $1 >&2; return 3; }; f a; echo $?; (cd /; pwd) > /sdcard/a; cat /sdcard/a; rm /sdcard/a",
    b"sed -n 's/\\(a\\)b/\\1/p' <<EOF\nab\nEOF",
    b"if [ -d /sdcard ] && ! test -f /x; then input tap 5 5; input text 'a%sb'; fi",
    b"pm list packages | sort | uniq -c | tail -n 2; am start -n com.android.settings/.Settings; wm size",
)


def _regex(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    syntaxes: tuple[Syntax, ...] = ("basic", "extended", "ecma", "common")
    for syntax in syntaxes:
        try:
            found = compile_regex(text, syntax, ignore_case=syntax != "basic")
            for match in found.find_all(_TEXT):
                assert 0 <= match.start <= match.end <= len(_TEXT)
        except RegexError:
            continue
    with suppress(RegexError):
        compiled = compile_linear(text)
        assert compiled.fullmatch(_TEXT) is compiled.fullmatch(_TEXT)


class _Shell:
    """A simulated phone that runs scripts. It is replaced after a while, because scripts change it."""

    def __init__(self) -> None:
        self._context = simulated_phone()
        self._phone: SimulatedPhone = self._context.__enter__()
        self._left = 500

    def __call__(self, data: bytes) -> None:
        self._left -= 1
        if self._left < 0:
            self._context.__exit__(None, None, None)
            self.__init__()  # type: ignore[misc]
        self._phone.shell_script(data)


def _open_shell(_: Path) -> Callable[[bytes], object]:
    return _Shell()


TARGETS = (Target("regex", _PATTERNS, reads(_regex)),)
SLOW_TARGETS = (Target("shell script", _SCRIPTS, _open_shell),)
