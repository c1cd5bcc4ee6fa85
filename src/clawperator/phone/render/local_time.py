"""The phone's clock as its screens show it. Its time zone is UTC."""

import time

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LATEST_MS = 253_402_300_799_000  # the end of the year 9999


def clock_text(now_ms: int, time_format: str | None) -> str:
    """Hours and minutes, such as 9:41, or 21:41 where the setting ``time_12_24`` is 24."""
    now = _fields(now_ms)
    if time_format == "24":
        return f"{now.tm_hour:02}:{now.tm_min:02}"
    return f"{now.tm_hour % 12 or 12}:{now.tm_min:02}"


def date_text(now_ms: int) -> str:
    """The day, such as Tue, Nov 14."""
    now = _fields(now_ms)
    return f"{_DAYS[now.tm_wday]}, {_MONTHS[now.tm_mon - 1]} {now.tm_mday}"


def _fields(now_ms: int) -> time.struct_time:
    return time.gmtime(min(max(now_ms, 0), _LATEST_MS) / 1000)
