"""Every screen of the built-in apps that a few taps reach, and the taps that lead from one to another."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from clawperator.testing import SimulatedPhone, simulated_phone
from clawperator.ui.node import Hierarchy, Node

# No two apps need more taps to show each kind of their screens.
_DEPTH = 3
# Of rows of the same kind, such as the results of a search.
_MOST_ALIKE = 3
_WAIT_SECONDS = 2.0
# A step of a path that scrolls down instead of tapping.
_SCROLL = -1


class BuiltInScreen(Struct, frozen=True, eq=False):
    """A screen as XML, named by the app and the labels that were tapped."""

    name: str
    xml: str


class BuiltInTap(Struct, frozen=True, eq=False):
    """The XML before and after one tap."""

    name: str
    before: str
    after: str


@cache
def built_in_screens() -> tuple[tuple[BuiltInScreen, ...], tuple[BuiltInTap, ...]]:
    """Walk through all apps of a simulated phone, each from its start and without its data."""
    taps: list[BuiltInTap] = []
    with simulated_phone() as phone:
        screens = tuple(visit_built_in_screens(phone, taps))
    return screens, tuple(taps)


def visit_built_in_screens(phone: SimulatedPhone, taps: list[BuiltInTap]) -> Iterator[BuiltInScreen]:
    """Each screen while the phone shows it. ``taps`` grows meanwhile."""
    seen = {phone.xml()}
    yield BuiltInScreen("launcher", phone.xml())
    for package in [name for name in _packages(phone) if phone.phone.launch(name)]:
        yield from _walk(phone, package, seen, taps)


def _walk(phone: SimulatedPhone, package: str, seen: set[str], taps: list[BuiltInTap]) -> Iterator[BuiltInScreen]:
    paths: list[tuple[int, ...]] = [()]
    for path in paths:  # grows meanwhile
        followed = _follow(phone, package, path)
        if followed is None:
            continue
        name, before, after = followed
        if before is not None and path[-1] != _SCROLL:
            taps.append(BuiltInTap(name, before, after))
        if after not in seen:
            seen.add(after)
            if len(path) < _DEPTH:
                paths += [(*path, number) for number in range(_SCROLL, len(_targets(phone.hierarchy(), path)))]
            yield BuiltInScreen(name, after)


def _follow(phone: SimulatedPhone, package: str, path: tuple[int, ...]) -> tuple[str, str | None, str] | None:
    """The last screen of a path of taps and the one before it. None when the path ends before."""
    phone.phone.clear_app(package)
    phone.phone.go_home()
    phone.phone.launch(package)
    phone.phone.clock.sleep(_WAIT_SECONDS)
    name, before = package.rpartition(".")[2], None
    for at, number in enumerate(path):
        before = phone.xml()
        targets = _targets(phone.hierarchy(), path[:at])
        if number == _SCROLL:
            phone.phone.swipe((500, 1_700), (500, 900))
            name += " > (scroll)"
        elif number < len(targets):
            phone.phone.tap(*targets[number].bounds.centre)
            name += f" > {_label(targets[number])}"
        else:
            return None
        phone.phone.clock.sleep(_WAIT_SECONDS)
    return name, before, phone.xml()


def _targets(hierarchy: Hierarchy, path: tuple[int, ...]) -> list[Node]:
    """The nodes to tap: on the first screen of an app all of them, later a few of each kind."""
    most = _MOST_ALIKE if any(number != _SCROLL for number in path) else len(hierarchy.nodes)
    targets: list[Node] = []
    alike: Counter[tuple[str, str, str]] = Counter()
    for node in hierarchy.nodes:
        if node.flag("clickable") and node.flag("enabled") and not node.bounds.is_empty:
            kind = (node.package, node.class_name, node.resource_id)
            alike[kind] += 1
            if alike[kind] <= most:
                targets.append(node)
    return targets


def _label(node: Node) -> str:
    found = next((n.label for n in node.walk() if n.label), "") or node.resource_id.rpartition("/")[2]
    return found.split("\n")[0][:30] or "(no label)"


def _packages(phone: SimulatedPhone) -> list[str]:
    return [
        line.removeprefix("package:") for line in phone.shell("pm", "list", "packages").stdout.decode().split()
    ]
