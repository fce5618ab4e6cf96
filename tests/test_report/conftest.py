"""One browser for all tests of the page."""

import pytest

from tests.test_report.browser import Browser, install


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Headless Chromium; tests that need it are skipped, with the reason, if there is none."""
    lacking = install()
    if lacking:
        pytest.skip(lacking)
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()
