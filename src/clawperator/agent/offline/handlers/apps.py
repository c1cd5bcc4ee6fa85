"""Handlers for apps: resolve a name, open, close and list apps, and open known places in them."""

from collections.abc import Callable
from typing import TypeVar

from clawperator._base.text import one_line
from clawperator.agent.offline.grammar import SentenceError, parse_target
from clawperator.agent.offline.instructions import (
    CloseInstruction,
    FindAppInstruction,
    ForegroundAppInstruction,
    ListAppsInstruction,
    OpenInstruction,
    OpenPageInstruction,
    TargetPhrase,
)
from clawperator.agent.offline.known_places import (
    SETTINGS,
    KnownPlace,
    find_titled_page,
    is_package,
    is_typo,
    known_app,
    normalize_label,
    parse_link,
    similar_known_names,
)
from clawperator.agent.offline.labels import ANY_CASE, WHOLE_NAME, click_target, display_label, match_name, quote
from clawperator.agent.offline.run import OfflineRun, ToolSteps, click_params, has_changed
from clawperator.agent.offline.screens import (
    CapturedScreen,
    choose_node,
    find_candidates,
    not_found_error,
    pick_one,
)
from clawperator.agent.tools.messages import effect
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.errors import ClawError
from clawperator.recording.heuristics import SYSTEM_UI, is_launcher
from clawperator.ui.node import Node

T = TypeVar("T")

_LAUNCH_TIMEOUT_MS = 10_000
_MAX_LISTED = 40
_MAX_BACK = 8
_UP = TargetPhrase("Navigate up", "Navigate up")
# Vendor names occur in the packages of many apps and identify none of them.
_VENDOR_NAMES = frozenset(
    ("android", "google", "samsung", "sec", "miui", "xiaomi", "huawei", "app", "apps", "mobile", "clawperator")
)
# Packages that the device needs. The launcher and the Operator are protected too.
_PROTECTED_PACKAGES = frozenset(("android", SYSTEM_UI, "com.android.phone"))


def open_app_or_link(run: OfflineRun, instruction: OpenInstruction) -> ToolSteps[str]:
    link = parse_link(instruction.name)
    if link:
        return (yield from open_link(run, link))
    return (yield from open_app(run, instruction.name))


def open_link(run: OfflineRun, link: str) -> ToolSteps[str]:
    result = yield from run.run_action("open_uri", {"uri": link})
    _, screen = yield from run.wait_on_screen(lambda screen: None if screen.is_loading else screen)
    return f"Opened {quote(link)} ({screen.package or 'an unknown app'} is in the foreground); {effect(result)}."


def open_app(run: OfflineRun, name: str) -> ToolSteps[str]:
    """Open the app of a name and wait until it is in the foreground."""
    package = known_app(name)
    if package:
        try:
            return (yield from _launch(run, name, package))
        except ClawError as e:
            if e.code != "APP_NOT_FOUND" or is_package(name):
                raise
    package = find_package(name, (yield from list_packages(run)))
    if package:
        return (yield from _launch(run, f"{one_line(name)} ({package})", package))
    target = TargetPhrase(name, name)
    screen = yield from run.capture()
    node = _find_clickable(screen, target)
    if node is not None and click_target(node) is not None:
        result = yield from run.run_action("click", click_params(screen, node))
        opened = f"Opened {quote(name)} by tapping it" if has_changed(result) else f"Tapped {quote(name)}"
        return f"{opened}; {effect(result)}."
    node = _find_described(screen, name)
    if node is not None:
        label = quote(display_label(node) or name)
        result = yield from run.run_action("click", click_params(screen, node))
        opened = f"Opened {label} by tapping it" if has_changed(result) else f"Tapped {label}"
        return f"{opened}; {effect(result)}."
    page = find_titled_page(name)
    if page is not None:
        return (yield from open_page(run, OpenPageInstruction(page.rows, page.title)))
    _reject_misspelled_app(name, screen)
    return (yield from _open_from_home(run, target))


def _find_described(screen: CapturedScreen, name: str) -> Node | None:
    """The clickable node of a description such as "Intelligence tab"; not on the home screen, which shows apps."""
    try:
        target = parse_target(name)
    except SentenceError:
        return None
    described = target.role or target.name != target.phrase
    return (
        choose_node(screen, target, clickable_only=True) if described and not is_launcher(screen.package) else None
    )


