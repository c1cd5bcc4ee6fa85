"""Apps: which one a name means, opening and closing them, and going to places in them."""

import re
from collections.abc import Callable
from typing import TypeVar

from clawperator._text import one_line
from clawperator.agent.offline.instructions import Close, FindApp, ListApps, Open, Target, TellFront
from clawperator.agent.offline.known_places import Place, as_link, is_package, known_app, squash
from clawperator.agent.offline.labels import ANY_CASE, WHOLE, fit, holder, shown
from clawperator.agent.offline.run import Steps, Work, aim, has_changed
from clawperator.agent.offline.screens import Screen, choose, missing, pick, ranked
from clawperator.agent.tools.messages import effect
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.errors import ClawError
from clawperator.ui.node import Node

T = TypeVar("T")

_ARRIVAL_MS = 10_000
_MOST_LISTED = 40
_MOST_BACK = 8
_UP = Target("Navigate up", "Navigate up")
# Names that stand in the packages of many apps and mean none of them.
_MAKERS = frozenset(
    ("android", "google", "samsung", "sec", "miui", "xiaomi", "huawei", "app", "apps", "mobile", "clawperator")
)
# What a phone needs to show anything, and the Operator, without which nothing more could be done here.
_KEPT = frozenset(("android", "com.android.systemui", "com.android.phone"))
_LAUNCHER = re.compile(r"launcher|trebuchet|\.home$", re.IGNORECASE)


def open_named(work: Work, asked: Open) -> Steps[str]:
    link = as_link(asked.name)
    if link:
        return (yield from open_link(work, link))
    return (yield from open_app(work, asked.name))


def open_link(work: Work, link: str) -> Steps[str]:
    done = yield from work.act("open_uri", {"uri": link})
    screen = yield from work.look()
    return f"Opened {shown(link)} ({screen.package or 'an unknown app'} is in front); {effect(done)}."


def open_app(work: Work, name: str) -> Steps[str]:
    """Open the app of a name, and wait until it is in front."""
    package = known_app(name)
    if package:
        try:
            return (yield from _launch(work, name, package))
        except ClawError as e:
            if e.code != "APP_NOT_FOUND" or is_package(name):
                raise
    package = package_named(name, (yield from list_packages(work)))
    if package:
        return (yield from _launch(work, f"{one_line(name)} ({package})", package))
    target = Target(name, name)
    screen = yield from work.look()
    node = _named(screen, target)
    if node is not None and holder(node) is not None:
        done = yield from work.act("click", aim(screen, node))
        opened = f"Opened {shown(name)} by tapping it" if has_changed(done) else f"Tapped {shown(name)}"
        return f"{opened}; {effect(done)}."
    return (yield from _open_from_home(work, target))


def _launch(work: Work, name: str, package: str) -> Steps[str]:
    yield from work.act("open_app", {"applicationId": package})
    yield from work.act("wait_for_navigation", {"expectedPackage": package, "timeoutMs": _ARRIVAL_MS})
    return f"Opened {name}."


def list_packages(work: Work) -> Steps[list[str]]:
    """The names in the answer of ``list_packages``, which may be a list or hold one."""
    document: object = (yield from work.call("list_packages")).result
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [])
    return [name for name in document if isinstance(name, str)] if isinstance(document, list) else []


def package_named(name: str, packages: list[str], *, sure: bool = False) -> str:
    """The package that a name means; nothing when none does, or several do.

    It is called by its last part or its last two. A maker's name will do when one app is all there is of it, but
    not if that must be ``sure``, nor if it is one that makes phones.
    """
    wanted = squash(name)
    if not wanted:
        return ""
    packages = [package for package in packages if "." in package]
    ends = [[squash(part) for part in package.split(".")] for package in packages]
    called = [p for p, parts in zip(packages, ends, strict=True) if wanted in (parts[-1], "".join(parts[-2:]))]
    made = [p for p, parts in zip(packages, ends, strict=True) if wanted in parts[1:-1]]
    found = called or ([] if sure or wanted in _MAKERS else made)
    return found[0] if len(found) == 1 else ""


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
            f"the phone has no app called {shown(target.words)}: no package is, and no icon of the home screen, "
            "which is in front now",
            hint="Run 'clawperator packages list' for the apps on the phone, and say the package's name.",
            details={"nearest": missing(target, screen).message},
            operation="open",
            target=target.words,
        )
    home = screen.package
    done = yield from work.act("click", aim(screen, node))
    front, screen = yield from work.await_on_screen(
        lambda screen: screen.package if screen.package != home else None
    )
    if not front:
        raise ClawError(
            "NAVIGATION_TIMEOUT",
            f"the icon {shown(target.words)} was tapped, and the home screen is still in front; {effect(done)}",
            operation="open",
            target=target.words,
        )
    return f"Opened {target.words} ({front})."


