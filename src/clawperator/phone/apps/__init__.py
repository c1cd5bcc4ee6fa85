"""The apps every phone has. Each is written with nothing a user's own app could not use."""

from clawperator.phone.toolkit.app import App

LAUNCHER = "com.android.launcher3"
CHOOSER = "com.android.intentresolver"
# What a phone cannot be without.
HOME_APPS = (LAUNCHER, CHOOSER)


def built_in_apps(only: tuple[str, ...] = ()) -> list[App]:
    """New ones at each call: no phone shares an app with another. With ``only``, just those packages."""
    from clawperator.phone.apps import browser, launcher, notes, settings, solar, stress, video

    modules = (launcher, settings, solar, video, browser, notes, stress)
    return [app for module in modules for app in module.apps() if not only or app.package in only]