def _reject_misspelled_app(name: str, screen: CapturedScreen) -> None:
    """``APP_NOT_FOUND`` with the nearest names. Nothing is done for a misspelled name."""
    wanted = normalize_label(name)
    visible = (label for label in screen.labels if is_typo(wanted, normalize_label(label)))
    near = list(dict.fromkeys((*similar_known_names(name), *visible)))
    if near:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no app is named {quote(name)}; nearest: {', '.join(map(quote, near))}",
            hint="Run 'clawperator packages list' for the installed apps, and use the package name.",
            operation="open",
            target=name,
        )


def _launch(run: OfflineRun, name: str, package: str) -> ToolSteps[str]:
    yield from run.run_action("open_app", {"applicationId": package})
    yield from run.run_action("wait_for_navigation", {"expectedPackage": package, "timeoutMs": _LAUNCH_TIMEOUT_MS})
    return f"Opened {name}."


def list_packages(run: OfflineRun) -> ToolSteps[list[str]]:
    """The names in the result of ``list_packages``, which is a list or contains one."""
    document: object = (yield from run.call_tool("list_packages")).result
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [])
    return [name for name in document if isinstance(name, str)] if isinstance(document, list) else []


def find_package(name: str, packages: list[str], *, strict: bool = False) -> str:
    """The package that a name identifies; empty when there is none or there are several.

    The name is the last part of the package or its last two. Unless ``strict``, the name of a vendor with one
    installed app matches too, except for vendors of phones.
    """
    wanted = normalize_label(name)
    if not wanted:
        return ""
    packages = [package for package in packages if "." in package]
    package_parts = [[normalize_label(part) for part in package.split(".")] for package in packages]
    by_name = [
        p for p, parts in zip(packages, package_parts, strict=True) if wanted in (parts[-1], "".join(parts[-2:]))
    ]
    by_vendor = [p for p, parts in zip(packages, package_parts, strict=True) if wanted in parts[1:-1]]
    found = by_name or ([] if strict or wanted in _VENDOR_NAMES else by_vendor)
    return found[0] if len(found) == 1 else ""


def _find_clickable(screen: CapturedScreen, target: TargetPhrase) -> Node | None:
    """The clickable node with exactly this name."""
    found: dict[int, Node] = {}
    for node in screen.nodes:
        level = match_name(target.name, node)
        clicked = click_target(node)
        if level is not None and level <= ANY_CASE and clicked is not None:
            found.setdefault(id(clicked), node)
    return pick_one(list(found.values()), target)


def _open_from_home(run: OfflineRun, target: TargetPhrase) -> ToolSteps[str]:
    """Tap the app's icon on the home screen."""
    yield from run.run_action("press_key", {"key": "home"})
    node, screen = yield from run.scroll_to_find(lambda screen: choose_node(screen, target, clickable_only=True))
    if node is None:
        raise ClawError(
            "APP_NOT_FOUND",
            f"app {quote(target.phrase)} not found among the packages and on the home screen, which is now open",
            hint="Run 'clawperator packages list' for the installed apps, and use the package name.",
            details={"nearest": not_found_error(target, screen).message},
            operation="open",
            target=target.phrase,
        )
    home = screen.package
    result = yield from run.run_action("click", click_params(screen, node))
    front, screen = yield from run.wait_on_screen(
        lambda screen: screen.package if screen.package != home else None
    )
    if not front:
        raise ClawError(
            "NAVIGATION_TIMEOUT",
            f"the home screen is still in the foreground after tapping {quote(target.phrase)}; {effect(result)}",
            operation="open",
            target=target.phrase,
        )
    return f"Opened {one_line(display_label(node) or target.phrase)} ({front})."


def close(run: OfflineRun, instruction: CloseInstruction) -> ToolSteps[str]:
    if not instruction.name:
        package = (yield from run.capture()).package
    else:
        package = known_app(instruction.name) or find_package(
            instruction.name, (yield from list_packages(run)), strict=True
        )
    if not package:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no installed app matches {quote(instruction.name)}",
            hint="Use a package name from 'list apps'. To leave a page or a dialog, write 'go back'.",
            operation="close",
            target=instruction.name,
        )
    if package in _PROTECTED_PACKAGES or is_launcher(package) or package.startswith(OPERATOR_PACKAGE):
        raise ClawError(
            "INSTRUCTION_CHECK_FAILED",
            f"{package} is a system component and was not closed",
            hint=f'To close it anyway, write \'use close_app {{"applicationId": "{package}"}}\'.',
            operation="close",
            target=package,
        )
    closed = yield from run.run_action("close_app", {"applicationId": package})
    name = one_line(instruction.name) or package
    return f"{name} was not running." if closed.get("was_running") == "false" else f"Closed {name}."


