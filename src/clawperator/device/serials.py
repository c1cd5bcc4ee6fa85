"""Serials: which ones can be used, as the name of a file, and as a flag for the user to copy.

adb passes on what a device or the network reports: USB serials, ``emulator-5554``, ``host:port``, the names of
mDNS services. They may have spaces, slashes and other characters that mean something to a shell or a file system.
"""

from clawperator.contract.wire import OPERATOR_PACKAGE

MAX_SERIAL_BYTES = 128
NO_SERIAL = "(no serial number)"
_MAX_HEX_BYTES = 100
_LONG = "-"


def is_serial(text: str) -> bool:
    """Whether this can be a serial: printable, and not too long. U+FFFD is in place of bytes that are not text."""
    return (
        text.isprintable()
        and bool(text.strip())
        and "\N{REPLACEMENT CHARACTER}" not in text
        and len(text.encode()) <= MAX_SERIAL_BYTES
    )


def shell_word(serial: str) -> str:
    """The serial as a shell reads it: ``R58M1234``, ``'a b'``."""
    from shlex import quote  # only errors need it

    return quote(serial)


def device_flag(serial: str) -> str:
    """The flag that chooses this device, for the user to copy: ``--device R58M1234``, ``--device 'a b'``."""
    return f"--device{'=' if serial.startswith('-') else ' '}{shell_word(serial)}"


def target_flags(serial: str, package: str) -> str:
    """The flags that choose this device and this Operator. The released Operator needs none."""
    return device_flag(serial) + ("" if package == OPERATOR_PACKAGE else f" --operator-package {package}")


def adb_flag(serial: str) -> str:
    """The same for the adb program: ``-s R58M1234``."""
    return f"-s {shell_word(serial)}"


def file_name(serial: str) -> str:
    """A file name for this serial alone, without characters that mean something to a file system."""
    data = serial.encode()
    if len(data) <= _MAX_HEX_BYTES:
        return data.hex()
    import base64

    # In hex it could be longer than a file name may be.
    return _LONG + base64.urlsafe_b64encode(data).decode().rstrip("=")


def serial_of(name: str) -> str:
    """The serial that a ``file_name`` is of. ``ValueError`` for any other name."""
    if not name.startswith(_LONG):
        return bytes.fromhex(name).decode()
    import base64

    text = name.removeprefix(_LONG)
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
