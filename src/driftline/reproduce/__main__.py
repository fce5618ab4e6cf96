"""``python -m driftline.reproduce NAME``: the same as ``driftline reproduce NAME``."""

import sys

from driftline.cli import main

main(["reproduce", *sys.argv[1:]])
