"""Find and tap elements on the phone's screen, for tests."""

from random import Random
from typing import Any

from clawperator.contract.execution import validate
from clawperator.contract.results import StepResult
from clawperator.engine.run import Engine
from clawperator.phone.core.phone import Phone
from clawperator.phone.operator.driver import PhoneDriver
from clawperator.ui.node import Node

# Short names of attributes; any other name is used unchanged.
_ATTRIBUTES = {"id": "resource-id", "desc": "content-desc", "cls": "class"}


def tree(phone: Phone) -> list[Node]:
    """The nodes of the active window, depth first."""
    return phone.windows.hierarchy().nodes


def found(phone: Phone, **attributes: str) -> list[Node]:
    """Every node with these attributes. An id or a class may be given by its last part alone."""
    return [node for node in tree(phone) if all(_fits(node, name, value) for name, value in attributes.items())]


def find(phone: Phone, **attributes: str) -> Node:
    """The first node with these attributes, a visible one if possible."""
    matching = found(phone, **attributes)
    assert matching, f"no node has {attributes}; the screen shows {texts(phone)}"
    return next((node for node in matching if not node.bounds.is_empty), matching[0])


def tap(phone: Phone, **attributes: str) -> None:
    """Tap the middle of the first node with these attributes."""
    node = find(phone, **attributes)
    assert not node.bounds.is_empty, f"{node} is not visible"
    phone.tap(*node.bounds.centre)


def texts(phone: Phone) -> list[str]:
    """The visible labels, from top to bottom."""
    return [node.label for node in tree(phone) if node.label and not node.bounds.is_empty]


def reveal(phone: Phone, **attributes: str) -> None:
    """Swipe upwards until a node with these attributes is visible enough to tap."""
    area = phone.windows.display.content
    x, y = area.centre
    for _ in range(20):
        if any(node.bounds.height > 20 for node in found(phone, **attributes)):
            return
        phone.swipe((x, y + area.height // 5), (x, y - area.height // 5))
    raise AssertionError(f"no node has {attributes}; the screen shows {texts(phone)}")


def wander(phone: Phone, package: str, steps: int, seed: int) -> None:
    """Tap, type and go back at random, and relaunch the app when it is left. Fails on invalid bounds only."""
    chance = Random(seed)
    for _ in range(steps):
        if phone.foreground() != package and chance.random() < 0.5:
            phone.launch(package)
        choices = [n for n in tree(phone) if n.flag("clickable") and n.flag("enabled") and not n.bounds.is_empty]
        what = chance.random()
        if what < 0.75 and choices:
            phone.tap(*chance.choice(choices).bounds.centre, hold_ms=chance.choice((100, 100, 650)))
        elif what < 0.85:
            phone.type_text(chance.choice(("a", "long words ", "x@y.zz", "\n")))
        elif what < 0.9:
            phone.go_back()
        elif what < 0.95:
            phone.swipe((500, 1600), (500, 700))
        else:
            phone.clock.sleep(0.3)
        area = phone.windows.display.bounds
        assert all(n.bounds.intersection(area) == n.bounds for n in tree(phone) if not n.bounds.is_empty)


def execute(phone: Phone, *actions: tuple[str, dict[str, Any]]) -> list[StepResult]:
    """Run actions with the engine, each given by type and parameters."""
    payload = {
        "commandId": "c",
        "taskId": "t",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 30_000,
        "actions": [{"id": f"a{i}", "type": kind, "params": params} for i, (kind, params) in enumerate(actions)],
    }
    engine = Engine(PhoneDriver(phone), phone.clock)
    return engine.run(validate(payload).execution).stepResults


def _fits(node: Node, name: str, value: str) -> bool:
    actual = node.attributes.get(_ATTRIBUTES.get(name, name), "")
    return (
        actual == value
        or (name == "id" and actual.endswith(f"/{value}"))
        or (name == "cls" and actual.endswith(f".{value}"))
    )
