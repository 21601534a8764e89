"""What the default recipe is made of, and what else was tried: ``python -m benchmarks.recipe``."""
