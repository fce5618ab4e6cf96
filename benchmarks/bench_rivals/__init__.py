"""Auto beside what people run on streams today: ``make bench-rivals DATA=DIR``."""
