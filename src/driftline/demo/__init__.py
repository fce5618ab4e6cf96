"""``driftline demo``: runs the commands, one after the other, on a generated stream."""
