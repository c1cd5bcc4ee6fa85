"""A simulated phone with an app for input, reached over its server port by the Operator or by plain adb."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from clawperator.contract.commands import BackendName
from clawperator.contract.execution import new_execution, validate
from clawperator.contract.results import ResultEnvelope, StepResult
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.run.run import run_plan
from clawperator.phone.toolkit.app import App, go, put
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, button, column, field, item, text
from clawperator.policy.gate import approve
from clawperator.testing import SimulatedPhone, simulated_phone
from tests.support.fast_clock import SkippingClock

INPUT = "com.example.input"


def _later(context: AppContext) -> None:
    context.state["said"] = "Working"
    context.after(400, put("said", "Done"))


def _dropped(context: AppContext, name: str) -> None:
    context.state["said"] = f"dropped {name}"


def input_app() -> App:
    app = App(INPUT, "Input", state={"said": "", "name": "", "code": ""})

    @app.screen("home")
    def home(context: AppContext) -> View:
        return column(
            text(f"Said {context.state['said']}", id="said"),
            field("name", "Name", id="name", on_submit=put("said", "submitted")),
            field("code", "Code", id="code", edits="password"),
            item("Hold", on_long_click=put("said", "held")),
            item("Twice", on_double_tap=put("said", "twice")),
            item("Card", drag_name="card"),
            item("Bin", on_drop=_dropped),
            button("Start", _later),
            button("Next", go("next")),
        )

    @app.screen("next")
    def next_(_: AppContext) -> View:
        return column(text("Second page"), text("Ready"))

    return app


class HostBench(Struct, frozen=True):
    """A phone, and a backend that drives it."""

    phone: SimulatedPhone
    device: Device
    backend: BackendName

    def run(self, *actions: dict[str, Any], timeout_ms: int = 30_000) -> ResultEnvelope:
        document = new_execution(actions, command_id="c1", source="test", timeout_ms=timeout_ms)
        plan = validate(document)
        return run_plan(approve(plan), self.device, package=OPERATOR_PACKAGE, backend=self.backend).envelope

    def step(self, kind: str, **params: Any) -> StepResult:
        """The only step of an execution."""
        (step,) = self.run({"type": kind, "params": params}).stepResults
        return step

    def data(self, kind: str, **params: Any) -> dict[str, str]:
        """The data of a step that must succeed."""
        step = self.step(kind, **params)
        assert step.success, step
        return step.data

    def state(self, name: str = "said") -> Any:
        """A value of the app in front."""
        return self.phone.phone.tasks.front.process.state[name]


@contextmanager
def host_bench(backend: BackendName) -> Iterator[HostBench]:
    with simulated_phone(apps=[input_app()], clock=SkippingClock()) as phone, phone.serve() as ports:
        phone.open_app(INPUT)
        yield HostBench(phone, Device("claw-1", Endpoint("127.0.0.1", ports.server_port, simulated=True)), backend)
