"""``python -m driftline.streams`` prints the table of streams that the docs include."""

from driftline.streams.registry import table

print(table())
