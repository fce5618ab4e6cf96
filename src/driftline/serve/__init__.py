"""``driftline serve``: models as an HTTP service, with a log of every acknowledged call."""
