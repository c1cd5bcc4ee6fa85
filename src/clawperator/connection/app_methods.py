"""Methods of a phone: apps, links and keys."""

from typing import Literal

from clawperator.connection.calls import PhoneCalls
from clawperator.connection.results import ActionResult, action_result

Key = Literal["back", "home", "recents"]


class AppMethods(PhoneCalls):
    """Open and close apps, and press keys."""

    def open_app(self, package: str, *, timeout: float | None = None) -> ActionResult:
        """Bring an app to the front."""
        return action_result(self._step("open_app", {"applicationId": package}, take=timeout))

    def open_uri(self, uri: str, *, timeout: float | None = None) -> ActionResult:
        """Open a link in the app that handles it."""
        return action_result(self._step("open_uri", {"uri": uri}, take=timeout))

    def close_app(self, package: str, *, timeout: float | None = None) -> ActionResult:
        """Force-stop an app."""
        return action_result(self._step("close_app", {"applicationId": package}, take=timeout))

    def press(self, key: Key, *, timeout: float | None = None) -> ActionResult:
        """Press Back, Home or Recents."""
        return action_result(self._step("press_key", {"key": key}, take=timeout))

    def back(self, *, timeout: float | None = None) -> ActionResult:
        """Press Back."""
        return self.press("back", timeout=timeout)

    def home(self, *, timeout: float | None = None) -> ActionResult:
        """Press Home."""
        return self.press("home", timeout=timeout)

    def recents(self, *, timeout: float | None = None) -> ActionResult:
        """Press Recents."""
        return self.press("recents", timeout=timeout)
