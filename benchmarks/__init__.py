"""Speed, memory, endurance and accuracy of driftline and other libraries: ``python -m benchmarks``."""
