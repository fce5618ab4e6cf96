"""One browser for all tests of the page."""

import pytest

from tests.test_report.browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium."""
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()
