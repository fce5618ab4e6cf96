"""``python -m driftline.datasets flights`` prints where the data set is."""

import sys

from driftline.datasets import path

print(path(*sys.argv[1:2]))
