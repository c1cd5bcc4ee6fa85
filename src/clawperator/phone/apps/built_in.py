"""The built-in apps, written with the same toolkit as users' own apps."""

from functools import cache

from clawperator.phone.apps import browser, notes, settings, solar, stress, video
from clawperator.phone.apps.browser import CHOOSER
from clawperator.phone.apps.system import LAUNCHER, launcher_app
from clawperator.phone.toolkit.app import App

# Every phone needs these.
HOME_APPS = (LAUNCHER, CHOOSER)


@cache
def built_in_apps(only: tuple[str, ...] = ()) -> tuple[App, ...]:
    """The built-in apps; with ``only``, just those packages.

    All phones of a process share them: an app is a description, and each phone has the state of its own processes.
    """
    if only:
        return tuple(app for app in built_in_apps() if app.package in only)
    modules = (settings, solar, video, browser, notes, stress)
    return (launcher_app(), *(app for module in modules for app in module.apps()))
