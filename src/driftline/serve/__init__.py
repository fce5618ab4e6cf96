"""``driftline serve``: models behind an address, with a log that keeps every call that was acknowledged."""
