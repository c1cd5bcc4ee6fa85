"""Methods of a phone: apps, links and keys."""

from clawperator.api.calls import PhoneCalls, given
from clawperator.api.expectations import Expected, expectation
from clawperator.api.results import ActionResult, action_result
from clawperator.contract.keys import KeyName


class AppMethods(PhoneCalls):
    """Open and close apps, and press keys."""

    def open_app(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Bring an app to the front, for an Android user or profile by its number, by default the current one."""
        params = given(applicationId=package, user=user)
        return action_result(self._step("open_app", params | expectation(expect, settle=settle), take=timeout))

    def open_uri(
        self,
        uri: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Open a link in the app that handles it."""
        params = given(uri=uri, user=user)
        return action_result(self._step("open_uri", params | expectation(expect, settle=settle), take=timeout))

    def close_app(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Force-stop an app, for every user unless one is named."""
        params = given(applicationId=package, user=user)
        return action_result(self._step("close_app", params | expectation(expect, settle=settle), take=timeout))

    def press(
        self, key: KeyName, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press a key by its name, such as ``back``, ``enter`` or ``volume_up``."""
        return action_result(
            self._step("press_key", {"key": key} | expectation(expect, settle=settle), take=timeout)
        )

    def back(self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None) -> ActionResult:
        """Press Back."""
        return self.press("back", expect=expect, settle=settle, timeout=timeout)

    def home(self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None) -> ActionResult:
        """Press Home."""
        return self.press("home", expect=expect, settle=settle, timeout=timeout)

    def recents(
        self, *, expect: Expected = None, settle: bool = False, timeout: float | None = None
    ) -> ActionResult:
        """Press Recents."""
        return self.press("recents", expect=expect, settle=settle, timeout=timeout)
