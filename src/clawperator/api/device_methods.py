"""Methods of a phone: installed apps, activities, rotation and the log."""

import os
from collections.abc import Mapping
from typing import Literal

from clawperator.api.calls import PhoneCalls, given
from clawperator.api.expectations import Expected, expectation
from clawperator.api.results import ActionResult, action_result, required_value


class DeviceMethods(PhoneCalls):
    """Change installed apps, start activities, rotate the screen, and read the log of an app."""

    def rotate(
        self,
        orientation: Literal["portrait", "landscape", "0", "90", "180", "270", "auto"],
        *,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Rotate the screen; ``auto`` follows the sensor again."""
        params = {"orientation": orientation, **expectation(expect, settle=settle)}
        return action_result(self._step("rotate", params, take=timeout))

    def start_activity(  # noqa: PLR0913 - the parameters of the action
        self,
        component: str | None = None,
        *,
        action: str | None = None,
        uri: str | None = None,
        extras: Mapping[str, str | bool | int | float] | None = None,
        user: int | None = None,
        expect: Expected = None,
        settle: bool = False,
        timeout: float | None = None,
    ) -> ActionResult:
        """Start an activity by its component, or by an action with data and extras."""
        params = given(
            component=component,
            action=action,
            uri=uri,
            extras=None if extras is None else dict(extras),
            user=user,
        )
        return action_result(
            self._step("start_activity", params | expectation(expect, settle=settle), take=timeout)
        )

    def install_app(
        self,
        path: str | os.PathLike[str],
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Install an app from an APK file of this computer, for every user of the device unless one is named."""
        self._step("install_app", given(path=os.fspath(path), user=user) | expectation(expect), take=timeout)

    def uninstall_app(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Uninstall an app with its data, for every user of the device unless one is named."""
        self._step("uninstall_app", given(applicationId=package, user=user) | expectation(expect), take=timeout)

    def clear_app_data(
        self,
        package: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Delete the data of an app, by default that of the current user of the device."""
        self._step("clear_app_data", given(applicationId=package, user=user) | expectation(expect), take=timeout)

    def grant_permission(
        self,
        package: str,
        permission: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Grant a permission to an app, such as ``android.permission.CAMERA``."""
        params = given(applicationId=package, permission=permission, user=user)
        self._step("grant_permission", params | expectation(expect), take=timeout)

    def revoke_permission(
        self,
        package: str,
        permission: str,
        *,
        user: int | None = None,
        expect: Expected = None,
        timeout: float | None = None,
    ) -> None:
        """Revoke a permission of an app."""
        params = given(applicationId=package, permission=permission, user=user)
        self._step("revoke_permission", params | expectation(expect), take=timeout)

    def read_logcat(
        self,
        package: str,
        *,
        since: str | None = None,
        max_lines: int | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """The log lines of an app since a duration ago such as ``30s``, by default one minute."""
        params = given(applicationId=package, since=since, maxLines=max_lines)
        return required_value(self._step("read_logcat", params, take=timeout), "text").splitlines()
