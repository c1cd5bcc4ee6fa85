"""A browser with a few pages of its own, and the sheet that asks which app is to open a link.

Nothing is fetched: a page is looked up by its host. What a link says is shown, never trusted.
"""

from msgspec import Struct

from clawperator.phone.toolkit.app import App, back, go
from clawperator.phone.toolkit.context import AppContext, InstalledApp
from clawperator.phone.toolkit.views import (
    View,
    button,
    column,
    field,
    icon,
    item,
    progress,
    row,
    text,
    title,
    web,
)

PACKAGE = "com.android.chrome"
CHOOSER = "com.android.intentresolver"
_ACTIVITY = "org.chromium.chrome.browser.ChromeTabbedActivity"
_LOADING_MS = 300
_LONGEST_SHOWN = 2_048
_SEARCH = "https://search.example.com/"
_SCHEMES = ("http://", "https://")


class Site(Struct, frozen=True):
    """What a host answers: paragraphs, and links with where they lead."""

    title: str
    paragraphs: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()


_SITES = {
    "clawperator.com": Site(
        "Clawperator",
        (
            "A hand on Android phones for AI agents.",
            "An agent says what is to be done, step by step. The phone does it and tells what happened.",
        ),
        (
            ("Documentation", "https://docs.clawperator.com/"),
            ("Watch the demo", "https://www.youtube.com/watch?v=clawperator"),
            ("An example", "https://example.com/"),
        ),
    ),
    "docs.clawperator.com": Site(
        "Clawperator documentation",
        tuple(
            f"Chapter {number}. {words}"
            for number, words in enumerate(
                (
                    "Connect a phone by cable and let it trust this computer.",
                    "Look before you act: a snapshot tells what is on the screen.",
                    "Name what you mean: an id is better than a text, a text better than a place.",
                    "Wait for what you expect, and only as long as it may take.",
                    "Read what a step answered before you take the next one.",
                    "Record what a person shows, and make steps of it.",
                ),
                start=1,
            )
        ),
        (("Home", "https://clawperator.com/"),),
    ),
    "example.com": Site(
        "Example Domain",
        ("This name is set aside for examples. Nobody needs to be asked before it is used in one.",),
        (("More information", "https://www.iana.org/help/example-domains"),),
    ),
    "news.example.com": Site(
        "The Daily Example",
        ("Everything that could have happened today.",),
        tuple((f"Story {n}", f"https://news.example.com/story/{n}") for n in range(1, 31)),
    ),
}


def apps() -> list[App]:
    browser = App(PACKAGE, "Chrome", version="131.0.6778", system=True, links=_SCHEMES, link_screen="page")
    browser.screen("home", activity=_ACTIVITY)(_new_tab)
    browser.screen("page", activity=_ACTIVITY, on_show=_load)(_page)
    chooser = App(CHOOSER, "Open with", home="choose", version="15.0.0", system=True, launchable=False)
    activity = "com.android.internal.app.ResolverActivity"
    chooser.screen("choose", kind="sheet", title="Open with", activity=activity)(_choose)
    return [browser, chooser]


# The browser


def _new_tab(_: AppContext) -> View:
    shortcuts = [
        item(_SITES[host].title, host, go("page", uri=f"https://{host}/"), id="tile_view")
        for host in ("clawperator.com", "example.com", "news.example.com")
    ]
    return column(_bar(""), column(*shortcuts, id="tiles"), weight=1)


def _bar(uri: str, *actions: View) -> View:
    """The address is a field of the screen itself, so that each page in the history keeps its own."""
    address = field(
        "",
        "Search or type URL",
        id="url_bar",
        text=uri,
        weight=1,
        on_change=lambda here, typed: here.args.__setitem__("typed", typed),
        on_submit=_submit,
    )
    return row(
        icon("Home", go("home"), id="home_button"), address, *actions, id="toolbar", height=64, tone="surface"
    )


def _submit(here: AppContext) -> None:
    typed = str(here.args.pop("typed", here.args.get("uri", ""))).strip()
    if typed:
        here.go("page", uri=_address(typed))


