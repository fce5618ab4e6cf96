"""Takes the picture of a report for the docs: ``python -m tests.test_report.photograph REPORT.html PICTURE.png``."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.test_report.browser import Browser

WIDTH, HEIGHT = 1240, 1608
FONTS = """
["--serif", "--sans"].map((name) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.font = "40px " + getComputedStyle(document.documentElement).getPropertyValue(name);
  return pen.measureText("When it got worse, and why: 0123456789").width.toFixed(1);
}).join(" ")
"""


def photograph(browser, report, picture):
    """Writes the picture, with the width of its fonts, so that it is not compared with pictures in other fonts."""
    browser.open(report, width=WIDTH, height=HEIGHT)
    browser.screenshot(picture, whole=False)
    note = PngInfo()
    note.add_text("fonts", browser.evaluate(FONTS))
    with Image.open(picture) as taken:
        few = taken.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(picture, optimize=True, pnginfo=note)


def main(report, picture):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(Path(folder))
        try:
            photograph(browser, report, picture)
        finally:
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
