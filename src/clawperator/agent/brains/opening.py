"""Apps: which one a name means, opening and closing them, and going to places in them."""

from collections.abc import Callable
from typing import TypeVar

from clawperator.agent.brains.instructions import Close, GoTo, Open, Target
from clawperator.agent.brains.names import ANY_CASE, fit, shown
from clawperator.agent.brains.places import Place, as_link, is_package, known_app, squash
from clawperator.agent.brains.screens import Screen, aim, choose, holder, missing, pick
from clawperator.agent.brains.work import Steps, Work, effect
from clawperator.contract.errors import ClawError
from clawperator.ui.node import Node

T = TypeVar("T")

_ARRIVAL_MS = 10_000


def open_named(work: Work, asked: Open) -> Steps[str]:
    link = as_link(asked.name)
    if link:
        return (yield from open_link(work, link))
    return (yield from open_app(work, asked.name))


def open_link(work: Work, link: str) -> Steps[str]:
    done = yield from work.act("open_uri", {"uri": link})
    screen = yield from work.look()
    return f"Opened {shown(link)} ({screen.package or 'an unknown app'} is in front); {effect(done)}."


def go_to(work: Work, asked: GoTo) -> Steps[str]:
    """What is known as an app or a link is opened, anything else is tapped."""
    from clawperator.agent.brains.instructions import Tap
    from clawperator.agent.brains.touching import tap

    name = asked.target.name
    if as_link(name) or known_app(name):
        return (yield from open_named(work, Open(name)))
    return (yield from tap(work, Tap(asked.target)))


def open_app(work: Work, name: str) -> Steps[str]:
    """Open the app of a name, and wait until it is in front."""
    package = known_app(name)
    if package:
        try:
            return (yield from _launch(work, name, package))
        except ClawError as e:
            if e.code != "APP_NOT_FOUND" or is_package(name):
                raise
    package = yield from _installed(work, name)
    if package:
        return (yield from _launch(work, name, package))
    target = Target(name, name)
    screen = yield from work.look()
    node = _named(screen, target)
    if node is not None and holder(node) is not None:
        done = yield from work.act("click", aim(screen, node))
        return f"Opened {shown(name)} by tapping it; {effect(done)}."
    return (yield from _open_from_home(work, target))


def _launch(work: Work, name: str, package: str) -> Steps[str]:
    yield from work.act("open_app", {"applicationId": package})
    yield from work.act("wait_for_navigation", {"expectedPackage": package, "timeoutMs": _ARRIVAL_MS})
    return f"Opened {name}." if name != package else f"Opened {package}."


def _installed(work: Work, name: str) -> Steps[str]:
    """The package whose last parts make up a name; nothing when none does, or several do."""
    result = yield from work.call("list_packages")
    wanted = squash(name)
    found = [package for package in _packages(result.result) if wanted and wanted in _endings(package)]
    return found[0] if len(found) == 1 else ""


def _packages(document: object) -> list[str]:
    """The names in the answer of ``list_packages``, which may be a list or hold one."""
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [])
    return [name for name in document if isinstance(name, str)] if isinstance(document, list) else []


def _endings(package: str) -> set[str]:
    """What a package may be called: its last part, its last two in either order, the parts before."""
    parts = [squash(part) for part in package.split(".")]
    return {*parts[1:], "".join(parts[-2:])}


def _named(screen: Screen, target: Target) -> Node | None:
    """What can be tapped and has just this name."""
    found: dict[int, Node] = {}
    for node in screen.nodes:
        way = fit(target.name, node)
        above = holder(node)
        if way is not None and way <= ANY_CASE and above is not None:
            found.setdefault(id(above), node)
    return pick(list(found.values()), target)


def _open_from_home(work: Work, target: Target) -> Steps[str]:
    """Tap the icon on the home screen."""
    yield from work.act("press_key", {"key": "home"})
    node, screen = yield from work.search(lambda screen: choose(screen, target, sure=True))
    if node is None:
        raise ClawError(
            "APP_NOT_FOUND",
            f"the phone has no app called {shown(target.words)}: no package is, and no icon of the home screen",
            hint="Run 'clawperator packages list' for the apps on the phone, and say the package's name.",
            details={"nearest": missing(target, screen).message},
            operation="open",
            target=target.words,
        )
    home = screen.package
    yield from work.act("click", aim(screen, node))
    front, screen = yield from work.await_on_screen(
        lambda screen: screen.package if screen.package != home else None
    )
    if not front:
        raise ClawError(
            "NAVIGATION_TIMEOUT",
            f"the icon {shown(target.words)} was tapped, and the home screen is still in front",
            operation="open",
            target=target.words,
        )
    return f"Opened {target.words} ({front})."


def close(work: Work, asked: Close) -> Steps[str]:
    if not asked.name:
        screen = yield from work.look()
        package = screen.package
    else:
        package = known_app(asked.name) or (yield from _installed(work, asked.name))
    if not package:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no app on the phone is known as {shown(asked.name)}",
            hint="Run 'clawperator packages list' for the apps on the phone, and say the package's name.",
            operation="close",
            target=asked.name,
        )
    yield from work.act("close_app", {"applicationId": package})
    return f"Closed {asked.name or package}."


def go_to_place(work: Work, place: Place, find: Callable[[Screen], T | None]) -> Steps[tuple[T | None, Screen]]:
    """Go to a place from the first page of its app, and look for something there."""
    yield from work.act("close_app", {"applicationId": place.app})
    yield from _launch(work, place.app, place.app)
    for page in place.pages:
        target = Target(page, page)
        node, screen = yield from work.search(lambda screen, t=target: choose(screen, t))  # type: ignore[misc]
        if node is None:
            raise missing(target, screen)
        yield from work.act("click", aim(screen, node))
    return (yield from work.search(find))