def _address(typed: str) -> str:
    """Where a line typed into the address bar leads: a link as it is, a host by https, words to a search."""
    if typed.lower().startswith(_SCHEMES):
        return typed
    host = typed.partition("/")[0]
    if " " not in typed and "." in host.strip(".") and ":" not in host:
        return f"https://{typed}"
    from urllib.parse import quote_plus

    return f"{_SEARCH}?q={quote_plus(typed, errors='replace')}"


def _load(here: AppContext) -> None:
    here.args["ready"] = False
    here.after(_LOADING_MS, _show)


def _show(here: AppContext) -> None:
    here.args["ready"] = True


def _page(here: AppContext) -> View:
    uri = _printable(str(here.args.get("uri", "")))
    bar = _bar(uri, icon("Refresh", _load, id="refresh_button"))
    if not here.args.get("ready"):
        return column(bar, progress("Loading", id="progress"), web(desc="Loading"), weight=1)
    site = _site(uri)
    if site is None:
        return column(
            bar,
            title("This site can't be reached"),
            text(f"{_host(uri) or uri} has no address."),
            button("Reload", _load),
            weight=1,
        )
    content = (
        View(text=site.title, heading=True, size=24, padding=12),
        *(View(text=words, padding=12) for words in site.paragraphs),
        *(_link(label, to) for label, to in site.links),
    )
    # A browser's engine tells of its whole page, also of what is scrolled away.
    return column(bar, web(*content, text=site.title, scrolls="vertical", keeps_hidden=True), weight=1)


def _link(label: str, uri: str) -> View:
    def follow(here: AppContext) -> None:
        # What another app opens too is asked for as any other link; the rest stays in the browser.
        if any(app.package != PACKAGE for app in here.system.packages.handlers(uri)):
            here.view(uri)
        else:
            here.go("page", uri=uri)

    return View(text=label, on_click=follow, padding=12)


def _site(uri: str) -> Site | None:
    """The page behind a link; None when there is no such host."""
    host = _host(uri)
    if not host or host.endswith(".invalid"):
        return None
    if uri.lower().startswith(f"{_SEARCH}?q="):
        from urllib.parse import unquote_plus

        words = _printable(unquote_plus(uri[len(_SEARCH) + 3 :], errors="replace"))
        found = [(site.title, f"https://{name}/") for name, site in _SITES.items()]
        return Site(words, (f"{len(found)} results for {words}",), tuple(found))
    path = uri.partition("://")[2].partition("/")[2]
    known = _SITES.get(host.removeprefix("www."))
    if known is not None and not path:
        return known
    home = (f"Home of {host}", f"https://{host}/")
    words = f"You are at /{path}" if path else "Nothing is here yet."
    return Site(known.title if known else host, (words,), (home,))


def _host(uri: str) -> str:
    """The host of a web link in lower case, without user and port; empty when there is none."""
    rest = uri.partition("://")[2]
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest.rpartition("@")[2].partition(":")[0].lower()


def _printable(words: str) -> str:
    """The words as they can be shown: of a bounded length, on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words[:_LONGEST_SHOWN])


# The sheet that asks


def _choose(here: AppContext) -> View:
    packages = here.system.packages
    chosen = here.args.get("chosen")
    offered = [packages.app(name) for name in here.args.get("apps", ()) if name in packages]

    def offer(app: InstalledApp) -> View:
        def take(there: AppContext) -> None:
            there.args["chosen"] = app.package

        return item(app.label, "", take, selected=app.package == chosen, id="android:id/resolver_item")

    return column(
        title("Open with", id="android:id/title_default"),
        column(*map(offer, offered), id="android:id/resolver_list"),
        row(
            button("Just once", _open_once, id="android:id/button_once", weight=1, enabled=chosen is not None),
            button("Always", _open_always, id="android:id/button_always", weight=1, enabled=chosen is not None),
            gap=8,
        ),
        padding=12,
        tone="surface",
    )


def _open_once(here: AppContext) -> None:
    back(here)
    if here.args["chosen"] in here.system.packages:
        here.system.open_with(here.args["chosen"], here.args["uri"])


def _open_always(here: AppContext) -> None:
    here.system.packages.prefer(here.args["uri"], here.args["chosen"])
    _open_once(here)
