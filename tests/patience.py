"""How long a test waits for another process or thread before it counts as hung."""

SECONDS = 600  # a busy machine takes a minute now and then; a test that passes never waits this long
