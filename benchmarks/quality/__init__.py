"""How good the partitions are: ``python -m benchmarks.quality``."""
