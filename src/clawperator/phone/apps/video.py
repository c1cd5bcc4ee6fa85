"""A video app: a feed, a search with suggestions, and a player page."""

from msgspec import Struct

from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    Rows,
    View,
    button,
    column,
    field,
    icon,
    image,
    item,
    listing,
    row,
    text,
    title,
    toolbar,
)

PACKAGE = "com.google.android.youtube"

_LABEL = "YouTube"
_ACTIVITY = "com.google.android.apps.youtube.app.watchwhile.WatchWhileActivity"
_SUGGEST_MS = 150
_KEYCODE_MOVE_END = 123
_MAX_SUGGESTIONS = 8
_MAX_QUERY_LENGTH = 200
_MIN_TYPO_LENGTH = 4  # shorter words must match exactly
_CARD_DP, _COMMENT_DP = 132, 76

_SUGGESTIONS = (
    "linkin park waiting for the end",
    "linkin park numb",
    "linkin park in the end",
    "linkin park live",
    "link trainer simulator",
    "lofi music to work to",
    "lighthouse keeper documentary",
    "how to tie a tie",
    "how to bake sourdough bread",
    "how to fix a flat bicycle tyre",
    "bread without kneading",
    "bicycle tour across norway",
    "battery storage at home explained",
    "solar panels after ten years",
    "android accessibility tutorial",
    "adb commands for beginners",
    "piano for beginners",
    "waiting for the end piano cover",
    "weather tomorrow",
    "cats and cardboard boxes",
)
_CHANNELS = ("Open Workshop", "Slow Evenings", "The Curious Kettle", "North Road", "Small Machines")
_SUBJECTS = (
    *("Sourdough bread", "A bicycle wheel", "The lighthouse", "Solar panels", "A piano waltz", "Cats in boxes"),
    *("The night train", "A paper crane", "Home batteries", "Wild mushrooms"),
)
_FORMS = ("from start to finish", "what nobody tells you", "one hour, no talking", "ten years later")
_SONGS = (
    ("wfte0000001", "Linkin Park - Waiting For The End", "Linkin Park"),
    ("wfte0000002", "Waiting For The End, piano cover by Emily", "Emily at the Keys"),
    ("numb0000001", "Linkin Park - Numb", "Linkin Park"),
)
_COMMENTS = (
    "I come back to this every winter.",
    "The part in the middle is the best.",
    "Who else is here from the other video?",
    "Thank you for taking the time to make this.",
    "Could you link the tools you used?",
)
_COMMENT_COUNT = 60


class Video(Struct, frozen=True):
    id: str
    title: str
    channel: str

    @property
    def facts(self) -> str:
        """A line of made-up but stable numbers."""
        seed = sum(map(ord, self.id + self.title))
        months = seed % 11 + 1
        return f"{self.channel}, {seed % 900 + 7}K views, {months} {'month' if months == 1 else 'months'} ago"


def _catalogue() -> dict[str, Video]:
    made = [
        Video(f"feed{i:07}", f"{subject}: {form}", _CHANNELS[i % len(_CHANNELS)])
        for i, (form, subject) in enumerate((form, subject) for form in _FORMS for subject in _SUBJECTS)
    ]
    known = [*made[:6], *(Video(*song) for song in _SONGS), *made[6:]]
    return {video.id: video for video in known}


VIDEOS = _catalogue()


def _toggle_playing(context: AppContext) -> None:
    context.state["playing"] = not context.state["playing"]


_MEDIA_KEYS: dict[str, Effect] = {
    "MEDIA_PLAY_PAUSE": _toggle_playing,
    "MEDIA_PLAY": put("playing", True),
    **dict.fromkeys(("MEDIA_PAUSE", "MEDIA_STOP"), put("playing", False)),
}


def apps() -> list[App]:
    app = App(
        PACKAGE,
        _LABEL,
        state={"query": "", "requests": 0, "suggestions": [], "playing": True},
        data={"liked": []},
        version="20.12.41",
        links=("https://www.youtube.com/", "https://youtu.be/", "vnd.youtube:"),
        link_screen="watch",
    )
    app.screen("home", activity=_ACTIVITY)(_home)
    app.screen("search", activity=_ACTIVITY, on_show=_open_search)(_search)
    app.screen("results", activity=_ACTIVITY)(_results)
    app.screen("watch", activity=_ACTIVITY, on_show=put("playing", True), keys=_MEDIA_KEYS)(_watch)
    return [app]


def _home(_: AppContext) -> View:
    bar = toolbar(_LABEL, icon("Search", _begin_search, id="menu_item_1"), id="toolbar")
    return column(bar, _cards(list(VIDEOS.values())), weight=1)


def _cards(videos: list[Video]) -> View:
    def card(i: int) -> View:
        video = videos[i]
        details = text(video.facts, id="details", size=12, tone="muted")
        words = column(text(video.title, id="title", size=18), details, weight=1)
        return row(
            image(width=144, height=96, id="thumbnail", tone="muted"),
            words,
            id="video_card",
            on_click=go("watch", video=video.id),
            padding=8,
            gap=8,
            collection_item=True,
        )

    return listing(rows=Rows(len(videos), _CARD_DP, card), id="results")


# Searching


def _begin_search(context: AppContext) -> None:
    context.state["query"] = ""
    context.go("search")


def _open_search(context: AppContext) -> None:
    context.focus("query")
    _suggest(context)


