"""URI schemes are checked on the host, for every backend, before anything is sent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import clawperator
from clawperator.agent.model_tools import describe_call
from clawperator.api.phone import ConnectedPhone
from clawperator.contract.commands import BackendName
from clawperator.contract.execution import new_execution, validate
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run.run import run_plan
from clawperator.device.uri_schemes import NAMED_ONLY, check_uri_schemes, read_schemes
from clawperator.errors import ClawError, PolicyError, ValidationError
from clawperator.operations.hints import python_hint, translate
from clawperator.phone.adb.device import PhoneDevice
from clawperator.phone.adb.server import AdbServer
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, item
from clawperator.policy.gate import approve
from clawperator.serve.http.errors import describe_request
from clawperator.testing import ScriptedBackend, SimulatedPhone, simulated_phone
from tests.support.routes import Route
from tests.support.running import clawperator as run_command

DEVICE = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))


def plan(*uris: str) -> Any:
    actions = [{"id": "first", "type": "press_key", "params": {"key": "home"}}]
    actions += [{"id": f"u{i}", "type": "open_uri", "params": {"uri": uri}} for i, uri in enumerate(uris)]
    return validate(
        {
            "commandId": "c",
            "taskId": "t",
            "source": "test",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 20000,
            "actions": actions,
        }
    )


def opens(uri: str, *schemes: str) -> bool:
    """Whether the URI reaches the backend. Otherwise nothing of the plan does."""
    backend = ScriptedBackend()
    try:
        run_plan(approve(plan(uri)), DEVICE, package="p", backend=backend, allow_schemes=schemes)
    except PolicyError:
        assert backend.plans == []
        return False
    return True


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    return tmp_path / "clawperator.toml"


@pytest.mark.parametrize("uri", ["https://a.b/c", "http://a.b", "HTTPS://A.B", "https://a/?q=it's $(reboot) x"])
def test_web_addresses_are_always_allowed(uri: str) -> None:
    assert opens(uri)


@pytest.mark.parametrize(
    "uri",
    [
        *("tel:1", "myapp://x", "intent://x#Intent;scheme=https;end", "INTENT:#Intent;end", "file:///etc/passwd"),
        *("content://sms", "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "about:blank"),
        *(
            "a.b/c",
            "://x",
            ":",
            "https",
            "//a.b",
            " https://a.b",
            "\thttps://a.b",
            "\nhttps://a.b",
            "\x01https://a.b",
        ),
        *("java\tscript:alert(1)", "htt\nps://a.b", "\u200bhttps://a.b", "https\u0000://a.b", "see https://a"),
        *("https://a.b/#Intent;scheme=tel;end", "http:#Intent;component=a/b;end", "https://a#INTENT;end"),
        *("android-app://a.b/https/c", "\uff48ttps://a.b", "view-source:https://a.b", "blob:https://a.b/1"),
    ],
)
def test_everything_else_is_refused_before_anything_is_sent(uri: str) -> None:
    assert not opens(uri)


def test_the_hint_is_the_flag() -> None:
    with pytest.raises(ClawError) as info:
        run_plan(approve(plan("https://a.b", "MyApp://x")), DEVICE, package="p", backend=ScriptedBackend())
    error = info.value
    assert (error.code, error.message) == ("URI_SCHEME_NOT_ALLOWED", "URI scheme 'myapp' is not allowed")
    assert error.hint == "Run 'clawperator open MyApp://x --allow-scheme myapp' to allow it."
    assert error.details == {"uri": "MyApp://x", "actionId": "u1"}
    assert (error.operation, error.target) == ("open_uri", "MyApp://x")


@pytest.mark.parametrize(
    ("uri", "params", "command"),
    [
        ("my:a b&c", None, "open 'my:a b&c'"),
        ("my:it's", None, "open '<uri>'"),
        (f"my:{'x' * 300}", None, "open '<uri>'"),
        ("my:x", {"action": "a.b"}, "start-activity --action=a.b --uri=my:x"),
        ("my:x", {"component": "a.b/.C"}, "start-activity --component=a.b/.C --uri=my:x"),
    ],
)
def test_the_hint_is_how_the_entry_point_allows_it(uri: str, params: Any, command: str) -> None:
    kind = "open_uri" if params is None else "start_activity"
    action = {"type": kind, "params": {"uri": uri, **(params or {})}}
    document = new_execution([action], command_id="c", source="t", timeout_ms=5_000)
    with pytest.raises(ClawError) as info:
        check_uri_schemes(validate(document), ())
    hint = info.value.hint
    assert hint == f"Run 'clawperator {command} --allow-scheme my' to allow it."
    request = "Ask the user to start the server with --allow-scheme my, or to add my to allow_schemes in "
    for render in (describe_call, describe_request):
        assert translate(hint, render) == f"{request}clawperator.toml, to allow it."
    assert python_hint(hint) == "Pass allow_schemes=['my'] to connect() to allow it."


@pytest.mark.parametrize("given", ["myapp", "MYAPP", "myapp:", "myapp://"])
def test_a_scheme_is_allowed_by_its_name(given: str) -> None:
    assert opens("myapp://x", given)
    assert opens("MYAPP:x", given)
    assert not opens("other://x", given)
    assert not opens("myapp://x#Intent;end", given)


def test_an_intent_in_any_address_needs_the_scheme_intent() -> None:
    uri = "https://a.b/#Intent;scheme=tel;end"
    assert opens(uri, "intent")
    assert not opens(uri, "tel", "*")
    with pytest.raises(ClawError, match="URI scheme 'intent' is not allowed"):
        run_plan(approve(plan(uri)), DEVICE, package="p", backend=ScriptedBackend())


def test_schemes_are_allowed_by_the_variable_and_by_the_configuration(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_ALLOW_SCHEMES", " geo, TEL ,,")
    config.write_text('allow_schemes = ["myapp"]\n')
    assert all(opens(uri) for uri in ("geo:0,0", "tel:1", "myapp://x"))
    assert not opens("other:x")


@pytest.mark.parametrize("scheme", sorted(NAMED_ONLY))
def test_a_wildcard_allows_no_scheme_that_must_be_named(scheme: str) -> None:
    assert opens("anything+1.x:y", "*")
    assert not opens(f"{scheme}:x", "*")
    assert opens(f"{scheme}:x", scheme)


@pytest.mark.parametrize("given", ["", " ", "my app", "1a", "a/b", "**", "intent:x", "a,b"])
def test_an_invalid_scheme_is_refused(given: str) -> None:
    with pytest.raises(ClawError) as info:
        read_schemes([given])
    assert (info.value.code, info.value.target) == ("USAGE", given)


def test_names_of_schemes_are_in_lower_case_and_a_star_stays() -> None:
    assert read_schemes(["MyApp://", "*", "tel:"]) == {"myapp", "*", "tel"}
    assert read_schemes([]) == frozenset()


@pytest.mark.parametrize("uri", ["a.b/c", "//a.b"])
def test_an_address_without_a_scheme_is_refused_with_an_example(uri: str) -> None:
    with pytest.raises(ClawError) as info:
        run_plan(approve(plan(uri)), DEVICE, package="p", backend=ScriptedBackend(), allow_schemes=("*",))
    assert info.value.message == f"{uri!r} has no URI scheme"
    assert info.value.hint == "Write the URI with its scheme: https://example.com."


@pytest.mark.parametrize("uri", ["https://a.b", "myapp://x"])
def test_an_invalid_configuration_is_reported_before_anything_is_sent(config: Path, uri: str) -> None:
    config.write_text("allow_schemes = \n")
    with pytest.raises(ClawError) as info:
        opens(uri)
    assert info.value.code == "CONFIG_INVALID"


@pytest.mark.random
@given(st.text(min_size=1, max_size=30).filter(lambda s: s.strip("\ufeff \t\r\n\v\f\xa0") != ""))
@example("https:")
def test_whatever_is_opened_begins_with_an_allowed_scheme(uri: str) -> None:
    try:
        opened = opens(uri)
    except ValidationError:  # blank, as the contract defines it
        return
    assert opened == uri.lower().startswith(("http:", "https:"))


# On the simulated phone


def linked_app() -> App:
    app = App("com.example.linked", "Linked", links=("myapp://",), link_screen="home")

    @app.screen("home")
    def home(_: AppContext) -> View:
        return column(item("Deep link opened"))

    return app


@pytest.fixture
def simulator() -> Iterator[tuple[SimulatedPhone, Device]]:
    with simulated_phone(apps=[linked_app()]) as phone:
        server = AdbServer(lambda: [PhoneDevice(phone.phone)])
        try:
            yield phone, Device("claw-1", Endpoint("127.0.0.1", server.start(), simulated=True))
        finally:
            server.stop()


@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_a_deep_link_opens_its_app_when_its_scheme_is_allowed(
    simulator: tuple[SimulatedPhone, Device], backend: BackendName
) -> None:
    phone, device = simulator
    before = phone.foreground()
    with pytest.raises(ClawError) as info:
        ConnectedPhone(device, backend=backend).open_uri("myapp://x")
    assert info.value.code == "URI_SCHEME_NOT_ALLOWED"
    assert phone.foreground() == before
    ConnectedPhone(device, backend=backend, allow_schemes=["myapp"]).open_uri("myapp://x")
    assert phone.shows(text="Deep link opened")


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_an_allowed_link_that_no_app_opens_fails_on_the_device(
    simulator: tuple[SimulatedPhone, Device], backend: BackendName
) -> None:
    _, device = simulator
    with pytest.raises(ClawError) as info:
        ConnectedPhone(device, backend=backend, allow_schemes=["*"]).open_uri("nothing:x")
    assert info.value.code == "URI_NOT_HANDLED"


@pytest.mark.usefixtures("quick_retries")
def test_commands_take_the_flag_and_warn_of_the_configuration(route: Route) -> None:
    config = Path(route.environment["CLAWPERATOR_HOME"], "clawperator.toml")
    config.write_text("allow_scheme = []\n")
    try:
        for backend in ("operator", "adb"):
            refused = route.run("open", "myapp://x", "--backend", backend)
            assert (refused.code, refused.json["code"]) == (1, "URI_SCHEME_NOT_ALLOWED")
            assert "did you mean 'allow_schemes'?" in refused.err
            sent = route.run("open", "myapp://x", "--backend", backend, "--allow-scheme", "myapp")
            assert sent.json["envelope"]["errorCode"] == "URI_NOT_HANDLED"
            document = json.dumps(plan("myapp://x").document)
            assert route.run("exec", document, "--backend", backend).json["code"] == "URI_SCHEME_NOT_ALLOWED"
            sent = route.run("exec", document, "--backend", backend, "--allow-scheme=tel", "--allow-scheme=myapp")
            assert sent.json["envelope"]["errorCode"] == "URI_NOT_HANDLED"
    finally:
        config.unlink()


def test_validation_and_dry_run_check_no_scheme() -> None:
    document = json.dumps(plan("intent://x").document)
    assert run_command("exec", document, "--validate-only").json["ok"]
    assert run_command("exec", document, "--dry-run").json["ok"]
    assert run_command("open", "intent://x", "--dry-run").json["ok"]


@pytest.mark.usefixtures("quick_retries")
def test_connect_takes_the_schemes(route: Route) -> None:
    phone = clawperator.connect(route.serial, allow_schemes=("myapp",))
    with pytest.raises(ClawError) as info:
        phone.open_uri("myapp://x")
    assert info.value.code == "URI_NOT_HANDLED"
