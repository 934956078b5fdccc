"""Speed beside that of peers on the same work: ``python -m benchmarks``."""
