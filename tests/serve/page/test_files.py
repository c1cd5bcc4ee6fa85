"""The files of the page: how browsers may use them, and what they do not contain."""

import re
from pathlib import Path

import pytest

from clawperator.serve.page import files
from tests.support.http_client import running_server

ASSETS = Path(files.__file__).parent / "assets"
OWN = sorted(path.name for path in ASSETS.iterdir())
PAGE = (ASSETS / "index.html").read_text()
SCRIPTS = {path.name: path.read_text() for path in ASSETS.glob("*.js")}


NAMES = [*(name for name in OWN if name != "index.html"), "colours.css", "screen.js"]


def _content(name: str) -> bytes:
    folder = Path(files._REPORTS) if name in files._OF_REPORTS else ASSETS
    return (folder / name).read_bytes()


def test_files_need_no_session_and_everything_else_does(folder: Path) -> None:
    with running_server(folder) as running:
        for name in NAMES:
            reply = running.client.send("GET", f"/page/{name}", headers={"Authorization": ""})
            assert (reply.status, reply.body) == (200, _content(name)), name
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert reply.headers["cache-control"] == "no-store"
            assert reply.headers["content-type"].startswith(files.MEDIA_TYPES[Path(name).suffix])
        for path in ("/screen", "/screen/picture", "/recordings/report?path=x.report.html", "/pages", "/page"):
            assert running.client.send("GET", path, headers={"Authorization": ""}).status == 401, path


@pytest.mark.parametrize(
    "name", ["index.html", "files.py", "..%2Ffiles.py", "%2e%2e", "x" * 64, "main.js%00", "report.js", ".css"]
)
def test_no_other_file_is_served(folder: Path, name: str) -> None:
    with running_server(folder) as running:
        reply = running.client.send("GET", f"/page/{name}", headers={"Authorization": ""})
        assert (reply.status, reply.code) == (404, "ROUTE_NOT_FOUND")


def test_the_policy_allows_only_files_of_the_server() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in files.POLICY.split(";"))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data: blob:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


def test_the_page_has_nothing_inline_and_names_only_its_own_files() -> None:
    named = re.findall(r'(?:src|href)="([^"]+)"', PAGE)
    assert {Path(name).name for name in named} <= set(NAMES)
    assert all(name.startswith("/page/") for name in named)
    assert not re.search(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", PAGE)
    imported = {name for text in SCRIPTS.values() for name in re.findall(r'from "\./([^"]+)"', text)}
    imported |= {
        name for text in SCRIPTS.values() for name in re.findall(r'^import "\./([^"]+)"', text, re.MULTILINE)
    }
    assert imported | {"main.js"} == set(SCRIPTS)


def test_the_scripts_write_texts_only_as_text() -> None:
    for name, source in SCRIPTS.items():
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "Function(",
            "srcdoc",
        ):
            assert word not in source, name
        assert not re.search(r"https?://", source), name


def test_every_id_that_the_scripts_use_is_in_the_page() -> None:
    ids = re.findall(r'\bid="([^"]+)"', PAGE)
    assert len(ids) == len(set(ids))
    used = {name for text in SCRIPTS.values() for name in re.findall(r'byId\("([^"]+)"\)', text)}
    assert used <= set(ids)
    labelled = re.findall(r'(?:aria-controls|aria-labelledby|aria-describedby|for)="([^"]+)"', PAGE)
    assert set(labelled) <= set(ids)
