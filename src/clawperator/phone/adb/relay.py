"""Carrying bytes between a peer and a socket on the phone."""

import threading
from contextlib import suppress

from clawperator.phone.adb.device import Channel
from clawperator.phone.adb.streams import GRACE_SECONDS, Stream

_PIECE = 64 * 1024


def relay(stream: Stream, channel: Channel) -> None:
    """Carry both ways until one side ends; then the other is ended too."""
    inbound = threading.Thread(target=_carry_in, args=(stream, channel), name="adb-relay", daemon=True)
    inbound.start()
    try:
        while data := channel.read(_PIECE):
            stream.write(data)
    except OSError:
        pass  # either side hung up
    finally:
        channel.close()
        stream.hang_up()
        inbound.join(GRACE_SECONDS)


def _carry_in(stream: Stream, channel: Channel) -> None:
    with suppress(OSError):
        while data := stream.read(_PIECE):
            channel.write(data)
    channel.close()
