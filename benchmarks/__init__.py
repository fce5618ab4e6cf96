"""Speed, memory, soak and accuracy of driftline beside its peers: ``python -m benchmarks``."""
