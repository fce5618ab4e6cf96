"""``python -m driftline.streams``: the table of the streams, as the docs have it."""

from driftline.streams.registry import table

print(table())
