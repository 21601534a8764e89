"""Rows with missing values, beside imputers: ``python -m benchmarks.missing``."""
