"""A browser with a few built-in pages, and the chooser that asks which app opens a link.

Nothing is fetched: a page is looked up by its host. Links are untrusted input and only displayed.
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
_MAX_SHOWN = 2_048
_SEARCH = "https://search.example.com/"
_SCHEMES = ("http://", "https://")


class WebSite(Struct, frozen=True):
    """The page of a host: paragraphs, and links with their targets."""

    title: str
    paragraphs: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()


_SITES = {
    "clawperator.com": WebSite(
        "Clawperator",
        (
            "Android automation for AI agents.",
            "An agent sends explicit steps. The phone runs them and reports what happened.",
        ),
        (
            ("Documentation", "https://docs.clawperator.com/"),
            ("Watch the demo", "https://www.youtube.com/watch?v=clawperator"),
            ("An example", "https://example.com/"),
        ),
    ),
    "docs.clawperator.com": WebSite(
        "Clawperator documentation",
        tuple(
            f"Chapter {number}. {words}"
            for number, words in enumerate(
                (
                    "Connect a phone by cable and let it trust this computer.",
                    "Take a snapshot before you act: it lists what is on the screen.",
                    "Select precisely: an id is better than a text, a text is better than a coordinate.",
                    "Wait for the expected screen, with a timeout.",
                    "Check the result of each step before the next one.",
                    "Record a demonstration, and turn it into steps.",
                ),
                start=1,
            )
        ),
        (("Home", "https://clawperator.com/"),),
    ),
    "example.com": WebSite(
        "Example Domain",
        ("This domain is for use in documentation examples without needing permission.",),
        (("More information", "https://www.iana.org/help/example-domains"),),
    ),
    "news.example.com": WebSite(
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
    """The address field is unbound, so that each page in the history keeps its own text."""
    address = field(
        "",
        "Search or type URL",
        id="url_bar",
        text=uri,
        weight=1,
        on_change=lambda context, typed: context.args.__setitem__("typed", typed),
        on_submit=_submit,
    )
    return row(
        icon("Home", go("home"), id="home_button"), address, *actions, id="toolbar", height=64, tone="surface"
    )


def _submit(context: AppContext) -> None:
    typed = str(context.args.pop("typed", context.args.get("uri", ""))).strip()
    if typed:
        context.go("page", uri=_address(typed))


def _address(typed: str) -> str:
    """The address of a typed line: a link unchanged, a host with https, words as a search."""
    if typed.lower().startswith(_SCHEMES):
        return typed
    host = typed.partition("/")[0]
    if " " not in typed and "." in host.strip(".") and ":" not in host:
        return f"https://{typed}"
    from urllib.parse import quote_plus

    return f"{_SEARCH}?q={quote_plus(typed, errors='replace')}"


def _load(context: AppContext) -> None:
    context.args["ready"] = False
    context.after(_LOADING_MS, lambda context: context.args.update(ready=True))


def _page(context: AppContext) -> View:
    uri = _printable(str(context.args.get("uri", "")))
    bar = _bar(uri, icon("Refresh", _load, id="refresh_button"))
    if not context.args.get("ready"):
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
    # A browser engine exposes its whole page, including what is scrolled away.
    return column(bar, web(*content, text=site.title, scrolls="vertical", keeps_hidden=True), weight=1)


def _link(label: str, uri: str) -> View:
    def follow(context: AppContext) -> None:
        # A link that another app handles goes through the chooser; all others stay in the browser.
        if any(app.package != PACKAGE for app in context.system.packages.handlers(uri)):
            context.view(uri)
        else:
            context.go("page", uri=uri)

    return View(text=label, on_click=follow, padding=12)


def _site(uri: str) -> WebSite | None:
    """The page of a link; None for an unknown host."""
    host = _host(uri)
    if not host or host.endswith(".invalid"):
        return None
    if uri.lower().startswith(f"{_SEARCH}?q="):
        from urllib.parse import unquote_plus

        words = _printable(unquote_plus(uri[len(_SEARCH) + 3 :], errors="replace"))
        found = [(site.title, f"https://{name}/") for name, site in _SITES.items()]
        return WebSite(words, (f"{len(found)} results for {words}",), tuple(found))
    path = uri.partition("://")[2].partition("/")[2]
    known = _SITES.get(host.removeprefix("www."))
    if known is not None and not path:
        return known
    home = (f"Home of {host}", f"https://{host}/")
    words = f"You are at /{path}" if path else "Nothing is here yet."
    return WebSite(known.title if known else host, (words,), (home,))


def _host(uri: str) -> str:
    """The host of a web link in lower case, without user and port; empty without one."""
    rest = uri.partition("://")[2]
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest.rpartition("@")[2].partition(":")[0].lower()


def _printable(words: str) -> str:
    """Text for display: of a bounded length, on one line."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words[:_MAX_SHOWN])


# The chooser


def _choose(context: AppContext) -> View:
    packages = context.system.packages
    chosen = context.args.get("chosen")
    handlers = [packages.app(name) for name in context.args.get("apps", ()) if name in packages]

    def option(app: InstalledApp) -> View:
        def choose(context: AppContext) -> None:
            context.args["chosen"] = app.package

        return item(app.label, "", choose, selected=app.package == chosen, id="android:id/resolver_item")

    return column(
        title("Open with", id="android:id/title_default"),
        column(*map(option, handlers), id="android:id/resolver_list"),
        row(
            button("Just once", _open_once, id="android:id/button_once", weight=1, enabled=chosen is not None),
            button("Always", _open_always, id="android:id/button_always", weight=1, enabled=chosen is not None),
            gap=8,
        ),
        padding=12,
        tone="surface",
    )


def _open_once(context: AppContext) -> None:
    back(context)
    if context.args["chosen"] in context.system.packages:
        context.system.open_with(context.args["chosen"], context.args["uri"])


def _open_always(context: AppContext) -> None:
    context.system.packages.prefer(context.args["uri"], context.args["chosen"])
    _open_once(context)
