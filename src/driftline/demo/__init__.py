"""``driftline demo``: the commands, one after the other, on a stream that is made here."""
