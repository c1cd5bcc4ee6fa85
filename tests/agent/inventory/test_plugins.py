"""Plugins: discovery by entry points, loading and running; failures stay isolated."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from clawperator.agent.cancellation import TurnCancelledError
from clawperator.agent.inventory.inventory import Plugin, PluginContext, PluginScan, discover_plugins, run_plugin
from clawperator.errors import ClawError

CONTEXT = PluginContext(folder="/tmp", device="claw-1", directory=".claw/sessions")


class Site:
    """A folder on ``sys.path`` that distributions are put into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def add(self, distribution: str, points: str, source: str = "", *, group: str = "clawperator.plugins") -> None:
        """A distribution with a module ``fake_<distribution>``; in its entry points ``@`` stands for that."""
        module = f"fake_{distribution}"
        info = self.folder / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{points.replace('@', module)}\n")
        (self.folder / f"{module}.py").write_text(dedent(source))
        self.modules.append(module)


@contextmanager
def site_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site whose modules are forgotten afterwards: another test may have a module of the same name."""
    monkeypatch.syspath_prepend(str(folder))
    site = Site(folder)
    try:
        yield site
    finally:
        for module in site.modules:
            sys.modules.pop(module, None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with site_at(tmp_path, monkeypatch) as site:
        yield site


def only(found: PluginScan) -> Plugin:
    assert found.warnings == ()
    (plugin,) = found.plugins
    return plugin


def test_a_function_is_a_plugin_with_its_docstring_as_responsibility(site: Site) -> None:
    site.add(
        "greeting",
        "greet = @:greet",
        '''
        def greet(prompt, context):
            """Print a greeting.

            More words.
            """
            return f"hello {prompt} on {context.device}"
        ''',
    )
    plugin = only(discover_plugins())
    assert (plugin.name, plugin.distribution, plugin.responsibility) == ("greet", "greeting", "Print a greeting.")
    assert plugin.source_hint == "plugins/greeting/fake_greeting:greet"
    assert plugin.level == "act"
    result = run_plugin(plugin, "you", CONTEXT)
    assert (result.handled, result.message, result.result) == (True, "hello you on claw-1", None)


@pytest.mark.parametrize("attribute", ["Tally", "tally"])
def test_an_object_or_class_is_a_plugin_and_may_return_a_document(site: Site, attribute: str) -> None:
    site.add(
        "counting",
        f"count = @:{attribute}",
        """
        class Tally:
            responsibility = "Count words."
            level = "read-only"

            def run(self, prompt, context):
                return {"message": "counted", "words": len(prompt.split()), "where": (context.folder, context.directory)}

        tally = Tally()
        """,
    )
    plugin = only(discover_plugins())
    assert (plugin.responsibility, plugin.level) == ("Count words.", "read-only")
    result = run_plugin(plugin, "one two", CONTEXT)
    assert result.message == "counted"
    assert result.result == {"message": "counted", "words": 2, "where": ["/tmp", ".claw/sessions"]}


BROKEN = {
    "missing_module": ("x = nowhere_at_all:x", "", "ModuleNotFoundError"),
    "missing_attribute": ("x = @:absent", "", "AttributeError"),
    "raising": ("x = @:x", "raise RuntimeError('no\\nluck')", r"RuntimeError: no\nluck"),
    "leaving": ("x = @:x", "import sys; sys.exit(3)", "SystemExit: 3"),
    "wrong_syntax": ("x = @:x", "def (", "SyntaxError"),
    "no_function": ("x = @:x", "x = 3", "neither a function"),
    "no_responsibility": ("x = @:x", "class x:\n    def run(self, prompt, context): return ''", "responsibility"),
    "wrong_level": ("x = @:x", "def x(prompt, context): ...\nx.level = 'root'", "level"),
    "wrong_init": ("x = @:x", "class x:\n    def __init__(self, y): ...", "TypeError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_a_warning_and_its_siblings_are_kept(site: Site, name: str) -> None:
    points, source, reason = BROKEN[name]
    site.add(name, points, source)
    site.add("sound", "sound = @:f", "def f(prompt, context):\n    'Works.'\n    return prompt")
    found = discover_plugins()
    assert [plugin.name for plugin in found.plugins] == ["sound"]
    (warning,) = found.warnings
    assert warning.startswith(f"plugin 'x' of {name} ignored")
    assert reason in warning
    assert "\n" not in warning


def test_plugin_names_are_unique_words(site: Site) -> None:
    source = "def f(prompt, context):\n    return prompt"
    site.add("first", "same = @:f", source)
    site.add("second", "Same = @:f\ntwo words = @:f\n-x = @:f", source)
    found = discover_plugins()
    assert [(p.name, p.distribution) for p in found.plugins] == [("Same", "second")]
    assert len(found.warnings) == 3
    assert any("'same' of first ignored: the name is taken by second" in line for line in found.warnings)
    assert sum("letters, digits" in line for line in found.warnings) == 2


def test_entry_points_of_other_groups_are_ignored(site: Site) -> None:
    site.add("other", "x = @:x", "raise RuntimeError", group="console_scripts")
    assert discover_plugins() == PluginScan()


def test_without_plugins_importlib_metadata_is_not_imported() -> None:
    script = (
        "import sys; from clawperator.agent.inventory.inventory import discover_plugins;"
        "found = discover_plugins(); print(len(found.plugins), 'importlib.metadata' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert ran.stdout == "0 False\n"


def test_plugins_in_a_zip_file_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    archive = tmp_path / "zipped.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped\nVersion: 1.0\n")
        file.writestr("zipped-1.0.dist-info/entry_points.txt", "[clawperator.plugins]\nz = fake_zipped:f\n")
        file.writestr("fake_zipped.py", "def f(prompt, context):\n    return prompt")
    monkeypatch.syspath_prepend(str(archive))
    assert only(discover_plugins()).name == "z"
    sys.modules.pop("fake_zipped")


def plugin_that(run: object) -> Plugin:
    assert callable(run)
    return Plugin("p", "dist", "module:p", "", run)


def answering(value: object) -> Plugin:
    return plugin_that(lambda _prompt, _context: value)


def raising(error: BaseException) -> Plugin:
    def run(_prompt: str, _context: PluginContext) -> str:
        raise error

    return plugin_that(run)


@pytest.mark.parametrize("error", [ValueError("bad\x1b[31m"), SystemExit(4), RecursionError(), AssertionError()])
def test_any_exception_of_a_plugin_is_a_typed_error(error: BaseException) -> None:
    with pytest.raises(ClawError) as e:
        run_plugin(raising(error), "x", CONTEXT)
    assert e.value.code == "PLUGIN_FAILED"
    assert (e.value.operation, e.value.target) == ("plugin.run", "p")
    assert type(error).__name__ in e.value.message
    assert e.value.message.isprintable()
    assert e.value.hint == "Run 'claw show-command p' to see its source."


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["list"], {"x": object()}, {1j: 2}, {"s": "\ud800"}])
def test_an_invalid_return_value_is_a_typed_error(value: object) -> None:
    with pytest.raises(ClawError) as e:
        run_plugin(answering(value), "x", CONTEXT)
    assert e.value.code == "PLUGIN_FAILED"


def test_a_recursive_document_is_a_typed_error() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(ClawError) as e:
        run_plugin(answering(loop), "x", CONTEXT)
    assert e.value.code == "PLUGIN_FAILED"


def test_typed_errors_cancellations_and_interrupts_pass_through() -> None:
    no_phone = ClawError("NO_DEVICES", "no phone")
    for error in (no_phone, TurnCancelledError(), KeyboardInterrupt()):
        with pytest.raises(type(error)) as e:
            run_plugin(raising(error), "x", CONTEXT)
        assert e.value is error
