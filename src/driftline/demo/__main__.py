"""``python -m driftline.demo``."""

from pathlib import Path

from driftline.demo.tour import show

if __name__ == "__main__":
    show(Path("demo"))
