"""What a client asks of the adb server itself, and gets at once."""

from collections.abc import Callable, Mapping

from clawperator.phone.adb.forward import Forwards
from clawperator.phone.adb.roster import Missing, Roster, Wish
from clawperator.phone.adb.services import FEATURES
from clawperator.phone.adb.smart_socket import Failure, okay, text

VERSION = 41  # adb replaces a server of another number by its own


class Host:
    """The answers of a server. Each method takes the phone that is meant and an argument."""

    def __init__(self, roster: Roster, forwards: Forwards) -> None:
        self._roster = roster
        self._forwards = forwards

    def reply(self, wish: Wish, request: str) -> bytes:
        """``VERB[:ARGUMENT]``. ``Failure`` where the answer is no."""
        verb, _, argument = request.partition(":")
        answer = _ANSWERS.get(verb)
        if answer is None:
            raise Failure("unknown host service")
        return answer(self, wish, argument)

    def version(self, _: Wish, __: str) -> bytes:
        return okay(f"{VERSION:04x}")

    def devices(self, _: Wish, __: str) -> bytes:
        return okay(self._roster.listing(long=False))

    def devices_long(self, _: Wish, __: str) -> bytes:
        return okay(self._roster.listing(long=True))

    def features(self, wish: Wish, _: str) -> bytes:
        self._roster.find(wish)
        return okay(",".join(FEATURES))

    def host_features(self, _: Wish, __: str) -> bytes:
        return okay(",".join(FEATURES))

    def state(self, wish: Wish, _: str) -> bytes:
        return okay(self._roster.find(wish).state())

    def serial(self, wish: Wish, _: str) -> bytes:
        return okay(self._roster.find(wish).serial)

    def device_path(self, wish: Wish, _: str) -> bytes:
        self._roster.find(wish)
        return okay("unknown")

    def forward(self, wish: Wish, argument: str) -> bytes:
        rebind = not argument.startswith("norebind:")
        local, semicolon, remote = argument.removeprefix("norebind:").partition(";")
        if not semicolon:
            raise Failure("bad forward: LOCAL;REMOTE is expected")
        port = self._forwards.add(self._roster.find_ready(wish), local, remote, rebind=rebind)
        # The first OKAY is for the request, the second for its success.
        return b"OKAYOKAY" + (text(port) if port else b"")

    def kill_forward(self, _: Wish, local: str) -> bytes:
        self._forwards.remove(local)
        return b"OKAYOKAY"

    def kill_forwards(self, _: Wish, __: str) -> bytes:
        self._forwards.remove_all()
        return b"OKAYOKAY"

    def list_forwards(self, _: Wish, __: str) -> bytes:
        return okay(self._forwards.listing())

    def connect(self, _: Wish, address: str) -> bytes:
        try:
            return okay(f"already connected to {self._roster.find(Wish('serial', address)).serial}")
        except Missing:
            return okay(f"failed to connect to {address}: this server knows only its own phones")

    def disconnect(self, _: Wish, address: str) -> bytes:
        if address:
            self._roster.find(Wish("serial", address))
            raise Failure(f"'{address}' belongs to this server and cannot be disconnected")
        return okay("disconnected everything")  # nothing was ever connected this way

    def kill(self, _: Wish, __: str) -> bytes:
        raise Failure("this server belongs to the phone and ends with it")


_ANSWERS: Mapping[str, Callable[[Host, Wish, str], bytes]] = {
    "version": Host.version,
    "devices": Host.devices,
    "devices-l": Host.devices_long,
    "features": Host.features,
    "host-features": Host.host_features,
    "get-state": Host.state,
    "get-serialno": Host.serial,
    "get-devpath": Host.device_path,
    "forward": Host.forward,
    "killforward": Host.kill_forward,
    "killforward-all": Host.kill_forwards,
    "list-forward": Host.list_forwards,
    "connect": Host.connect,
    "disconnect": Host.disconnect,
    "kill": Host.kill,
}
