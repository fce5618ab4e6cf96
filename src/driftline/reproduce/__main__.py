"""``python -m driftline.reproduce NAME``: the same as ``driftline reproduce NAME``."""

import typer

from driftline.reproduce.command import reproduce

typer.run(reproduce)