def close(work: Work, asked: Close) -> Steps[str]:
    if not asked.name:
        package = (yield from work.look()).package
    else:
        package = known_app(asked.name) or package_named(asked.name, (yield from list_packages(work)), sure=True)
    if not package:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no app on the phone is known as {shown(asked.name)}",
            hint="Say 'list apps' and then the package's name; a page or a dialog is left with 'go back'.",
            operation="close",
            target=asked.name,
        )
    if package in _KEPT or _LAUNCHER.search(package) or package.startswith(OPERATOR_PACKAGE):
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{package} is a part of the phone that the others need, and was not closed",
            hint=f'To do it nevertheless say \'use close_app {{"applicationId": "{package}"}}\'.',
            operation="close",
            target=package,
        )
    yield from work.act("close_app", {"applicationId": package})
    return f"Closed {one_line(asked.name) or package}."


def list_apps(work: Work, _: ListApps) -> Steps[str]:
    found = sorted((yield from list_packages(work)))
    more = f", and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    told = ", ".join(map(one_line, found[:_MOST_LISTED]))
    return f"{len(found)} apps: {told}{more}."


def find_app(work: Work, asked: FindApp) -> Steps[str]:
    """Whether it is there. Its icon may have another name than its package, so nobody can say that it is not."""
    packages = yield from list_packages(work)
    known = known_app(asked.name)
    package = known if known in packages else package_named(asked.name, packages, sure=True)
    if not package:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no package on the phone is known as {shown(asked.name)}; its icon may have another name",
            hint="Say 'list apps' for the packages there are.",
            operation="find",
            target=asked.name,
        )
    return f"Yes: {package} is installed."


def tell_front(work: Work, _: TellFront) -> Steps[str]:
    screen = yield from work.look()
    return f"{screen.package or 'An unknown app'} is in front."


# Places


def is_at(screen: Screen, place: Place) -> bool:
    """Whether the page of a place is on the screen: its app is in front, and its title is there."""
    title = Target(place.pages[-1], place.pages[-1])
    found = next(iter(ranked(screen, title, WHOLE)), [])
    return screen.package == place.app and any(holder(node) is None for node in found)


def go_to_place(work: Work, place: Place, find: Callable[[Screen], T | None]) -> Steps[tuple[T | None, Screen]]:
    """Go to a place from the first page of its app, and look for something there."""
    yield from _go_to_first_page(work, place)
    for page in place.pages:
        target = Target(page, page, exact=True)
        for _ in range(2):  # a touch may get lost
            node, screen = yield from work.search(lambda screen, t=target: choose(screen, t, sure=True))  # type: ignore[misc]
            if node is None:
                raise missing(target, screen)
            done = yield from work.act("click", aim(screen, node))
            if done.get("effect") != "unchanged":
                break
    return (yield from work.search(find))


def _go_to_first_page(work: Work, place: Place) -> Steps[None]:
    """Open the app, which comes back where it was left, and press Back until its first page shows."""
    first = Target(place.pages[0], place.pages[0])
    if (yield from work.look()).package != place.app:
        yield from _launch(work, place.app, place.app)
    for _ in range(_MOST_BACK):
        screen = yield from work.look()
        if screen.package != place.app:  # it was left: opened again it begins with its first page
            yield from _launch(work, place.app, place.app)
            return
        if not ranked(screen, _UP, WHOLE) and (screen.scrolls or ranked(screen, first, WHOLE)):
            return
        yield from work.act("press_key", {"key": "back"})
    raise ClawError(
        "NAVIGATION_TIMEOUT",
        f"{place.app} does not show its first page after Back was pressed {_MOST_BACK} times",
        hint="Close it, or go to its first page by hand.",
        operation="open",
        target=place.app,
    )
