"""A port on which nothing listens, and on which nothing can start to listen while the tests run.

A fixed number would not do: any process may have started an adb server there.
"""

import atexit
import socket

_reserved = socket.socket()
_reserved.bind(("127.0.0.1", 0))
atexit.register(_reserved.close)

UNUSED_PORT = str(_reserved.getsockname()[1])
