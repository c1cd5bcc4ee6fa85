"""A scripted adb server that pairs, as those of different adb versions do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.device.adb.scripted_server import Pause, answering, refusal, text

CODE = "481516"
GUID = "adb-35121JEHN28132-jr888A"
WIRELESS = f"{GUID}._adb-tls-connect._tcp"
ADDRESS = "phone.local:37123"
CONNECT = "phone.local:41235"


class PairingServer:
    """The port of the server, the requests it got, and what it lists."""

    def __init__(self, pair: Callable[[str, str], bytes | Pause]) -> None:
        self.port = 0
        self.requests: list[str] = []
        self.listed = ""
        self.listed_later: list[str] = []
        self.connects = f"connected to {CONNECT}"
        self._pair = pair

    def answer(self, request: str) -> bytes | Pause:
        self.requests.append(request)
        service = request.removeprefix("host:")
        if service.startswith("pair:"):
            code, address = service.removeprefix("pair:").split(":", 1)
            return self._pair(code, address)
        if service.startswith("connect:"):
            return text(self.connects)
        if service == "devices":
            return text(self.listed_later.pop(0) if self.listed_later else self.listed)
        return text("0029") if service == "version" else refusal("unknown host service")


def paired(address: str) -> bytes:
    return text(f"Successfully paired to {address} [guid={GUID}]")


def accept(code: str, address: str) -> bytes:
    return paired(address) if code == CODE else text("Failed: Wrong password or connection was dropped.")


@contextmanager
def pairing_server(pair: Callable[[str, str], bytes | Pause] = accept) -> Iterator[PairingServer]:
    server = PairingServer(pair)
    with answering(server.answer) as listener:
        server.port = listener.getsockname()[1]
        yield server
