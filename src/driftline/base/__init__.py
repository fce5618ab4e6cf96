"""The learner interface and its building blocks."""
