"""Takes the picture of a report for the docs: ``python -m tests.test_report.photograph REPORT.html PICTURE.png``."""

import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.test_report.browser import Browser

WIDTH, HEIGHT = 1240, 1180


def main(report, picture):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder))
        try:
            browser.open(report, width=WIDTH, height=HEIGHT)
            browser.screenshot(picture, whole=False)
        finally:
            browser.close()
    with Image.open(picture) as taken:
        few = taken.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
