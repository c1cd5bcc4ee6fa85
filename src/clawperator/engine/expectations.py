"""Expectations: what the screen must show after an action that succeeded."""

from clawperator._base.text import distance, printable, whole
from clawperator.contract.action_params import Expectation
from clawperator.contract.selectors import NodeMatcher
from clawperator.engine.context import ActionContext, StepData
from clawperator.engine.privacy import shown_label
from clawperator.engine.retry import poll_delays
from clawperator.engine.waiting import is_idle_within
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy
from clawperator.ui.visible import visible_nodes

_IDLE_MS = 500
_MOST_LABELS = 5
_MAX_LABEL = 60
_MAX_COMPARED = 200


def check_expectation(context: ActionContext, expect: Expectation, data: StepData) -> StepData:
    """The data of the step, with the time until the expectation held. ``EXPECTATION_FAILED`` keeps the data."""
    start = context.clock.monotonic()
    delays = poll_delays(context, expect.timeoutMs)
    while True:
        screen = context.try_dump()
        missing = _missing(context, expect, screen)
        if not missing:
            break
        delay = next(delays, None)
        if delay is None:
            raise _failed(context, expect, missing, screen, data)
        context.pause(delay, _failed(context, expect, missing, screen, data))
    if expect.idle and not is_idle_within(context, _IDLE_MS, expect.timeoutMs):
        raise _failed(context, expect, ["a screen that has stopped changing"], screen, data)
    return {**data, "expectation": "met", "expected_after_ms": str(round(context.since_ms(start)))}


def _missing(context: ActionContext, expect: Expectation, screen: Hierarchy | None) -> list[str]:
    """What is expected and does not hold."""
    missing = []
    if isinstance(expect.app, str) and context.driver.foreground() != expect.app:
        missing.append(f"{expect.app} in the foreground")
    if isinstance(expect.text, str) and not _shows(context, screen, expect.text):
        missing.append(f"'{printable(expect.text)}' on the screen")
    if isinstance(expect.gone, str) and (screen is None or _shows(context, screen, expect.gone)):
        missing.append(f"'{printable(expect.gone)}' gone")
    return missing


def _shows(context: ActionContext, screen: Hierarchy | None, label: str) -> bool:
    return screen is not None and bool(context.find_all(screen, NodeMatcher(textEquals=label)))


def _failed(
    context: ActionContext, expect: Expectation, missing: list[str], screen: Hierarchy | None, data: StepData
) -> ClawError:
    found = []
    if isinstance(expect.app, str):
        found.append(f"{context.driver.foreground() or 'no known app'} is in the foreground")
    wanted = expect.text if isinstance(expect.text, str) else ""
    if wanted and screen is not None and (labels := _nearest_labels(context, screen, wanted)):
        found.append("nearest labels: " + ", ".join(f"'{label}'" for label in labels))
    if screen is None and context.execution.error is not None:
        found.append(f"the screen cannot be read: {context.execution.error.message}")
    seen = f"; {'; '.join(found)}" if found else ""
    return ClawError(
        "EXPECTATION_FAILED",
        f"expected {' and '.join(missing)} within {whole(expect.timeoutMs)} ms{seen}",
        hint="The action was performed. Run 'clawperator snapshot' to see its result.",
        details=dict(data),
        after_effect=True,
    )


def _nearest_labels(context: ActionContext, screen: Hierarchy, wanted: str) -> list[str]:
    """The visible labels most similar to ``wanted``, the nearest first, without those that have a secret."""
    shown = {shown_label(node) for node in visible_nodes(screen, context.driver.frame())}
    secret = context.progress.secret
    labels = sorted(label for label in shown if label and not (secret and secret in label))[:_MAX_COMPARED]
    folded = wanted.casefold()[:_MAX_LABEL]

    def rank(label: str) -> tuple[bool, int]:
        other = label.casefold()[:_MAX_LABEL]
        return not (folded in other or other in folded), distance(folded, other)

    return [printable(label[:_MAX_LABEL]) for label in sorted(labels, key=rank)[:_MOST_LABELS]]
