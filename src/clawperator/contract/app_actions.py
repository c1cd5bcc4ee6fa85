"""The actions of the Operator's contract for apps and recordings."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from clawperator.contract import limits
from clawperator.contract.action_params import (
    APP_CLOSE,
    APP_LAUNCH,
    SESSION_ID,
    Again,
    AppParams,
    EffectParams,
    Settle,
    User,
    cli_template,
    text_rules,
)
from clawperator.contract.action_types import ActionType, Params, register
from clawperator.contract.selectors import Problem


@register(
    ActionType(
        "open_app",
        "Open an app by package name.",
        cli_template("open_app", 15_000, task_id="cli-action-open-app"),
        takes_app_name=True,
        resolves_label=True,
        host_params=("user",),
        model_tool="app",
    )
)
class OpenAppParams(AppParams, frozen=True):
    retry: Again = APP_LAUNCH
    settle: Settle = False


@register(
    ActionType(
        "open_uri",
        "Open a URI in the app that handles it.",
        cli_template("open_uri", 15_000, task_id="cli-action-open-uri"),
        aliases=("open_url",),
        uri_param="uri",
        host_params=("user",),
        model_tool="app",
    )
)
class OpenUriParams(EffectParams, frozen=True):
    uri: Annotated[str, Meta(max_length=limits.MAX_URI_LENGTH, description="URI to open")]
    retry: Again = APP_LAUNCH
    user: User = UNSET

    def rules(self) -> Iterator[Problem]:
        return text_rules("uri", self.uri, limits.MAX_URI_LENGTH)


@register(
    ActionType(
        "close_app",
        "Force-stop an app.",
        cli_template("close-", action_id="close"),
        runs_on_host=True,
        without_screen=True,
        resolves_label=True,
        model_tool="app",
    )
)
class CloseAppParams(AppParams, frozen=True):
    retry: Again = APP_CLOSE
    settle: Settle = False


@register(
    ActionType(
        "stop_recording",
        "Stop the running recording.",
        cli_template("stop_recording", 15_000, task_id="cli-record-stop"),
        family="recording",
        model_tool="recording",
    )
)
@register(
    ActionType(
        "start_recording",
        "Start recording on the device.",
        cli_template("start_recording", 10_000, task_id="cli-record-start"),
        family="recording",
        model_tool="recording",
    )
)
class RecordingParams(Params, frozen=True):
    sessionId: (
        Annotated[str, Meta(max_length=limits.MAX_ID_LENGTH, description="letters, digits, _ and -")] | UnsetType
    ) = UNSET

    def rules(self) -> Iterator[Problem]:
        message = "may contain only letters, digits, _ and -"
        return text_rules("sessionId", self.sessionId, limits.MAX_ID_LENGTH, SESSION_ID, message)
