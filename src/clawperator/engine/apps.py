"""Apps and keys: what goes to the phone as a whole and not to a node."""

import re

from clawperator.contract.actions import CloseAppParams, OpenAppParams, OpenUriParams, PressKeyParams
from clawperator.engine.context import Scene, StepData, failure
from clawperator.engine.retry import retrying
from clawperator.engine.settle import evidence, settle
from clawperator.engine.targets import tell
from clawperator.errors import ClawError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def open_app(scene: Scene, params: OpenAppParams) -> StepData:
    before = scene.glance()

    def launch() -> None:
        if not scene.hand().launch(params.applicationId):
            raise ClawError(
                "APP_NOT_FOUND",
                f"the phone has no app {params.applicationId} that can be started",
                hint="Run 'clawperator packages list' for the apps on the phone.",
                details={"application_id": params.applicationId},
            )

    retrying(scene, params.retry, launch)
    told = evidence(tell(package=params.applicationId), 1, "launch_intent", settle(scene, before))
    return {"application_id": params.applicationId, **told}


def open_uri(scene: Scene, params: OpenUriParams) -> StepData:
    """Open a URI of a scheme that is allowed; ``URI_SCHEME_NOT_ALLOWED`` for any other."""
    _check_scheme(scene, params.uri)
    before = scene.glance()

    def view() -> None:
        if not scene.hand().view(params.uri):
            raise ClawError(
                "URI_NOT_HANDLED",
                "no app on the phone opens this URI",
                hint="Open an app by its package name instead.",
                details={"uri": params.uri},
            )

    retrying(scene, params.retry, view)
    return {"uri": params.uri, **evidence(tell(uri=params.uri), 1, "view_intent", settle(scene, before))}


def _check_scheme(scene: Scene, uri: str) -> None:
    found = _SCHEME.match(uri)
    scheme = found[1].lower() if found else ""
    if scheme in scene.uri_schemes:
        return
    allowed = ", ".join(sorted(scene.uri_schemes))
    raise ClawError(
        "URI_SCHEME_NOT_ALLOWED",
        f'URIs of the scheme "{scheme}" are not allowed' if scheme else "the URI has no scheme",
        hint=f"Use a URI of an allowed scheme: {allowed}.",
        details={"uri": uri},
    )


def close_app(scene: Scene, params: CloseAppParams) -> StepData:
    before = scene.glance()
    if not scene.hand().force_stop(params.applicationId):
        told = {"application_id": params.applicationId}
        return failure("UNSUPPORTED_RUNTIME_CLOSE", "apps cannot be closed from here", told)
    told = evidence(tell(package=params.applicationId), 1, "force_stop", settle(scene, before))
    return {"application_id": params.applicationId, **told}


def press_key(scene: Scene, params: PressKeyParams) -> StepData:
    before = scene.glance()
    if not scene.hand().key(params.key):
        return failure("GLOBAL_ACTION_FAILED", f"the phone refused the key {params.key}", {"key": params.key})
    told = evidence(tell(key=params.key), 1, "global_action", settle(scene, before))
    return {"key": params.key, **told}