def list_apps(run: OfflineRun, _: ListAppsInstruction) -> ToolSteps[str]:
    found = sorted((yield from list_packages(run)))
    more = f", and {len(found) - _MAX_LISTED} more" if len(found) > _MAX_LISTED else ""
    listed = ", ".join(map(one_line, found[:_MAX_LISTED]))
    return f"{len(found)} apps: {listed}{more}."


def find_app(run: OfflineRun, instruction: FindAppInstruction) -> ToolSteps[str]:
    """Check by package name. Never answers No: an icon's label may differ from the package name."""
    return f"Yes: {(yield from find_installed(run, instruction.name))} is installed."


def find_installed(run: OfflineRun, name: str) -> ToolSteps[str]:
    """The package of an installed app; ``APP_NOT_FOUND`` when no package matches the name."""
    packages = yield from list_packages(run)
    known = known_app(name)
    package = known if known in packages else find_package(name, packages, strict=True)
    if not package:
        raise ClawError(
            "APP_NOT_FOUND",
            f"no installed package matches {quote(name)}; the icon may have another name",
            hint="Write 'list apps' for the installed packages.",
            operation="find",
            target=name,
        )
    return package


def report_foreground_app(run: OfflineRun, _: ForegroundAppInstruction) -> ToolSteps[str]:
    screen = yield from run.capture()
    return f"{screen.package or 'An unknown app'} is in the foreground."


# Places


def is_on_page(screen: CapturedScreen, place: KnownPlace) -> bool:
    """Whether the page of a place is on the screen: its app is in the foreground and its title is visible."""
    title = TargetPhrase(place.pages[-1], place.pages[-1])
    found = next(iter(find_candidates(screen, title, WHOLE_NAME)), [])
    return screen.package == place.app and any(click_target(node) is None for node in found)


def go_to_place(
    run: OfflineRun, place: KnownPlace, find: Callable[[CapturedScreen], T | None]
) -> ToolSteps[tuple[T | None, CapturedScreen]]:
    """Open a place from the first page of its app, and search for something there."""
    yield from _go_to_first_page(run, place)
    for page in place.pages:
        yield from _open_page(run, page)
    return (yield from run.scroll_to_find(find))


def open_page(run: OfflineRun, instruction: OpenPageInstruction) -> ToolSteps[str]:
    """Open a page of Settings and check its title."""
    place = KnownPlace(instruction.rows, instruction.title)
    shown = KnownPlace((instruction.title,), instruction.title)
    path = " > ".join(("Settings", *instruction.rows))
    if is_on_page((yield from run.capture()), shown):
        return f"{path} is already open."
    reached, screen = yield from go_to_place(run, place, lambda screen: is_on_page(screen, shown) or None)
    if not reached:
        raise ClawError(
            "NAVIGATION_TIMEOUT",
            f"{path} was opened, but the screen has no title {quote(instruction.title)}",
            hint="Run 'claw bootstrap \"describe the screen\"' to see the page.",
            operation="open",
            target=screen.package or SETTINGS,
        )
    return f"Opened {path}."


def _open_page(run: OfflineRun, page: str) -> ToolSteps[None]:
    target = TargetPhrase(page, page, exact=True)
    for _ in range(2):  # a tap may get lost
        node, screen = yield from run.scroll_to_find(
            lambda screen: choose_node(screen, target, clickable_only=True)
        )
        if node is None:
            raise not_found_error(target, screen)
        result = yield from run.run_action("click", click_params(screen, node))
        if result.get("effect") != "unchanged":
            return


def _go_to_first_page(run: OfflineRun, place: KnownPlace) -> ToolSteps[None]:
    """Open the app, which may show its last page, and press Back until its first page shows."""
    first = TargetPhrase(place.pages[0], place.pages[0])
    if (yield from run.capture()).package != place.app:
        yield from _launch(run, place.app, place.app)
    for _ in range(_MAX_BACK):
        screen = yield from run.capture()
        if screen.package != place.app:  # Back left the app: it starts with its first page
            yield from _launch(run, place.app, place.app)
            return
        if not find_candidates(screen, _UP, WHOLE_NAME) and (
            screen.scrolls or find_candidates(screen, first, WHOLE_NAME)
        ):
            return
        yield from run.run_action("press_key", {"key": "back"})
    raise ClawError(
        "NAVIGATION_TIMEOUT",
        f"{place.app} does not show its first page after pressing Back {_MAX_BACK} times",
        hint="Close the app, or open its first page by hand.",
        operation="open",
        target=place.app,
    )
