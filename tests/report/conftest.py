"""Fixtures for tests of reports."""

from tests.support.browser import browser, open_page

__all__ = ["browser", "open_page"]
