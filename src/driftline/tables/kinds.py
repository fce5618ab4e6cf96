"""What a column holds: numbers, truths, text or times."""

NUMBER, TRUTH, TEXT, DATE, CLOCK, TIMESTAMP = "number", "truth", "text", "date", "clock", "timestamp"