def _search(context: AppContext) -> View:
    query_field = field(
        "query",
        hint="Search YouTube",
        id="search_edit_text",
        weight=1,
        on_change=lambda context, _: _suggest(context),
        on_submit=lambda context: _find(context, context.state["query"]),
    )
    bar = row(
        icon("Back", back), query_field, icon("Clear", _clear, id="search_clear"), height=64, id="search_box"
    )
    return column(bar, listing(*map(_suggestion, context.state["suggestions"]), id="results"), weight=1)


def _suggestion(words: str) -> View:
    description = f"Edit suggestion {words}"
    return row(
        image(id="search_type_icon"),
        text(words, id="text", weight=1, height=48, padding=12, on_click=lambda context: _find(context, words)),
        View(
            class_name="android.widget.ImageView",
            text=description,
            desc=description,
            id="edit_suggestion",
            on_click=lambda context: _use_suggestion(context, words),
            width=48,
            height=48,
            size=1,  # for screen readers only
        ),
        collection_item=True,
        padding=4,
    )


def _clear(context: AppContext) -> None:
    context.state["query"] = ""
    _suggest(context)


def _use_suggestion(context: AppContext, words: str) -> None:
    """Put a suggestion into the field, for further typing."""
    _fill(context, f"{words} ")
    _suggest(context)


def _fill(context: AppContext, query: str) -> None:
    context.state["query"] = query
    context.system.key(_KEYCODE_MOVE_END)


def _suggest(context: AppContext) -> None:
    """Request suggestions. A response to an outdated query is dropped."""
    context.state["requests"] += 1
    number, query = context.state["requests"], context.state["query"]

    def answer(context: AppContext) -> None:
        if context.state["requests"] == number:
            context.state["suggestions"] = suggestions_for(query)

    context.after(_SUGGEST_MS, answer)


def suggestions_for(query: str) -> list[str]:
    """Suggestions for a query: exact prefixes first, then those one typo away."""
    typed = " ".join(query[:_MAX_QUERY_LENGTH].lower().split())
    if not typed:
        return []
    exact = [line for line in _SUGGESTIONS if line.startswith(typed)]
    words = typed.split()
    near = [line for line in _SUGGESTIONS if line not in exact and _is_similar(words, line.split())]
    return (exact + near)[:_MAX_SUGGESTIONS]


def _is_similar(typed: list[str], words: list[str]) -> bool:
    """Whether each typed word is a prefix of a word of the line, or equals one up to a typo."""
    return all(any(word.startswith(part) or _is_typo(part, word) for word in words) for part in typed)


def _is_typo(typed: str, word: str) -> bool:
    """Whether one letter was added, omitted or replaced."""
    if min(len(typed), len(word)) < _MIN_TYPO_LENGTH or abs(len(typed) - len(word)) > 1:
        return False
    pairs = enumerate(zip(typed, word, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(typed), len(word)))
    rest, other = typed[same:], word[same:]
    return rest[1:] == other or rest == other[1:] or rest[1:] == other[1:]


def _find(context: AppContext, query: str) -> None:
    if query.strip():
        _fill(context, query)
        context.go("results", query=query)


def _results(context: AppContext) -> View:
    query = context.args["query"][:_MAX_QUERY_LENGTH]
    found = found_videos(query)
    shown = text(query, id="search_query", weight=1, height=48, padding=12, on_click=back)
    bar = row(icon("Back", back), shown, height=64, id="search_box")
    return column(bar, _cards(found) if found else title("No results found"), weight=1)


def found_videos(query: str) -> list[Video]:
    """Videos that share a word with the query, the best matches first."""
    words = set(query.lower().split())

    def shared(video: Video) -> int:
        return len(words & set(video.title.lower().replace(",", " ").replace(":", " ").split()))

    return sorted((video for video in VIDEOS.values() if shared(video)), key=shared, reverse=True)


# Watching


def _watch(context: AppContext) -> View:
    name = context.args.get("video") or video_in(context.args.get("uri", ""))
    video = VIDEOS.get(name)
    if video is None:
        return column(title("This video isn't available"), button("Go to the feed", go("home")), weight=1)
    playing, liked = context.state["playing"], video.id in context.data["liked"]
    label = "Pause video" if playing else "Play video"
    control = icon(label, _toggle_playing, id="player_control_play_pause_replay_button")
    player = row(control, height=210, padding=8, tone="dark", id="watch_player", desc="Video player")
    like = icon("Unlike" if liked else "Like", _toggle_like(video.id), id="like_button", selected=liked)
    details = text(video.facts, id="details", size=12)
    about = column(text(video.title, id="title", size=18, heading=True), details, weight=1)

    def comment(i: int) -> View:
        return item(f"@viewer{i + 1}", _COMMENTS[i % len(_COMMENTS)], id="comment")

    comments = listing(rows=Rows(_COMMENT_COUNT, _COMMENT_DP, comment), id="comments_list")
    heading = text(f"Comments {_COMMENT_COUNT}", id="comments_header", padding=8)
    return column(player, row(about, like, padding=8), heading, comments, weight=1)


def _toggle_like(name: str) -> Effect:
    def toggle(context: AppContext) -> None:
        liked = context.data["liked"]
        if name in liked:
            liked.remove(name)
        else:
            liked.append(name)

    return toggle


def video_in(uri: str) -> str:
    """The video id in a link, or an empty string. Links are untrusted input."""
    from urllib.parse import parse_qs, urlsplit

    if uri.lower().startswith("vnd.youtube:"):
        return uri.partition(":")[2].strip("/").partition("?")[0]
    try:
        parts = urlsplit(uri)
        ids = parse_qs(parts.query, max_num_fields=32).get("v", [])
    except ValueError:
        return ""
    return ids[0] if ids else parts.path.rstrip("/").rpartition("/")[2]
