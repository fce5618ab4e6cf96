"""The kinds of columns: numbers, booleans, text and times."""

NUMBER, TRUTH, TEXT, DATE, CLOCK, TIMESTAMP = "number", "truth", "text", "date", "clock", "timestamp"
