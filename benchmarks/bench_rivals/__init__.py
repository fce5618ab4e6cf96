"""Auto compared with common methods for streams: ``make bench-rivals DATA=DIR``."""
